"""Subtree polish: train every subtree of a level anew, and take those that improve.

Source: Mao and Cao, arXiv:2411.17003, section 4.3 and algorithm 2. The paper polishes
one subtree after another from the root down; ours trains all subtrees of a level side
by side, from the lowest level up, and only in the hard stage.

Shapes: K subtrees side by side, N splits and L leaves of one subtree, B rows a step,
F features, C outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treelab.learners.get.network import (
    ALWAYS_LEFT,
    leaf_values,
    mixed_models,
    soft_trees,
    two_rate_optimizer,
    warm_up_cosine,
)
from treelab.learners.get.rows import Rows
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import HardTrees, standardise_margins
from treelab.ops.losses import class_loss

SCALE_FACTORS = (50.0, 150.0)  # alpha: a polished split is nearly hard from the start
MAX_BATCH_ROWS = 2048  # shared by the subtrees of a level
MIN_ROWS = 20  # a subtree with fewer rows stays as it is
MIN_PROBABILITY = 1e-3  # of a class at a leaf, before the logarithm
N_EVALUATIONS = 5  # of the hard loss while a level is polished


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
    settings: GetSettings,
    rng: np.random.Generator,
    *,
    should_stop: Callable[[float], bool] = lambda done: False,
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
    settings : GetSettings
        For the learning rates.
    rng : numpy Generator
    should_stop : callable
        Asked before every step, with the fraction of them that is done.

    Returns
    -------
    HardTrees
        A batch of one tree, its loss on `rows` no higher.
    """
    node = trees.nodes_at(rows.x, level)
    roots = np.flatnonzero(np.bincount(node, minlength=2**level) >= MIN_ROWS)
    if not len(roots):
        return trees
    scale_factor = rng.uniform(*SCALE_FACTORS, (len(roots), 1, 1))
    subtrees = _Subtrees.of(trees, roots, level, rows, scale_factor)
    sampler = _RowSampler.of(node, roots, subtrees.splits.shape[1], rows.device)
    splits = [subtrees.weights, subtrees.threshold]
    optimizer = two_rate_optimizer(splits, subtrees.leaf_value, settings, 0.0)
    scheduler = warm_up_cosine(optimizer, n_steps)
    generator = torch.Generator(rows.device).manual_seed(int(rng.integers(2**31)))
    node_loss = trees.node_losses(rows, level)
    evaluate_every = max(1, n_steps // N_EVALUATIONS)
    for step in range(1, n_steps + 1):
        if should_stop((step - 1) / n_steps):
            break
        optimizer.zero_grad(set_to_none=True)
        subtrees.loss(rows, sampler.draw(generator)).backward()
        optimizer.step()
        scheduler.step()
        if step % evaluate_every == 0:
            trees, node_loss = _exchange(trees, node_loss, subtrees, rows, level)
    return trees


def _exchange(
    trees: HardTrees,
    node_loss: np.ndarray,
    subtrees: "_Subtrees",
    rows: Rows,
    level: int,
) -> tuple[HardTrees, np.ndarray]:
    """Take the subtrees that lower the hard loss: line 9 of algorithm 2.

    Returns the trees and the losses (2**level,) of the level's nodes.
    """
    weights, threshold = subtrees.arrays()
    trained = trees.with_splits(subtrees.splits, weights, threshold, rows)
    losses = trained.node_losses(rows, level)
    # Rows of one subtree never depend on another's splits, so each is judged alone.
    better = losses < node_loss - 1e-9 * (1 + np.abs(node_loss))
    taken = better[subtrees.roots]
    if not taken.any():
        return trees, node_loss
    trees = trees.with_splits(
        subtrees.splits[taken], weights[taken], threshold[taken], rows
    )
    return trees, np.where(better, losses, node_loss)


@dataclass(frozen=True)
class _Subtrees:
    """The subtrees of a level as tensors that training changes.

    Attributes
    ----------
    roots : ndarray of shape (K,)
        Nodes of the level, from 0.
    splits : ndarray of shape (K, N)
        Their numbers in the whole tree.
    is_split : ndarray of shape (K, N)
        The others send all rows left, and continue to do so.
    linear : bool
        Whether leaves hold linear models.
    weights, threshold, leaf_value : Tensor of shape (K, N, F), (K, N), (K, L, C)
        Trained.
    scale_factor : Tensor of shape (K, 1, 1)
        Alpha of each subtree.
    inverse_variance : Tensor of shape (K, 1)
        Of the target in each subtree; leaf values and losses are in its units, so all
        subtrees learn at one pace.
    """

    roots: np.ndarray
    splits: np.ndarray
    is_split: np.ndarray
    linear: bool
    weights: Tensor
    threshold: Tensor
    leaf_value: Tensor
    scale_factor: Tensor
    inverse_variance: Tensor

    @classmethod
    def of(
        cls,
        trees: HardTrees,
        roots: np.ndarray,
        level: int,
        rows: Rows,
        scale_factor: np.ndarray,
    ) -> "_Subtrees":
        """Copy the subtrees under these nodes of a level from a batch of one tree."""
        splits = subtree_splits(trees.depth, level)[roots]  # (K, N)
        n_leaves = splits.shape[1] + 1
        leaves = roots[:, None] * n_leaves + np.arange(n_leaves)  # (K, L)
        weights, threshold = standardise_margins(trees.weights, trees.threshold, rows.x)
        weights, threshold = weights[0, splits], threshold[0, splits]
        std = np.ones(len(roots))
        if not rows.n_classes:
            node = trees.nodes_at(rows.x, level)
            std = np.array([rows.y[node == root].std() for root in roots]) + 1e-6
        value = leaf_values(trees, rows.n_classes, MIN_PROBABILITY)[0, leaves]

        def tensor(array):
            return torch.tensor(array, dtype=torch.float32, device=rows.device)

        return cls(
            roots,
            splits,
            is_split=np.abs(weights).max(axis=2) > 0,
            linear=trees.linear is not None,
            weights=tensor(weights).requires_grad_(),
            threshold=tensor(np.minimum(threshold, ALWAYS_LEFT)).requires_grad_(),
            leaf_value=tensor(value / std[:, None, None]).requires_grad_(),
            scale_factor=tensor(scale_factor),
            inverse_variance=tensor(1 / std**2)[:, None],
        )

    def loss(self, rows: Rows, drawn: Tensor) -> Tensor:
        """Summed soft loss of all subtrees on rows (K, B), each one's own."""
        x = rows.x_tensor[:, drawn].transpose(0, 1)  # (K, F, B)
        predicted = soft_trees(
            x, self.weights, self.threshold, self.scale_factor, self.leaf_value
        )
        y, weight = rows.y_tensor[drawn], rows.weight_tensor[drawn]
        if rows.n_classes:
            losses = _class_losses(predicted, y, rows.class_loss)
        else:
            if self.linear:
                predicted = mixed_models(predicted, x)
            scaled = y * self.inverse_variance.sqrt()
            losses = (predicted[:, 0] - scaled).square()
        return (losses * weight).mean(1).sum()

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights (K, N, F) and thresholds (K, N) as they are now."""
        weights = self.weights.detach().cpu().numpy().astype(np.float64)
        threshold = self.threshold.detach().cpu().numpy().astype(np.float64)
        weights[~self.is_split] = 0.0
        threshold[~self.is_split] = np.inf
        return weights, threshold


@dataclass(frozen=True)
class _RowSampler:
    """Draws as many rows for each subtree from those that reach it.

    ``order`` (n,) lists the rows subtree after subtree; those of each begin at
    ``first`` (K, 1) and are ``size`` (K, 1) many.
    """

    order: Tensor
    first: Tensor
    size: Tensor
    n_rows: int

    @classmethod
    def of(
        cls, node: np.ndarray, roots: np.ndarray, n_splits: int, device: torch.device
    ) -> "_RowSampler":
        """Prepare draws for subtrees of so many splits, by the node of each row."""
        members = [np.flatnonzero(node == root) for root in roots]
        size = np.array([len(rows) for rows in members])
        n_rows = min(MAX_BATCH_ROWS, max(512, 2**19 // n_splits)) // len(roots)
        return cls(
            torch.tensor(np.concatenate(members), device=device),
            torch.tensor(np.cumsum(size) - size, device=device)[:, None],
            torch.tensor(size, dtype=torch.float32, device=device)[:, None],
            max(16, n_rows),
        )

    def draw(self, generator: torch.Generator) -> Tensor:
        """Rows (K, B) of the training rows, with replacement."""
        shape = (len(self.size), self.n_rows)
        fraction = torch.rand(shape, generator=generator, device=generator.device)
        return self.order[self.first + (fraction * self.size).long()]


def _class_losses(logits: Tensor, y: Tensor, kind: str) -> Tensor:
    """Losses (K, B) of logits (K, C, B) on each subtree's own codes (K, B)."""
    n_trees, _, n_rows = logits.shape
    flat = logits.permute(1, 0, 2).flatten(1)  # (C, K * B)
    return class_loss(flat, y.flatten(), kind=kind).view(n_trees, n_rows)
