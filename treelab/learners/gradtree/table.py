"""The rows as GradTree trains on them, and the trees that were trained on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import r2_score

from treelab.data.encoding import TableEncoder, to_float32
from treelab.data.split import some_rows
from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.learners.common.base import TrainingData
from treelab.learners.common.greedy import as_columns, decoded_tree
from treelab.learners.common.objective import (
    ClassObjective,
    Objective,
    RegressionObjective,
)
from treelab.learners.common.target import TargetScale
from treelab.learners.common.tuned_tree import Search
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.trees.losses import SQUARED_ERROR, Loss
from treelab.trees.pruning import prune_empty
from treelab.trees.tree import Tree, with_midpoint_thresholds

JUDGED_ROWS = 50_000  # at most
ROWS_AT_ONCE = 500_000  # of all trees, whose best constants are found together


@dataclass(frozen=True)
class Table:
    """The rows as GradTree trains on them."""

    data: TrainingData  # ``y`` are class codes, or values in the unit of ``scale``
    search: Search
    objective: Objective
    scale: TargetScale
    x: np.ndarray  # (n, F): encoded rows to train on, categories cross-fitted
    seen: np.ndarray  # (n, F): the same as prediction sees them
    weighting: int = 0  # which of the search's class weights is used

    @classmethod
    def of(
        cls,
        data: TrainingData,
        search: Search,
        settings: GradTreeSettings,
        scale: TargetScale,
    ) -> "Table":
        """Encode the rows."""
        seen = to_float32(data.encoder.transform(data.frame))
        classes = search.greedy.classes
        objective = objective_of(settings, data.y, classes, search.loss)
        return cls(data, search, objective, scale, to_float32(data.X), seen)

    @property
    def is_classes(self) -> bool:
        """Whether classes are predicted."""
        return self.search.greedy.classes is not None

    @property
    def values(self) -> np.ndarray:
        """Indicators of the classes, or standardised values, (n, C)."""
        return values_of(self.objective, self.data.y)

    @property
    def class_weights(self) -> np.ndarray | None:
        """Weight of each class in the leaves, (n_classes,); None for regression."""
        return self.search.predicting[self.weighting] if self.is_classes else None

    @property
    def training_weights(self) -> np.ndarray:
        """Weight of each class (n_classes,) while trees grow and are trained."""
        if self.search.greedy.constraints.class_costs:
            return self.search.greedy.class_weight
        return self.search.predicting[self.weighting]

    @property
    def row_weights(self) -> np.ndarray:
        """Weight (n,) of each row while trees are trained."""
        weights = self.data.row_weight
        if self.is_classes:
            weights = weights * self.training_weights[self.data.y]
        return weights / weights.mean()

    def judged(self) -> "Table":
        """Return the table with the rows by which trees are judged while they train."""
        some = some_rows(len(self.seen), JUDGED_ROWS)
        weight = None if self.data.weight is None else self.data.weight[some]
        data = replace(self.data, y=self.data.y[some], weight=weight)
        return replace(self, data=data, seen=self.seen[some])

    def joined(self) -> "Table":
        """Return the table whose trees are exported with the validation rows, too."""
        rows = self.data.rows.joined(self.data.rows_valid)._asdict()
        return replace(self, data=replace(self.data, **rows))

    def predicted(
        self, leaf: np.ndarray, own: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Class or value (n,) that leaves, fitted to their ``own`` rows, predict."""
        return predicted_by_leaves(
            leaf, self.data.y, self._called, own, self.data.weight, self.search.loss
        )

    def errors(self, leaves: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        """How badly trees (E,), whose leaves are fitted to their rows, predict these.

        ``leaves`` are (E, n), ``own`` says which rows each tree has; None: all. By the
        class weights that were asked for, or the costs of errors, where there are any.
        """
        own = np.ones(leaves.shape, dtype=bool) if own is None else own
        if not self.is_classes:
            few = max(1, ROWS_AT_ONCE // leaves.shape[1])  # trees
            blocks = [slice(e, e + few) for e in range(0, len(leaves), few)]
            return np.concatenate([self._errors(leaves[b], own[b]) for b in blocks])
        weights, is_asked = self.training_weights, len(self.search.predicting) == 1
        by = weights if is_asked and np.ptp(weights) > 0 else None
        errors = []
        for leaf, rows in zip(leaves, own):
            weight = None if self.data.weight is None else self.data.weight[rows]
            predicted = self.predicted(leaf, rows)[rows]
            errors.append(error_of(predicted, self.data.y[rows], by, weight))
        return np.array(errors)

    def _errors(self, leaves: np.ndarray, own: np.ndarray) -> np.ndarray:
        """1 - D² of trees of values (E,), the constants of all found together."""
        tree, row = np.nonzero(own)
        slot = tree * (leaves.max() + 1) + leaves[own]
        group = np.unique(slot, return_inverse=True)[1]
        masks, mask_of = np.unique(own, axis=0, return_inverse=True)
        mask, row_of_mask = np.nonzero(masks)  # trees of the same rows: one constant
        total = self._losses(mask, row_of_mask, mask)[mask_of.ravel()]
        return self._losses(group, row, tree) / np.where(total > 0, total, 1.0)

    def _losses(self, group: np.ndarray, row: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Loss of the rows of each tree, with the best constant of each group."""
        y, weight, loss = self.data.y[row], self.data.row_weight[row], self.search.loss
        value = loss.constants(group, y, weight, group.max() + 1)[group]
        return np.bincount(of, weight * loss.by_row(value, y))

    def restore(self, tree: Tree) -> Tree:
        """Return a tree that learned from the target in the target's own unit."""
        return tree if self.is_classes else self.scale.restore_tree(tree)

    def _called(self, counts: np.ndarray) -> np.ndarray:
        """Class (L,) that leaves of so many rows of each (L, C) predict."""
        return self.search.predicted_class(counts, self.weighting)


@dataclass(frozen=True)
class Batch:
    """Trees that were trained side by side on the same rows."""

    trees: Sequence[Tree]  # over encoded columns, without rows
    encoder: TableEncoder  # what their columns are

    def export(self, X, y) -> list[Tree]:
        """Return the trees in the user's columns and units; leaves are not fitted.

        ``X`` and ``y`` are the rows that they were trained on.
        """
        decoded = [decoded_tree(tree, self.encoder) for tree in self.trees]
        filled = [prune_empty(tree.with_rows(X, y)) for tree in decoded]
        return [with_midpoint_thresholds(tree) for tree in filled]


def objective_of(
    settings: GradTreeSettings,
    y: np.ndarray,
    classes: tuple | None,
    loss: Loss = SQUARED_ERROR,
) -> Objective:
    """Return what trees are trained for: the settings' loss, or one of values ``y``."""
    if classes is None:
        scale = TargetScale.for_loss(y, loss, rounded=False)
        n_outputs = as_columns(y).shape[1]
        return RegressionObjective(scale, loss.scaled(1 / scale.scale), n_outputs)
    return ClassObjective(
        class_weights=np.ones((len(classes), 1)),
        loss_kind=settings.loss,
        focal_gamma=settings.focal_gamma,
        poly_epsilon=settings.poly_epsilon,
    )


def values_of(objective: Objective, y: np.ndarray) -> np.ndarray:
    """Return indicators of class codes, or standardised values, (n, C)."""
    target = objective.encode(y)
    n_classes = objective.n_classes
    return np.eye(n_classes)[target] if n_classes else as_columns(target)


def predicted_by_leaves(
    leaf: np.ndarray,
    y: np.ndarray,
    called: Callable[[np.ndarray], np.ndarray],
    own: np.ndarray | slice = slice(None),
    weight: np.ndarray | None = None,
    loss: Loss = SQUARED_ERROR,
) -> np.ndarray:
    """Return the class or value (n,) that leaves predict for the rows in them.

    Parameters
    ----------
    leaf : int array of shape (n,)
    y : ndarray of shape (n,)
        Class codes (int), or values (float).
    called : callable
        Class (L,) that leaves of so many rows of each class (L, C) predict.
    own : bool array of shape (n,), default=all
        Rows to which the leaves are fitted.
    weight : ndarray of shape (n,) or None, default=None
        Of each row; None: all count alike.
    loss : Loss, default=SQUARED_ERROR
        Of values, whose best constants leaves predict.
    """
    each = None if weight is None else weight[own]
    n_leaves, here, target = leaf.max() + 1, leaf[own], y[own]
    if np.issubdtype(y.dtype, np.floating):
        each = np.ones(len(target)) if each is None else each
        value = loss.constants(here, target, each, n_leaves)[leaf]
        if np.isnan(value).any():
            of_all = loss.constants(0 * here, target, each, 1)[0]
            value = np.where(np.isnan(value), of_all, value)
        return value
    n_classes = y.max() + 1
    cell = here * n_classes + target
    counts = np.bincount(cell, each, minlength=n_leaves * n_classes)
    return called(counts.reshape(n_leaves, n_classes))[leaf]


def error_of(
    predicted: np.ndarray,
    y: np.ndarray,
    class_weight: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> float:
    """Return 1 - macro F1 of class codes, or 1 - R² of values, of rows (n,).

    With ``class_weight`` (n_classes,) it is the fraction of weighted rows that are
    wrong. ``weight`` (n,) is that of each row.
    """
    if class_weight is not None:
        by_row = class_weight[y] if weight is None else class_weight[y] * weight
        return float(np.average(predicted != y, weights=by_row))
    if np.issubdtype(y.dtype, np.floating):
        return 1 - float(r2_score(y, predicted, sample_weight=weight))
    n_classes = int(max(y.max(), predicted.max())) + 1
    return 1 - float(macro_f1(confusion_matrix(y, predicted, n_classes, weight)))
