import numpy as np
import pytest

from tests.learners.get.tables import wavy_rows
from treelab.learners.get.linear_splits import LinearGrowth, linear_splits
from treelab.learners.get.rows import Rows
from treelab.learners.get.trees import HardTrees
from treelab.ops.oblique import hard_leaf


def test_a_kink_across_two_columns_takes_one_split():
    x = np.random.default_rng(0).random((400, 4))
    y = np.abs(x[:, 0] - x[:, 1])
    growth = LinearGrowth(penalty=1e-3)
    splits = linear_splits(x, y, 1, np.random.default_rng(0), growth=growth)
    rows = Rows(x, y, np.ones(400), 0)
    tree = HardTrees.fit(*(part[None] for part in splits), rows, linear=True)
    weights = np.abs(tree.weights[0, 0])
    assert set(np.argsort(weights)[-2:]) == {0, 1}
    assert rows.loss(tree.predict(x))[0] < 0.3 * y.var()


def test_a_linear_model_for_all_rows_needs_no_split():
    x = np.random.default_rng(0).random((300, 3))
    y = x @ [1.0, 2.0, -1.0]
    growth = LinearGrowth(penalty=1e-6)
    splits = linear_splits(x, y, 4, np.random.default_rng(0), growth=growth)
    assert np.isinf(splits[1]).all()


@pytest.mark.parametrize("oblique", [True, False])
def test_splits_leave_enough_rows_on_both_sides(oblique):
    rows = wavy_rows(500, 0)
    rng = np.random.default_rng(0)
    growth = LinearGrowth(min_samples_leaf=25, oblique=oblique)
    weights, threshold = linear_splits(rows.x, rows.y, 5, rng, growth=growth)
    leaf = hard_leaf(rows.x, weights[None], threshold[None])[0]
    assert np.unique(leaf, return_counts=True)[1].min() >= 25
    assert np.isfinite(threshold).sum() >= 5
    assert oblique == ((weights != 0).sum(axis=1) > 1).any()


def test_a_top_stays_as_it_is():
    rows = wavy_rows(500, 0)
    rng = np.random.default_rng(0)
    top = (np.eye(4)[[0, 1, 2]], np.array([0.5, np.inf, 0.4]))
    weights, threshold = linear_splits(rows.x, rows.y, 4, rng, top=top)
    assert (weights[:3] == top[0]).all()
    assert (threshold[:3] == top[1]).all()
    assert np.isfinite(threshold[3:]).any()


def test_columns_beyond_those_of_a_linear_model_can_still_be_split_on():
    rng = np.random.default_rng(0)
    x = rng.random((300, 60))
    y = np.where(x[:, 55] > 0.5, x[:, 0], -x[:, 0])
    weights, _ = linear_splits(x, y, 1, rng, growth=LinearGrowth(oblique=False))
    assert weights[0].argmax() == 55
