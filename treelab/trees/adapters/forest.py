"""Forest: trees of another program, their columns, and how they predict together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.logits import softmax
from treelab.trees.tree import Tree, most_probable, task_of

# Numbers of programs that read a table as float32, for tables of float64.


_BEYOND = 2.0**128  # one step above the largest float32; what rounds to it overflows


def float32_thresholds(threshold, *, strict: bool) -> np.ndarray:
    """Return thresholds that split float64 values as their float32 values were split.

    Rounding to float32 keeps the order, so ``float32(x) <= threshold`` holds for every
    float64 ``x`` up to the largest one that rounds to a float32 at or below the
    threshold. That one is returned.

    Parameters
    ----------
    threshold : float array of shape (n,)
        In the other program; an infinite one stays.
    strict : bool
        Whether that program sends ``x < threshold`` left instead of ``x <= threshold``.

    Returns
    -------
    float64 array of shape (n,)
        For ``x <= threshold``, with x in float64.
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        last = threshold.astype(np.float32)  # the largest float32 that goes left
        too_far = last >= threshold if strict else last > threshold
        last = np.where(too_far, np.nextafter(last, np.float32(-np.inf)), last)
        after = np.nextafter(last, np.float32(np.inf)).astype(np.float64)
        wide = np.clip(last.astype(np.float64), -_BEYOND, _BEYOND)
        middle = (wide + np.clip(after, -_BEYOND, _BEYOND)) / 2  # exact
        # A value just halfway rounds to the even one of the two.
        rounds_down = middle.astype(np.float32) == last
        found = np.where(rounds_down, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(threshold), threshold, found)


def float32_range(value: float) -> tuple[float, float]:
    """Return the smallest and the largest float64 that round to the same float32."""
    return _lowest(np.float32(value)), -_lowest(-np.float32(value))


def _lowest(value: np.float32) -> float:
    """Return the smallest float64 that rounds to this float32."""
    below = float32_thresholds([np.nextafter(value, np.float32(-np.inf))], strict=False)
    return -np.inf if np.isinf(below[0]) else float(np.nextafter(below[0], np.inf))


# The columns of another program's boosted trees, as features that its trees share.


MOST_COLUMNS = 10_000  # as a table may have
MOST_SCORES = 2**23  # of the categories of all sets: 64 MB


class Columns:
    """Features by column, and by set of categories where a split tests those.

    ``categories`` are the names of each category column's categories, in the order of
    their codes; ``missing`` is a number, or code of a category, that counts as missing
    once it is a float32.
    """

    def __init__(
        self,
        names: Sequence[str],
        units: Mapping[str, str],
        categories: Mapping[int, Sequence[str] | None],
        missing: float = np.nan,
    ):
        self.names, self.categories, self.missing = names, categories, missing
        marked = None if np.isnan(missing) else float32_range(missing)
        # One a column, then those of the sets.
        self.features = [
            Feature(name, unit=units.get(name, ""), missing_range=marked)
            for name in names
        ]
        self._sets: dict[tuple[int, frozenset[int]], int] = {}
        self._n_scores = 0

    def index(self, column: int, right: frozenset[int] | None = None) -> int:
        """Return the place in ``features`` of what a split tests.

        A set of categories has a feature of its own: the codes of ``right`` have the
        score 1, the others 0. None where the split tests a number. Raises ValueError if
        the sets of all splits hold too many categories.
        """
        if right is None:
            return column
        if (column, right) not in self._sets:
            known, unseen = self.categories.get(column), np.nan
            n_known = max(right, default=0) + 1 if known is None else len(known)
            self._n_scores += n_known
            if self._n_scores > MOST_SCORES:
                raise ValueError(
                    f"The splits of this model list more than {MOST_SCORES:,} "
                    f"categories, of column {self.names[column]!r} {n_known:,}. Train "
                    "it on fewer categories."
                )
            if known is None:  # a code of no set goes left, however large
                known, unseen = [str(code) for code in range(n_known)], 0.0
            scores = [1.0 if code in right else 0.0 for code in range(n_known)]
            if self.missing in range(n_known):
                scores[int(self.missing)] = np.nan
            name = self.names[column]
            self._sets[column, right] = len(self.features)
            self.features.append(
                Feature(
                    name, "category", "", np.nan, tuple(known), tuple(scores), unseen
                )
            )
        return self._sets[column, right]


# Estimators around a model: what they do to its columns is not in its trees.


def refuse_wrapped(model) -> None:
    """Raise ValueError where a model stands inside another estimator.

    Such are a Pipeline and a search.
    """
    if hasattr(model, "steps"):
        raise ValueError(
            "The last step of a Pipeline reads the columns that the steps before it "
            "make. Pass that step, pipeline[-1], and give tables as "
            "pipeline[:-1].transform(X) makes them."
        )
    if hasattr(model, "best_estimator_"):
        raise ValueError(
            f"A {type(model).__name__} holds several models; pass its best_estimator_."
        )


# Trees of another program as WeightedTrees, which a run can store.


MOST_VALUES = 2**22  # at the leaves of all trees: 32 MB


def weighted_trees(forest: "Forest") -> WeightedTrees:
    """Return an ensemble that predicts as a forest does, its trees weighted equally.

    Leaves of a forest that predicts by its mean hold probabilities, or a value of the
    target. Boosted trees are added up, and an ensemble's prediction is a mean: a leaf
    then holds what it adds times the number of trees, on top of what the sum starts
    from. Predictions agree up to rounding, as an ensemble adds up in float64.

    Raises
    ------
    ValueError
        If no mean of leaves gives the forest's prediction, or its trees are too deep
        to be stored as complete ones.
    """
    _check_link(forest)
    n_trees, depth = len(forest), max(tree.depth for tree in forest)
    probabilities = forest.classes is not None and not forest.is_sum
    n_leaves = 2**depth
    n_outputs = len(forest.classes or ()) if probabilities else len(forest.base)
    if n_trees * n_leaves * n_outputs > MOST_VALUES:
        deepest = (MOST_VALUES // (n_trees * n_outputs)).bit_length() - 1
        raise ValueError(
            f"{n_trees:,} trees of depth {depth} are too large to be stored as "
            f"complete trees. Train fewer trees, or trees of depth {max(1, deepest)} "
            "at most (max_depth)."
        )
    # Below a leaf all rows go left, by a column that the forest tests anyway.
    tested = max((int(tree.feature.max()) for tree in forest), default=0)
    feature = np.full((n_trees, n_leaves - 1), max(tested, 0), dtype=np.int32)
    threshold = np.full((n_trees, n_leaves - 1), np.inf)
    missing_left = np.ones((n_trees, n_leaves - 1), dtype=bool)
    leaf_value = np.empty((n_trees, n_leaves, n_outputs))
    leaf_value[:] = 0.0 if probabilities else forest.base
    outputs = forest.output or (0,) * n_trees
    for e, (tree, k) in enumerate(zip(forest, outputs)):
        split, place = ~tree.is_leaf, _places(tree)
        feature[e, place[split]] = tree.feature[split]
        threshold[e, place[split]] = tree.threshold[split]
        missing_left[e, place[split]] = tree.missing_left[split]
        for leaf in np.flatnonzero(tree.is_leaf):
            below = 2 ** (depth - tree.level[leaf])
            first = (place[leaf] + 1) * below - n_leaves
            here = leaf_value[e, first : first + below]
            if probabilities:
                here[:] = tree.value[leaf]
            else:
                here[:, k] += tree.value[leaf, 0] * (n_trees if forest.is_sum else 1)
    how = (
        "are added up; each is drawn as if all others predicted the same"
        if forest.is_sum
        else "predict by their mean"
    )
    return WeightedTrees(
        forest.features,
        feature,
        threshold,
        missing_left,
        leaf_value,
        np.zeros((n_trees, n_leaves)),
        classes=forest.classes,
        target=forest.target,
        notes=(f"The {n_trees:,} trees of this model {how}.", *forest.notes),
        leaf_output="probabilities" if probabilities else "logits",
    )


def _check_link(forest: "Forest") -> None:
    """Raise ValueError where no mean over the trees gives the prediction."""
    if forest.classes is None and forest.link != "identity":
        raise ValueError(
            "This model predicts a logistic or an exponential function of the sum of "
            "its trees, and a run's ensemble predicts the sum itself. Train it with "
            "objective='reg:squarederror', or with one tree."
        )


def _places(tree: Tree) -> np.ndarray:
    """Return each node's place in a complete tree, breadth first, int64 (n_nodes,)."""
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in np.argsort(tree.level, kind="stable"):
        if not tree.is_leaf[node]:
            place[tree.left[node]] = 2 * place[node] + 1
            place[tree.right[node]] = 2 * place[node] + 2
    return place


# Forest: trees of another program, and how they predict together.


LINKS = ("identity", "logistic", "softmax", "exp")


@dataclass(frozen=True, eq=False)
class Forest(Sequence):
    """Trees that predict together, by their mean or by their sum.

    ``forest[3]`` and ``for tree in forest`` give the trees, ``len(forest)`` how many.

    Parameters
    ----------
    trees : tuple of Tree
        All with the same features. Those that are added up are regression trees, of a
        margin or of the target itself.
    classes : tuple or None
        Labels; None for regression.
    target : str
    is_sum : bool, default=False
        Whether the prediction is made from a sum (boosting) instead of the mean (a
        random forest).
    base : tuple of float
        What each sum starts from, one an output.
    output : tuple of int
        To which output each tree adds.
    link : {"identity", "logistic", "softmax", "exp"}, default="identity"
        What turns sums into the prediction.
    dtype : {"float32", "float64"}, default="float64"
        What sums are added up in.
    notes : tuple of str
        Sentences that must be shown with it.

    Raises
    ------
    ValueError
        If there is no tree, or these do not fit each other.
    """

    trees: tuple[Tree, ...]
    classes: tuple | None = None
    target: str = "target"
    is_sum: bool = False
    base: tuple[float, ...] = (0.0,)
    output: tuple[int, ...] = ()
    link: str = "identity"
    dtype: str = "float64"
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.trees:
            raise ValueError("A forest needs at least one tree.")
        if self.link not in LINKS:
            raise ValueError(f"link must be one of {LINKS}, got {self.link!r}.")
        if self.is_sum and len(self.output) != len(self.trees):
            raise ValueError(
                f"{len(self.trees)} trees are added up, but output has "
                f"{len(self.output)} entries."
            )

    def __getitem__(self, index):
        return self.trees[index]

    def __len__(self):
        return len(self.trees)

    def __repr__(self):
        how = "sum" if self.is_sum else "mean"
        return (
            f"Forest({self.task}, target={self.target!r}, {how} of {len(self)} trees)"
        )

    @property
    def task(self) -> str:
        """Return "binary", "multiclass" or "regression"."""
        return task_of(self.classes)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features of its trees."""
        return self.trees[0].features

    def to_weighted_trees(self) -> WeightedTrees:
        """Return these trees as an ensemble that can be saved; see ``weighted_trees``.

        Raises
        ------
        ValueError
            If no such ensemble predicts the same, or it were too large.
        """
        return weighted_trees(self)

    def to_dict(self) -> dict:
        """Return it as JSON-safe values, as a run stores it; see ``to_weighted_trees``.

        Raises
        ------
        ValueError
            As ``to_weighted_trees`` does.
        """
        return self.to_weighted_trees().to_dict()

    def decision_function(self, X) -> np.ndarray:
        """Return the sums, (n_rows, n_outputs), added up in the order of the trees.

        Raises
        ------
        ValueError
            If these trees predict by their mean.
        """
        if not self.is_sum:
            raise ValueError("The trees of this forest predict by their mean.")
        parts = [tree.predict(X).astype(self.dtype) for tree in self.trees]
        total = np.tile(np.array(self.base, dtype=self.dtype), (len(parts[0]), 1))
        for k, part in zip(self.output, parts):
            total[:, k] += part
        return total

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities, float64 (n_rows, n_classes), as in ``classes``.

        Raises
        ------
        ValueError
            If this is a regression.
        """
        if self.classes is None:
            raise ValueError("A regression forest has no class probabilities.")
        if not self.is_sum:
            return self._mean([tree.predict_proba(X) for tree in self.trees])
        margin = self.decision_function(X).astype(np.float64)
        if self.link == "softmax":
            return softmax(margin)
        yes = 1 / (1 + np.exp(-margin[:, 0]))
        return np.column_stack([1 - yes, yes])

    def predict(self, X) -> np.ndarray:
        """Return each row's most probable class, or value of the target; (n_rows,)."""
        if self.classes is not None:
            return most_probable(self.classes, self.predict_proba(X))
        if not self.is_sum:
            return self._mean([tree.predict(X) for tree in self.trees])
        total = self.decision_function(X)[:, 0].astype(np.float64)
        if self.link == "logistic":
            return 1 / (1 + np.exp(-total))
        return np.exp(total) if self.link == "exp" else total

    def _mean(self, parts: list[np.ndarray]) -> np.ndarray:
        """Return the mean of the trees' predictions, added up in their order."""
        total = np.zeros_like(parts[0])
        for part in parts:
            total += part
        return total / len(parts)


# Boosted trees of another program, which are added up, as a Forest.


def boosted_forest(
    grown: Sequence[dict],
    features: Iterable[Feature],
    *,
    target: str,
    classes: tuple | None,
    base: Sequence[float],
    output: Sequence[int],
    link: str,
    dtype: str,
) -> Forest:
    """Return trees that are added up, each with a note that it is one of many.

    Parameters
    ----------
    grown : sequence of dict
        Arguments of ``Tree`` for each tree, but its features, target and notes.
    features : iterable of Feature
        Of all trees.
    target : str
    classes : tuple or None
    base, output, link, dtype
        As a Forest takes them.
    """
    n = len(grown)
    shared = tuple(features)
    trees = []
    for i, (arguments, k) in enumerate(zip(grown, output)):
        margin = target if link == "identity" else "margin"
        if classes is not None:
            margin = f"margin of {classes[k] if len(classes) > 2 else classes[1]}"
        note = (
            f"Tree {i + 1:,} of {n:,} that are added up: its leaves hold what they add "
            f"to {margin}; it does not predict alone."
        )
        trees.append(Tree(features=shared, target=margin, notes=(note,), **arguments))
    return Forest(
        tuple(trees),
        classes,
        target,
        is_sum=True,
        base=tuple(base),
        output=tuple(output),
        link=link,
        dtype=dtype,
    )


def boosted_model(
    grown: Sequence[dict],
    features: Sequence[Feature],
    *,
    notes: tuple[str, ...] = (),
    **summed,
) -> Tree | Forest:
    """Return a Forest, or where there is one tree, a Tree that predicts alone.

    Parameters
    ----------
    grown, features
        As ``boosted_forest`` takes them.
    notes : tuple of str
        Sentences that must be shown with it.
    **summed
        What else ``boosted_forest`` takes.
    """
    if len(grown) > 1:
        forest = boosted_forest(grown, features, **summed)
        return replace(forest, notes=notes)
    (arguments,), classes = grown, summed["classes"]
    dtype, link = summed["dtype"], summed["link"]
    sums = np.array(summed["base"][0], dtype) + arguments["value"].astype(dtype)
    value = sums.astype(np.float64)  # (n_nodes, 1)
    if link == "logistic":
        value = 1 / (1 + np.exp(-value))
        if classes is not None:
            value = np.column_stack([1 - value, value])
    elif link == "exp":
        value = np.exp(value)
    shown = {"classes": classes, "target": summed["target"], "notes": notes}
    return Tree(tuple(features), **arguments | {"value": value}, **shown)
