import itertools

import numpy as np
import pytest

from tests.learners.get.tables import wavy_rows
from treelab.learners.get.fit import (
    choose_sizes,
    prune_by_validation,
    sparse_splits,
    subtrees,
)
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.starts import greedy_splits
from treelab.learners.get.trees import HardTrees, Rows
from treelab.trees.pruning import SMALLEST, within_one_standard_error


def grown(rows, depth=6):
    rng = np.random.default_rng(0)
    splits = greedy_splits(rows, depth, rng)
    return HardTrees.fit(*(part[None] for part in splits), rows)


CASES = [(0, False), (0, True), (2, False), (3, False)]


@pytest.mark.parametrize(("n_classes", "linear"), CASES)
def test_pruning_lowers_the_validation_loss(n_classes, linear):
    rows, valid = (
        wavy_rows(400, 0, n_classes, linear=linear),
        wavy_rows(150, 1, n_classes, linear=linear),
    )
    tree = grown(rows)
    pruned = prune_by_validation(tree, rows, valid)
    losses = [valid.loss(each.predict(valid.x))[0] for each in (pruned, tree)]
    assert losses[0] <= losses[1]
    assert pruned.n_leaves <= tree.n_leaves


@pytest.mark.parametrize(("n_classes", "linear"), CASES)
def test_subtrees_ascend_from_one_leaf_to_the_whole_tree(n_classes, linear):
    rows = wavy_rows(300, 0, n_classes, linear=linear)
    tree = grown(rows, 4)
    found = subtrees(tree, rows)
    sizes = [each.n_leaves for each in found]
    assert sizes[0] == 1
    assert sizes == sorted(sizes)
    losses = [rows.loss(each.predict(rows.x))[0] for each in found]
    assert losses[-1] == pytest.approx(rows.loss(tree.predict(rows.x))[0])
    assert losses[0] == max(losses)
    for small, large in itertools.pairwise(found):  # each hangs together, and is nested
        splits = np.flatnonzero(np.isfinite(small.threshold[0]))
        assert np.isfinite(large.threshold[0, splits]).all()
        assert np.isfinite(small.threshold[0, (splits[splits > 0] - 1) // 2]).all()


@pytest.mark.parametrize(("n_classes", "linear"), CASES)
def test_the_smallest_tree_within_one_standard_error_is_chosen(n_classes, linear):
    rows, valid = (
        wavy_rows(400, 0, n_classes, linear=linear),
        wavy_rows(200, 1, n_classes, linear=linear),
    )
    found, scores, chosen, rule = choose_sizes(
        grown(rows, 5), rows, valid, GetSettings()
    )
    losses = np.array([valid.row_loss(t.predict(valid.x)[0]) for t in found])
    best = losses[losses.mean(1).argmin()]
    behind = losses - best
    error = behind.std(1, ddof=1) / np.sqrt(behind.shape[1])
    assert chosen == np.flatnonzero(behind.mean(1) <= error)[0]
    assert found[chosen].n_leaves > 1
    assert rule == (f"{SMALLEST} of the lowest loss" if n_classes else SMALLEST)
    assert (np.diff(scores[0]) > 0).all()
    small, _, limited, rule = choose_sizes(
        found[-1], rows, valid, GetSettings(max_leaf_nodes=3)
    )
    assert small[limited].n_leaves <= 3
    assert bool(rule) == (limited == chosen)


def test_costs_choose_the_size_and_a_row_of_weight_two_is_a_row_twice():
    rows, valid = wavy_rows(400, 0, 3), wavy_rows(100, 1, 3)
    costs = np.array([[0, 1, 9.0], [1, 0, 1], [2, 1, 0]])

    def cost_of(predicted, y):
        return costs[y, (predicted @ costs).argmin(1)]

    twice = np.random.default_rng(0).random(100) < 0.5
    repeated = valid.join(valid.take(twice))
    one, two = (
        choose_sizes(grown(rows, 5), rows, on, GetSettings(), weight, cost_of)
        for on, weight in ((valid, 1.0 + twice), (repeated, None))
    )
    paid = np.array([cost_of(tree.predict(valid.x)[0], valid.y) for tree in one[0]])
    paid = paid * (1.0 + twice)
    mean = paid.mean(axis=1)
    assert one[1][1] == pytest.approx(1 - mean / mean[0])
    assert one[1][1] == pytest.approx(two[1][1])
    assert one[2] == max(1, within_one_standard_error(-paid)[0])


@pytest.mark.parametrize(("n_classes", "linear"), CASES)
def test_noise_is_pruned_to_almost_nothing(n_classes, linear):
    rng = np.random.default_rng(0)

    def noise(n):
        y = rng.integers(n_classes, size=n) if n_classes else rng.normal(size=n)
        return Rows(rng.random((n, 4)), y, np.ones(n), n_classes, linear)

    rows, valid = noise(400), noise(200)
    pruned = prune_by_validation(grown(rows), rows, valid)
    assert np.isfinite(pruned.threshold).sum() <= 10


@pytest.mark.parametrize(("n_classes", "linear"), CASES)
@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_sparse_splits_stay_within_the_tolerance(n_classes, linear, tolerance):
    rows, valid = (
        wavy_rows(400, 0, n_classes, linear=linear),
        wavy_rows(150, 1, n_classes, linear=linear),
    )
    tree = grown(rows, 4)
    sparse = sparse_splits(tree, rows, valid, tolerance)
    on = rows.join(valid)
    before = on.loss(tree.predict(on.x))[0]
    allowed = (1 + tolerance) ** tree.depth
    assert on.loss(sparse.predict(on.x))[0] <= before * allowed + 1e-12
    assert (sparse.weights != 0).sum() <= (tree.weights != 0).sum()


def test_columns_that_do_nothing_leave_the_splits():
    rng = np.random.default_rng(0)
    x = rng.random((300, 5))
    y = np.where(x[:, 0] + x[:, 1] > 1, 1.0, -1.0)
    rows, valid = (
        Rows(x[at], y[at], np.ones(150), 0) for at in np.split(np.arange(300), 2)
    )
    weights = np.array([[[1.0, 1.0, 1e-3, -1e-3, 0.0]]])
    tree = HardTrees.fit(weights, np.array([[1.0]]), rows)
    sparse = sparse_splits(tree, rows, valid, 0.05)
    assert (sparse.weights[0, 0] != 0).tolist() == [True, True, False, False, False]


def test_of_classes_no_constant_is_chosen_however_little_a_split_gains():
    rng = np.random.default_rng(0)
    x = rng.random((300, 3))
    y = (rng.random(300) < np.where(x[:, 0] > 0.5, 0.2, 0.1)).astype(int)
    rows, valid = (
        Rows(x[at], y[at], np.ones(150), 2) for at in np.split(np.arange(300), 2)
    )
    found, _, chosen, rule = choose_sizes(grown(rows, 4), rows, valid, GetSettings())
    assert found[0].n_leaves == 1
    assert chosen == 1
    assert not rule  # the constant is
