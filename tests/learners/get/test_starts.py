import numpy as np
import pytest

from tests.learners.get.tables import wavy_rows
from treelab.learners.get.starts import greedy_splits, linear_residual, linear_scores
from treelab.learners.get.trees import HardTrees, Rows
from treelab.ops.oblique import hard_leaf


def test_a_kink_across_two_columns_takes_one_split():
    x = np.random.default_rng(0).random((400, 4))
    y = np.abs(x[:, 0] - x[:, 1])
    rows = Rows(x, y, np.ones(400), 0, linear=True)
    splits = greedy_splits(rows, 1, np.random.default_rng(0))
    tree = HardTrees.fit(*(part[None] for part in splits), rows)
    weights = np.abs(tree.weights[0, 0])
    assert set(np.argsort(weights)[-2:]) == {0, 1}
    assert rows.loss(tree.predict(x))[0] < 0.1 * y.var()


def test_what_one_linear_model_explains_leaves_no_scores():
    x = np.random.default_rng(0).random((300, 3))
    y = x @ [1.0, 2.0, -1.0]
    bent = np.abs(x[:, 0] - 0.5)
    assert np.std(linear_scores(*linear_residual(x, y))) < 0.1 * np.std(
        linear_scores(*linear_residual(x, y + bent))
    )


def test_scores_of_a_linear_model_sum_to_little():
    rows = wavy_rows(500, 0)
    scores = linear_scores(*linear_residual(rows.x, rows.y))
    assert scores.shape == (500, 5)
    assert (np.abs(scores.mean(0)) < 0.05 * scores.std(0)).all()


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("oblique", [True, False])
def test_splits_leave_enough_rows_on_both_sides(oblique, linear):
    rows = wavy_rows(500, 0, linear=linear)
    rng = np.random.default_rng(0)
    weights, threshold = greedy_splits(rows, 5, rng, oblique=oblique)
    leaf = hard_leaf(rows.x, weights[None], threshold[None])[0]
    assert np.unique(leaf, return_counts=True)[1].min() >= (20 if linear else 5)
    assert np.isfinite(threshold).sum() >= 5
    assert oblique == ((weights != 0).sum(axis=1) > 1).any()


@pytest.mark.parametrize("linear", [True, False])
def test_a_top_stays_as_it_is(linear):
    rows = wavy_rows(500, 0, linear=linear)
    rng = np.random.default_rng(0)
    top = (np.eye(4)[[0, 1, 2]], np.array([0.5, np.inf, 0.4]))
    weights, threshold = greedy_splits(rows, 4, rng, top=top)
    assert (weights[:3] == top[0]).all()
    assert (threshold[:3] == top[1]).all()
    assert np.isfinite(threshold[3:]).any()


def test_with_many_columns_the_one_that_changes_the_slope_is_found():
    rng = np.random.default_rng(0)
    x = rng.random((600, 60))
    y = np.where(x[:, 55] > 0.5, x[:, 0], -x[:, 0])
    rows = Rows(x, y, np.ones(600), 0, linear=True)
    weights, _ = greedy_splits(rows, 1, rng, oblique=False)
    assert weights[0].argmax() == 55
