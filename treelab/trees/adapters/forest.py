"""Forest: trees of another program, their columns, and how they predict together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from treelab.trees.ensemble import WeightedTrees, at_nodes
from treelab.trees.feature import Feature
from treelab.trees.io import refusing_damage
from treelab.trees.logits import softmax
from treelab.trees.tree import (
    LEAF,
    Tree,
    complete_places,
    most_probable,
    plain_label,
    task_of,
)

# Numbers of programs that read a table as float32, for tables of float64.


_BEYOND = 2.0**128  # one step above the largest float32; what rounds to it overflows


def float32_thresholds(threshold, *, strict: bool) -> np.ndarray:
    """Return thresholds that split float64 values as their float32 values were split.

    Rounding to float32 keeps the order, so ``float32(x) <= threshold`` holds for every
    float64 ``x`` up to the largest one that rounds to a float32 at or below the
    threshold. That one is returned, for ``x <= threshold`` with x in float64; an
    infinite one stays. With ``strict`` the other program sends ``x < threshold`` left.
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

    ``categories`` names, by the column's place, those of each category column in the
    order of their codes; ``missing`` is a number, or a code, that counts as missing
    once it is a float32. ``features`` are one a column, a category's score being its
    code, then those of the sets.
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
        self.features = [
            Feature(name, unit=units.get(name, ""), missing_range=marked)
            for name in names
        ]
        for column, known in categories.items():
            if known:
                self.features[column] = self._of_codes(column, known, range(len(known)))
        self._sets: dict[tuple[int, frozenset[int]], int] = {}
        self._n_scores = 0

    def index(self, column: int, right: frozenset[int] | None = None) -> int:
        """Return the place of the feature that a split tests; a set has its own.

        Codes in ``right`` go right, their score is 1, that of the others 0; None where
        the split tests a number. ValueError if the sets of all splits hold too many
        categories, or more than have names.
        """
        if right is None:
            return column
        if (column, right) not in self._sets:
            known, unseen = self.categories.get(column), np.nan
            n_coded = max(right, default=0) + 1
            n_known = n_coded if known is None else len(known)
            if n_known < n_coded and right:
                raise ValueError(
                    f"The splits know {n_coded:,} categories of "
                    f"{self.names[column]!r}, of which {n_known:,} have names. Name "
                    "all, in the order of the training table's categories."
                )
            self._n_scores += n_known
            if self._n_scores > MOST_SCORES:
                raise ValueError(
                    f"The splits of this model list more than {MOST_SCORES:,} "
                    f"categories, of column {self.names[column]!r} {n_known:,}. Train "
                    "it on fewer categories."
                )
            if known is None:  # a code of no set goes left, however large
                known, unseen = [str(code) for code in range(n_known)], 0.0
            scores = [code in right for code in range(n_known)]
            self._sets[column, right] = len(self.features)
            self.features.append(self._of_codes(column, known, scores, unseen))
        return self._sets[column, right]

    def _of_codes(self, column: int, known, scores, unseen: float = np.nan) -> Feature:
        """Return the feature that scores each of the known categories of a column."""
        own = tuple(
            np.nan if code == self.missing else score
            for code, score in enumerate(scores)
        )
        name, nothing = self.names[column], np.nan
        return Feature(name, "category", "", nothing, tuple(known), own, unseen)


# Estimators around a model: what they do to its columns is not in its trees.


def refuse_wrapped(model) -> None:
    """Raise ValueError where a model stands inside a Pipeline or a search."""
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


# Forest: trees of another program, and how they predict together.


LINKS = ("identity", "logistic", "softmax", "exp")
MOST_VALUES = 2**22  # at the leaves of all trees of an ensemble: 32 MB


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
        """Return an ensemble that predicts the same and can be saved.

        Its trees are weighted equally. Leaves of a forest that predicts by its mean
        hold probabilities, or a value of the target. Boosted trees are added up, and an
        ensemble's prediction is a mean: a leaf then holds what it adds times the number
        of trees, on top of what the sum starts from. Predictions agree up to rounding,
        as an ensemble adds up in float64. What the file counts at each node is the
        ensemble's ``weight``, by which Shapley values go.

        Raises
        ------
        ValueError
            If no mean of leaves gives the forest's prediction, or its trees are too
            deep to be stored as complete ones.
        """
        if self.classes is None and self.link != "identity":
            raise ValueError(
                "This model predicts a logistic or an exponential function of the sum "
                "of its trees, and a run's ensemble predicts the sum itself. Train it "
                "with objective='reg:squarederror', or with one tree."
            )
        n_trees, depth = len(self), max(tree.depth for tree in self)
        probabilities = self.classes is not None and not self.is_sum
        n_leaves = 2**depth
        n_outputs = len(self.classes or ()) if probabilities else len(self.base)
        if n_trees * n_leaves * n_outputs > MOST_VALUES:
            deepest = (MOST_VALUES // (n_trees * n_outputs)).bit_length() - 1
            raise ValueError(
                f"{n_trees:,} trees of depth {depth} are too large to be stored as "
                "complete trees. Train fewer trees, or trees of depth "
                f"{max(1, deepest)} at most (max_depth)."
            )
        # Below a leaf all rows go left, by a column that the forest tests anyway.
        tested = max((int(tree.feature.max()) for tree in self), default=0)
        feature = np.full((n_trees, n_leaves - 1), max(tested, 0), dtype=np.int32)
        threshold = np.full((n_trees, n_leaves - 1), np.inf)
        missing_left = np.ones((n_trees, n_leaves - 1), dtype=bool)
        leaf_value = np.empty((n_trees, n_leaves, n_outputs))
        leaf_value[:] = 0.0 if probabilities else self.base
        at_leaf = np.zeros((n_trees, n_leaves))  # rows, or what they weigh
        outputs = self.output or (0,) * n_trees
        for e, (tree, k) in enumerate(zip(self, outputs)):
            split, place = ~tree.is_leaf, complete_places(tree)
            at = e, place[split]
            feature[at], threshold[at] = tree.feature[split], tree.threshold[split]
            missing_left[at] = tree.missing_left[split]
            for leaf in np.flatnonzero(tree.is_leaf):
                below = 2 ** (depth - tree.level[leaf])
                first = (place[leaf] + 1) * below - n_leaves
                at_leaf[e, first] = tree.mass[leaf]
                here = leaf_value[e, first : first + below]
                if probabilities:
                    here[:] = tree.value[leaf]
                else:
                    here[:, k] += tree.value[leaf, 0] * (n_trees if self.is_sum else 1)
        how = (
            "are added up; each is drawn as if all others predicted the same"
            if self.is_sum
            else "predict by their mean"
        )
        return WeightedTrees(
            self.features,
            feature,
            threshold,
            missing_left,
            leaf_value,
            np.zeros((n_trees, n_leaves)),
            classes=self.classes,
            target=self.target,
            weight=at_nodes(at_leaf) if at_leaf.any(axis=1).all() else None,
            notes=(f"The {n_trees:,} trees of this model {how}.", *self.notes),
            leaf_output="probabilities" if probabilities else "logits",
        )

    def to_dict(self) -> dict:
        """Return it as JSON-safe values, as a run stores ``to_weighted_trees``."""
        return self.to_weighted_trees().to_dict()

    def save(self, path) -> None:
        """Write ``to_weighted_trees`` into a folder, or one ".treelab" file."""
        self.to_weighted_trees().save(path)

    def decision_function(self, X) -> np.ndarray:
        """Return the sums, (n_rows, n_outputs), added up in the order of the trees.

        ValueError if these trees predict by their mean.
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

        ValueError if this is a regression.
        """
        if self.classes is None:
            raise ValueError("A regression forest has no class probabilities.")
        if not self.is_sum:
            return self._mean([tree.predict_proba(X) for tree in self.trees])
        return self.linked(self.decision_function(X).astype(np.float64))

    def predict(self, X) -> np.ndarray:
        """Return each row's most probable class, or value of the target; (n_rows,)."""
        if self.classes is not None:
            return most_probable(self.classes, self.predict_proba(X))
        if not self.is_sum:
            return self._mean([tree.predict(X) for tree in self.trees])
        return self.linked(self.decision_function(X).astype(np.float64))[:, 0]

    def linked(self, total: np.ndarray) -> np.ndarray:
        """Return what sums (n, n_outputs) predict: values (n, 1), or probabilities."""
        if self.link == "softmax":
            return softmax(total)
        if self.link == "logistic":
            yes = 1 / (1 + np.exp(-total))
            return yes if self.classes is None else np.hstack([1 - yes, yes])
        return np.exp(total) if self.link == "exp" else total

    def _mean(self, parts: list[np.ndarray]) -> np.ndarray:
        """Return the mean of the trees' predictions, added up in their order."""
        return sum(parts, np.zeros_like(parts[0])) / len(parts)


# Boosted trees of another program, which are added up: what their readers share.


@contextmanager
def refusing_other(what: str, name: str) -> Iterator[None]:
    """Turn what a damaged file may lead to into a ValueError that says what to do."""
    with refusing_damage(
        f"This is not {what}, or it is damaged: {{!r}}. Write one with "
        f"booster.save_model({name!r})."
    ):
        yield


def check_columns(n_columns: int, program: str) -> None:
    """Raise ValueError for a model with more columns than a table may have."""
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"This {program} model has {n_columns:,} columns; treelab reads at most "
            f"{MOST_COLUMNS:,}."
        )


def column_names(
    given: Iterable | None, stored: Sequence[str], *, may_be_more: bool = False
) -> list[str]:
    """Return the names of a model's columns, those ``given`` or else those stored.

    A dump may lack the columns that no split tests: ``may_be_more`` are given.
    """
    names = [str(name) for name in (stored if given is None else given)]
    n_columns = len(stored)
    if not n_columns <= len(names) <= (MOST_COLUMNS if may_be_more else n_columns):
        raise ValueError(
            f"feature_names has {len(names)} names, the model {n_columns} columns."
        )
    return names


def given_categories(categories: dict, names: Sequence[str]) -> dict[int, list[str]]:
    """Return the names of categories that a person gave, by the column's place."""
    if lacking := [name for name in categories if name not in names]:
        raise ValueError(f"The model has no column {lacking[0]!r} with categories.")
    return {names.index(name): [*map(str, of)] for name, of in categories.items()}


def known_classes(classes, n_classes: int, numbers: str = "numbers") -> tuple | None:
    """Return the labels, 0, 1, ... where none are given; None for regression."""
    if not n_classes:
        if classes is not None:
            raise ValueError(f"This model predicts {numbers}; it has no labels.")
        return None
    labels = tuple(map(plain_label, range(n_classes) if classes is None else classes))
    if len(labels) != n_classes:
        raise ValueError(
            f"The model has {n_classes} classes, got {len(labels)} labels."
        )
    return labels


def used_rounds(
    n_rounds: int, iteration_range: tuple[int, int] | None, trees: str = ""
) -> tuple[int, int]:
    """Return the first round that predicts and the one behind the last."""
    first, end = (int(number) for number in iteration_range or (0, 0))
    end = end or n_rounds
    if not 0 <= first < end <= n_rounds:
        raise ValueError(
            f"The model has {n_rounds:,} rounds{trees}, of which iteration_range="
            f"({first}, {end}) names none, or more than there are."
        )
    return first, end


def tree_arguments(
    left, right, feature, threshold, missing_left, value, n_rows=None
) -> dict:
    """Return the arguments of ``Tree`` of arrays (n_nodes,), -1 in ``left`` at leaves.

    What the others hold at leaves does not matter, but for the value.
    """
    leaf = left < 0
    return {
        "left": np.where(leaf, -1, left),
        "right": np.where(leaf, -1, right),
        "feature": np.where(leaf, LEAF, feature),
        "threshold": np.where(leaf, np.nan, threshold),
        "missing_left": missing_left & ~leaf,
        "value": value[:, None],
        "n_rows": np.zeros(len(leaf)) if n_rows is None else n_rows,
        "impurity": np.full(len(leaf), np.nan),
    }


def with_means(value, left, right, n_rows) -> np.ndarray:
    """Return values (n_nodes,), those above the leaves the means of the two below."""
    value = np.array(value, dtype=np.float64)
    for node in np.flatnonzero(left >= 0)[::-1]:  # children come after their parent
        below = [left[node], right[node]]
        weights = n_rows[below] if n_rows[below].sum() else None
        value[node] = np.average(value[below], weights=weights)
    return value


def boosted_forest(
    grown: Sequence[dict],
    features: Iterable[Feature],
    *,
    target: str,
    classes: tuple | None,
    output: Sequence[int],
    **summed,
) -> Forest:
    """Return trees that are added up, each with a note that it is one of many.

    ``grown`` are the arguments of ``Tree`` for each, but its features, target and
    notes; the features are those of all. The rest is as a Forest takes it.
    """
    n = len(grown)
    shared = tuple(features)
    trees = []
    for i, (arguments, k) in enumerate(zip(grown, output)):
        margin = target if summed["link"] == "identity" else "margin"
        if classes is not None:
            margin = f"margin of {classes[k] if len(classes) > 2 else classes[1]}"
        note = (
            f"Tree {i + 1:,} of {n:,} that are added up: its leaves hold what they add "
            f"to {margin}; it does not predict alone."
        )
        trees.append(Tree(features=shared, target=margin, notes=(note,), **arguments))
    output = tuple(output)
    return Forest(tuple(trees), classes, target, is_sum=True, output=output, **summed)


def alone(forest: Forest) -> Tree | Forest:
    """Return the only tree of boosted ones so that it predicts alone; several stay."""
    if len(forest) > 1:
        return forest
    (tree,) = forest
    sums = np.array(forest.base[0], forest.dtype) + tree.value.astype(forest.dtype)
    value = forest.linked(sums.astype(np.float64))
    shown = {"classes": forest.classes, "target": forest.target, "notes": forest.notes}
    return replace(tree, value=value, **shown)
