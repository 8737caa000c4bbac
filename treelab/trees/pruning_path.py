"""A path of trees over pruning strengths, and which of them is shown."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.logits import class_probabilities
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning import StoredTrees, by_number, numbered, prune_empty, rebuild
from treelab.trees.tree import (
    OBLIQUE,
    Tree,
    filled,
    frozen,
    margins,
    most_probable,
    used_features,
)

# PruningPath: one argmin tree for each pruning strength, each from its neighbour.


class PredictorOnTopError(ValueError, AttributeError):
    """No tree alone is the model; both kinds of error, as ``NotFittedError`` is."""


def _shared(name: str) -> Any:
    """Return a property in which all trees of a path agree."""
    return property(lambda path: getattr(path.trees[0], name))


@dataclass(frozen=True, eq=False)
class PruningPath(StoredTrees):
    """Trees of ascending pruning strength, and the predictor on top of each.

    Source: Zantedeschi, Kusner, Niculae, "Learning Binary Decision Trees by Argmin
    Differentiation", ICML 2021, arXiv:2010.04627.

    Parameters
    ----------
    strengths : float64 array of shape (n_strengths,)
        Pruning strengths, ascending.
    trees : tuple of Tree
        One a strength, with ``activity``, of the same features and classes.
    predictors : tuple of NodePredictor or None
        Model that reads each tree's traversal; None where the leaves predict.
    chosen : int, default=0
        The strength that ``predict`` uses when none is named.
    scores : DataFrame
        A row a strength: strength, valid_loss, valid_score, active_splits, ...
    split : {"linear", "elu"}, default="linear"
        Split score: the margin, or ELU of it, which is above -1 for rows far on the
        right. Sides do not depend on it.

    Raises
    ------
    ValueError
        If the parts do not fit each other.
    """

    strengths: np.ndarray
    trees: tuple[Tree, ...]
    predictors: tuple[NodePredictor | None, ...]
    chosen: int = 0
    scores: pd.DataFrame = field(default_factory=pd.DataFrame)
    split: str = "linear"

    def __post_init__(self):
        put = object.__setattr__
        strengths = frozen(np.array(self.strengths, dtype=np.float64))
        put(self, "strengths", strengths)
        put(self, "predictors", tuple(self.predictors))
        super().__post_init__()
        n = len(self.trees)
        if n == 0 or strengths.shape != (n,) or len(self.predictors) != n:
            raise ValueError(
                f"A path needs one tree and one predictor for each strength, got "
                f"{strengths.size} strengths, {n} trees, "
                f"{len(self.predictors)} predictors."
            )
        if not (np.diff(strengths) >= 0).all():
            raise ValueError(f"strengths must ascend, got {strengths.tolist()}.")
        if self.split not in ("linear", "elu"):
            raise ValueError(f"split must be 'linear' or 'elu', got {self.split!r}.")
        if len({(tree.classes, tree.target) for tree in self.trees}) != 1:
            raise ValueError("All trees of a path must predict the same target.")
        # Compared as text: a fill that is NaN equals no other.
        if len({repr(tree.features) for tree in self.trees}) != 1:
            raise ValueError("All trees of a path must have the same features.")
        for tree, predictor in zip(self.trees, self.predictors):
            _check_predictor(tree, predictor)

    def __repr__(self):
        return (
            f"PruningPath({self.task}, target={self.target!r}, "
            f"n_strengths={len(self)}, chosen={self.chosen})"
        )

    # On all of this the trees agree

    features, classes = _shared("features"), _shared("classes")
    target, target_unit = _shared("target"), _shared("target_unit")
    target_form, loss, task = _shared("target_form"), _shared("loss"), _shared("task")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the user's table that the chosen tree or its predictor reads."""
        if self._reads_x(self.chosen):
            return tuple(dict.fromkeys(f.column for f in self.features))
        return self.trees[self.chosen].columns

    @property
    def has_predictor(self) -> bool:
        """Whether a predictor on top of the chosen tree makes the predictions."""
        return self.predictors[self.chosen] is not None

    def as_tree(self) -> Tree:
        """Return the tree that predicts as the path does.

        Raises
        ------
        PredictorOnTopError
            If a predictor on top of the tree makes the predictions.
        """
        if self.has_predictor:
            raise PredictorOnTopError(
                "A predictor on top of the tree makes this model's predictions, so no "
                "tree alone is the model. The pruning path (path_) predicts, saves and "
                "loads both; its .tree is the tree alone, whose leaves predict "
                'otherwise. predictor="leaf" trains a tree that is the model.'
            )
        return self.tree

    # Rows

    def traversal(self, i: int, X) -> np.ndarray:
        """Return how far each row passes each node of tree ``i``.

        The path score q (eq. 1 of the paper's first version) is 1 at the root, and at
        a child the smaller of its parent's and the margin towards it; the traversal z
        is q clipped to [0, a], a the node's activity (proposition 1).

        Returns
        -------
        float64 array of shape (n_rows, n_nodes)
        """
        return _traversal(self.trees[i], self._read(i, X), self.split)

    def predict_proba(self, X, i: int | None = None) -> np.ndarray:
        """Return class probabilities (n_rows, n_classes) at strength ``i``.

        Raises
        ------
        ValueError
            If the path is a regression.
        """
        i = self._index(i)
        if self.classes is None:
            raise ValueError("A regression path has no class probabilities.")
        if self.predictors[i] is None:
            return self.trees[i].predict_proba(X)
        return class_probabilities(self._raw_outputs(i, X), len(self.classes))

    def predict(self, X, i: int | None = None) -> np.ndarray:
        """Return classes, or values of the target, (n_rows,), at strength ``i``.

        Parameters
        ----------
        X : DataFrame or array
            The user's table.
        i : int or None, default=None
            Which strength; None: the chosen one.
        """
        i = self._index(i)
        if self.predictors[i] is None:
            return self.trees[i].predict(X)
        if self.classes is not None:
            return most_probable(self.classes, self.predict_proba(X, i))
        return self._raw_outputs(i, X)[:, 0]

    def with_rows(self, X, y) -> "PruningPath":
        """Return the path with the numbers of these rows in every tree."""
        return replace(self, trees=tuple(tree.with_rows(X, y) for tree in self.trees))

    def _index(self, i):
        """Return the index of a strength, or ValueError where there is none."""
        i = self.chosen if i is None else i
        if not 0 <= i < len(self):
            raise ValueError(f"The path has strengths 0 to {len(self) - 1}, not {i}.")
        return i

    def _reads_x(self, i: int) -> bool:
        """Whether the predictor at this strength reads the features."""
        predictor = self.predictors[i]
        return predictor is not None and predictor.uses_x

    def _read(self, i: int, X) -> np.ndarray:
        """Return the feature matrix that strength ``i`` needs."""
        used = None if self._reads_x(i) else used_features(self.trees[i])
        return feature_matrix(self.features, X, used)

    def _raw_outputs(self, i: int, X) -> np.ndarray:
        """Return the predictor's raw outputs, (n_rows, n_outputs)."""
        matrix = self._read(i, X)
        z = _traversal(self.trees[i], matrix, self.split)
        x = None
        if self._reads_x(i):
            columns = [filled(self.features, matrix, j) for j in range(matrix.shape[1])]
            x = np.stack(columns, axis=1)
        predictor = self.predictors[i]
        assert predictor is not None  # callers check that there is one
        return predictor(z, x)

    # Files: see Stored for to_dict, from_dict, save and load

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        settings, arrays = super().pack()
        arrays["strengths"] = settings.pop("strengths")
        packed = [None if own is None else own.pack() for own in self.predictors]
        settings["predictors"] = [own and own[0] for own in packed]
        return settings, arrays | numbered(own[1] if own else {} for own in packed)

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> "PruningPath":
        """Rebuild the path that ``pack`` took apart."""
        strengths = arrays.pop("strengths")
        parts = by_number(settings["trees"], arrays)
        predictors = [
            None if stored is None else NodePredictor.unpack(stored, own)
            for stored, own in zip(settings["predictors"], parts)
        ]
        own = {"strengths": strengths, "predictors": predictors}
        return super().unpack(settings | own, numbered(parts))


def _traversal(tree: Tree, matrix: np.ndarray, split: str) -> np.ndarray:
    """Return the traversal z, (n_rows, n_nodes): path scores clipped to [0, a]."""
    margin = margins(tree, matrix).T  # one node's rows lie together
    if split == "elu":
        margin = np.where(margin > 0, margin, np.expm1(np.minimum(margin, 0)))
    score = np.ones(margin.shape)
    for node in tree.splits:
        np.minimum(score[node], margin[node], out=score[tree.left[node]])
        np.minimum(score[node], -margin[node], out=score[tree.right[node]])
    bound = 1.0 if tree.activity is None else tree.activity[:, None]
    return np.clip(score, 0.0, bound).T


def _check_predictor(tree: Tree, predictor: NodePredictor | None) -> None:
    """Raise ValueError unless the predictor reads this tree and predicts its target."""
    if predictor is None:
        return
    n_inputs = tree.n_nodes + (len(tree.features) if predictor.uses_x else 0)
    if predictor.n_inputs != n_inputs:
        raise ValueError(
            f"The predictor reads {predictor.n_inputs} numbers a row, but its tree "
            f"gives {n_inputs}."
        )
    for array in (predictor.x_mean, predictor.x_scale) if predictor.uses_x else ():
        if array is None or array.shape != (len(tree.features),):
            raise ValueError(
                "A predictor that reads features needs one x_mean and one x_scale for "
                f"each of the {len(tree.features)}."
            )
    allowed = {1} if tree.classes is None else {len(tree.classes)}
    if tree.task == "binary":
        allowed.add(1)
    if predictor.n_outputs not in allowed:
        raise ValueError(
            f"The predictor has {predictor.n_outputs} outputs, expected {max(allowed)}."
        )


# The tree of a model that people see: counted, drawn, routed and exported alike.


Model = Tree | WeightedTrees | PruningPath
ON_TOP = (
    "A predictor on top of this tree makes the prediction, from how far a row passes "
    "each node; a leaf shows only the training rows that end in it."
)


def shown_tree(
    model: Model, *, estimator: int | None = None, strength: int | None = None
) -> Tree:
    """Return the one tree by which a model is shown, everywhere.

    Branches that none of the rows it was fitted to takes are left out: nothing was
    learned there. A row that would take one goes where the tree goes on. A sum of a
    single column is a split of that column: not −0.95·Mg ≤ −2.51, but Mg ≤ 2.63, with
    the branches exchanged. A note says where a predictor on top of it predicts.

    ``estimator`` is a tree of an ensemble, ``strength`` one of a pruning path, None the
    chosen one. ValueError if an ensemble has no such tree, or none is named.
    """
    if isinstance(model, WeightedTrees):
        if estimator is None:
            raise ValueError("The model is an ensemble; name one of its trees.")
        return model.estimator(estimator)
    if isinstance(model, PruningPath):
        at = model.chosen if strength is None else strength
        tree = model.trees[at]
        if model.predictors[at] is not None:
            tree = replace(tree, notes=(*tree.notes, ON_TOP))
    else:
        tree = model
    has_empty = tree.n_rows[0] > 0 and (tree.n_rows == 0).any()
    return _without_single_sums(prune_empty(tree) if has_empty else tree)


def _without_single_sums(tree: Tree) -> Tree:
    """Return the tree with splits of one column in place of sums of a single one."""
    if tree.weights is None:
        return tree
    reads = tree.weights != 0
    # Where nothing stands for a missing value a sum of it is refused, a split is not.
    known = ~np.isnan([feature.fill for feature in tree.features])
    is_single = (tree.feature == OBLIQUE) & (reads.sum(axis=1) == 1)
    is_single &= reads[:, known].any(axis=1)
    nodes = np.flatnonzero(is_single)
    if not len(nodes):
        return tree
    column = np.argmax(reads[nodes], axis=1)
    weight, bound = tree.weights[nodes, column], tree.threshold[nodes]
    fill = np.array([tree.features[j].fill for j in column])
    missing = weight * fill <= bound
    swapped = weight < 0
    # The last number whose product, rounded as it is, is at most the bound.
    size, last = np.abs(weight), bound / np.abs(weight)
    for _ in range(2):
        last = np.where(size * last > bound, np.nextafter(last, -np.inf), last)
    for _ in range(2):
        after = np.nextafter(last, np.inf)
        last = np.where(size * after <= bound, after, last)
    # What was at least that went left; below it is now left, and it is not.
    bound = np.where(swapped, np.nextafter(-last, -np.inf), last)
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    feature[nodes], threshold[nodes] = column, bound
    missing_left, weights = tree.missing_left.copy(), tree.weights.copy()
    missing_left[nodes], weights[nodes] = missing ^ swapped, 0
    left, right = tree.left.copy(), tree.right.copy()
    left[nodes[swapped]] = tree.right[nodes[swapped]]
    right[nodes[swapped]] = tree.left[nodes[swapped]]
    has_sums = weights.any() or (feature == OBLIQUE).any()  # a sum may be of nothing
    own = weights if has_sums else None
    changed = replace(tree, feature=feature, threshold=threshold, weights=own)
    changed = replace(changed, left=left, right=right, missing_left=missing_left)
    return rebuild(changed)


def takes_empty_branch(model: Model, X, estimator: int | None = None) -> np.ndarray:
    """Return which rows take a branch that ``shown_tree`` leaves out, bool (n_rows,).

    Of an ensemble ``estimator`` is the tree.
    """
    if isinstance(model, WeightedTrees):
        if model.n_rows is None:
            return np.zeros(len(X), dtype=bool)
        at_leaf = model.n_rows[estimator, -model.n_leaves :]
        return at_leaf[model.leaves(X)[:, estimator]] == 0
    tree = model.tree if isinstance(model, PruningPath) else model
    return (tree.n_rows[tree.apply(X)] == 0) & (tree.n_rows[0] > 0)
