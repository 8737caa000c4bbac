"""Reasons in words."""

import pytest

from tests.figures.small_trees import number_tree, oblique_tree, stump_and_more
from treelab.evaluation.explanations.contributions import (
    Contributions,
    path_contributions,
)
from treelab.evaluation.explanations.reasons import Reason, because, joined, reasons


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
    assert made == [Reason("texture", "texture is 3", 0.1)]


def test_a_weighted_sum_is_one_reason():
    tree, X, _ = oblique_tree()
    (own,) = reasons(tree, X.iloc[[3]], path_contributions(tree, X.iloc[[3]]))
    assert own.fact == "the weighted sum of radius and <texture> is −9 (≤ 10)"


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


def test_a_number_is_explained_from_its_mean():
    tree, X, _ = number_tree()
    found = path_contributions(tree, X.iloc[[0]])
    assert found.base == pytest.approx(4.0)
    assert because(reasons(tree, X.iloc[[0]], found), rises=False) == (
        "because radius is 0 mm (≤ 19.5)"
    )
    assert joined(["a"]) == "a"
