"""Subtree polish: train every subtree of a level anew, and keep those that gain.

Shapes: K subtrees side by side, N splits and L leaves of one subtree, B rows a step,
F features, C outputs.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from treelab.learners.get.network import ASKS_NOTHING
from treelab.learners.get.trees import HardTrees, Rows, evenly_spread
from treelab.ops.losses import class_loss
from treelab.ops.oblique import hard_leaf, oblique_margin, soft_route

SCALE_FACTORS = (50.0, 150.0)  # a polished split is nearly hard from the beginning
ROWS_A_STEP = 2048  # at most, shared by the subtrees of a level
MIN_ROWS = 20  # a subtree with fewer rows stays as it is
LOOKS = 5  # times that the hard loss is looked at while a level is polished


def subtree_splits(depth: int, level: int) -> np.ndarray:
    """Splits (2**level, 2**(depth - level) - 1) of each subtree, breadth first."""
    width = 2**level
    roots = np.arange(width)[:, None]
    return np.hstack(
        [
            2**below * width - 1 + 2**below * roots + np.arange(2**below)
            for below in range(depth - level)
        ]
    )


def polish_level(
    trees: HardTrees,
    rows: Rows,
    level: int,
    n_steps: int,
    learning_rates: tuple[float, float],
    rng: np.random.Generator,
    *,
    stop: Callable[[float], bool] = lambda share: False,
) -> HardTrees:
    """Train all subtrees whose roots stand on one level, each on its own rows.

    A subtree is exchanged only where the hard tree's loss on the training rows falls,
    its leaves being recomputed; the rest of the tree stays. So the loss never rises.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows : Rows
        Training rows.
    level : int
        Of the subtrees' roots, below the tree's depth.
    n_steps : int
        Gradient steps.
    learning_rates : (float, float)
        Highest step sizes of splits and leaves.
    rng : numpy Generator
    stop : callable
        Hears before every step which share of them is done; True ends the polish.

    Returns
    -------
    HardTrees
        A batch of one tree, its loss on `rows` no higher.
    """
    depth = trees.threshold.shape[1].bit_length()
    members = _members(trees, rows, depth, level)
    members = [(root, at) for root, at in enumerate(members) if len(at) >= MIN_ROWS]
    if not members:
        return trees
    roots = np.array([root for root, _ in members])
    splits = subtree_splits(depth, level)[roots]  # (K, N)
    loss = _subtree_losses(trees, rows, level, depth)
    spread = evenly_spread(trees.weights, trees.threshold, rows.x)
    subtrees = _Subtrees(trees, spread, roots, splits, rows, members)
    groups = [
        {"params": [subtrees.weights, subtrees.threshold], "lr": learning_rates[0]},
        {"params": [subtrees.leaf_value], "lr": learning_rates[1]},
    ]
    subtrees.scale_factor = torch.tensor(
        rng.uniform(*SCALE_FACTORS, (len(roots), 1, 1)),
        dtype=torch.float32,
        device=rows.device,
    )
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    schedule = warm_cosine(optimizer, n_steps)
    generator = torch.Generator(rows.device).manual_seed(int(rng.integers(2**31)))
    look = max(1, n_steps // LOOKS)
    for step in range(1, n_steps + 1):
        if stop((step - 1) / n_steps):
            break
        optimizer.zero_grad(set_to_none=True)
        subtrees.loss(generator).backward()
        optimizer.step()
        schedule.step()
        if step % look == 0:
            trees, loss = _exchange(trees, loss, subtrees, rows, level, depth)
    return trees


def warm_cosine(optimizer, n_steps: int, warm_up: float = 0.1):
    """Learning rate that rises, then falls along a cosine to almost nothing."""

    def factor(step: int) -> float:
        risen = min(1.0, (step + 1) / max(1.0, warm_up * n_steps))
        fallen = 0.5 * (1 + math.cos(math.pi * min(1.0, step / n_steps)))
        return risen * (fallen + 1e-3)

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def _members(trees, rows, depth, level) -> list[np.ndarray]:
    """Rows that reach each node of the level."""
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)[0]
    node = leaf >> (depth - level)
    order = np.argsort(node, kind="stable")
    bounds = np.searchsorted(node[order], np.arange(2**level + 1))
    return [order[bounds[i] : bounds[i + 1]] for i in range(2**level)]


def _subtree_losses(trees, rows, level, depth) -> np.ndarray:
    """Summed hard loss (2**level,) of the rows under each node of the level."""
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)[0]
    losses = rows.row_loss(trees.answers(rows.x))[0]
    return np.bincount(leaf >> (depth - level), losses, 2**level)


def _exchange(trees, loss, subtrees, rows, level, depth):
    """Take over the subtrees that lower the hard loss; return tree and losses."""
    weights, threshold = trees.weights.copy(), trees.threshold.copy()
    weights[0, subtrees.splits], threshold[0, subtrees.splits] = subtrees.arrays()
    trained = replace(trees, weights=weights, threshold=threshold).refit(rows)
    losses = _subtree_losses(trained, rows, level, depth)
    # Rows of one subtree never depend on another's splits, so each is judged alone.
    better = losses < loss - 1e-9 * (1 + np.abs(loss))
    taken = better[subtrees.roots]
    if not taken.any():
        return trees, loss
    splits = subtrees.splits[taken]
    mixed_weights, mixed_threshold = trees.weights.copy(), trees.threshold.copy()
    mixed_weights[0, splits] = weights[0, splits]
    mixed_threshold[0, splits] = threshold[0, splits]
    mixed = replace(trees, weights=mixed_weights, threshold=mixed_threshold)
    return mixed.refit(rows), np.where(better, losses, loss)


class _Subtrees:
    """The subtrees as tensors, and batches of each one's own rows."""

    def __init__(self, trees, spread, roots, splits, rows, members):
        self.roots, self.splits, self.rows = roots, splits, rows
        self.linear = trees.linear is not None
        n_leaves = splits.shape[1] + 1
        leaves = roots[:, None] * n_leaves + np.arange(n_leaves)  # (K, L)
        value = trees.constants[0, leaves]
        if self.linear:
            value = np.concatenate(
                [
                    trees.linear.bias[0, leaves][..., None],
                    trees.linear.weights[0, leaves],
                ],
                axis=2,
            )
        elif rows.n_classes:
            value = np.log(np.maximum(value, 1e-3))
        order = np.concatenate([at for _, at in members])
        sizes = np.array([len(at) for _, at in members])

        def tensor(array, dtype=torch.float32):
            return torch.tensor(array, dtype=dtype, device=rows.device)

        self.order = tensor(order, torch.long)
        self.first = tensor(np.cumsum(sizes) - sizes, torch.long)[:, None]
        self.sizes = tensor(sizes)[:, None]
        # Losses in shares of a subtree's own variance: all learn at one pace.
        self.scale = np.ones(len(roots))
        if not rows.n_classes:
            self.scale = np.array([rows.y[at].std() for _, at in members]) + 1e-6
        self.price = tensor(1 / self.scale**2)[:, None]
        weights, threshold = (part[0, splits] for part in spread)
        threshold = np.minimum(threshold, ASKS_NOTHING)
        self.asks = np.abs(weights).max(axis=2) > 0  # (K, N); the others stay still
        self.weights = tensor(weights).requires_grad_()
        self.threshold = tensor(threshold).requires_grad_()
        self.leaf_value = tensor(value / self.scale[:, None, None]).requires_grad_()
        total = min(ROWS_A_STEP, max(512, 2**19 // splits.shape[1]))
        self.n_rows = max(16, total // len(roots))

    def loss(self, generator) -> torch.Tensor:
        """Summed soft loss of all subtrees on a draw of each one's rows."""
        shape = (len(self.roots), self.n_rows)
        draw = torch.rand(shape, generator=generator, device=generator.device)
        at = self.order[self.first + (draw * self.sizes).long()]  # (K, B)
        x = self.rows.x_tensor[:, at].transpose(0, 1)  # (K, F, B)
        margin = oblique_margin(x, self.weights, self.threshold)
        answer = soft_route(margin, self.scale_factor, self.leaf_value)
        y, weight = self.rows.y_tensor[at], self.rows.weight_tensor[at]
        if self.rows.n_classes:
            losses = _class_losses(answer, y, self.rows.class_loss)
        else:
            if self.linear:
                answer = answer[:, :1] + (answer[:, 1:] * x).sum(1, keepdim=True)
            scaled = y * self.price.sqrt()
            losses = (answer[:, 0] - scaled).square()
        return (losses * weight).mean(1).sum()

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights (K, N, F), thresholds (K, N); what asked nothing still does not."""
        weights = self.weights.detach().cpu().numpy().astype(np.float64)
        threshold = self.threshold.detach().cpu().numpy().astype(np.float64)
        weights[~self.asks] = 0.0
        threshold[~self.asks] = np.inf
        return weights, threshold


def _class_losses(answer, y, kind):
    """Losses (K, B) of logits (K, C, B) on each subtree's own codes (K, B)."""
    n_trees, _, n_rows = answer.shape
    flat = answer.permute(1, 0, 2).flatten(1)  # (C, K * B)
    return class_loss(flat, y.flatten(), kind=kind).view(n_trees, n_rows)
