from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from tests.learners.gradtree.test_tree_choice import batch_of, plan_of
from treelab.learners.gradtree.estimators import GradTreeClassifier
from treelab.learners.gradtree.full_data_trees import NOTE, full_data_trees
from treelab.learners.gradtree.tree_choice import (
    HALF_TRUSTED_ROWS,
    WORST,
    choose_tree,
)

SIZES = (1, 5)


def full_data_of(batch):
    generator = torch.Generator().manual_seed(0)
    return full_data_trees(batch, batch.rows.target.numpy(), plan_of(), generator)


def check_greedy(batch, seen):
    """Each greedy start is scikit-learn's tree of the rows (E, n) that it saw."""
    x, y = batch.rows.x.numpy(), batch.rows.target.numpy()
    leaf = batch.leaves(batch.rows.x).numpy()
    for candidate, leaves, rows in zip(batch.candidates, leaf, seen):
        if candidate.start == "random":
            continue
        size = int(candidate.start.split()[1])
        tree = DecisionTreeClassifier(
            max_depth=candidate.depth, min_samples_leaf=size, random_state=0
        ).fit(x[rows], y[rows])
        pairs = set(zip(leaves[rows], tree.apply(x[rows])))
        assert len(pairs) == len(set(leaves[rows])) == tree.get_n_leaves()


def test_each_is_scikit_learns_tree_of_every_row():
    batch = batch_of()
    full_data = full_data_of(batch).batch
    assert len(full_data.candidates) == len(SIZES) * len(set(batch.depths))
    assert {candidate.fold for candidate in full_data.candidates} == {-1}
    assert full_data.notes == (NOTE,)
    assert batch.notes == ()
    check_greedy(
        full_data, np.ones((len(full_data.candidates), len(batch.rows.x)), bool)
    )


def test_the_greedy_starts_of_a_fold_are_scikit_learns_trees_of_its_rows():
    batch = batch_of()
    assert any(candidate.start != "random" for candidate in batch.candidates)
    check_greedy(batch, ~batch.held_out.numpy())


def test_they_are_scored_on_rows_that_their_like_did_not_see():
    batch = batch_of()
    full_data = full_data_of(batch)
    assert torch.isfinite(full_data.predictions).all()
    # Did a row's own label count, changing it would change its prediction.
    row = 7
    turned = batch.rows.target.clone()
    turned[row] = 1 - turned[row]
    other = batch_of()
    other.rows = replace(other.rows, target=turned)
    torch.testing.assert_close(
        full_data_of(other).predictions[:, row], full_data.predictions[:, row]
    )
    assert np.isfinite(full_data.loss()).all()


@pytest.mark.parametrize("n_rows", [90, 300])
def test_with_two_classes_trees_of_all_rows_are_judged_as_the_trained_ones(n_rows):
    batch = batch_of(n_rows, depths=(2, 4))
    table = choose_tree(batch, batch.valid_loss(), full_data_of(batch)).table
    of_all = (table["fold"] < 0).to_numpy()
    trusted = n_rows / 3 / (n_rows / 3 + HALF_TRUSTED_ROWS)
    score = (1 - trusted) * table["agreement"] + trusted * table["held_out_score"]
    loss = table["valid_loss"].to_numpy()
    score[~of_all & (loss > loss[~of_all].min() + WORST)] = -1
    assert table["chosen"].argmax() == score.argmax()


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize("n_rows", [90, 300])
def test_with_more_classes_the_best_tree_of_all_rows_is_chosen(n_classes, n_rows):
    batch = batch_of(n_rows, depths=(2, 4), n_classes=n_classes)
    full_data = full_data_of(batch)
    choice = choose_tree(batch, batch.valid_loss(), full_data)
    assert choice.batch is full_data.batch
    score = choice.table.loc[choice.table["fold"] < 0, "held_out_score"]
    assert choice.table["chosen"].idxmax() == score.idxmax()
    assert choice.tree == score.argmax()


def test_with_more_classes_a_trained_tree_is_chosen_where_all_others_fail():
    batch = batch_of(300, depths=(2, 4), n_classes=3)
    full_data = full_data_of(batch)
    nonsense = replace(full_data, predictions=full_data.predictions.roll(150, 1))
    choice = choose_tree(batch, batch.valid_loss(), nonsense)
    assert choice.batch is batch
    assert choice.table["chosen"].idxmax() == choice.tree
    # One that failed in training is not chosen there either.
    loss = batch.valid_loss().clone()
    loss[choice.tree] = torch.inf
    other = choose_tree(batch, loss, nonsense)
    assert other.batch is batch
    assert other.tree != choice.tree


def test_a_batch_without_greedy_starts_has_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    fitted = GradTreeClassifier(
        2, n_restarts=2, max_steps=20, greedy_starts=False, random_state=0
    ).fit(X, X[:, 0] > 0)
    assert (fitted.candidates_["fold"] >= 0).all()
