"""Weighted sums without their small terms."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import make_table, make_tree
from treelab.trees.pruning import dropped_words, terms_per_split, without_small_terms

SEEDS = st.integers(0, 2**32 - 1)


def with_spreads(tree, rng):
    features = [replace(f, spread=float(rng.uniform(0.5, 2))) for f in tree.features]
    return replace(tree, features=tuple(features))


@settings(max_examples=30)
@given(seed=SEEDS, fraction=st.floats(0, 1))
def test_small_terms_go_and_the_largest_stays(seed, fraction):
    rng = np.random.default_rng(seed)
    tree = with_spreads(make_tree(rng, 8, oblique=0.7, infinite=0.0), rng)
    simple = without_small_terms(tree, fraction)
    for node in np.flatnonzero(~tree.is_leaf):
        if tree.feature[node] != -2:
            assert simple.threshold[node] == tree.threshold[node]
            continue
        before, after = tree.weights[node], simple.weights[node]
        size = [abs(w) * f.spread for w, f in zip(before, tree.features)]
        shift = 0.0
        for j, feature in enumerate(tree.features):
            is_small = size[j] < fraction * sum(size) and j != np.argmax(size)
            assert after[j] == (0 if is_small else before[j])
            shift += before[j] * feature.fill if is_small else 0.0
        assert simple.threshold[node] == pytest.approx(tree.threshold[node] - shift)


def test_nothing_is_dropped_at_nothing_and_all_but_one_at_all():
    rng = np.random.default_rng(0)
    tree = with_spreads(make_tree(rng, 8, oblique=1.0, infinite=0.0), rng)
    X = make_table(rng, 50)
    same = without_small_terms(tree, 0.0)
    np.testing.assert_array_equal(same.predict(X), tree.predict(X))
    oblique = tree.feature == -2
    assert terms_per_split(tree) > 1
    least = without_small_terms(tree, 1.0)
    assert ((least.weights[oblique] != 0).sum(1) <= 1).all()


def test_other_rows_in_the_leaves_have_no_interval_of_those_before():
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 8, oblique=1.0, infinite=0.0, n_classes=0)
    ends = np.tile([-1.0, 1.0], (tree.n_nodes, 1))
    tree = replace(with_spreads(tree, rng), interval=ends, interval_level=0.8)
    assert without_small_terms(tree, 0.0).interval_fraction == 0.8
    assert without_small_terms(tree, 1.0).interval_fraction is None


def test_a_tree_of_single_features_stays_and_odd_fractions_are_refused():
    tree = make_tree(np.random.default_rng(0), 5)
    plain = replace(tree, weights=None)
    assert without_small_terms(plain, 0.5) is plain
    assert np.isnan(terms_per_split(plain))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        without_small_terms(tree, 1.5)


def test_rows_that_change_are_counted_once_and_on_every_scale():
    rng = np.random.default_rng(0)
    tree = with_spreads(make_tree(rng, 8, oblique=1.0, n_classes=0), rng)
    before = rng.normal(size=(6, 3)) * 1e-12
    after = before + np.array([[0], [1e-12], [0], [1e-12], [0], [0]])
    assert "changes on 2 of 6 test rows" in dropped_words(tree, tree, before, after)
