"""Greedy trees of all rows, scored by trees like them that held rows out."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from treelab.learners.common.rows import FoldedRows
from treelab.learners.gradtree.starts import StartPlan, start_batch
from treelab.learners.gradtree.tree_batch import Candidate, TreeBatch

NOTE = (
    "Grown greedily on all training rows; validation preferred it to the trees that "
    "gradient descent trained."
)


class Trees(Protocol):
    """Trees that may be chosen and exported, trained or not."""

    rows: FoldedRows
    candidates: tuple[Candidate, ...]
    n_candidates: int
    notes: tuple[str, ...]

    def splits(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Feature and threshold (encoded, float32) of every split of one tree."""
        ...

    def refitted_values(self, tree: int, x: Tensor, weighting: int = 0) -> np.ndarray:
        """Leaf values (L, n_classes or 1) of one tree, for the first rows ``x``."""
        ...

    def refitted_predictions(self):
        """Each tree's predictions on every row, one Tensor (n, n_classes or 1)."""
        ...


@dataclass(frozen=True)
class FullDataTrees:
    """Trees that saw every row, beside the batch whose trees held out a fold.

    Attributes
    ----------
    batch : TreeBatch or DistilledTrees
        K trees, not trained further; the fold of each is -1.
    predictions : Tensor of shape (K, n, n_classes or 1)
        Held-out predictions of their like (of the same depth and leaf size, or as many
        leaves): on each fold's rows those of a tree that was grown without them.
    """

    batch: Trees
    predictions: Tensor

    def loss(self) -> np.ndarray:
        """Mean loss (K,) of the predictions: nats, or variances of the target."""
        rows = self.batch.rows
        loss = row_loss(self.predictions, rows.target, rows.n_classes)
        return loss.mean(1).cpu().numpy()


def row_loss(predictions: Tensor, target: Tensor, n_classes: int) -> Tensor:
    """Loss (K, n) of predictions (K, n, n_classes or 1): nats, or squared errors."""
    if n_classes == 0:
        return (predictions[..., 0] - target).square()
    index = target[None, :, None].expand(len(predictions), -1, 1)
    return -predictions.gather(2, index)[..., 0].clamp(min=1e-6).log()


@torch.no_grad()
def full_data_trees(
    batch: TreeBatch, y: np.ndarray, plan: StartPlan, generator: torch.Generator
) -> FullDataTrees | None:
    """Grow on all rows what each fold's greedy starts are, before these are trained.

    Parameters
    ----------
    batch : TreeBatch
        As `start_batch` made it, every row in one of its folds.
    y, plan, generator
        As given to `start_batch`.

    Returns
    -------
    FullDataTrees or None
        None where no tree starts from a greedy one.
    """
    greedy = [e for e, c in enumerate(batch.candidates) if c.start != "random"]
    if not greedy:
        return None
    grown = start_batch(
        replace(batch.rows, fold=torch.full_like(batch.rows.fold, -1)),
        y,
        replace(
            plan,
            depths=tuple(sorted(set(batch.depths))),
            n_folds=1,
            n_restarts=len(plan.min_samples_leaf),
            only_greedy=True,
        ),
        batch.objective,
        batch.settings,
        generator,
    )
    grown.notes = (NOTE,)
    grown.candidates = tuple(replace(c, fold=-1) for c in grown.candidates)
    held_out = batch.held_out_predictions()
    shape = (grown.n_candidates, len(batch.rows.x), held_out[0].shape[1])
    predictions = held_out[0].new_full(shape, np.nan)
    kind = {(c.depth, c.start): k for k, c in enumerate(grown.candidates)}
    for e in greedy:
        candidate = batch.candidates[e]
        place = kind[candidate.depth, candidate.start]
        predictions[place, batch.held_out[e]] = held_out[e]
    return FullDataTrees(grown, predictions)
