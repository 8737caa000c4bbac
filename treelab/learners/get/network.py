"""The trees that GET trains: soft oblique trees side by side, judged by hard loss.

Shapes: E trees, N = 2**D - 1 splits, L = 2**D leaves, B rows, F features, C outputs.
"""

import numpy as np
import torch
from torch import Tensor, nn

from treelab.learners.common.objective import RegressionObjective
from treelab.learners.common.target import TargetScale
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import SMALLEST_RESIDUAL, HardTrees, Rows
from treelab.ops.oblique import hard_leaf, oblique_margin, soft_route
from treelab.ops.route import route
from treelab.training.optimizers import AdamW

MARGIN_STD = 0.29  # standard deviation of a feature that is uniform over [0, 1]
ALWAYS_LEFT = 1e3  # margin of a split that sends every row left


class GetNetwork(nn.Module):
    """Soft oblique trees, one candidate each, for the training loop.

    Source: Mao and Cao, arXiv:2411.17003, equations 2 to 5. Splits a_t and b_t are
    ``weights`` and ``threshold``, leaves k_t and h_t are ``leaf_value``; alpha, the
    slope of each tree's soft decisions, is ``scale_factor`` (E,). The trees are trained
    on ``rows`` and, hard, judged on ``judges``.
    """

    def __init__(
        self,
        trees: HardTrees,
        scale_factor: np.ndarray,
        rows: Rows,
        judges: Rows,
        settings: GetSettings,
    ):
        super().__init__()
        self.rows, self.judges, self.settings = rows, judges, settings
        self.n_candidates = len(trees.weights)
        own = rows.loss_of_rows, rows.target.shape[1]
        self.objective = RegressionObjective(TargetScale(), *own)
        values = trees.models
        if values is None:
            values = self.objective.leaf_parameters(trees.constants)

        def tensor(array):
            return torch.tensor(array, dtype=torch.float32, device=rows.device)

        self.x = tensor(np.ascontiguousarray(rows.x.T))  # (F, n)
        self.y = tensor(rows.target.T)  # (C, n)
        offset = rows.loss_of_rows.offset(rows.target).sum(1)
        self.offset = tensor(offset / rows.n_targets)
        self.row_weight = tensor(rows.weight)
        self.scale_factor = tensor(scale_factor)[:, None, None]
        self.weights = nn.Parameter(tensor(trees.weights))  # a_t, (E, N, F)
        self.threshold = nn.Parameter(tensor(np.minimum(trees.threshold, ALWAYS_LEFT)))
        self.leaf_value = nn.Parameter(tensor(values))  # h_t; (h_t, k_t) if linear

    def hold(self, free: np.ndarray) -> None:
        """Hold weights fixed but the ``free`` ones (N, F), and thresholds without any.

        Their gradient is zero, so the optimizer never moves them.
        """
        mask = torch.tensor(free, dtype=torch.float32, device=self.x.device)
        moves = mask.amax(1)
        self.weights.register_hook(lambda gradient: gradient * mask)
        self.threshold.register_hook(lambda gradient: gradient * moves)

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Soft loss (E,) on training rows of these indices (B,): equations 3 and 5."""
        x, y, weight = self.x[:, rows], self.y[:, rows], self.row_weight[rows]
        margin = oblique_margin(x, self.weights, self.threshold)  # (E, N, B)
        losses = self._leaf_losses(margin, x, y) + self.offset[rows]
        loss = (losses * weight).sum(1) / weight.sum()
        if self.settings.l1:
            loss = loss + self.settings.l1 * self.weights.abs().sum((1, 2))
        return loss

    def _leaf_losses(self, margin: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """Loss (E, B) of every leaf's own prediction, mixed: equation 3.

        ``soft_route`` mixes values of leaves (E, L, C) by equation 2, (E, C, B). Of
        linear leaves ``sum P loss(h + k' x, y)``; of constant ones, numbers or
        fractions of classes, ``|y|^2 - 2 y' sum P h + sum P |h|^2``. Other losses of
        means are ``a(h) + b(h) y``, which mix alike. Of several targets it is the mean.
        """
        value, loss, n = self.leaf_value, self.rows.loss_of_rows, self.rows.n_targets
        if not self.rows.linear and loss.is_squared:
            both = torch.cat([value, value.square().sum(2, keepdim=True)], 2)
            mixed = soft_route(margin, self.scale_factor, both)
            losses = y.square().sum(0) - 2 * (mixed[:, :-1] * y).sum(1) + mixed[:, -1]
            return losses / n
        if not self.rows.linear and loss.has_means:
            mean = self.objective.leaf_outputs(value)
            at_zero, at_one = (loss.excess(mean, at, torch.log) for at in (0.0, 1.0))
            both = torch.cat([at_zero, at_one - at_zero], 2)
            mixed = soft_route(margin, self.scale_factor, both)
            return (mixed[:, :n] + mixed[:, n:] * y).mean(1)
        if self.rows.linear:
            predicted = torch.einsum("elf,fb->elb", value[..., 1:], x) + value[..., :1]
            if loss.is_positive:
                predicted = predicted.clamp(min=SMALLEST_RESIDUAL)
            each = [loss.excess(predicted, y[0], torch.log)]
        else:
            outputs = self.objective.leaf_outputs(value).split(1, dim=2)  # (E, L, 1)
            each = [
                loss.of_output(j).excess(output, y[j], torch.log)
                for j, output in enumerate(outputs)
            ]
        losses = torch.stack(each).mean(0)  # (E, L, B)
        left = torch.sigmoid(self.scale_factor * margin)
        return route(left, losses[:, :, None])[:, 0]

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Hard loss (E,), leaves recomputed: lines 12 to 14 of algorithm 1."""
        losses = self.judges.loss(self.hard_trees().predict(self.judges.x))
        return torch.tensor(losses, dtype=torch.float32, device=self.rows.device)

    def hard_trees(self) -> HardTrees:
        """Trees as they are now, hard splits and leaves from training rows."""
        weights = self.weights.detach().cpu().numpy().astype(np.float64)
        threshold = self.threshold.detach().cpu().numpy().astype(np.float64)
        threshold = np.where(weights.any(2), threshold, np.inf)
        return HardTrees.fit(weights, threshold, self.rows)

    def optimizer(self) -> torch.optim.Optimizer:
        """AdamW with a learning rate for the splits and one for the leaves."""
        splits, leaves = [self.weights, self.threshold], [self.leaf_value]
        groups = [
            {"params": splits, "lr": self.settings.learning_rate},
            {"params": leaves, "lr": self.settings.learning_rate_leaves},
        ]
        return AdamW(groups, weight_decay=0.0)


def standardise_margins(trees: HardTrees, rows: Rows) -> HardTrees:
    """Scale each split so that its margins vary alike among the rows that reach it.

    No row changes sides; a scale factor then means the same at every split, deep in
    the tree or at its root. Splits that nearly no row reaches stay as they are. The
    paper leaves the scale of the weights free.
    """
    weights, threshold = trees.weights.copy(), trees.threshold.copy()
    n_splits = threshold.shape[1]
    for e, leaf in enumerate(hard_leaf(rows.x, weights, threshold)):
        factor = np.ones(n_splits)
        node = leaf + n_splits
        while node[0] > 0:
            node = (node - 1) // 2
            total = np.einsum("nf,nf->n", weights[e][node], rows.x)
            count = np.bincount(node, minlength=n_splits)
            mean = np.bincount(node, total, n_splits) / np.maximum(count, 1)
            square = np.bincount(node, (total - mean[node]) ** 2, n_splits)
            std = np.sqrt(square / np.maximum(count, 1))
            known = (count > 4) & (std > 1e-9)
            factor = np.where(known, MARGIN_STD / np.where(known, std, 1.0), factor)
        weights[e] *= factor[:, None]
        threshold[e] *= factor
    return HardTrees.fit(weights, threshold, rows)
