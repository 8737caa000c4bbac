"""The trees that GET trains: soft oblique trees side by side, judged by hard loss.

Shapes: E starts, N = 2**D - 1 splits, L = 2**D leaves, B rows, F features, C outputs.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from treelab.learners.get_leaves import LinearLeaves, constant_leaves, linear_leaves
from treelab.ops.losses import class_loss
from treelab.ops.oblique import hard_leaf, oblique_margin
from treelab.ops.route import route

SMALLEST_SHARE = 1e-6  # of a class, before the logarithm


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
    """

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_classes: int
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self):
        put = object.__setattr__
        dtype = torch.long if self.n_classes else torch.float32
        x = torch.tensor(self.x, dtype=torch.float32, device=self.device)
        put(self, "x_tensor", x.T.contiguous())  # (F, n)
        put(self, "y_tensor", torch.tensor(self.y, dtype=dtype, device=self.device))
        weight = torch.tensor(self.weight, dtype=torch.float32, device=self.device)
        put(self, "weight_tensor", weight)

    @property
    def target(self) -> np.ndarray:
        """What constant leaves average: values (n, 1), or classes as 0 and 1 (n, C)."""
        if self.n_classes:
            return np.eye(self.n_classes)[self.y]
        return self.y[:, None]

    def loss(self, answers: np.ndarray) -> np.ndarray:
        """Hard loss (E,) of answers (E, n, C): squared error, or cross-entropy."""
        if self.n_classes:
            share = answers[:, np.arange(len(self.y)), self.y]
            losses = -np.log(np.maximum(share, SMALLEST_SHARE))
        else:
            losses = (answers[..., 0] - self.y) ** 2
        return losses @ self.weight / self.weight.sum()


@dataclass(frozen=True)
class HardTrees:
    """Splits of E complete trees and what their leaves answer, in encoded units.

    Attributes
    ----------
    weights : ndarray of shape (E, N, F)
    threshold : ndarray of shape (E, N)
    constants : ndarray of shape (E, L, C)
        What each leaf answers where it answers with constants.
    linear : LinearLeaves or None
        Linear answers, which then go before ``constants``.
    """

    weights: np.ndarray
    threshold: np.ndarray
    constants: np.ndarray
    linear: LinearLeaves | None = None

    @classmethod
    def fit(cls, weights, threshold, rows: Rows, *, linear: bool) -> "HardTrees":
        """Recompute every leaf from the rows that reach it."""
        leaf = hard_leaf(rows.x, weights, threshold)
        n_leaves = threshold.shape[1] + 1
        return cls(
            weights,
            threshold,
            constant_leaves(leaf, rows.target, rows.weight, n_leaves),
            linear_leaves(leaf, rows.x, rows.y, n_leaves) if linear else None,
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
            linear = LinearLeaves(
                linear.bias[at], linear.weights[at], linear.constant[at]
            )
        return HardTrees(
            self.weights[at], self.threshold[at], self.constants[at], linear
        )


class GetNetwork(nn.Module):
    """Soft oblique trees, one candidate a start, for the training loop.

    Parameters
    ----------
    trees : HardTrees
        Where training begins.
    scale_factor : ndarray of shape (E,)
        Slope alpha of each start's soft decisions.
    rows, valid : Rows
        Training rows, and those on which the hard trees are judged.
    l1 : float
        Price of a unit of absolute split weight.
    """

    def __init__(self, trees: HardTrees, scale_factor, rows: Rows, valid: Rows, l1=0.0):
        super().__init__()
        self.rows, self.valid, self.l1 = rows, valid, l1
        self.n_candidates = len(trees.weights)
        self.linear = trees.linear is not None

        def tensor(array):
            return torch.tensor(array, dtype=torch.float32, device=rows.device)

        self.register_buffer("scale_factor", tensor(scale_factor)[:, None, None])
        self.weights = nn.Parameter(tensor(trees.weights))
        self.threshold = nn.Parameter(tensor(trees.threshold))
        leaves = trees.constants
        if self.linear:  # (E, L, 1 + F): bias first
            leaves = np.concatenate(
                [trees.linear.bias[..., None], trees.linear.weights], axis=2
            )
        elif rows.n_classes:
            leaves = np.log(np.maximum(leaves, SMALLEST_SHARE))
        self.leaf_value = nn.Parameter(tensor(leaves))

    def forward(self, x: Tensor) -> Tensor:
        """Soft answers (E, C, B), values or logits, for rows (F, B)."""
        margin = oblique_margin(x, self.weights, self.threshold)  # (E, N, B)
        left = torch.sigmoid(self.scale_factor * margin)
        value = route(left, self.leaf_value)
        if not self.linear:
            return value
        # The formula that reaches a row is the mixture of the leaves' formulas.
        return value[:, :1] + (value[:, 1:] * x).sum(1, keepdim=True)

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Soft loss (E,) on training rows of these indices."""
        answer = self(self.rows.x_tensor[:, rows])
        y, weight = self.rows.y_tensor[rows], self.rows.weight_tensor[rows]
        if self.rows.n_classes:
            losses = class_loss(answer, y)
        else:
            losses = (answer[:, 0] - y).square()
        loss = (losses * weight).sum(1) / weight.sum()
        if self.l1:
            loss = loss + self.l1 * self.weights.abs().sum((1, 2))
        return loss

    def valid_loss(self) -> Tensor:
        """Hard loss (E,) on validation rows, leaves recomputed from training rows."""
        losses = self.valid.loss(self.hard_trees().answers(self.valid.x))
        return torch.tensor(losses, dtype=torch.float32, device=self.rows.device)

    def hard_trees(self) -> HardTrees:
        """The trees of the moment with hard splits and leaves from training rows."""
        weights = self.weights.detach().cpu().numpy().astype(np.float64)
        threshold = self.threshold.detach().cpu().numpy().astype(np.float64)
        return HardTrees.fit(weights, threshold, self.rows, linear=self.linear)
