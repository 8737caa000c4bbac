"""Which tree of a batch to keep: the one that says what all of them say together."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.learners.gradtree.full_data_trees import WholeTrees, row_loss
from treelab.learners.gradtree.tree_batch import TreeBatch

# Between equal and balanced weights the square root of balanced is the safest; equal
# or balanced weights must score this much better in the vote over the held-out rows.
MARGIN = 0.02
# A tree's say falls by a factor e where its loss (nats, variances of the target) lies
# this far above the best of its fold: trees that failed are not heard.
TEMPERATURE = 0.03
WORST = 4 * TEMPERATURE  # a tree this far above the best of all folds is not kept
# With this many rows held out, what a tree scores on them counts as much as its
# agreement with the vote; with more it counts more.
HALF_TRUSTED_ROWS = 500
# With more than two classes a fold leaves few rows of each, so a tree of all rows is
# better than its like in the folds, by which it is judged, by about this much macro F1.
WHOLE_GAIN = 0.05
# Taught trees err little by growing: the largest of those that score within this much
# of the best one is taken.
NEAR = 0.01


@dataclass(frozen=True)
class Choice:
    """A tree of a batch and a weighting of its rows.

    Attributes
    ----------
    batch : TreeBatch or TaughtTrees
        The trained trees, the greedy ones of all rows, or the taught ones.
    tree : int
        Position in the batch.
    weighting : int
        Column of ``FoldedRows.weight`` under which the leaves answer.
    table : DataFrame
        One row a candidate: depth, fold, start, valid_loss, agreement,
        held_out_score, chosen.
    """

    batch: TreeBatch
    tree: int
    weighting: int
    table: pd.DataFrame


@torch.no_grad()
def choose_tree(
    batch: TreeBatch,
    loss: Tensor,
    whole: WholeTrees | None = None,
    taught: WholeTrees | None = None,
) -> Choice:
    """Let the trees vote on the rows they did not see, keep the one most like the vote.

    A validation fold of a small table says little about one tree, but a vote over the
    trees of all depths and starts is steady. A large fold is to be trusted. So trees,
    and weightings of the classes, are judged by both: by the vote, and by the tree's
    own rows held out, which count the more the more there are. The judge is macro F1,
    or the squared error for regression; agreement with the vote is that of the tree
    with leaves fitted to every row.

    With more than two classes the vote is heard on the weighting only. Trees of all
    rows, which have met more of the rare classes, are judged by what their like said of
    each fold; a trained tree is kept where trained trees say the folds much better.

    Parameters
    ----------
    batch : TreeBatch
        Trained candidates.
    loss : Tensor of shape (E,)
        Validation loss of each.
    whole : WholeTrees, optional
        Greedy trees of all rows, judged by the answers of their like.
    taught : WholeTrees, optional
        Trees of all rows that a forest taught, the larger ones later.
    """
    table = _table(batch, loss.cpu().numpy())
    say = np.zeros(len(table))
    for _, trees in table.groupby("fold").groups.items():
        above = table.loc[trees, "valid_loss"] - table.loc[trees, "valid_loss"].min()
        say[trees] = np.exp(-np.nan_to_num(above, nan=1e9, posinf=1e9) / TEMPERATURE)
    told = batch.held_out_answers()
    vote = vote_on_held_out(batch, told, torch.as_tensor(say).to(loss))
    leans = class_leans(batch) if batch.rows.n_classes else [None]
    own = own_scores(batch, told, leans)  # (E, W)
    trusted = float(batch.held_out.sum(1).double().mean())
    trusted /= trusted + HALF_TRUSTED_ROWS
    fine = (table["valid_loss"] <= table["valid_loss"].min() + WORST).to_numpy()
    weighting = 0
    if len(leans) > 1:
        voted = torch.isfinite(vote[:, 0])
        truth = batch.rows.truth[voted]
        of_vote = [_score(vote[voted], truth, lean) for lean in leans]
        safety = MARGIN * (1 - abs(np.linspace(-1, 1, len(leans))))
        scores = (1 - trusted) * (of_vote + safety) + trusted * own[fine].max(0)
        weighting = int(scores.argmax())
    lean = leans[weighting]
    table["agreement"] = agreement_with(vote, lean, batch)
    table["held_out_score"] = own[:, weighting]
    offers = [offer for offer in (whole, taught) if offer is not None]
    of_all = [_table_of_all(offer, vote, lean) for offer in offers]
    table = pd.concat([table, *of_all], ignore_index=True)
    trained = table.index < batch.n_candidates
    kept = np.append(fine, np.ones(len(table) - len(fine), dtype=bool))
    score = (1 - trusted) * table["agreement"] + trusted * table["held_out_score"]
    if batch.rows.n_classes > 2 and offers:
        by_fold = table["held_out_score"].where(~trained)
        gain = cross_fitted_score(batch, told, lean) - by_fold.max()
        if gain > WHOLE_GAIN:
            kept &= trained
        else:
            score, kept = by_fold, ~trained
    score = np.where(kept, score, -np.inf)
    chosen = int(score.argmax())
    if taught is not None:
        of_taught = score[-taught.batch.n_candidates :]
        if of_taught.max() >= score[chosen]:
            near = np.flatnonzero(of_taught >= of_taught.max() - NEAR)
            chosen = len(score) - len(of_taught) + int(near[-1])
    table["chosen"] = table.index == chosen
    for source in (batch, *(offer.batch for offer in offers)):
        if chosen < source.n_candidates:
            break
        chosen -= source.n_candidates
    return Choice(source, chosen, weighting, table)


def _table_of_all(offer: WholeTrees, vote: Tensor, lean: Tensor | None):
    """One row for each tree of all rows, as for the trained ones."""
    table = _table(offer.batch, offer.loss())
    table["agreement"] = agreement_with(vote, lean, offer.batch)
    truth = offer.batch.rows.truth
    table["held_out_score"] = [_score(told, truth, lean) for told in offer.answers]
    return table


def cross_fitted_score(
    batch: TreeBatch, told: list[Tensor], lean: Tensor | None
) -> float:
    """Score of trained trees that half of a fold's rows picks, on the other half.

    Parameters
    ----------
    told : list of E Tensor
        See `TreeBatch.held_out_answers`.
    lean : Tensor of shape (n_classes,) or None
        Multiplies the shares of the classes; None for regression.

    Returns
    -------
    float
        Macro F1, or minus the mean squared error, over the rows of all folds.
    """
    folds = np.array([candidate.fold for candidate in batch.candidates])
    answers, truths = [], []
    for fold in np.unique(folds):
        trees = np.flatnonzero(folds == fold)
        truth = batch.rows.truth[batch.held_out[trees[0]]]
        answer = torch.stack([told[tree] for tree in trees])  # (k, m, C)
        loss = row_loss(answer, truth, batch.rows.n_classes)
        for half in (slice(0, None, 2), slice(1, None, 2)):
            other = slice(1 - half.start, None, 2)
            answers.append(answer[int(loss[:, other].sum(1).argmin()), half])
            truths.append(truth[half])
    return _score(torch.cat(answers), torch.cat(truths), lean)


def _table(batch: TreeBatch, loss: np.ndarray) -> pd.DataFrame:
    """One row a candidate: depth, fold, start, valid_loss."""
    return pd.DataFrame(
        [(c.depth, c.fold, c.start) for c in batch.candidates],
        columns=["depth", "fold", "start"],
    ).assign(valid_loss=loss)


def _score(answer: Tensor, truth: Tensor, lean: Tensor | None) -> float:
    """Macro F1 of answers (m, C), or minus their mean squared error (m, 1)."""
    if lean is None:
        return -float((answer[:, 0] - truth).square().mean())
    predicted = (answer * lean).argmax(1)
    return float(
        macro_f1(confusion_matrix(_numpy(truth), _numpy(predicted), len(lean)))
    )


def own_scores(batch: TreeBatch, told: list[Tensor], leans) -> np.ndarray:
    """Score each tree on the rows that it did not see, (E, W).

    Parameters
    ----------
    told : list of E Tensor
        See `TreeBatch.held_out_answers`.
    leans : Tensor of shape (W, n_classes) or [None]
        What each weighting multiplies the share of each class by; None for regression.

    Returns
    -------
    ndarray of shape (E, W)
        Macro F1, or minus the mean squared error.
    """
    scores = np.empty((len(told), len(leans)))
    for tree, held_out in enumerate(batch.held_out):
        truth = batch.rows.truth[held_out]
        for weighting, lean in enumerate(leans):
            scores[tree, weighting] = _score(told[tree], truth, lean)
    return scores


def vote_on_held_out(batch: TreeBatch, told: list[Tensor], say: Tensor) -> Tensor:
    """Mean answer of the trees that did not see a row, (n, n_classes or 1).

    Parameters
    ----------
    told : list of E Tensor
        See `TreeBatch.held_out_answers`.
    say : Tensor of shape (E,)
        Weight of each tree in the mean.
    """
    total = told[0].new_zeros(batch.held_out.shape[1], told[0].shape[1])
    for tree, held_out in enumerate(batch.held_out):
        total[held_out] += say[tree] * told[tree]
    return total / (say @ batch.held_out.to(say.dtype))[:, None]


def class_leans(batch: TreeBatch) -> Tensor:
    """What each weighting multiplies the share of each class by, (W, C)."""
    weights = batch.rows.class_weights()
    return weights / weights[:1]


def agreement_with(vote: Tensor, lean: Tensor | None, batch: TreeBatch) -> np.ndarray:
    """How well each tree, its leaves fitted to every row, tells the vote.

    Parameters
    ----------
    vote : Tensor of shape (n, n_classes or 1)
        Rows of NaN do not count.
    lean : Tensor of shape (n_classes,) or None
        Multiplies the shares of the classes; None for regression.
    batch : TreeBatch or TaughtTrees
        The trees.

    Returns
    -------
    ndarray of shape (E,)
        Macro F1, or minus the mean squared difference.
    """
    voted = torch.isfinite(vote[:, 0])
    truth = vote[voted, 0] if lean is None else (vote[voted] * lean).argmax(1)
    return np.array(
        [_score(answer[voted], truth, lean) for answer in batch.answers_fitted()]
    )


def _numpy(codes: Tensor) -> np.ndarray:
    """Class codes as an array, wherever they were."""
    return codes.cpu().numpy()
