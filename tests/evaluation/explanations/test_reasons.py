"""Reasons in words."""

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import number_tree, oblique_tree, stump_and_more
from treelab.evaluation.explanations import (
    Contributions,
    Reason,
    because,
    joined,
    path_contributions,
    reasons,
    sufficient_rule,
)
from treelab.trees.feature import Feature
from treelab.trees.text import path_conditions
from treelab.trees.tree import Tree


def test_reasons_are_the_rows_values_with_the_intervals_that_matter():
    tree, X, _ = stump_and_more()
    found = path_contributions(tree, X.iloc[[12]], 2)
    listed = reasons(tree, X.iloc[[12]], found)
    assert {own.fact for own in listed} == {
        "radius is 12 mm (> 9.5)",
        "texture is 2 (> 1.5)",
    }
    assert [own.change for own in listed] == list(found.changes.values())


def test_a_column_off_the_path_has_its_value_alone():
    tree, X, _ = stump_and_more()
    row = X.iloc[[3]]
    made = reasons(tree, row, Contributions(0.5, {"texture": 0.1}))
    assert made == [Reason("texture", "texture is 3", 0.1, "3")]


def test_a_weighted_sum_is_one_reason():
    tree, X, _ = oblique_tree()
    (own,) = reasons(tree, X.iloc[[3]], path_contributions(tree, X.iloc[[3]]))
    assert own.fact == "the weighted sum of radius and <texture> is −9 (≤ 10)"


def test_two_sums_of_the_same_columns_are_two_reasons():
    small, X, _ = oblique_tree(None)
    three = {"weights": np.repeat(small.weights[:1], 3, axis=0)}
    bounds, sides = [10.0, 0.0, 20.0], np.zeros(3, bool)
    tree = Tree.complete(small.features, None, bounds, sides, np.eye(4)[3], **three)
    tree = tree.with_rows(X, tree.predict(X))
    (row,) = np.flatnonzero(tree.apply(X) == 6)[:1]
    found = path_contributions(tree, X.iloc[[row]])
    facts = [own.fact.split(" (")[1] for own in reasons(tree, X.iloc[[row]], found)]
    assert sorted(facts) == ["> 10)", "> 20)"]


@pytest.mark.parametrize(
    ("changes", "rises", "words"),
    [
        ([0.5], True, "because a"),
        ([0.5, 0.2, -0.3], True, "because a and b, although c"),
        ([0.5, 0.05, -0.05], True, "because a"),
        ([0.5, 0.4, 0.3, 0.2], True, "because a, b and c"),
        ([-0.5, -0.4, 0.1], False, "because a and b, although c"),
        ([-0.5], True, ""),
        ([], True, ""),
    ],
)
def test_a_sentence_gives_the_reasons_worth_saying(changes, rises, words):
    found = [Reason(name, name, change) for name, change in zip("abcd", changes)]
    assert because(found, rises) == words


def test_reasons_that_settle_it_together_are_given_however_little_one_changes():
    found = [Reason("a", "A", 0.5), Reason("b", "B", -0.4), Reason("c", "C", 0.0)]
    assert because(found) == "because A, although B"
    assert because(found, needed=["a", "c"]) == "because A and C, although B"
    assert because(found, needed=["a", "b"]) == "because A, although B"
    assert because(found, needed=["b"]) == "because A, although B"


def test_facts_have_the_bounds_of_the_conditions_given():
    tree, X, _ = stump_and_more()
    row = X.iloc[[12]]
    first, second = path_conditions(tree, tree.path(row)[-1])
    listed = reasons(tree, row, Contributions(0.3, {"texture": 0.1}), [first])
    assert listed == [
        Reason("texture", "texture is 2", 0.1, "2"),
        Reason("radius", "radius is 12 mm (> 9.5)", 0.0, "12 mm"),
    ]
    assert second.column == "texture"


def test_a_number_is_explained_from_its_mean():
    tree, X, _ = number_tree()
    found = path_contributions(tree, X.iloc[[0]])
    assert found.base == pytest.approx(4.0)
    assert because(reasons(tree, X.iloc[[0]], found), rises=False) == (
        "because radius is 0 mm (≤ 19.5)"
    )
    assert joined(["a"]) == "a"


def test_an_exclusive_or_is_told_with_both_of_its_columns():
    made = Tree.complete(
        [Feature("heat"), Feature("cooling")],
        [0, 1, 1],
        [0.5, 0.5, 0.5],
        [True] * 3,
        [[1, 0], [0, 1], [0, 1], [1, 0]],
        classes=("sound", "cracked"),
    )
    X = pd.DataFrame({"heat": [0.0, 0, 1, 1], "cooling": [0.0, 1, 0, 1]})
    tree, row = made.with_rows(X, made.predict(X)), X.iloc[[3]]
    found = path_contributions(tree, row, 0)
    assert list(found.changes) == ["cooling"]  # the first split gains nothing by itself
    rule = sufficient_rule(tree, row)
    listed = reasons(tree, row, found, rule.conditions)
    needed = [condition.column for condition in rule.conditions]
    assert because(listed, needed=needed) == (
        "because cooling is 1 (> 0.5) and heat is 1 (> 0.5)"
    )


def test_a_reason_reads_name_value_and_change():
    assert Reason("day", "day is 12 May 2019", 0.346, "12 May 2019").text == (
        "day, 12 May 2019: +0.346"
    )
    assert Reason("linear model of the leaf", "", -2.0).text == (
        "linear model of the leaf: −2.00"
    )
