"""Hard oblique trees as plain arrays, and the rows that shape and judge them.

Shapes: E trees, N = 2**D - 1 splits breadth first, L = 2**D leaves, n rows,
F features, C outputs.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import torch

from treelab.learners.get.leaves import (
    SHRINKAGE,
    LinearLeaves,
    level_formulas,
    level_means,
)
from treelab.ops.oblique import hard_leaf

SMALLEST_SHARE = 1e-6  # of a class, before the logarithm
SPREAD = 0.29  # deviation of a column that is spread evenly over [0, 1]


@dataclass(frozen=True)
class Rows:
    """Rows as GET sees them, as arrays and as tensors on the device.

    Attributes
    ----------
    x : ndarray of shape (n, F)
        Encoded.
    y : ndarray of shape (n,)
        Standardised values, or class codes (int64).
    weight : ndarray of shape (n,)
        What each row counts.
    n_classes : int
        0 for regression.
    n_imagined : int
        How many of the rows, the last ones, are not of the table.
    class_loss : {"cross_entropy", "brier"}
        By which answers are judged where there are classes.
    x_tensor : Tensor of shape (F, n), float32
    y_tensor, weight_tensor : Tensor of shape (n,)
    """

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_classes: int
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    n_imagined: int = 0
    class_loss: str = "cross_entropy"

    def __post_init__(self):
        put = object.__setattr__
        dtype = torch.long if self.n_classes else torch.float32
        x = torch.tensor(self.x, dtype=torch.float32, device=self.device)
        put(self, "x_tensor", x.T.contiguous())
        put(self, "y_tensor", torch.tensor(self.y, dtype=dtype, device=self.device))
        weight = torch.tensor(self.weight, dtype=torch.float32, device=self.device)
        put(self, "weight_tensor", weight)

    @property
    def target(self) -> np.ndarray:
        """What constant leaves average: values (n, 1), or classes as 0 and 1 (n, C)."""
        if self.n_classes:
            return np.eye(self.n_classes)[self.y]
        return self.y[:, None]

    def seen_as(self, x: np.ndarray) -> "Rows":
        """The same rows, those of the table encoded as ``x``."""
        return replace(self, x=np.concatenate([x, self.x[len(x) :]]))

    def row_loss(self, answers: np.ndarray) -> np.ndarray:
        """Weighted loss (..., n) of answers (..., n, C): squared, or in nats."""
        if self.n_classes and self.class_loss == "brier":
            return ((answers - self.target) ** 2).sum(axis=-1) * self.weight
        if self.n_classes:
            share = answers[..., np.arange(len(self.y)), self.y]
            return -np.log(np.maximum(share, SMALLEST_SHARE)) * self.weight
        return (answers[..., 0] - self.y) ** 2 * self.weight

    def loss(self, answers: np.ndarray) -> np.ndarray:
        """Mean loss (E,) of answers (E, n, C)."""
        return self.row_loss(answers).sum(axis=-1) / self.weight.sum()


def join(first: Rows, second: Rows) -> Rows:
    """All rows of both."""
    return Rows(
        np.concatenate([first.x, second.x]),
        np.concatenate([first.y, second.y]),
        np.concatenate([first.weight, second.weight]),
        first.n_classes,
        first.device,
        class_loss=first.class_loss,
    )


@dataclass(frozen=True)
class HardTrees:
    """Splits of E complete trees and what their leaves answer, in encoded units.

    A split that sends all rows left has no weights and an infinite threshold.

    Attributes
    ----------
    weights : ndarray of shape (E, N, F)
    threshold : ndarray of shape (E, N)
    constants : ndarray of shape (E, L, C)
        What each leaf answers where it answers with constants.
    linear : LinearLeaves or None
        Linear answers, which then go before ``constants``.
    shrinkage : float
        Rows that draw each node's answer towards its parent's.
    """

    weights: np.ndarray
    threshold: np.ndarray
    constants: np.ndarray
    linear: LinearLeaves | None = None
    shrinkage: float = SHRINKAGE

    @classmethod
    def fit(
        cls, weights, threshold, rows: Rows, *, linear: bool, shrinkage=SHRINKAGE
    ) -> "HardTrees":
        """Recompute every leaf from the rows that reach it."""
        leaf = hard_leaf(rows.x, weights, threshold)
        n_leaves = threshold.shape[1] + 1
        means = level_means(leaf, rows.target, rows.weight, n_leaves, shrinkage)
        formulas = None
        if linear:
            found = [
                level_formulas(
                    of_tree, rows.x, rows.y, n_leaves, shrinkage, rows.n_imagined
                )[-1]
                for of_tree in leaf
            ]
            formulas = LinearLeaves(
                np.concatenate([one.bias for one in found]),
                np.concatenate([one.weights for one in found]),
            )
        return cls(weights, threshold, means[-1], formulas, shrinkage)

    def refit(self, rows: Rows) -> "HardTrees":
        """The same splits, leaves recomputed from other rows."""
        return HardTrees.fit(
            self.weights,
            self.threshold,
            rows,
            linear=self.linear is not None,
            shrinkage=self.shrinkage,
        )

    def answers(self, x: np.ndarray) -> np.ndarray:
        """Values or class shares (E, n, C) for encoded rows (n, F)."""
        leaf = hard_leaf(x, self.weights, self.threshold)
        if self.linear is not None:
            return self.linear.predict(x, leaf)[..., None]
        return np.take_along_axis(self.constants, leaf[..., None], axis=1)

    def take(self, starts) -> "HardTrees":
        """The trees of these indices, or the one of this index as a batch of one."""
        at = np.atleast_1d(starts)
        linear = self.linear
        if linear is not None:
            linear = LinearLeaves(linear.bias[at], linear.weights[at])
        return replace(
            self,
            weights=self.weights[at],
            threshold=self.threshold[at],
            constants=self.constants[at],
            linear=linear,
        )


def evenly_spread(
    weights: np.ndarray, threshold: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scale each split so that its sums vary alike among the rows that reach it.

    No row changes sides; a scale factor then means the same at every split, deep in
    the tree or at its root. Splits that nearly no row reaches stay as they are.

    Parameters
    ----------
    weights : ndarray of shape (E, N, F)
    threshold : ndarray of shape (E, N)
    x : ndarray of shape (n, F)
        Encoded rows.

    Returns
    -------
    weights, threshold : ndarrays of the same shapes
        Weighted sums with a standard deviation of ``SPREAD``.
    """
    weights, threshold = weights.copy(), threshold.copy()
    n_splits = threshold.shape[1]
    for e, leaf in enumerate(hard_leaf(x, weights, threshold)):
        factor = np.ones(n_splits)
        node = leaf + n_splits
        while node[0] > 0:
            node = (node - 1) // 2
            total = np.einsum("nf,nf->n", weights[e][node], x)
            count = np.bincount(node, minlength=n_splits)
            mean = np.bincount(node, total, n_splits) / np.maximum(count, 1)
            square = np.bincount(node, (total - mean[node]) ** 2, n_splits)
            spread = np.sqrt(square / np.maximum(count, 1))
            known = (count > 4) & (spread > 1e-9)
            factor = np.where(known, SPREAD / np.where(known, spread, 1.0), factor)
        weights[e] *= factor[:, None]
        threshold[e] *= factor
    return weights, threshold
