import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import cell_value, make_table, make_target, make_tree
from treelab.trees.text import split_text
from treelab.trees.tree import check_target

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=40)
@given(seed=SEEDS, n_leaves=st.integers(1, 30), n_classes=st.sampled_from([0, 2, 4]))
def test_with_rows_tells_what_the_rows_at_each_node_say(seed, n_leaves, n_classes):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, n_classes=n_classes, oblique=0.2)
    table = make_table(rng, 40)
    y = make_target(rng, tree, len(table))
    shown = tree.with_rows(table, y)
    np.testing.assert_array_equal(shown.value[tree.is_leaf], tree.value[tree.is_leaf])
    passed = tree.decision_path(table)
    for node in range(tree.n_nodes):
        here = y[passed[:, node]]
        assert shown.n_rows[node] == len(here)
        if n_classes:
            counts = [np.sum(here == label) for label in tree.classes]
            assert shown.class_counts[node].tolist() == counts
            says = np.array(counts) / max(len(here), 1)
            impurity = 1 - (says**2).sum()
        elif len(here):
            says, impurity = here.mean(), here.var()
        if len(here) == 0:
            assert shown.impurity[node] == 0
            np.testing.assert_array_equal(shown.value[node], tree.value[node])
        else:
            np.testing.assert_allclose(shown.impurity[node], impurity, atol=1e-12)
            if not tree.is_leaf[node]:
                np.testing.assert_allclose(shown.value[node], says, atol=1e-12)


@settings(max_examples=40)
@given(seed=SEEDS, n_leaves=st.integers(1, 30))
def test_between_holds_the_values_next_to_each_threshold(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, oblique=0.2)
    table = make_table(rng, 40)
    shown = tree.with_rows(table, make_target(rng, tree, len(table)))
    passed = tree.decision_path(table)
    for node in range(tree.n_nodes):
        if tree.feature[node] < 0:
            assert np.isnan(shown.between[node]).all()
            assert shown.missing_rows[node] == 0
            continue
        feature = tree.features[tree.feature[node]]
        cells = table.loc[passed[:, node], feature.column]
        x = np.array([cell_value(feature, cell) for cell in cells])
        below, above = x[x <= tree.threshold[node]], x[x > tree.threshold[node]]
        assert shown.between[node, 0] == max(below, default=-np.inf)
        assert shown.between[node, 1] == min(above, default=np.inf)
        assert shown.missing_rows[node] == np.isnan(x).sum()


@settings(max_examples=20)
@given(seed=SEEDS)
def test_a_question_keeps_its_words_when_other_rows_are_shown(seed):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 12)
    first, second = make_table(rng, 30), make_table(rng, 30, missing=0)
    tree = tree.with_rows(first, make_target(rng, tree, 30))
    other = tree.with_rows(second, make_target(rng, tree, 30))
    assert other.node_counts(second).tolist() == other.n_rows.tolist()
    for node in np.flatnonzero(~tree.is_leaf):
        assert split_text(other, node) == split_text(tree, node)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_counts_of_any_rows_by_class(seed):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 10)
    table = make_table(rng, 30)
    y = make_target(rng, tree, len(table))
    counts = tree.node_counts(table, pd.Series(y, index=table.index + 7))
    np.testing.assert_array_equal(counts, tree.with_rows(table, y).class_counts)
    np.testing.assert_array_equal(counts.sum(axis=1), tree.node_counts(table))


def test_no_rows_at_all_leave_the_values():
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 5)
    shown = tree.with_rows(make_table(rng, 0), np.array([], dtype=str))
    np.testing.assert_array_equal(shown.value, tree.value)
    assert shown.n_rows.tolist() == [0] * tree.n_nodes


@pytest.mark.parametrize("shift", [0, 1e6])
def test_the_variance_of_large_values_is_not_lost_to_rounding(shift):
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 4, n_classes=0)
    table = make_table(rng, 200)
    y = rng.normal(size=200) + shift
    np.testing.assert_allclose(tree.with_rows(table, y).impurity[0], y.var(), rtol=1e-9)


@pytest.mark.parametrize(
    ("n_classes", "y", "sentence"),
    [
        (3, ["no", "sure"], "'answer' holds 'sure' in row 2"),
        (3, ["no", None], "row 2"),
        (3, ["no"], "one value for each of the 2 rows"),
        (0, [1.0, np.nan], "'answer' is missing in row 2"),
    ],
)
def test_targets_that_do_not_fit_are_refused(n_classes, y, sentence):
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 3, n_classes=n_classes)
    with pytest.raises(ValueError, match=sentence):
        tree.with_rows(make_table(rng, 2), np.array(y, dtype=object))


def test_a_regression_cannot_be_counted_by_class():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="regression"):
        make_tree(rng, 3, n_classes=0).node_counts(make_table(rng, 2), [1.0, 2.0])


def test_a_target_of_no_rows_is_a_target():
    tree = make_tree(np.random.default_rng(0), 3, n_classes=0)
    assert check_target(tree, 0, ()).shape == (0,)
