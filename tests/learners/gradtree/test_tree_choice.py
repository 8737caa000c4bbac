import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from treelab.learners.common.folds import assign_folds
from treelab.learners.common.objective import ClassObjective
from treelab.learners.common.rows import to_rows
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import StartPlan, start_batch
from treelab.learners.gradtree.tree_choice import (
    choose_tree,
    class_shifts,
    cross_fitted_score,
    own_scores,
    vote_on_held_out,
)


def batch_of(n_rows=90, *, depths=(1, 3), n_restarts=5, n_classes=2):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, 4)).astype(np.float32)
    bounds = np.linspace(0.4, 1.2, n_classes - 1)
    y = np.digitize(x[:, 1] + 0.3 * rng.normal(size=n_rows), bounds)
    balanced = n_rows / np.bincount(y) / n_classes
    weights = np.stack([np.ones(n_classes), balanced**0.5, balanced], 1)
    objective = ClassObjective(class_weights=weights)
    rows = to_rows(
        x,
        y,
        assign_folds(y, 3, seed=0),
        n_train=n_rows,
        objective=objective,
        device=torch.device("cpu"),
    )
    return start_batch(
        rows,
        y,
        plan_of(depths, n_restarts),
        objective,
        GradTreeSettings(),
        torch.Generator().manual_seed(0),
    )


def plan_of(depths=(1, 3), n_restarts=5):
    return StartPlan(
        depths=depths,
        n_folds=3,
        n_restarts=n_restarts,
        min_samples_leaf=(1, 5),
        seed=0,
        max_columns=256,
    )


def test_a_row_is_voted_on_only_by_trees_that_did_not_see_it():
    batch = batch_of()
    tree_weight = torch.ones(batch.n_candidates)
    before = vote_on_held_out(batch, batch.held_out_predictions(), tree_weight)
    # Did a row's own label count, changing it would change its vote.
    row, fold = 7, int(batch.rows.fold[7])
    batch.rows.target[row] = 1 - batch.rows.target[row]
    after = vote_on_held_out(batch, batch.held_out_predictions(), tree_weight)
    own_fold = batch.rows.fold == fold
    torch.testing.assert_close(before[own_fold], after[own_fold])
    torch.testing.assert_close(before.sum(1), torch.ones(len(before)))


def test_shifts_multiply_classes_as_the_rows_weights_do():
    shifts = class_shifts(batch_of())
    assert shifts.shape == (3, 2)
    torch.testing.assert_close(shifts[0], torch.ones(2))
    torch.testing.assert_close(shifts[1].square(), shifts[2])


def test_a_tree_that_failed_neither_votes_nor_is_chosen():
    batch = batch_of()
    loss = batch.valid_loss().clone()
    first = choose_tree(batch, loss)
    loss[first.tree] = torch.inf
    other = choose_tree(batch, loss)
    assert other.tree != first.tree
    assert np.isfinite(other.table["agreement"]).all()
    assert other.table["chosen"].sum() == 1


def test_a_tree_is_scored_by_scikit_learns_macro_f1_on_the_rows_it_did_not_see():
    batch = batch_of(depths=(2,), n_restarts=2)
    leaf = batch.leaves(batch.rows.x)
    scores = own_scores(batch, batch.held_out_predictions(), class_shifts(batch))
    truth = batch.rows.target.numpy()
    for tree, held_out in enumerate(batch.held_out.numpy()):
        predicted = np.empty(held_out.sum(), dtype=int)
        for place, row in enumerate(np.flatnonzero(held_out)):
            together = (leaf[tree] == leaf[tree, row]).numpy() & ~held_out
            proba = (truth[together].sum() + truth[~held_out].mean()) / (
                together.sum() + 1
            )
            predicted[place] = proba > 0.5
        expected = f1_score(truth[held_out], predicted, average="macro")
        assert scores[tree, 0] == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trained_trees_are_scored_on_rows_that_did_not_pick_them(n_classes):
    batch = batch_of(60, n_classes=n_classes)
    predictions = batch.held_out_predictions()
    shift = class_shifts(batch)[1]
    labels, truths = [], []
    for fold in range(3):
        trees = [e for e, c in enumerate(batch.candidates) if c.fold == fold]
        truth = batch.rows.target[batch.held_out[trees[0]]].tolist()
        for half in (0, 1):
            mine = [i for i in range(len(truth)) if i % 2 == half]
            others = [i for i in range(len(truth)) if i % 2 != half]

            def likelihood(tree, others=others, truth=truth):
                own = [float(predictions[tree][i, truth[i]]) for i in others]
                return np.log(np.maximum(own, 1e-6)).sum()

            best = max(trees, key=likelihood)
            labels += [int((predictions[best][i] * shift).argmax()) for i in mine]
            truths += [truth[i] for i in mine]
    expected = f1_score(truths, labels, average="macro")
    assert cross_fitted_score(batch, predictions, shift) == pytest.approx(expected)
