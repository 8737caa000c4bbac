import pickle
from dataclasses import replace
from math import exp, inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import cell_value, make_features, make_table, same_arrays
from treelab.trees import ensemble as ensemble_module
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.logits import WEIGHTINGS
from treelab.trees.losses import Loss

SEEDS = st.integers(0, 2**32 - 1)


def make_ensemble(rng, n_trees, depth, n_classes=3, n_outputs=None, round_to=1):
    """Random trees; thresholds of few decimals, so that values tie with them."""
    features = make_features(rng)
    n_leaves = 2**depth
    splits = (n_trees, n_leaves - 1)
    threshold = rng.normal(size=splits).round(round_to)
    threshold[rng.random(splits) < 0.05] = np.inf
    threshold[rng.random(splits) < 0.05] = -np.inf
    n_outputs = n_outputs or max(n_classes, 1)
    return WeightedTrees(
        features=features,
        feature=rng.integers(len(features), size=splits),
        threshold=threshold,
        missing_left=rng.random(splits) < 0.5,
        leaf_value=rng.normal(size=(n_trees, n_leaves, n_outputs)),
        leaf_weight=3 * rng.normal(size=(n_trees, n_leaves)),
        classes=("no", "yes", "perhaps")[:n_classes] if n_classes else None,
        target="outcome",
    )


def walk(trees, e, row):
    """The leaf one row reaches in one tree, by plain if and else."""
    node, n_splits = 0, trees.feature.shape[1]
    while node < n_splits:
        feature = trees.features[trees.feature[e, node]]
        x = cell_value(feature, row[feature.column])
        left = trees.missing_left[e, node] if x != x else x <= trees.threshold[e, node]
        node = 2 * node + (1 if left else 2)
    return node - n_splits


def slow_entmax15(scores):
    """1.5-entmax of a list, its threshold by bisection."""
    low, high = max(scores) / 2 - 1, max(scores) / 2
    for _ in range(100):
        middle = (low + high) / 2
        if sum(max(s / 2 - middle, 0) ** 2 for s in scores) > 1:
            low = middle
        else:
            high = middle
    return [max(s / 2 - low, 0) ** 2 for s in scores]


def slow_prediction(trees, row):
    """Leaves, estimator weights and weighted sum for a row, number by number."""
    leaves = [walk(trees, e, row) for e in range(trees.n_estimators)]
    scores = [trees.leaf_weight[e, leaf] for e, leaf in enumerate(leaves)]
    if trees.max_deciders is not None:
        last = sorted(scores)[-trees.max_deciders :][0]
        scores = [score if score >= last else -inf for score in scores]
    weights = slow_entmax15(scores)
    if trees.weighting == "softmax":
        raised = [exp(score) for score in scores]
        weights = [r / sum(raised) for r in raised]
    total = np.zeros(trees.leaf_value.shape[2])
    for e, leaf in enumerate(leaves):
        total += weights[e] * trees.leaf_value[e, leaf]
    return leaves, weights, total


@settings(max_examples=40)
@given(
    seed=SEEDS,
    n_trees=st.integers(1, 20),
    depth=st.integers(0, 6),
    n_classes=st.sampled_from([0, 2, 3]),
    weighting=st.sampled_from(WEIGHTINGS),
    max_deciders=st.sampled_from([None, 1, 2, 5]),
)
def test_predictions_are_those_of_the_slow_walk(
    seed, n_trees, depth, n_classes, weighting, max_deciders
):
    rng = np.random.default_rng(seed)
    trees = make_ensemble(rng, n_trees, depth, n_classes)
    trees = replace(trees, weighting=weighting, max_deciders=max_deciders)
    table = make_table(rng, 12)
    rows = [slow_prediction(trees, row) for row in table.to_dict("records")]
    leaves, weights, total = (np.array(part) for part in zip(*rows))
    np.testing.assert_array_equal(trees.leaves(table), leaves)
    np.testing.assert_allclose(trees.estimator_weights(table), weights, atol=1e-12)
    np.testing.assert_allclose(trees.decision_function(table), total, atol=1e-12)
    if n_classes:
        raised = np.exp(total)
        expected = raised / raised.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(trees.predict_proba(table), expected, atol=1e-12)
        best = np.array(trees.classes)[expected.argmax(axis=1)]
        assert trees.predict(table).tolist() == best.tolist()
    else:
        np.testing.assert_allclose(trees.predict(table), total[:, 0], atol=1e-12)


@pytest.mark.parametrize("depth", [1, 3, 9])
def test_rows_in_blocks_are_rows_at_once(monkeypatch, depth):
    rng = np.random.default_rng(depth)
    trees = make_ensemble(rng, 7, depth)
    table = make_table(rng, 50)
    whole = trees.leaves(table), trees.estimator_weights(table), trees.predict(table)
    monkeypatch.setattr(ensemble_module, "_BLOCK", 21)  # three rows a block
    parts = trees.leaves(table), trees.estimator_weights(table), trees.predict(table)
    for one, other in zip(whole, parts):
        np.testing.assert_array_equal(one, other)
    top = trees.top_estimators(table, 3)
    monkeypatch.undo()
    for one, other in zip(top, trees.top_estimators(table, 3)):
        np.testing.assert_array_equal(one, other)


def test_many_thresholds_on_one_feature_keep_their_order():
    rng = np.random.default_rng(0)
    n_trees, n_splits = 70, 1023  # more thresholds than two bytes can number
    threshold = rng.normal(size=(n_trees, n_splits))
    trees = WeightedTrees(
        [Feature("x0")],
        np.zeros((n_trees, n_splits), dtype=int),
        threshold,
        np.zeros((n_trees, n_splits), dtype=bool),
        np.zeros((n_trees, n_splits + 1, 1)),
        np.zeros((n_trees, n_splits + 1)),
    )
    x = np.concatenate([rng.normal(size=5), threshold[3, :5]])
    rows = [{"x0": value} for value in x]
    expected = [[walk(trees, e, row) for e in range(n_trees)] for row in rows]
    assert trees.leaves(x[:, None]).tolist() == expected


@settings(max_examples=25)
@given(seed=SEEDS, n_trees=st.integers(1, 30))
def test_the_highest_weighted_estimators_come_first(seed, n_trees):
    rng = np.random.default_rng(seed)
    trees = make_ensemble(rng, n_trees, 3)
    table = make_table(rng, 15)
    weights = trees.estimator_weights(table)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    k = int(rng.integers(1, n_trees + 1))
    index, weight = trees.top_estimators(table, k)
    assert index.shape == weight.shape == (15, k)
    np.testing.assert_array_equal(weight, -np.sort(-weights, axis=1)[:, :k])
    np.testing.assert_array_equal(np.take_along_axis(weights, index, axis=1), weight)
    assert all(len(set(row)) == k for row in index.tolist())


@settings(max_examples=25)
@given(seed=SEEDS, share=st.sampled_from([1e-9, 0.5, 0.9, 1.0]))
def test_a_share_is_held_by_as_few_estimators_as_can(seed, share):
    rng = np.random.default_rng(seed)
    trees = make_ensemble(rng, 12, 3)
    table = make_table(rng, 15)
    needed = trees.n_estimators_for_share(table, share)
    highest = -np.sort(-trees.estimator_weights(table), axis=1)
    for row, n in zip(highest, needed):
        assert row[:n].sum() >= share - 1e-9
        assert row[: n - 1].sum() < share


@settings(max_examples=25)
@given(seed=SEEDS, n_classes=st.sampled_from([0, 2, 3]), depth=st.integers(0, 4))
def test_one_of_its_trees_predicts_as_it_does_inside(seed, n_classes, depth):
    rng = np.random.default_rng(seed)
    trees = make_ensemble(rng, 5, depth, n_classes)
    table = make_table(rng, 40)
    y = rng.choice(trees.classes, size=40) if n_classes else rng.normal(size=40)
    shown = trees.with_rows(table)
    leaves = trees.leaves(table)
    for e in range(5):
        inside = trees.leaf_value[e, leaves[:, e]]
        if n_classes:
            inside = np.exp(inside) / np.exp(inside).sum(axis=1, keepdims=True)
        for tree in (trees.estimator(e, table, y), shown.estimator(e)):
            np.testing.assert_allclose(tree.value[tree.apply(table)], inside, atol=1e-9)
            np.testing.assert_array_equal(tree.n_rows, tree.node_counts(table))
            assert tree.task == trees.task
        unseen = trees.estimator(e)
        np.testing.assert_allclose(unseen.value[unseen.apply(table)], inside, atol=1e-9)


def test_above_the_leaves_one_of_its_trees_predicts_by_its_loss():
    rng = np.random.default_rng(0)
    table, y = make_table(rng, 40), rng.normal(size=40) ** 2
    trees = replace(make_ensemble(rng, 1, 2, 0), loss=Loss("quantile", 0.9))
    assert (
        trees.estimator(0, table, y).value[0] == (np.sort(y)[35] + np.sort(y)[36]) / 2
    )


def test_one_logit_stands_for_two_classes():
    rng = np.random.default_rng(0)
    trees = make_ensemble(rng, 4, 2, n_classes=2, n_outputs=1)
    table = make_table(rng, 10)
    logit = trees.decision_function(table)[:, 0]
    expected = 1 / (1 + np.exp(-logit))
    np.testing.assert_allclose(trees.predict_proba(table)[:, 1], expected)
    assert trees.estimator(0).value.shape[1] == 2


def test_huge_weights_do_not_overflow():
    rng = np.random.default_rng(0)
    trees = make_ensemble(rng, 3, 2)
    heavy = replace(
        trees, leaf_weight=trees.leaf_weight * 1e6, leaf_value=trees.leaf_value * 1e6
    )
    assert np.isfinite(heavy.predict_proba(make_table(rng, 10))).all()


def test_a_table_without_rows_has_no_predictions():
    rng = np.random.default_rng(0)
    trees, table = make_ensemble(rng, 3, 2), make_table(rng, 0)
    assert trees.leaves(table).shape == (0, 3)
    assert trees.predict_proba(table).shape == (0, 3)
    assert trees.predict(table).shape == (0,)
    assert [a.shape for a in trees.top_estimators(table, 2)] == [(0, 2), (0, 2)]
    assert trees.n_estimators_for_share(table, 0.5).shape == (0,)
    assert trees.with_rows(table).n_rows.sum() == 0


def test_only_the_columns_that_splits_test_must_be_there():
    rng = np.random.default_rng(0)
    trees = make_ensemble(rng, 1, 1)
    assert len(trees.columns) == 1
    trees.predict(make_table(rng, 3)[list(trees.columns)])
    with pytest.raises(ValueError, match="no column"):
        trees.predict(pd.DataFrame({"other": [1.0]}))


def test_it_can_be_copied_and_not_changed():
    trees = make_ensemble(np.random.default_rng(0), 3, 2)
    trees.predict(make_table(np.random.default_rng(0), 3))
    copied = pickle.loads(pickle.dumps(trees))
    assert same_arrays(trees, copied)
    with pytest.raises(ValueError, match="read-only"):
        copied.leaf_value[0] = 0
    assert "n_estimators=3, depth=2" in repr(trees)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"leaf_value": np.zeros((2, 3, 1))}, "1, 2, 4, 8"),
        ({"leaf_value": np.zeros((2, 4))}, "leaf_value must have the shape"),
        ({"leaf_value": np.zeros((2, 4, 2))}, r"must have 1 output\(s\), got 2"),
        ({"leaf_value": np.full((2, 4, 1), np.nan)}, "finite"),
        ({"leaf_weight": np.full((2, 4), np.inf)}, "finite"),
        ({"leaf_weight": np.zeros((2, 3))}, "leaf_weight must have the shape"),
        ({"threshold": np.full((2, 3), np.nan)}, "NaN"),
        ({"feature": np.full((2, 3), 9)}, "from 0 to 4"),
        ({"feature": np.full((2, 3), -1)}, "from 0 to 4"),
        ({"n_rows": np.zeros((2, 3))}, "n_rows must have the shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, sentence):
    trees = make_ensemble(np.random.default_rng(0), 2, 2, n_classes=0)
    with pytest.raises(ValueError, match=sentence):
        replace(trees, **change)


def test_arguments_that_make_no_sense_are_refused():
    rng = np.random.default_rng(0)
    trees, table = make_ensemble(rng, 3, 2, n_classes=0), make_table(rng, 2)
    for k in (0, 4):
        with pytest.raises(ValueError, match="k must be from 1 to 3"):
            trees.top_estimators(table, k)
    for share in (0, 1.1, np.nan):
        with pytest.raises(ValueError, match="share"):
            trees.n_estimators_for_share(table, share)
    with pytest.raises(ValueError, match="trees 0 to 2"):
        trees.estimator(3)
    with pytest.raises(ValueError, match="no class probabilities"):
        trees.predict_proba(table)


def test_trees_without_weight_on_any_row_can_be_left_out():
    rng = np.random.default_rng(3)
    trees = replace(make_ensemble(rng, 40, 3), weighting="entmax15")
    table = make_table(rng, 30)
    weights = trees.estimator_weights(table)
    decides = np.flatnonzero(weights.any(axis=0))
    assert 0 < len(decides) < 40
    fewer = trees.with_rows(table).only(decides)
    assert fewer.n_estimators == len(decides)
    np.testing.assert_allclose(fewer.estimator_weights(table), weights[:, decides])
    np.testing.assert_allclose(fewer.predict_proba(table), trees.predict_proba(table))


def test_no_more_trees_decide_than_may_but_for_ties():
    trees = replace(make_ensemble(np.random.default_rng(0), 9, 2), max_deciders=4)
    table = make_table(np.random.default_rng(1), 30)
    assert ((trees.estimator_weights(table) > 0).sum(axis=1) == 4).all()
    alike = replace(trees, leaf_weight=np.ones_like(trees.leaf_weight))
    np.testing.assert_allclose(alike.estimator_weights(table), 1 / 9)
    again = type(trees).from_dict(trees.to_dict())
    np.testing.assert_array_equal(
        again.estimator_weights(table), trees.estimator_weights(table)
    )


def test_a_weighting_must_be_known_and_some_tree_decide():
    trees = make_ensemble(np.random.default_rng(0), 2, 1)
    for limit in (0, 2.5, "two"):
        with pytest.raises(ValueError, match="max_deciders must be at least 1"):
            replace(trees, max_deciders=limit)
    with pytest.raises(ValueError, match="weighting"):
        replace(trees, weighting="sparsemax")


@pytest.mark.parametrize("n_classes", [0, 3])
def test_a_split_of_one_tree_shows_the_mean_of_what_it_predicts(n_classes):
    rng = np.random.default_rng(0)
    table = make_table(rng, 60)
    tree = make_ensemble(rng, 1, 3, n_classes).with_rows(table).estimator(0)
    means = tree.value[tree.apply(table)].mean(axis=0)
    np.testing.assert_allclose(tree.value[0], means)
