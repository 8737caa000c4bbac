"""What is said of a regression tree does not depend on the unit of its target."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.evaluation.comparison.trees import trap, xor_tree
from tests.trees.make import make_table, make_tree
from tests.trees.pruning.sums import sums_at_sizes
from treelab.data.leaks import scores_alone
from treelab.evaluation.explanations import path_contributions
from treelab.evaluation.greedy_gap import greedy_gap
from treelab.evaluation.importance import Dependence
from treelab.evaluation.metrics import baseline_loss, scores
from treelab.evaluation.node_report import node_report
from treelab.evaluation.paired_bootstrap import paired_bootstrap
from treelab.evaluation.pruning import pruned_scores
from treelab.evaluation.rashomon import likeness
from treelab.evaluation.rashomon_enumeration import TrainingRows, all_trees
from treelab.trees.feature import Feature
from treelab.trees.pruning import cost_complexity_path, prune_to_size, simplify
from treelab.trees.tree import Tree

UNITS = [(1e-10, 0.0), (1.0, 1e9), (1e100, 0.0)]


def grown(factor=1.0, offset=0.0, seed=3):
    """A tree with rows, and their target, in a unit."""
    rng = np.random.default_rng(seed)
    tree, X = make_tree(rng, 12, n_classes=0), make_table(rng, 200)
    y = tree.predict(X) + rng.normal(size=len(X))
    return (tree.with_rows(X, y * factor + offset), X, y * factor + offset)


def with_means(tree, X, y):
    """The tree whose leaves predict the means of their rows."""
    value, leaf = tree.value.copy(), tree.apply(X)
    for node in np.unique(leaf):
        value[node] = y[leaf == node].mean()
    return replace(tree, value=value)


@pytest.mark.parametrize(("factor", "offset"), UNITS)
def test_a_tree_is_pruned_and_scored_alike(factor, offset):
    found = []
    for unit in ((1.0, 0.0), (factor, offset)):
        tree, X, y = grown(*unit)
        tree = simplify(with_means(tree, X, y))
        path = cost_complexity_path(tree)
        sums = sums_at_sizes(tree, X, y, np.array([2, 4, 8])) / unit[0] ** 2
        found.append((path.n_leaves, pruned_scores(path, X, y), sums))
    (n_leaves, score, sums), (other_leaves, other_score, other_sums) = found
    assert len(n_leaves) > 3
    assert n_leaves.tolist() == other_leaves.tolist()
    assert np.allclose(score, other_score, atol=1e-6)
    assert np.allclose(sums, other_sums, rtol=1e-5)


@pytest.mark.parametrize(("factor", "offset"), [*UNITS, (1e-200, 0.0)])
def test_scores_are_those_of_the_plain_target(factor, offset):
    rng = np.random.default_rng(0)
    y = rng.normal(2, 1, 80)
    first, second = y + rng.normal(0, 0.5, 80), y + rng.normal(0, 0.9, 80)
    plain = scores("regression", y, first)
    unit = [own * factor + offset for own in (y, first, second)]
    found = scores("regression", *unit[:2])
    assert found["r2"] == pytest.approx(plain["r2"], abs=1e-6)
    assert found["rmse"] == pytest.approx(plain["rmse"] * factor, rel=1e-5)
    assert found["mae"] == pytest.approx(plain["mae"] * factor, rel=1e-5)
    assert baseline_loss("regression", unit[0], unit[1]) == pytest.approx(
        baseline_loss("regression", y, first), abs=1e-5
    )
    expected = paired_bootstrap("regression", y, first, second)["r2"]
    compared = paired_bootstrap("regression", *unit)["r2"]
    assert compared.first == pytest.approx(expected.first, abs=1e-6)
    assert compared.low == pytest.approx(expected.low, abs=1e-6)


@pytest.mark.parametrize(("factor", "offset"), UNITS)
def test_a_node_s_report_is_in_the_unit_of_the_target(factor, offset):
    (plain, X, y), (tree, _, scaled) = grown(), grown(factor, offset)
    of_plain = node_report(plain, 0, {"train": (X, y)}).statistics["train"]
    found = node_report(tree, 0, {"train": (X, scaled)}).statistics["train"]
    assert found.std == pytest.approx(of_plain.std * factor, rel=1e-5)
    assert found.mean == pytest.approx(of_plain.mean * factor + offset, rel=1e-9)
    assert found.gain == pytest.approx(of_plain.gain * factor**2, rel=1e-4)


@pytest.mark.parametrize(("factor", "offset"), UNITS)
def test_trees_are_as_alike_in_any_unit(factor, offset):
    predicted = np.random.default_rng(0).normal(size=(5, 40))
    found = likeness(predicted * factor + offset, 0)
    assert np.allclose(found, likeness(predicted, 0), atol=1e-5)


@pytest.mark.parametrize(("factor", "offset"), UNITS)
def test_the_same_trees_are_nearly_as_good(factor, offset):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 4, (60, 3)), columns=list("abc")).astype(float)
    y = X["a"] + 2 * (X["b"] > 1) + rng.normal(size=60)
    features = tuple(Feature(name, fill=0.0) for name in X)
    own = Tree.complete(features, [0], [1.5], [False], np.zeros((2, 1)))
    plain, found = (
        all_trees(own, (X, target, None), np.ones(1), 2, 10)
        for target in (y, y * factor + offset)
    )
    assert len(plain) > 1
    assert len(found) == len(plain)
    assert np.allclose(found.score, plain.score, atol=1e-6)


@pytest.mark.parametrize(("factor", "offset"), UNITS)
@pytest.mark.parametrize(("x_factor", "x_offset"), [(1, 0), (1e-10, 0), (1, 1e9)])
def test_where_greedy_fails_is_found_in_any_unit(factor, offset, x_factor, x_offset):
    (X, y), (X_test, y_test) = trap(), trap(seed=1)
    number, number_test = (1.0 * (labels == "sound") for labels in (y, y_test))
    plain = greedy_gap(
        xor_tree(X, number, "number"), (X, number), (X_test, number_test)
    )
    X, X_test = (own * x_factor + x_offset for own in (X, X_test))
    number, number_test = (own * factor + offset for own in (number, number_test))
    tree = xor_tree(X, number, "number")
    moved = replace(
        tree, threshold=tree.threshold * x_factor + x_offset, between=None
    ).with_rows(X, number)
    found = greedy_gap(moved, (X, number), (X_test, number_test))
    assert found.gains.final == pytest.approx(plain.gains.final, abs=1e-5)
    assert found.greedy.test == pytest.approx(plain.greedy.test, abs=1e-5)


@pytest.mark.parametrize(("factor", "offset"), UNITS)
def test_a_column_tells_as_much_alone_in_any_unit(factor, offset):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    X.loc[::10, "b"] = np.nan
    y = X["a"] ** 3 + rng.normal(size=300)
    plain = dict(scores_alone(X, y, "regression"))
    scaled = dict(scores_alone(X * factor + offset, y * factor + offset, "regression"))
    assert plain["a"] > 0.5
    for name in plain:
        assert scaled[name] == pytest.approx(plain[name], abs=1e-5)


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e100])
def test_what_differs_is_told_apart_in_every_unit(factor):
    tree, X, y = grown(factor)
    tree = with_means(tree, X, y)
    rows, trees = (
        TrainingRows(tree, X, y, None, np.ones(1)),
        [tree, prune_to_size(tree, 2)],
    )
    leaves = [rows.leaf(own) for own in trees]
    assert rows.alike([*trees, tree], [*leaves, leaves[0]]).tolist() == [0, 1, 0]
    lines = factor * np.array([[1.0, 2.0]])
    found = Dependence("a", np.array([0.0, 1.0]), True, lines)
    assert "highest" in found.sentence("y", Feature("a"))
    flat = replace(found, lines=np.full((1, 2), factor))
    assert "does not depend" in flat.sentence("y", Feature("a"))
    far = replace(found, lines=np.array([[1.0, 2.0]]) + 1e10)
    assert "highest" in far.sentence("y", Feature("a"))


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_a_prediction_is_explained_alike_in_any_unit_of_the_weights(unit):
    X, y = trap(200)
    weight = np.linspace(1, 2, len(X))
    one, other = (
        xor_tree(X, y).with_rows(X, y, own) for own in (weight, unit * weight)
    )
    row = X.iloc[[0]]
    expected = path_contributions(one, row)
    found = path_contributions(other, row)
    assert found.base == pytest.approx(expected.base)
    assert found.changes == pytest.approx(expected.changes)
