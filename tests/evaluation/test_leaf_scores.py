"""Scores of a leaf's prediction."""

import numpy as np
import pytest

from tests.figures.small_trees import number_tree, stump_and_more
from treelab.evaluation.node_report import score_leaf


def test_a_leaf_is_right_as_often_as_its_rows_have_its_class():
    tree, X, y = stump_and_more()
    truth = y.copy()
    truth[:5] = "fine"
    found = score_leaf(tree, 1, X, truth)
    assert (found.n_rows, found.n_total, found.accuracy) == (10, 40, 0.5)
    assert found.sentence(tree) == "This leaf: 10 of 40 test rows, accuracy 50%."
    by_weight = score_leaf(tree, 1, X, truth, np.arange(1.0, 41))
    assert by_weight.accuracy == pytest.approx(40 / 55)
    assert by_weight.sentence(tree).endswith("accuracy 72.7% by weight.")


def test_a_number_leaf_has_its_mean_error():
    tree, X, y = number_tree()
    found = score_leaf(tree, 1, X, y)  # rows 0 to 19 weigh 0 to 3.8 kg, 2 is predicted
    assert found.n_rows == 20
    assert found.mean_absolute_error == pytest.approx(abs(y[:20] - 2).mean())


def test_a_leaf_that_no_row_reaches_has_no_rate():
    tree, X, y = stump_and_more()
    assert score_leaf(tree, 1, X[20:], y[20:]).accuracy is None


def test_a_split_has_no_prediction_to_score():
    tree, X, y = stump_and_more()
    with pytest.raises(ValueError, match="Node 0 is a split"):
        score_leaf(tree, 0, X, y)


def test_predictions_of_a_model_on_top_are_scored_where_they_are_given():
    tree, X, y = stump_and_more()
    assert score_leaf(tree, 1, X, y, predictions=["fine"] * len(X)).accuracy == 0
