"""GradTree's network: complete hard trees, trained by straight-through gradients.

Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning Axis-Aligned
Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515, algorithm 1.

Shapes: E trees, N splits, L leaves, F columns, K of them that a tree may test, C
outputs, B rows of a step, n rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.learners.common.greedy import as_columns
from treelab.learners.common.objective import (
    ClassObjective,
    Objective,
    RegressionObjective,
)
from treelab.learners.common.target import TargetScale
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import Starts
from treelab.ops.axis_trees import axis_leaves, axis_trees
from treelab.training.events import Monitor
from treelab.training.loop import (
    TrainingPlan,
    TrainResult,
    cosine_decay,
    steps_per_epoch,
    train,
)
from treelab.training.optimizers import Adam
from treelab.trees.losses import SQUARED_ERROR, Loss

N_CHECKPOINTS = 5  # whose mean is tried where validation rows stop training
EVALUATED_STEPS = 10  # about so many between two measurements of the error
ROWS_AT_ONCE = 500_000  # of all trees, whose best constants are found together


@dataclass(frozen=True)
class Rows:
    """Rows that trees are trained on, and by which each retains its best step."""

    x: np.ndarray  # float32 (n, F)
    judged: np.ndarray  # (m, F): those by which trees are judged
    y: np.ndarray  # (n,): class codes, or values
    weight: np.ndarray  # (n,), or (E, n) where each tree has its own
    # Error (E,) of hard trees whose rows reach these leaves (E, m), their leaves fitted
    # again.
    errors: Callable[[np.ndarray], np.ndarray]
    # Columns, target and weights of the rows whose loss stops the training instead;
    # leaves are then as they are trained.
    valid: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


class HardTrees(nn.Module):
    """E complete trees: the forward pass is hard, the gradient that of soft choices."""

    def __init__(
        self,
        starts: Starts,
        rows: Rows,
        objective: Objective,
        settings: GradTreeSettings,
        device: torch.device | str = "cpu",
    ):
        super().__init__()

        def parameter(array: np.ndarray) -> nn.Parameter:
            return nn.Parameter(torch.tensor(array, dtype=torch.float32, device=device))

        def tensor(array: np.ndarray) -> Tensor:
            return torch.tensor(array, device=device)

        self.logits = parameter(starts.logits)  # I (E, N, K)
        self.threshold = parameter(starts.threshold)  # T (E, N, K)
        self.leaf_value = parameter(starts.leaf_value)  # L (E, L, C)
        self.columns = tensor(starts.columns)  # (E, K)
        self.n_candidates, self.objective = len(starts), objective
        self.soft, self.transform = settings.decision, settings.selector
        self.x, self.judged = tensor(rows.x), tensor(rows.judged)
        self.target = tensor(objective.encode(rows.y))
        self.weight = tensor(np.atleast_2d(rows.weight).astype(np.float32))
        self.errors, self.valid = rows.errors, None
        if rows.valid is not None:
            x, y, weight = rows.valid
            weight = (weight / weight.mean()).astype(np.float32)
            self.valid = tensor(x), tensor(objective.encode(y)), tensor(weight)

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs (E, C, B) on encoded rows (B, F); equations 1, 3, 6 and 7."""
        return axis_trees(
            x,
            self.logits,
            self.threshold,
            self.objective.leaf_outputs(self.leaf_value),
            columns=self.columns,
            transform=self.transform,
            soft=self.soft,
        )

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (E,) on these rows."""
        loss = self.objective.loss(self(self.x[rows]), self.target[rows])  # (E, B)
        return (loss * self.weight[:, rows]).mean(1)

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean loss (E,) on rows that stop training, else the hard trees' error."""
        if self.valid is None:
            return torch.tensor(self.errors(self.leaves()), device=self.x.device)
        x, target, weight = self.valid
        return (self.objective.loss(self(x), target) * weight).mean(1)

    def leaves(self) -> np.ndarray:
        """Leaf (E, m), from the left, that each row that judges reaches."""
        own = (self.logits, self.threshold)
        return axis_leaves(self.judged, *own, columns=self.columns).cpu().numpy()

    def arrays(self) -> Starts:
        """Return the trees as they are now."""
        own = (self.columns, self.logits, self.threshold, self.leaf_value)
        return Starts(*(tensor.detach().cpu().numpy().copy() for tensor in own))


def epochs_of(settings: GradTreeSettings, n_rows: int) -> int:
    """Passes over the rows at the latest."""
    if settings.early_stopping:
        return settings.max_epochs
    steps = steps_per_epoch(n_rows, min(settings.batch_size, n_rows))
    return max(1, round(settings.steps(n_rows) / steps))


def train_trees(
    trees: HardTrees,
    settings: GradTreeSettings,
    monitor: Monitor,
    generator: torch.Generator,
) -> TrainResult:
    """Descend the loss of all trees side by side, each by its own gradient.

    Straight-through gradients do not always lower an error, so each tree retains the
    step at which its own was lowest, the start among them: without early stopping that
    of its training rows, while the rates fall along a cosine. With it the rates stay,
    training ends where no tree's validation loss falls, and the mean of five
    checkpoints is taken where its loss is lower (appendices A and C).
    """
    n_rows, stops = len(trees.x), trees.valid is not None
    batch_size = min(settings.batch_size, n_rows)
    steps, n_epochs = steps_per_epoch(n_rows, batch_size), epochs_of(settings, n_rows)
    optimizer = Adam(
        [
            {"params": [trees.logits], "lr": settings.learning_rate_index},
            {"params": [trees.threshold], "lr": settings.learning_rate_values},
            {"params": [trees.leaf_value], "lr": settings.learning_rate_leaf},
        ],
        fused=True,
    )
    plan = TrainingPlan(
        n_rows=n_rows,
        batch_size=batch_size,
        max_epochs=n_epochs,
        patience=settings.patience if stops else n_epochs,
        evaluate_every=max(1, round(EVALUATED_STEPS / steps)),
        n_averaged=N_CHECKPOINTS if stops else 1,
        has_open_end=stops,
        measures_start=True,
        on_training_rows=not stops,
    )
    result = train(
        trees,
        optimizer,
        plan,
        generator=generator,
        monitor=monitor,
        scheduler=None if stops else cosine_decay(optimizer, steps * n_epochs),
    )
    result.warn_if_diverged()
    return result


# What trees are trained for, and how they are judged once they are hard.


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
        class_weights=np.ones(len(classes)),
        loss_kind=settings.loss,
        focal_gamma=settings.focal_gamma,
        poly_epsilon=settings.poly_epsilon,
    )


def values_of(objective: Objective, y: np.ndarray) -> np.ndarray:
    """Return indicators of class codes, or standardised values, (n, C)."""
    target = objective.encode(y)
    n_classes = objective.n_classes
    return np.eye(n_classes)[target] if n_classes else as_columns(target)


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
