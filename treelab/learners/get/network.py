"""The trees that GET trains: soft oblique trees side by side, judged by hard loss.

Shapes: E starts, N = 2**D - 1 splits, L = 2**D leaves, B rows, F features, C outputs.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from treelab.learners.get.rows import MIN_PROBABILITY, Rows
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import HardTrees
from treelab.ops.losses import class_loss
from treelab.ops.oblique import oblique_margin, soft_route

ALWAYS_LEFT = 1e3  # margin of a split that sends every row left


class GetNetwork(nn.Module):
    """Soft oblique trees, one candidate a start, for the training loop.

    Source: Mao and Cao, arXiv:2411.17003, equations 2 to 4. Splits a_t and b_t are
    ``weights`` and ``threshold``, leaves k_t and h_t are ``leaf_value``; alpha is
    ``scale_factor``. We route whole leaf values up the tree, and the paper sums losses
    over leaves: for a soft row our loss is that of the mixed prediction.

    Parameters
    ----------
    trees : HardTrees
        Initial trees.
    scale_factor : ndarray of shape (E,)
        Slope alpha of each start's soft decisions.
    rows, valid : Rows
        Training rows, and those on which the hard trees are judged.
    l1 : float
        Penalty on the absolute weights of the splits: lambda of equation 5.
    """

    def __init__(self, trees: HardTrees, scale_factor, rows: Rows, valid: Rows, l1=0.0):
        super().__init__()
        self.rows, self.valid, self.l1 = rows, valid, l1
        self.n_candidates = len(trees.weights)
        self.linear = trees.linear is not None

        def tensor(array):
            return torch.tensor(array, dtype=torch.float32, device=rows.device)

        self.scale_factor: Tensor
        self.register_buffer("scale_factor", tensor(scale_factor)[:, None, None])
        self.weights = nn.Parameter(tensor(trees.weights))
        self.threshold = nn.Parameter(tensor(np.minimum(trees.threshold, ALWAYS_LEFT)))
        value = leaf_values(trees, rows.n_classes, MIN_PROBABILITY)
        self.leaf_value = nn.Parameter(tensor(value))

    def forward(self, x: Tensor) -> Tensor:
        """Soft predictions (E, C, B), values or logits, for rows (F, B)."""
        value = soft_trees(
            x, self.weights, self.threshold, self.scale_factor, self.leaf_value
        )
        return mixed_models(value, x) if self.linear else value

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Soft loss (E,) on training rows of these indices: equations 3 and 5."""
        predicted = self(self.rows.x_tensor[:, rows])
        y, weight = self.rows.y_tensor[rows], self.rows.weight_tensor[rows]
        if self.rows.n_classes:
            losses = class_loss(predicted, y, kind=self.rows.class_loss)
        else:
            losses = (predicted[:, 0] - y).square()
        loss = (losses * weight).sum(1) / weight.sum()
        if self.l1:
            loss = loss + self.l1 * self.weights.abs().sum((1, 2))
        return loss

    def valid_loss(self) -> Tensor:
        """Hard loss (E,) on validation rows, leaves recomputed from training rows.

        Lines 12 to 14 of algorithm 1, whose loss is that of the training rows.
        """
        losses = self.valid.loss(self.hard_trees().predict(self.valid.x))
        return torch.tensor(losses, dtype=torch.float32, device=self.rows.device)

    def hard_trees(self) -> HardTrees:
        """Trees as they are now, hard splits and leaves from training rows."""
        weights = self.weights.detach().cpu().numpy().astype(np.float64)
        threshold = self.threshold.detach().cpu().numpy().astype(np.float64)
        return HardTrees.fit(weights, threshold, self.rows, linear=self.linear)


def soft_trees(
    x: Tensor, weights: Tensor, threshold: Tensor, scale_factor: Tensor, value: Tensor
) -> Tensor:
    """Leaf values mixed by the soft decisions of each tree: equations 2 and 4.

    Parameters
    ----------
    x : Tensor of shape (F, B) or (E, F, B)
        Encoded rows, shared by all trees or each tree's own.
    weights : Tensor of shape (E, N, F)
    threshold : Tensor of shape (E, N)
    scale_factor : Tensor of shape (E, 1, 1)
    value : Tensor of shape (E, L, C)
        Values, logits, or coefficients of linear models (bias first).

    Returns
    -------
    Tensor of shape (E, C, B)
    """
    margin = oblique_margin(x, weights, threshold)  # (E, N, B)
    return soft_route(margin, scale_factor, value)


def mixed_models(coefficients: Tensor, x: Tensor) -> Tensor:
    """Predictions (E, 1, B) of linear models (E, 1 + F, B), one a row, bias first.

    The model of a row is the mixture of the leaves' models, h_t + k_t' x.
    """
    return coefficients[:, :1] + (coefficients[:, 1:] * x).sum(1, keepdim=True)


def leaf_values(trees: HardTrees, n_classes: int, min_probability: float) -> np.ndarray:
    """What training changes of the leaves (E, L, C): values, logits or coefficients.

    Coefficients of linear models are (E, L, 1 + F), the bias first.
    """
    if trees.linear is not None:
        bias, weights = trees.linear.bias, trees.linear.weights
        return np.concatenate([bias[..., None], weights], axis=2)
    if n_classes:
        return np.log(np.maximum(trees.constants, min_probability))
    return trees.constants


def two_rate_optimizer(
    splits: Sequence[Tensor], leaves: Tensor, settings: GetSettings, weight_decay: float
) -> torch.optim.Optimizer:
    """AdamW with a learning rate for the splits and one for the leaves."""
    groups = [
        {"params": list(splits), "lr": settings.learning_rate},
        {"params": [leaves], "lr": settings.learning_rate_leaves},
    ]
    return torch.optim.AdamW(groups, weight_decay=weight_decay)


def warm_up_cosine(
    optimizer: torch.optim.Optimizer, n_steps: int, warm_up: float = 0.1
) -> LambdaLR:
    """Learning rate that rises, then falls along a cosine to almost nothing.

    The paper has several such periods, from 0.01 (appendix D).
    """

    def factor(step: int) -> float:
        risen = min(1.0, (step + 1) / max(1.0, warm_up * n_steps))
        fallen = 0.5 * (1 + math.cos(math.pi * min(1.0, step / n_steps)))
        return risen * (fallen + 1e-3)

    return LambdaLR(optimizer, factor)
