"""Which tree of a batch to keep, and how its leaves weigh the classes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from treelab.learners.tree_batch import TreeBatch, leaf_means


@dataclass(frozen=True)
class Choice:
    """A tree of a batch and a weighting of its rows.

    Attributes
    ----------
    tree : int
        Position in the batch.
    weighting : int
        Column of ``Rows.weight`` under which the leaves answer.
    table : DataFrame
        One row a candidate: depth, fold, start, valid_loss, valid_score under the
        chosen weighting, chosen.
    """

    tree: int
    weighting: int
    table: pd.DataFrame


def choose_tree(batch: TreeBatch, loss: Tensor) -> Choice:
    """Choose the recipe over all folds first, then the tree within its fold.

    A recipe is a depth, a kind of start and a weighting of the classes. In each fold
    the tree of lowest validation loss stands for its depth and start. The recipe with
    the best score over the held-out rows of all folds wins, the shallower one where
    two are equal; of its trees, the one that scored best in its own fold is kept.

    Parameters
    ----------
    batch : TreeBatch
        Trained candidates.
    loss : Tensor of shape (E,)
        Validation loss of each.

    The score is macro F1 for classes, and minus the loss for regression.
    """
    table = pd.DataFrame(
        [(c.depth, c.fold, c.start) for c in batch.candidates],
        columns=["depth", "fold", "start"],
    ).assign(valid_loss=loss.cpu().numpy())
    standing = table.groupby(["depth", "start", "fold"])["valid_loss"].idxmin()
    if batch.rows.n_classes == 0:
        confusion, own = None, -table["valid_loss"].to_numpy()[None]
    else:
        confusion = confusions(batch)  # (W, E, C, C)
        own = macro_f1(confusion)  # (W, E)
    best, recipe = -np.inf, None
    for _, trees in standing.groupby(level=["depth", "start"]):
        trees = trees.to_numpy()
        for weighting in range(len(own)):
            score = (
                own[0, trees].mean()
                if confusion is None
                else float(macro_f1(confusion[weighting, trees].sum(0)))
            )
            if score > best:
                best, recipe = score, (trees, weighting)
    trees, weighting = recipe
    chosen = int(trees[np.argmax(own[weighting, trees])])
    return Choice(
        chosen,
        weighting,
        table.assign(valid_score=own[weighting], chosen=table.index == chosen),
    )


@torch.no_grad()
def confusions(batch: TreeBatch) -> np.ndarray:
    """Count held-out rows by true and predicted class, (W, E, C, C).

    The leaves of each tree answer as its training rows say, under each weighting.
    """
    rows, n_trees = batch.rows, batch.n_candidates
    n_leaves, n_classes = batch.n_leaves, rows.n_classes
    leaf = batch.leaves(rows.x)  # (E, n)
    cell = rows.truth * n_classes + n_classes**2 * torch.arange(
        n_trees, device=leaf.device
    ).unsqueeze(1)  # (E, n)
    counts = []
    for weight in rows.weight.t():
        told = leaf_means(leaf, rows, weight * ~batch.held_out, n_leaves).argmax(-1)
        told = told.gather(1, leaf)  # (E, n)
        found = torch.bincount(
            (cell + told)[batch.held_out], minlength=n_trees * n_classes**2
        )
        counts.append(found.view(n_trees, n_classes, n_classes).cpu().numpy())
    return np.stack(counts)


def macro_f1(confusion: np.ndarray) -> np.ndarray:
    """Mean F1 (...) over the classes that occur, from counts (..., C, C)."""
    hit = np.diagonal(confusion, axis1=-2, axis2=-1)
    size = confusion.sum(-1) + confusion.sum(-2)
    f1 = np.divide(2 * hit, size, out=np.zeros(hit.shape), where=size > 0)
    return f1.sum(-1) / np.maximum((size > 0).sum(-1), 1)
