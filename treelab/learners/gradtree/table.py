"""The rows as GradTree trains on them, and how its trees are judged by them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treelab.data.encoding import TableEncoder
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
from treelab.learners.gradtree.starts import Starts
from treelab.trees.losses import SQUARED_ERROR, Loss
from treelab.trees.pruning import prune_empty
from treelab.trees.tree import Tree, with_midpoint_thresholds

JUDGED_ROWS = 50_000  # at most
ROWS_AT_ONCE = 500_000  # of all trees, whose best constants are found together


@dataclass(frozen=True)
class Judge:
    """Rows by which hard trees are judged, their leaves fitted to these rows."""

    y: np.ndarray  # (n,): class codes, or values; of several outputs (n, C)
    weight: np.ndarray  # (n,)
    n_classes: int  # 0: values
    # Class (L,) that leaves of so many rows of each class (L, n_classes) predict.
    called: Callable[[np.ndarray], np.ndarray]
    loss: Loss = SQUARED_ERROR  # of values, whose best constants leaves predict
    # (n_classes,): rows of each class that are wrong count so; None: macro F1 counts.
    class_weight: np.ndarray | None = None

    def predicted(
        self, leaf: np.ndarray, own: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Class or value (n,) that leaves, fitted to their ``own`` rows, predict."""
        n_leaves, here, y, weight = leaf.max() + 1, leaf[own], self.y[own], self.weight
        if not self.n_classes:
            return self.loss.constants(here, y, weight[own], n_leaves)[leaf]
        cell = here * self.n_classes + y
        counts = np.bincount(cell, weight[own], n_leaves * self.n_classes)
        return self.called(counts.reshape(n_leaves, self.n_classes))[leaf]

    def errors(self, leaves: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        """How badly trees (E,) predict rows that reach these leaves (E, n).

        1 - macro F1, or the fraction of weighted rows that are wrong, or 1 - D². Only
        rows that are a tree's ``own``, bool (E, n), count and shape its leaves.
        """
        own = np.ones(leaves.shape, dtype=bool) if own is None else own
        if not self.n_classes:
            few = max(1, ROWS_AT_ONCE // leaves.shape[1])  # trees
            blocks = [slice(e, e + few) for e in range(0, len(leaves), few)]
            return np.concatenate(
                [self._unexplained(leaves[b], own[b]) for b in blocks]
            )
        return np.array([self._missed(leaf, rows) for leaf, rows in zip(leaves, own)])

    def _missed(self, leaf: np.ndarray, own: np.ndarray) -> float:
        """Error of one tree of classes."""
        predicted, y = self.predicted(leaf, own)[own], self.y[own]
        weight = self.weight[own]
        if self.class_weight is not None:
            by_row = self.class_weight[y] * weight
            return float(np.average(predicted != y, weights=by_row))
        confusion = confusion_matrix(y, predicted, self.n_classes, weight)
        return 1 - float(macro_f1(confusion))

    def _unexplained(self, leaves: np.ndarray, own: np.ndarray) -> np.ndarray:
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
        y, weight = self.y[row], (self.weight / self.weight.mean())[row]
        value = self.loss.constants(group, y, weight, group.max() + 1)[group]
        return np.bincount(of, weight * self.loss.by_row(value, y))


@dataclass(frozen=True)
class Table:
    """The rows as GradTree trains on them."""

    data: TrainingData  # ``y`` are class codes, or values in the unit of ``scale``
    settings: GradTreeSettings
    search: Search
    objective: Objective
    scale: TargetScale
    x: np.ndarray  # (n, F): encoded rows to train on, categories cross-fitted
    seen: np.ndarray  # (n, F): the same as prediction sees them
    weighting: int = 0  # which of the search's class weights is used

    @property
    def values(self) -> np.ndarray:
        """Indicators of the classes, or standardised values, (n, C)."""
        return values_of(self.objective, self.data.y)

    @property
    def class_weights(self) -> np.ndarray | None:
        """Weight of each class in the leaves, (n_classes,); None for regression."""
        is_classes = self.objective.n_classes > 0
        return self.search.predicting[self.weighting] if is_classes else None

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
        if self.objective.n_classes:
            weights = weights * self.training_weights[self.data.y]
        return weights / weights.mean()

    @property
    def judged(self) -> np.ndarray:
        """Numbers of the rows by which trees are judged while they train."""
        return some_rows(len(self.seen), JUDGED_ROWS)

    def judge(self, rows: np.ndarray | slice = slice(None)) -> Judge:
        """Judge trees by some rows, in whose errors weights count that were asked for.

        These are weights of classes, or costs of errors, where there are any.
        """
        y, weight = self.data.y[rows], self.data.weight
        weights, is_asked = self.training_weights, len(self.search.predicting) == 1
        return Judge(
            y,
            np.ones(len(y)) if weight is None else weight[rows],
            self.objective.n_classes,
            lambda counts: self.search.predicted_class(counts, self.weighting),
            self.search.loss,
            weights if is_asked and np.ptp(weights) > 0 else None,
        )

    def trees(self, starts: Starts) -> list[Tree]:
        """Return complete trees as those over encoded columns."""
        greedy = self.search.greedy
        features = self.data.encoder.features_
        return starts.trees(features, greedy.classes, greedy.outputs)

    def joined(self) -> "Table":
        """Return the table whose trees are exported with the validation rows, too."""
        rows = self.data.rows.joined(self.data.rows_valid)._asdict()
        return replace(self, data=replace(self.data, **rows))

    def restore(self, tree: Tree) -> Tree:
        """Return a tree that learned from the target in the target's own unit."""
        return tree if self.objective.n_classes else self.scale.restore_tree(tree)


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
