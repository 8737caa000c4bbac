"""Other rows in a tree than those it was fitted to."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control, fisher_exact

from tests.figures.small_trees import complete_tree, stump_and_more, tree_of
from treelab.evaluation.routing import (
    BY_CHANCE,
    routing_shift,
    shift_by_month,
    stability_index,
)


def test_rows_drawn_alike_are_seldom_marked_and_others_are():
    tree, X = complete_tree(3)
    rng = np.random.default_rng(0)
    counts = tree.decision_path(X)
    marked = 0
    for _ in range(200):
        fitted, other = (
            counts[rng.integers(0, len(X), n)].sum(axis=0) for n in (300, 80)
        )
        marked += routing_shift(tree, fitted, other).n_differing > 0
    assert marked / 200 <= BY_CHANCE + 0.02
    only_left = counts[rng.integers(0, len(X) // 2, 80)].sum(axis=0)
    assert (
        routing_shift(tree, fitted, only_left).n_differing == 1
    )  # where it arises, not below


def test_p_values_are_fishers_before_they_are_adjusted():
    tree, X, _ = stump_and_more()
    fitted, rows = tree.node_counts(X), tree.node_counts(X[:15])
    shift = routing_shift(tree, fitted, rows)
    by_split = []
    for split, left, right in ((0, 1, 2), (2, 3, 4)):
        table = [[fitted[left], fitted[right]], [rows[left], rows[right]]]
        tails = [fisher_exact(table, side).pvalue for side in ("less", "greater")]
        by_split.append(min(1, 2 * min(tails)))
        assert shift.splits.loc[split, "rows"] == rows[split]
    expected = false_discovery_control(by_split)
    assert shift.splits["p_value"].tolist() == pytest.approx(expected)


def test_the_split_that_sends_rows_elsewhere_is_named():
    tree, X, _ = stump_and_more()
    fitted = tree.node_counts(X)
    alike = routing_shift(tree, fitted, fitted)
    assert alike.n_differing == 0
    assert alike.widest_split is None
    assert alike.psi == 0
    odd = routing_shift(tree, fitted, tree.node_counts(X[:10]))
    assert odd.widest_split == 0
    assert odd.splits.loc[0, ["holds", "fitted_holds"]].tolist() == [1.0, 0.25]
    assert np.isnan(odd.splits["psi"][2])  # none of these rows comes there
    assert odd.psi > 0.25
    nobody = routing_shift(tree, tree.node_counts(X[:10]), tree.node_counts(X[:5]))
    assert nobody.splits["p_value"].tolist() == [1.0, 1.0]


def test_the_stability_index_is_its_formula_on_large_counts():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.3, 0.3])
    expected = ((q - p) * np.log(q / p)).sum()
    found = stability_index((p * 1e7).astype(int), (q * 1e7).astype(int))
    assert found == pytest.approx(expected, abs=1e-5)


def test_by_chance_the_index_is_what_rows_drawn_alike_have():
    tree, X = complete_tree(3)
    rng = np.random.default_rng(1)
    counts = tree.decision_path(X)
    shifts = [
        routing_shift(
            tree, *(counts[rng.integers(0, len(X), n)].sum(axis=0) for n in (400, 200))
        )
        for _ in range(60)
    ]
    mean = np.mean([shift.psi for shift in shifts])
    assert mean == pytest.approx(shifts[0].psi_by_chance, rel=0.25)


def test_by_chance_the_index_of_few_rows_is_the_mean_over_their_relabellings():
    tree, X = complete_tree(3)
    rng = np.random.default_rng(2)
    counts, is_leaf = tree.decision_path(X), tree.is_leaf
    for n_fitted, n_rows in ((30, 4), (60, 12), (400, 400)):
        fitted, rows = (
            counts[rng.integers(0, len(X), n)].sum(axis=0) for n in (n_fitted, n_rows)
        )
        both = (fitted + rows)[is_leaf]
        drawn = rng.multivariate_hypergeometric(both, n_rows, size=4_000)
        mean = np.mean([stability_index(both - own, own) for own in drawn])
        found = routing_shift(tree, fitted, rows).psi_by_chance
        assert found == pytest.approx(mean, rel=0.05)


def test_months_are_held_against_the_fitted_rows_one_by_one():
    tree, X = complete_tree(2)
    leaf = tree.apply(X)
    month = np.where(np.arange(400) % 2, "2024-01", "2024-02")
    month[:100] = "2024-03"
    month[-3:] = ""
    found = shift_by_month(tree, tree.node_counts(X), leaf, month)
    assert found["month"].tolist() == ["2024-01", "2024-02", "2024-03"]
    assert found["rows"].sum() == 397
    assert found["differs"].tolist()[2]
    assert found["psi"].idxmax() == 2


def test_a_tree_of_one_leaf_cannot_tell_rows_apart():
    shift = routing_shift(tree_of(0), np.array([9]), np.array([2]))
    assert (shift.psi, shift.psi_by_chance, shift.n_differing) == (0, 0, 0)
    month = np.array(["2024-01", "2024-02"])
    found = shift_by_month(tree_of(0), np.array([9]), np.zeros(2, int), month)
    assert found["differs"].tolist() == [False, False]
