"""A surrogate run beside its model; its differences are a table of their own."""

from dataclasses import replace

import numpy as np
import pytest

from tests.runs.jobs.surrogates import add_surrogate
from treelab.runs.jobs.residual import residual_problem, residual_title, run_imitation
from treelab.runs.store.run_store import RunStore


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "home")


def predictions(store, run):
    """The model's column and the tree's predictions, of all rows."""
    frame = store.table(run.problem.table_id)
    return frame, store.model(run.id).predict(run.problem.table(frame))


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_fidelity_is_the_runs_score_and_the_truth_is_another_column(store, target):
    run = store.run(add_surrogate(store, target))
    frame, of_tree = predictions(store, run)
    found = run_imitation(run, store.model(run.id), frame)
    for name, value in found.fidelity.items():
        assert value == pytest.approx(run.metrics["test"][name])
    test = run.problem.split(frame).y_test.index
    truth = frame.loc[test, target]
    if target == "kind":
        accuracy = found.against_truth["accuracy"]
        assert accuracy.first == pytest.approx(np.mean(frame["forest"][test] == truth))
        assert accuracy.second == pytest.approx(np.mean(of_tree[test] == truth))
    else:
        mae = found.against_truth["mae"]
        assert mae.second == pytest.approx(np.mean(np.abs(of_tree[test] - truth)))


def test_without_a_truth_there_is_fidelity_alone(store):
    run = store.run(add_surrogate(store, truth=False))
    frame, _ = predictions(store, run)
    found = run_imitation(run, store.model(run.id), frame)
    assert found.against_truth == {}
    assert len(found.sentences()) == 1


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_the_residual_table_says_where_the_tree_differs(store, target):
    run = store.run(add_surrogate(store, target))
    frame, of_tree = predictions(store, run)
    problem = residual_problem(store, run)
    assert residual_problem(store, run) == problem  # the same again
    table = store.table(problem.table_id)
    found = table[problem.target]
    if target == "kind":
        assert problem.task == "binary"
        assert problem.target == "difference from forest"
        differs = found.to_numpy() == "differs"
        np.testing.assert_array_equal(differs, of_tree != frame["forest"].to_numpy())
    else:
        assert problem.task == "regression"
        assert dict(problem.units)[problem.target] == "kg"
        np.testing.assert_allclose(found, np.abs(of_tree - frame["forest"]))
    assert problem.columns == run.problem.columns
    rare = replace(run, problem=replace(run.problem, rare=(("name", 0.1),)))
    assert residual_problem(store, rare).rare == rare.problem.rare
    assert residual_title(run) == "Where CART differs from forest"
    problem.split(table)


def test_a_weighted_surrogate_is_measured_by_weight_and_so_is_its_residual(store):
    run = store.run(add_surrogate(store, weight="weight"))
    frame, _ = predictions(store, run)
    found = run_imitation(run, store.model(run.id), frame)
    assert found.fidelity == pytest.approx(
        {name: run.metrics["test"][name] for name in found.fidelity}
    )
    X, _, weight = run.problem.split(frame).rows("test")
    right = store.model(run.id).predict(X) == frame.loc[X.index, "kind"]
    accuracy = found.against_truth["accuracy"].second
    assert accuracy == pytest.approx(np.average(right, weights=weight))
    problem = residual_problem(store, run)
    assert problem.weight == "weight"
    assert problem.split(store.table(problem.table_id)).rows("test").weight is not None
