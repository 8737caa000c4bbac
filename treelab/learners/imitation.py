"""Second stage: the trees nearest to the vote learn it, on every row."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from treelab.learners.tree_batch import EVERYWHERE, Candidate, TreeBatch
from treelab.learners.tree_choice import Choice

N_IMITATORS = 16
TRUST = 0.75  # the vote's part in a target; the rest is the label


@torch.no_grad()
def imitation_batch(batch: TreeBatch, choice: Choice, **settings) -> TreeBatch:
    """Copy the trees that agree best with the vote and give them its answers to learn.

    Parameters
    ----------
    batch : TreeBatch
        Trained candidates, each of which left out a fold.
    choice : Choice
        The vote, and how well each candidate agrees with it.
    **settings
        For `TreeBatch`.
    """
    order = np.argsort(-choice.table["agreement"].to_numpy(), kind="stable")
    trees = sorted(order[:N_IMITATORS].tolist())  # ordered by depth, as the batch is
    rows = batch.rows
    target = rows.target
    if rows.n_classes and target.ndim == 1:
        target = functional.one_hot(target, rows.n_classes)
    vote = choice.vote if rows.n_classes else choice.vote[:, 0]
    vote = torch.where(torch.isfinite(vote), vote, target.to(vote.dtype))
    taught = TRUST * vote + (1 - TRUST) * target
    candidates, logits, threshold = [], [], []
    for group in batch.groups:
        own = [tree for tree in trees if group.start <= tree < group.stop]
        if not own:
            continue
        candidates += [
            Candidate(batch.depths[t], EVERYWHERE, batch.candidates[t].start)
            for t in own
        ]
        parts = [batch.one(tree) for tree in own]
        logits.append(_joined([part["logits"] for part in parts]))
        threshold.append(_joined([part["threshold"] for part in parts]))
    return TreeBatch(
        replace(rows, target=taught.float(), truth=vote.float()),
        candidates,
        logits,
        threshold,
        None if batch.columns is None else batch.columns[trees],
        **settings,
    )


def _joined(parts: list[Tensor]) -> Tensor:
    """Stack the tensors (1, N, K) of single trees into a copy (E, N, K)."""
    return torch.cat([part.detach() for part in parts])
