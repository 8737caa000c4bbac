"""Trees of all rows, judged by what their like said of rows held out."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from treelab.learners.gradtree.starts import start_batch
from treelab.learners.gradtree.tree_batch import TreeBatch

NOTE = (
    "Grown greedily on all training rows; validation preferred it to the trees that "
    "gradient descent trained."
)


@dataclass(frozen=True)
class WholeTrees:
    """Trees that saw every row, beside the batch whose trees saw a part.

    Attributes
    ----------
    batch : TreeBatch or TaughtTrees
        K trees, not trained further; the fold of each is -1.
    answers : Tensor of shape (K, n, n_classes or 1)
        What their like (of the same depth and leaf size, or as many leaves), each grown
        without a fold, say of that fold's rows.
    """

    batch: TreeBatch
    answers: Tensor

    def loss(self) -> np.ndarray:
        """Mean loss (K,) of the answers: nats, or variances of the target."""
        rows = self.batch.rows
        return row_loss(self.answers, rows.truth, rows.n_classes).mean(1).cpu().numpy()


def row_loss(answers: Tensor, truth: Tensor, n_classes: int) -> Tensor:
    """Loss (K, n) of answers (K, n, n_classes or 1): nats, or squared errors."""
    if n_classes == 0:
        return (answers[..., 0] - truth).square()
    index = truth[None, :, None].expand(len(answers), -1, 1)
    return -answers.gather(2, index)[..., 0].clamp(min=1e-6).log()


@torch.no_grad()
def whole_trees(
    batch: TreeBatch,
    y: np.ndarray,
    *,
    greedy_leaf_rows,
    max_columns: int,
    generator: torch.Generator,
    seed: int,
    **settings,
) -> WholeTrees | None:
    """Grow on all rows what each fold's greedy starts are, before these are trained.

    Parameters
    ----------
    batch : TreeBatch
        As `start_batch` made it, every row in one of its folds.
    y, greedy_leaf_rows, max_columns, generator, seed
        As given to `start_batch`.

    Returns
    -------
    WholeTrees or None
        None where no tree starts as a greedy one.
    """
    greedy = [e for e, c in enumerate(batch.candidates) if c.start != "random"]
    if not greedy:
        return None
    grown = start_batch(
        replace(batch.rows, fold=torch.full_like(batch.rows.fold, -1)),
        y,
        depths=sorted(set(batch.depths)),
        n_folds=1,
        n_restarts=len(greedy_leaf_rows),
        greedy_leaf_rows=greedy_leaf_rows,
        only_greedy=True,
        max_columns=max_columns,
        generator=generator,
        seed=seed,
        **settings,
    )
    grown.notes = (NOTE,)
    grown.candidates = tuple(replace(c, fold=-1) for c in grown.candidates)
    told = batch.held_out_answers()
    shape = (grown.n_candidates, len(batch.rows.x), told[0].shape[1])
    answers = told[0].new_full(shape, np.nan)
    kind = {(c.depth, c.start): k for k, c in enumerate(grown.candidates)}
    for e in greedy:
        candidate = batch.candidates[e]
        place = kind[candidate.depth, candidate.start]
        answers[place, batch.held_out[e]] = told[e]
    return WholeTrees(grown, answers)
