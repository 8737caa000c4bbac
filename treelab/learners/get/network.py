"""The trees that GET trains: soft oblique trees side by side, judged by hard loss.

Shapes: E starts, N = 2**D - 1 splits, L = 2**D leaves, B rows, F features, C outputs.
"""

import numpy as np
import torch
from torch import Tensor, nn

from treelab.learners.get.trees import SMALLEST_SHARE, HardTrees, Rows
from treelab.ops.losses import class_loss
from treelab.ops.oblique import oblique_margin, soft_route

ASKS_NOTHING = 1e3  # margin of a split that sends every row left


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
        self.threshold = nn.Parameter(tensor(np.minimum(trees.threshold, ASKS_NOTHING)))
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
        value = soft_route(margin, self.scale_factor, self.leaf_value)
        if not self.linear:
            return value
        # The formula that reaches a row is the mixture of the leaves' formulas.
        return value[:, :1] + (value[:, 1:] * x).sum(1, keepdim=True)

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Soft loss (E,) on training rows of these indices."""
        answer = self(self.rows.x_tensor[:, rows])
        y, weight = self.rows.y_tensor[rows], self.rows.weight_tensor[rows]
        if self.rows.n_classes:
            losses = class_loss(answer, y, kind=self.rows.class_loss)
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
