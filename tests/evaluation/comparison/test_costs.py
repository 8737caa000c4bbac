"""Costs of errors, against counting row by row."""

import numpy as np
import pytest

from tests.evaluation.comparison.test_curves import rows
from treelab.evaluation.comparison import (
    calibrated_threshold,
    cheapest_classes,
    cost_curve,
    cost_saved,
    mean_cost,
    row_costs,
    trained_costs,
)
from treelab.trees.constraints import Constraints


@pytest.mark.parametrize("seed", range(3))
def test_costs_are_those_counted_row_by_row(seed):
    is_class, probability = rows(seed)
    curve = cost_curve(is_class, probability, 2.0, 5.0)
    for threshold in np.linspace(0, 1, 57):
        costs = [
            (2.0 * (not truth) if p >= threshold else 5.0 * truth)
            for truth, p in zip(is_class.tolist(), probability.tolist())
        ]
        assert curve.at(threshold) == pytest.approx(np.mean(costs))


@pytest.mark.parametrize("seed", range(3))
def test_no_threshold_is_cheaper_than_the_cheapest(seed):
    is_class, probability = rows(seed)
    curve = cost_curve(is_class, probability, 1.0, 3.0)
    least = min(curve.at(t) for t in np.linspace(0, 1, 201))
    assert curve.at(curve.cheapest) == pytest.approx(least)


def test_right_probabilities_have_their_threshold():
    assert calibrated_threshold(1, 3) == 0.25
    assert calibrated_threshold(0, 0) == 0.5


def test_each_row_is_predicted_at_least_expected_cost():
    rng = np.random.default_rng(0)
    chance = rng.dirichlet([1, 1, 1], 50)
    costs = rng.random((3, 3))
    for row, found in zip(chance, cheapest_classes(chance, costs)):
        expected = [sum(row[i] * costs[i, j] for i in range(3)) for j in range(3)]
        assert found == np.argmin(expected)


def test_costs_of_any_unit_choose_alike():
    chance, costs = np.array([[0.6, 0.4]]), np.array([[0.0, 1.0], [2.0, 0.0]])
    for unit in (1e-15, 1.0, 1e15):
        assert cheapest_classes(chance, unit * costs) == [1]


def test_equal_costs_predict_the_most_probable_class():
    chance = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    found = cheapest_classes(chance, 1 - np.eye(3))
    assert (found == chance.argmax(axis=1)).all()
    assert (cheapest_classes(chance, np.zeros((3, 3))) == found).all()


def test_the_mean_cost_counts_each_row_by_the_matrix():
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    truth, predicted = np.array([0, 1, 1, 0]), np.array([1, 0, 1, 0])
    assert mean_cost(truth, predicted, costs) == pytest.approx(6 / 4)


def test_rows_without_a_cost_to_save_are_refused():
    asked = Constraints(class_costs={"a": {"b": 1.0}, "b": {"a": 5.0}})
    truth = np.array(["a", "a"])
    assert cost_saved(asked, "ab", np.array(["a", "b"]), truth) == -4
    with pytest.raises(ValueError, match="nothing"):
        cost_saved(asked, "ab", truth, truth)


def test_a_run_without_costs_has_none_for_classes_that_it_lacks():
    assert trained_costs(Constraints(), ("a", "b"), ["a", "c"]) is None
    asked = Constraints(class_costs={"a": {"b": 3.0}})
    assert trained_costs(asked, ("a", "b"), ["b", "a"]).tolist() == [[0, 1], [3, 0]]


def test_rows_that_not_all_models_know_are_left_out_and_counted():
    asked = [Constraints(class_costs={"a": {"b": 3.0}}), Constraints()]
    truth = np.array(["a", "b", "c", "a"])
    predicted = [np.array(["b", "b", "b", "a"]), np.array(["a", "c", "c", "a"])]
    found = row_costs(asked, [("a", "b"), ("a", "b", "c")], truth, predicted)
    assert found.mean == [1.5, 0]
    assert found.sentence(["one", "other"]).endswith(
        "2 rows of, or predicted as, a class that not all of them know are left out."
    )
    assert row_costs(asked, [("a", "b"), ("x", "y")], truth, predicted) is None
