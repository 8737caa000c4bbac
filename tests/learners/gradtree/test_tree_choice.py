import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from treelab.learners.common.folds import assign_folds
from treelab.learners.common.rows import FoldedRows
from treelab.learners.gradtree.starts import start_batch
from treelab.learners.gradtree.tree_choice import (
    choose_tree,
    class_leans,
    cross_fitted_score,
    own_scores,
    vote_on_held_out,
)


def batch_of(n_rows=90, *, depths=(1, 3), n_restarts=5, n_classes=2):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, 4)).astype(np.float32)
    bounds = np.linspace(0.4, 1.2, n_classes - 1)
    y = np.digitize(x[:, 1] + 0.3 * rng.normal(size=n_rows), bounds)
    balanced = (n_rows / np.bincount(y))[y] / n_classes
    rows = FoldedRows(
        x=torch.tensor(x),
        target=torch.tensor(y),
        truth=torch.tensor(y),
        weight=torch.tensor(
            np.stack([np.ones(n_rows), balanced**0.5, balanced], 1), dtype=torch.float32
        ),
        fold=torch.tensor(assign_folds(y, 3, seed=0)),
        n_train=n_rows,
        n_classes=n_classes,
    )
    return start_batch(
        rows,
        y,
        depths=depths,
        n_folds=3,
        n_restarts=n_restarts,
        greedy_leaf_rows=(1, 5),
        max_columns=256,
        generator=torch.Generator().manual_seed(0),
        seed=0,
    )


def test_a_row_is_voted_on_only_by_trees_that_did_not_see_it():
    batch = batch_of()
    say = torch.ones(batch.n_candidates)
    before = vote_on_held_out(batch, batch.held_out_answers(), say)
    # Were a row's own label heard, turning it would turn its vote.
    row, fold = 7, int(batch.rows.fold[7])
    batch.rows.target[row] = 1 - batch.rows.target[row]
    after = vote_on_held_out(batch, batch.held_out_answers(), say)
    own_fold = batch.rows.fold == fold
    torch.testing.assert_close(before[own_fold], after[own_fold])
    torch.testing.assert_close(before.sum(1), torch.ones(len(before)))


def test_leans_multiply_classes_as_the_rows_weights_do():
    leans = class_leans(batch_of())
    assert leans.shape == (3, 2)
    torch.testing.assert_close(leans[0], torch.ones(2))
    torch.testing.assert_close(leans[1].square(), leans[2])


def test_a_tree_that_failed_is_neither_heard_nor_kept():
    batch = batch_of()
    loss = batch.valid_loss().clone()
    kept = choose_tree(batch, loss)
    loss[kept.tree] = torch.inf
    other = choose_tree(batch, loss)
    assert other.tree != kept.tree
    assert np.isfinite(other.table["agreement"]).all()
    assert other.table["chosen"].sum() == 1


def test_a_tree_is_scored_by_scikit_learns_macro_f1_on_the_rows_it_did_not_see():
    batch = batch_of(depths=(2,), n_restarts=2)
    leaf = batch.leaves(batch.rows.x)
    scores = own_scores(batch, batch.held_out_answers(), class_leans(batch))
    truth = batch.rows.truth.numpy()
    for tree, held_out in enumerate(batch.held_out.numpy()):
        told = np.empty(held_out.sum(), dtype=int)
        for place, row in enumerate(np.flatnonzero(held_out)):
            together = (leaf[tree] == leaf[tree, row]).numpy() & ~held_out
            share = (truth[together].sum() + truth[~held_out].mean()) / (
                together.sum() + 1
            )
            told[place] = share > 0.5
        expected = f1_score(truth[held_out], told, average="macro")
        assert scores[tree, 0] == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trained_trees_are_scored_on_rows_that_did_not_pick_them(n_classes):
    batch = batch_of(60, n_classes=n_classes)
    told = batch.held_out_answers()
    lean = class_leans(batch)[1]
    answers, truths = [], []
    for fold in range(3):
        trees = [e for e, c in enumerate(batch.candidates) if c.fold == fold]
        truth = batch.rows.truth[batch.held_out[trees[0]]].tolist()
        for half in (0, 1):
            mine = [i for i in range(len(truth)) if i % 2 == half]
            others = [i for i in range(len(truth)) if i % 2 != half]

            def share_of_truth(tree, others=others, truth=truth):
                share = [max(float(told[tree][i, truth[i]]), 1e-6) for i in others]
                return np.log(share).sum()

            best = max(trees, key=share_of_truth)
            answers += [int((told[best][i] * lean).argmax()) for i in mine]
            truths += [truth[i] for i in mine]
    expected = f1_score(truths, answers, average="macro")
    assert cross_fitted_score(batch, told, lean) == pytest.approx(expected)
