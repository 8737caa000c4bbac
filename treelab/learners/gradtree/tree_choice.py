"""Which tree of a batch is chosen: the one that agrees most with the vote of all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.learners.gradtree.full_data_trees import FullDataTrees, Trees, row_loss
from treelab.learners.gradtree.tree_batch import TreeBatch

# Between equal and balanced weights the square root of balanced is the safest; equal
# or balanced weights must score this much better in the vote over the held-out rows.
MARGIN = 0.02
# A tree's weight in the vote falls by a factor e where its loss (nats, variances of the
# target) lies this far above the best of its fold: trees that failed do not count.
TEMPERATURE = 0.03
WORST = 4 * TEMPERATURE  # a tree this far above the best of all folds is not chosen
# With this many rows held out, a tree's score on them counts as much as its agreement
# with the vote; with more it counts more.
HALF_TRUSTED_ROWS = 500
# With more than two classes a fold leaves few rows of each, so a tree of all rows is
# better than its like in the folds, by which it is scored, by about this much macro F1.
FULL_DATA_GAIN = 0.05
# Distilled trees lose little by growing: the largest of those that score within this
# much of the best one is chosen.
NEARLY_BEST = 0.01


@dataclass(frozen=True)
class Choice:
    """A tree of a batch and a weighting of its rows.

    Attributes
    ----------
    batch : TreeBatch or DistilledTrees
        The trained trees, the greedy ones of all rows, or the distilled ones.
    tree : int
        Position in the batch.
    weighting : int
        Column of ``FoldedRows.weight`` under which the leaves predict.
    table : DataFrame
        One row a candidate: depth, fold, start, valid_loss, agreement,
        held_out_score, chosen.
    """

    batch: Trees
    tree: int
    weighting: int
    table: pd.DataFrame


@torch.no_grad()
def choose_tree(
    batch: TreeBatch,
    loss: Tensor,
    full_data: FullDataTrees | None = None,
    distilled: FullDataTrees | None = None,
) -> Choice:
    """Let the trees vote on the rows they did not see, choose the one most like it.

    A validation fold of a small table tells little of one tree, but a vote over the
    trees of all depths and starts is steady. A large fold is to be trusted. So trees,
    and weightings of the classes, are judged by both: by the vote, and by their score
    on the tree's own held-out rows, which count the more the more there are. The score
    is macro F1, or minus the squared error for regression; agreement with the vote is
    that of the tree with leaves refitted to every row.

    With more than two classes the vote decides on the weighting only. Trees of all
    rows, which have met more of the rare classes, are judged by the held-out
    predictions of their like; a trained tree is chosen where trained trees predict the
    folds much better.

    Parameters
    ----------
    batch : TreeBatch
        Trained candidates.
    loss : Tensor of shape (E,)
        Validation loss of each.
    full_data : FullDataTrees, optional
        Greedy trees of all rows.
    distilled : FullDataTrees, optional
        Trees distilled from a forest of all rows, the larger ones later.
    """
    table = _describe(batch, loss.cpu().numpy())
    held_out = batch.held_out_predictions()
    vote = vote_on_held_out(batch, held_out, _vote_weights(table).to(loss))
    shifts = [*class_shifts(batch)] if batch.rows.n_classes else [None]
    own = own_scores(batch, held_out, shifts)  # (E, W)
    trusted = float(batch.held_out.sum(1).double().mean())
    trusted /= trusted + HALF_TRUSTED_ROWS
    fine = (table["valid_loss"] <= table["valid_loss"].min() + WORST).to_numpy()
    weighting = 0
    if len(shifts) > 1:
        on_vote = _vote_scores(batch, vote, shifts)
        scores = (1 - trusted) * on_vote + trusted * own[fine].max(0)
        weighting = int(scores.argmax())
    shift = shifts[weighting]
    table["agreement"] = agreement_with(vote, shift, batch)
    table["held_out_score"] = own[:, weighting]
    offers = [offer for offer in (full_data, distilled) if offer is not None]
    of_all = [_describe_offer(offer, vote, shift) for offer in offers]
    table = pd.concat([table, *of_all], ignore_index=True)
    score = (1 - trusted) * table["agreement"] + trusted * table["held_out_score"]
    eligible = np.append(fine, np.ones(len(table) - len(fine), dtype=bool))
    if batch.rows.n_classes > 2 and offers:
        trained = (table.index < batch.n_candidates).astype(bool)
        by_fold = table["held_out_score"].where(~trained)
        gain = cross_fitted_score(batch, held_out, shift) - by_fold.max()
        if gain > FULL_DATA_GAIN:
            eligible &= trained
        else:
            score, eligible = by_fold, ~trained
    chosen = _best(np.where(eligible, score, -np.inf), distilled)
    table["chosen"] = table.index == chosen
    for source in (batch, *(offer.batch for offer in offers)):
        if chosen < source.n_candidates:
            break
        chosen -= source.n_candidates
    return Choice(source, chosen, weighting, table)


def _best(score: np.ndarray, distilled: FullDataTrees | None) -> int:
    """Position of the best score; of distilled trees, which come last, the largest."""
    chosen = int(score.argmax())
    if distilled is None:
        return chosen
    own = score[-distilled.batch.n_candidates :]
    if own.max() < score[chosen]:
        return chosen
    near = np.flatnonzero(own >= own.max() - NEARLY_BEST)
    return len(score) - len(own) + int(near[-1])


def _vote_weights(table: pd.DataFrame) -> Tensor:
    """Weight (E,) of each trained tree in the vote, by its validation loss."""
    weight = np.zeros(len(table))
    for _, trees in table.groupby("fold").groups.items():
        above = table.loc[trees, "valid_loss"] - table.loc[trees, "valid_loss"].min()
        above = np.nan_to_num(above, nan=1e9, posinf=1e9)
        weight[trees] = np.exp(-above / TEMPERATURE)
    return torch.as_tensor(weight)


def _vote_scores(
    batch: TreeBatch, vote: Tensor, shifts: Sequence[Tensor | None]
) -> np.ndarray:
    """Macro F1 (W,) of the vote under each weighting, the middle one favoured."""
    voted = torch.isfinite(vote[:, 0])
    target = batch.rows.target[voted]
    scores = np.array([_score(vote[voted], target, shift) for shift in shifts])
    return scores + MARGIN * (1 - abs(np.linspace(-1, 1, len(shifts))))


def _describe(batch: Trees, loss: np.ndarray) -> pd.DataFrame:
    """One row a candidate: depth, fold, start, valid_loss."""
    return pd.DataFrame(
        [(c.depth, c.fold, c.start) for c in batch.candidates],
        columns=["depth", "fold", "start"],
    ).assign(valid_loss=loss)


def _describe_offer(offer: FullDataTrees, vote: Tensor, shift: Tensor | None):
    """One row for each tree of all rows, as for the trained ones."""
    table = _describe(offer.batch, offer.loss())
    table["agreement"] = agreement_with(vote, shift, offer.batch)
    target = offer.batch.rows.target
    table["held_out_score"] = [_score(p, target, shift) for p in offer.predictions]
    return table


def cross_fitted_score(
    batch: TreeBatch, held_out: list[Tensor], shift: Tensor | None
) -> float:
    """Score of trained trees that half of a fold's rows picks, on the other half.

    Parameters
    ----------
    batch : TreeBatch
    held_out : list of E Tensor
        See `TreeBatch.held_out_predictions`.
    shift : Tensor of shape (n_classes,) or None
        Multiplies the class probabilities; None for regression.

    Returns
    -------
    float
        Macro F1, or minus the mean squared error, over the rows of all folds.
    """
    folds = np.array([candidate.fold for candidate in batch.candidates])
    predictions, targets = [], []
    for fold in np.unique(folds):
        trees = np.flatnonzero(folds == fold)
        target = batch.rows.target[batch.held_out[trees[0]]]
        of_fold = torch.stack([held_out[tree] for tree in trees])  # (k, m, C)
        loss = row_loss(of_fold, target, batch.rows.n_classes)
        for half in (slice(0, None, 2), slice(1, None, 2)):
            other = slice(1 - half.start, None, 2)
            predictions.append(of_fold[int(loss[:, other].sum(1).argmin()), half])
            targets.append(target[half])
    return _score(torch.cat(predictions), torch.cat(targets), shift)


def _score(predictions: Tensor, target: Tensor, shift: Tensor | None) -> float:
    """Macro F1 of predictions (m, C), or minus their mean squared error (m, 1)."""
    if shift is None:
        return -float((predictions[:, 0] - target).square().mean())
    labels = (predictions * shift).argmax(1).cpu().numpy()
    return float(macro_f1(confusion_matrix(target.cpu().numpy(), labels, len(shift))))


def own_scores(
    batch: TreeBatch, held_out: list[Tensor], shifts: Sequence[Tensor | None]
) -> np.ndarray:
    """Score each tree on the rows that it did not see.

    Parameters
    ----------
    batch : TreeBatch
    held_out : list of E Tensor
        See `TreeBatch.held_out_predictions`.
    shifts : sequence of W (Tensor of shape (n_classes,) or None)
        What each weighting multiplies the class probabilities by; None for regression.

    Returns
    -------
    ndarray of shape (E, W)
        Macro F1, or minus the mean squared error.
    """
    scores = np.empty((len(held_out), len(shifts)))
    for tree, rows in enumerate(batch.held_out):
        target = batch.rows.target[rows]
        for weighting, shift in enumerate(shifts):
            scores[tree, weighting] = _score(held_out[tree], target, shift)
    return scores


def vote_on_held_out(
    batch: TreeBatch, held_out: list[Tensor], tree_weight: Tensor
) -> Tensor:
    """Mean prediction of the trees that did not see a row, (n, n_classes or 1).

    Parameters
    ----------
    batch : TreeBatch
    held_out : list of E Tensor
        See `TreeBatch.held_out_predictions`.
    tree_weight : Tensor of shape (E,)
        Weight of each tree in the mean.
    """
    total = held_out[0].new_zeros(batch.held_out.shape[1], held_out[0].shape[1])
    for tree, rows in enumerate(batch.held_out):
        total[rows] += tree_weight[tree] * held_out[tree]
    return total / (tree_weight @ batch.held_out.to(tree_weight.dtype))[:, None]


def class_shifts(batch: TreeBatch) -> Tensor:
    """What each weighting multiplies the probability of each class by, (W, C)."""
    weights = batch.rows.class_weights()
    return weights / weights[:1]


def agreement_with(vote: Tensor, shift: Tensor | None, batch: Trees) -> np.ndarray:
    """Score how well each tree, its leaves refitted to every row, predicts the vote.

    Parameters
    ----------
    vote : Tensor of shape (n, n_classes or 1)
        Rows of NaN do not count.
    shift : Tensor of shape (n_classes,) or None
        Multiplies the class probabilities; None for regression.
    batch : TreeBatch or DistilledTrees
        The trees.

    Returns
    -------
    ndarray of shape (E,)
        Macro F1, or minus the mean squared difference.
    """
    voted = torch.isfinite(vote[:, 0])
    target = vote[voted, 0] if shift is None else (vote[voted] * shift).argmax(1)
    return np.array(
        [_score(p[voted], target, shift) for p in batch.refitted_predictions()]
    )
