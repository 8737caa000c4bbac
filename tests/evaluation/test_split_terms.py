import numpy as np
import pytest

from tests.figures.small_trees import oblique_tree, stump_and_more
from treelab.evaluation.split_terms import split_terms, standardised_weights


def test_fractions_follow_the_standard_deviation_and_not_the_raw_weight():
    tree, X, _ = oblique_tree()
    weights = split_terms(tree, 0, X).table()
    assert weights["column"].tolist() == ["radius", "<texture>"]
    assert weights["fraction"].sum() == pytest.approx(1)
    std = X["radius"].to_numpy().std()
    assert weights["standardised"][0] == pytest.approx(std)


def test_sums_are_what_the_threshold_is_compared_with():
    tree, X, _ = oblique_tree()
    sums = split_terms(tree, 0, X).sums
    left = tree.decision_path(X)[:, tree.left[0]]
    assert ((sums <= tree.threshold[0]) == left).all()
    assert np.allclose(sums, X["radius"] - 4 * X["<texture>"])


def test_only_rows_that_reach_the_split_are_read():
    tree, X, _ = stump_and_more()
    for node in np.flatnonzero(~tree.is_leaf):
        terms = split_terms(tree, node, X)
        assert len(terms.values) == tree.decision_path(X)[:, node].sum()
        assert terms.weights.tolist() == [1.0]
    none = split_terms(tree, 0, X.iloc[:0]).table()
    assert none["standardised"].tolist() == [0.0]


def test_weights_of_nothing_have_no_fraction():
    standardised, fraction = standardised_weights(np.array([2.0, 3.0]), np.zeros(2))
    assert standardised.tolist() == fraction.tolist() == [0.0, 0.0]


def test_a_leaf_has_no_terms():
    tree, X, _ = oblique_tree()
    with pytest.raises(ValueError, match="leaf"):
        split_terms(tree, 1, X)
