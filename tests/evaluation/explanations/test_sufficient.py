"""Rules that settle a class, whatever else a row holds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.figures.small_trees import number_tree, oblique_tree, stump_and_more
from tests.trees.make import make_table, make_tree
from treelab.evaluation.explanations import sufficient_rule
from treelab.trees.text import conditions_text, path_conditions


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n_leaves=st.integers(1, 14))
def test_the_rule_holds_for_every_row_that_satisfies_it(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, n_classes=2)
    X = make_table(rng, 400, missing=0.2)
    row = X.iloc[[0]]
    rule = sufficient_rule(tree, row)
    holds = rule.holds(X)
    assert holds[0]
    assert set(tree.predict(X[holds])) == {rule.prediction}
    on_path = np.ones(len(X), bool)
    for condition in path_conditions(tree, tree.path(row)[-1]):
        on_path &= condition.holds(X)
    assert not (on_path & ~holds).any()


def test_splits_that_do_not_matter_are_dropped():
    tree, X, _ = stump_and_more()
    small = sufficient_rule(tree, X.iloc[[0]])
    assert conditions_text(tree, small.conditions) == "radius ≤ 9.5 mm"
    # Were both leaves below the second split fine, its side would not matter.
    value = tree.value.copy()
    value[3] = value[4]
    same = replace(tree, value=value)
    fine = sufficient_rule(same, X.iloc[[20]])
    assert conditions_text(same, fine.conditions) == "radius > 9.5 mm"
    assert fine.n_dropped == 1


@pytest.mark.parametrize("make", [number_tree, oblique_tree])
def test_trees_without_boxes_of_a_class_have_no_rule(make):
    tree, X, _ = make()
    with pytest.raises(ValueError, match="needs classes"):
        sufficient_rule(tree, X.iloc[[0]])
