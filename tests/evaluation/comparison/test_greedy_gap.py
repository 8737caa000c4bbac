"""Where greedy fails: gains at once and in the end."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.evaluation.comparison.trees import trap, xor_tree
from treelab import CartClassifier
from treelab.evaluation.greedy_gap import greedy_gap
from treelab.trees.tree import Tree


def gini(labels) -> float:
    shares = pd.Series(labels).value_counts(normalize=True)
    return 1 - float((shares**2).sum())


def removed(labels, groups) -> float:
    """Fraction of the Gini impurity that groups of rows remove, group by group."""
    labels, groups = np.asarray(labels), np.asarray(groups)
    rest = sum(
        np.mean(groups == group) * gini(labels[groups == group])
        for group in np.unique(groups)
    )
    return 1 - rest / gini(labels)


def test_the_trap_is_an_exclusive_or_that_greedy_passes_over():
    X, y = trap()
    X_test, y_test = trap(seed=1)
    gap = greedy_gap(xor_tree(X, y), (X, y), (X_test, y_test))
    assert (gap.node, gap.n_leaves, gap.axes, gap.is_xor) == (0, 4, (0, 1), True)
    assert gap.gains.now < 0.5 * gap.greedy.now
    assert gap.gains.final > 0.8 > 0.2 > gap.greedy.final
    assert gap.gains.test > 0.8 > 0.2 > gap.greedy.test


def test_gains_are_those_counted_group_by_group():
    X, y = trap()
    gap = greedy_gap(xor_tree(X, y), (X, y), trap(seed=1))
    hot, fast = X.iloc[:, 0] > 850, X.iloc[:, 1] > 40
    assert gap.gains.now == pytest.approx(removed(y, hot))
    assert gap.gains.final == pytest.approx(removed(y, 2 * hot + fast))
    stump, greedy = (
        DecisionTreeClassifier(max_leaf_nodes=n, random_state=0).fit(X, y)
        for n in (2, 4)
    )
    assert gap.greedy.now == pytest.approx(removed(y, stump.apply(X)))
    assert gap.greedy.final == pytest.approx(removed(y, greedy.apply(X)))
    assert gap.greedy_split.startswith(X.columns[stump.tree_.feature[0]])


def test_gains_on_the_training_rows_as_test_rows_are_the_same():
    X, y = trap()
    gap = greedy_gap(xor_tree(X, y), (X, y), (X, y))
    assert gap.gains.test == pytest.approx(gap.gains.final)
    assert gap.greedy.test == pytest.approx(gap.greedy.final)


def test_numbers_count_by_their_variance():
    (X, y), (X_test, y_test) = trap(), trap(seed=1)
    number, number_test = (10.0 * (labels == "sound") for labels in (y, y_test))
    tree = xor_tree(X, number, "number")
    gap = greedy_gap(tree, (X, number), (X_test, number_test))
    assert gap.is_xor
    mean = number.groupby(tree.apply(X)).transform("mean")
    rest = np.mean((number - mean) ** 2) / np.var(number)
    assert gap.gains.final == pytest.approx(1 - rest)


def test_a_greedy_tree_has_nothing_to_tell():
    X, y = trap()
    greedy = CartClassifier(tune=False, max_leaf_nodes=6, random_state=0).fit(X, y)
    assert greedy_gap(greedy.tree_, (X, y), trap(seed=1)) is None


def test_what_test_rows_do_not_bear_out_is_not_told():
    X, y = trap()
    X_test, y_test = trap(seed=1)
    flipped = y_test.map({"sound": "cracked", "cracked": "sound"})
    assert greedy_gap(xor_tree(X, y), (X, y), (X_test, flipped)) is None


def test_what_few_test_rows_bear_out_by_chance_is_not_told():
    """With so many labels drawn anew neither tree is better on new rows."""
    X, y = trap()
    tree, said = xor_tree(X, y), 0
    for seed in range(1, 21):
        rng, (X_test, y_test) = np.random.default_rng(seed), trap(40, seed=seed)
        labels = y_test.where(rng.random(40) > 0.65, rng.choice(y_test, 40))
        said += greedy_gap(tree, (X, y), (X_test, labels)) is not None
    assert said <= 2


def test_missing_values_are_read_by_both():
    X, y = trap()
    X.loc[::7, X.columns[2:5]] = np.nan
    assert greedy_gap(xor_tree(X, y), (X, y), trap(seed=1)) is not None


def test_a_split_that_does_not_matter_is_not_told_instead():
    X, y = trap()
    inner = xor_tree(X, y)
    # The same four corners on both sides of a split of the last column.
    outer = Tree.complete(
        inner.features,
        np.array([9, 0, 0, 1, 1, 1, 1]),
        np.array([0.5, 850, 850, 40, 40, 40, 40.0]),
        np.zeros(7, bool),
        np.full((8, 2), 0.5),
        classes=inner.classes,
        target="bar",
    ).with_rows(X, y)
    gap = greedy_gap(outer, (X, y), trap(seed=1))
    assert (gap.node, gap.n_leaves, gap.is_xor) == (2, 4, True)
