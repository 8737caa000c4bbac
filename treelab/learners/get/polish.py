"""Subtree polish: train every subtree of a level anew, and take those that improve.

Source: Mao and Cao, arXiv:2411.17003, section 4.3 and algorithm 2. The paper polishes
one subtree after another from the root down; ours trains all subtrees of a level side
by side, from the lowest level up, and only with the last stage's scale factors.

Shapes: K subtrees side by side, N splits and L leaves of one subtree, B rows a step.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treelab.learners.get.leaves import LinearLeaves
from treelab.learners.get.network import GetNetwork, warm_up_cosine
from treelab.learners.get.rows import Rows
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import HardTrees, standardise_margins

MAX_BATCH_ROWS = 2048  # shared by the subtrees of a level
MIN_ROWS = 20  # a subtree with fewer rows stays as it is
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
        For learning rates, penalty and scale factors.
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
    splits = subtree_splits(trees.depth, level)[roots]  # (K, N)
    scale_factor = rng.uniform(*settings.stages[-1], len(roots))
    unit = np.ones(len(roots))  # so that all subtrees learn at one pace
    if not rows.n_classes:
        unit = np.array([rows.y[node == root].std() for root in roots]) + 1e-6
    subtrees = _subtrees(trees, roots, splits, rows)
    network = GetNetwork(subtrees, scale_factor, rows, rows, l1=settings.l1, unit=unit)
    sampler = _RowSampler.of(node, roots, splits.shape[1], rows.device)
    optimizer = network.optimizer(settings)
    scheduler = warm_up_cosine(optimizer, n_steps)
    generator = torch.Generator(rows.device).manual_seed(int(rng.integers(2**31)))
    node_loss = trees.node_losses(rows, level)
    evaluate_every = max(1, n_steps // N_EVALUATIONS)
    for step in range(1, n_steps + 1):
        if should_stop((step - 1) / n_steps):
            break
        optimizer.zero_grad(set_to_none=True)
        network.batch_loss(sampler.draw(generator)).sum().backward()
        optimizer.step()
        scheduler.step()
        if step % evaluate_every == 0:
            found = trees.with_splits(splits, *network.splits(), rows)
            trees, node_loss = _exchange(trees, found, node_loss, roots, splits, rows)
    return trees


def _subtrees(
    trees: HardTrees, roots: np.ndarray, splits: np.ndarray, rows: Rows
) -> HardTrees:
    """The subtrees of these splits (K, N) as trees of their own."""
    n_leaves = splits.shape[1] + 1
    leaves = roots[:, None] * n_leaves + np.arange(n_leaves)  # (K, L)
    weights, threshold = standardise_margins(trees.weights, trees.threshold, rows.x)
    linear = None
    if trees.linear is not None:
        linear = LinearLeaves(
            trees.linear.bias[0, leaves], trees.linear.weights[0, leaves]
        )
    return HardTrees(
        weights[0, splits],
        threshold[0, splits],
        trees.constants[0, leaves],
        linear,
        trees.shrinkage,
    )


def _exchange(
    trees: HardTrees,
    found: HardTrees,
    node_loss: np.ndarray,
    roots: np.ndarray,
    splits: np.ndarray,
    rows: Rows,
) -> tuple[HardTrees, np.ndarray]:
    """Take the subtrees that lower the hard loss: line 9 of algorithm 2.

    Returns the trees and the losses (2**level,) of the level's nodes.
    """
    level = len(node_loss).bit_length() - 1
    losses = found.node_losses(rows, level)
    # Rows of one subtree never depend on another's splits, so each is judged alone.
    better = losses < node_loss - 1e-9 * (1 + np.abs(node_loss))
    taken = splits[better[roots]]
    if not taken.size:
        return trees, node_loss
    trees = trees.with_splits(
        taken, found.weights[0, taken], found.threshold[0, taken], rows
    )
    return trees, np.where(better, losses, node_loss)


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
