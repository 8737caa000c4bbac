"""Rows on which two models differ."""

import pytest

from treelab.evaluation.comparison import disagreement, misclassified


def test_every_row_that_differs_is_listed_with_who_is_right():
    found = disagreement("multiclass", list("abca"), list("abbb"), list("acac"))
    assert found.rows["position"].tolist() == [1, 2, 3]
    assert found.rows["better"].tolist() == [0, -1, -1]
    assert [found.n_better(which) for which in (0, 1, -1)] == [1, 0, 2]


def test_numbers_that_lie_furthest_apart_come_first():
    found = disagreement(
        "regression", [1.0, 2.0, 3.0], [1.0, 2.0, 9.0], [2.0, 2.0, 4.0]
    )
    assert found.rows["position"].tolist() == [2, 0]
    assert found.rows["better"].tolist() == [1, 0]
    assert found.mean_distance == pytest.approx(2)


def test_numbers_as_far_from_the_truth_are_equally_close_whatever_their_last_digit():
    found = disagreement(
        "regression", [1.0, 1.0, 2.0], [0.9, 1.1, 2.0], [1.1, 0.9, 3.0]
    )
    assert found.rows["position"].tolist() == [2, 0, 1]
    assert found.rows["better"].tolist() == [0, -1, -1]


def test_models_that_agree_have_no_rows():
    found = disagreement("binary", [True, False], [True, True], [True, True])
    assert len(found.rows) == found.n_better(-1) == 0


def test_misclassified_rows_are_those_whose_label_is_another():
    assert misclassified(["a", "b", "b", "a"], ["a", "a", "b", "b"]).tolist() == [1, 3]
    assert misclassified([], []).tolist() == []
