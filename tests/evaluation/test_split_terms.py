from dataclasses import replace

import numpy as np
import pytest

from tests.figures.small_trees import oblique_tree, stump_and_more
from treelab.evaluation.split import split_terms
from treelab.figures.viewer.payload import tree_payload
from treelab.trees.feature import Feature
from treelab.trees.text import split_text, term_fractions
from treelab.trees.tree import Tree


def test_fractions_follow_the_standard_deviation_and_not_the_raw_weight():
    tree, X, _ = oblique_tree()
    weights = split_terms(tree, 0, X).table()
    assert weights["column"].tolist() == ["radius", "<texture>"]
    assert weights["fraction"].tolist() == pytest.approx([11.5 / 17.1, 5.6 / 17.1])


@pytest.mark.parametrize("seed", range(5))
def test_words_and_picture_rank_the_terms_alike(seed):
    rng = np.random.default_rng(seed)
    tree, X, y = oblique_tree()
    spreads = rng.uniform(0, 9, 3)
    features = [replace(f, spread=s) for f, s in zip(tree.features, spreads)]
    tree = replace(tree, features=features, weights=rng.normal(size=tree.weights.shape))
    order = split_terms(tree, 0, X).table()["column"].tolist()
    words = split_text(tree, 0)
    assert sorted(order, key=words.index) == order
    node = tree_payload(tree, X, y)["trees"][0]["nodes"][0]
    assert [term[0] for term in node["weights"]] == order


def test_sums_are_what_the_threshold_is_compared_with():
    tree, X, _ = oblique_tree()
    sums = split_terms(tree, 0, X).sums
    left = tree.decision_path(X)[:, tree.left[0]]
    assert ((sums <= tree.threshold[0]) == left).all()
    assert np.allclose(sums, X["radius"] - 4 * X["<texture>"])


def test_only_rows_that_reach_the_split_are_read():
    small, X, _ = oblique_tree()
    weights, threshold = np.repeat(small.weights[:1], 3, axis=0), small.threshold[0]
    tree = Tree.complete(
        small.features,
        None,
        [threshold, threshold - 5, threshold + 5],
        np.zeros(3, bool),
        np.zeros((4, 1)),
        weights=weights,
    )
    for node in range(3):
        terms = split_terms(tree, node, X)
        assert len(terms.values) == tree.decision_path(X)[:, node].sum()
    assert split_terms(tree, 0, X.iloc[:0]).values.shape == (0, 2)


def test_fractions_where_nothing_moves_or_a_spread_is_not_known():
    one, other = Feature("one", spread=0.0), Feature("other")
    weights = np.array([2.0, 6.0])
    assert term_fractions([one, one], weights).tolist() == [0.0, 0.0]
    assert term_fractions([one, other], weights).tolist() == [0.25, 0.75]
    both = np.stack([weights, [2.0, 0.0]])
    known = replace(one, spread=3.0)
    assert term_fractions([known, other], both).tolist() == [[0.25, 0.75], [1.0, 0.0]]


def test_other_nodes_have_no_terms():
    for tree, X, node in ((*oblique_tree()[:2], 1), (*stump_and_more()[:2], 0)):
        with pytest.raises(ValueError, match="weighted sum"):
            split_terms(tree, node, X)
