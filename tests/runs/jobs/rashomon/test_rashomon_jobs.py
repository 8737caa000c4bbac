"""A run's Rashomon set: stored by training, made larger, one of it chosen."""

import json

import numpy as np
import pytest

from tests.pages.stores import table
from treelab.data.problem import Problem, make_problem, weighted_problem
from treelab.evaluation.metrics import scores
from treelab.runs.jobs.rashomon import create_all, create_more, save_member
from treelab.runs.jobs.repeats import can_be_repeated
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore

QUICK = {"max_leaf_nodes": 8, "n_restarts": 2, "n_steps": 20}


def fruit_weight(store: RunStore, frame) -> Problem:
    """The weight of the store's fruit, to be predicted from three columns."""
    return make_problem(
        frame,
        "weight",
        table_id=store.add_table(frame, "fruit"),
        table_name="fruit",
        columns=["radius", "texture $x$", "colour"],
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> tuple[RunStore, str]:
    store = RunStore(tmp_path_factory.mktemp("home"))
    problem = fruit_weight(store, table(120))
    run_id = store.create("gradtree", QUICK, problem, device="cpu")
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    return store, run_id


@pytest.mark.slow
def test_training_stores_the_trees_beside_its_own(trained):
    store, run_id = trained
    found, model = store.rashomon(run_id), store.model(run_id)
    X, _, _ = (
        store.run(run_id).problem.split(store.table(_table(store, run_id))).rows("test")
    )
    assert (found.tree.predict(X) == model.predict(X)).all()
    assert found.tree.target == "weight"
    path = store.path(run_id)
    score = path.scores["score"].iloc[path.chosen]
    assert found.score[found.chosen] == pytest.approx(score)


@pytest.mark.slow
def test_more_trees_are_found_as_a_run_whose_tree_is_the_same(trained):
    store, run_id = trained
    child = create_more(store, store.run(run_id), n_restarts=4)
    assert json.loads(store.plan(child, "more"))["run"] == run_id
    assert run_one(child, store.home) == "done", store.run(child).error
    run = store.run(child)
    assert run.summary["more_from"] == run_id
    assert not can_be_repeated(run)
    before, after = store.rashomon(run_id), store.rashomon(child)
    assert after.n_candidates >= before.n_candidates
    assert run.metrics["test"] == store.run(run_id).metrics["test"]


def test_a_chosen_tree_is_a_run_once_and_the_own_tree_is_the_run(trained):
    store, run_id = trained
    run, trees = store.run(run_id), store.rashomon(run_id)
    assert save_member(store, run, trees, trees.chosen, 0.01) == run_id
    other = next(i for i in range(len(trees)) if i != trees.chosen)
    first = save_member(store, run, trees, other, 0.05)
    assert save_member(store, run, trees, other, 0.01) == first
    saved = store.run(first)
    assert saved.summary["chosen_from"] == run_id
    assert "trees within 0.05" in saved.provenance
    assert {*saved.metrics} == {"train", "valid", "test"}
    own = store.rashomon(first)
    assert own.chosen == other
    # From the chosen tree's page the first tree is the first run again.
    assert save_member(store, saved, own, trees.chosen, 0.05) == run_id


def test_a_tree_is_chosen_beside_a_chosen_one_whose_files_are_damaged(trained):
    store, run_id = trained
    run, trees = store.run(run_id), store.rashomon(run_id)
    other = next(i for i in range(len(trees)) if i != trees.chosen)
    damaged = save_member(store, run, trees, other, 0.05)
    (store.folder(damaged) / "model" / "model.json").write_text("{")
    again = save_member(store, run, trees, other, 0.05)
    assert again != damaged
    assert store.model(again).n_leaves == trees.trees[other].n_leaves


def test_all_trees_of_a_depth_are_a_run_whose_tree_is_the_best(trained):
    store, run_id = trained
    child = create_all(store, store.run(run_id), depth=2, n_thresholds=4)
    assert run_one(child, store.home) == "done", store.run(child).error
    run, found = store.run(child), store.rashomon(child)
    assert found.complete.depth == 2
    assert found.chosen == 0
    assert max(tree.depth for tree in found.trees) == 2
    assert found.score[0] == found.score.max() > found.complete.above
    rows = run.problem.split(store.table(_table(store, run_id))).rows("train+valid")
    score = scores("regression", rows[1], store.model(child).predict(rows[0]))["r2"]
    assert found.score[0] == pytest.approx(score)
    assert "exhaustive search" in run.provenance


@pytest.mark.slow
def test_trees_of_weighted_rows_are_scored_by_the_weights(tmp_path):
    store, frame = RunStore(tmp_path), table(120)
    frame["years"] = np.random.default_rng(0).uniform(0.1, 3, len(frame)).round(1)
    problem = weighted_problem(fruit_weight(store, frame), weight="years")
    run_id = store.create("gradtree", QUICK, problem, device="cpu")
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    run = store.run(run_id)
    more = create_more(store, run, n_restarts=2)
    every = create_all(store, run, depth=2, n_thresholds=4)
    rows = problem.split(frame).rows("train+valid")
    for child in (run_id, more, every):
        if child != run_id:
            assert run_one(child, store.home) == "done", store.run(child).error
        found = store.rashomon(child)
        assert found.tree.weight[0] == pytest.approx(rows.weight.sum())
        for tree in found.trees[:20]:
            leaf, y = tree.apply(rows.X), rows.y.to_numpy()
            for node in np.unique(leaf):
                mean = np.average(y[leaf == node], weights=rows.weight[leaf == node])
                assert tree.value[node, 0] == pytest.approx(mean)
    predicted = store.model(every).predict(rows.X)
    score = scores("regression", rows.y, predicted, sample_weight=rows.weight)["r2"]
    assert found.score[0] == pytest.approx(score)
    other = next(i for i in range(len(found)) if i != found.chosen)
    saved = store.run(save_member(store, store.run(every), found, other, 0.05))
    assert saved.problem.weight == "years"


def _table(store: RunStore, run_id: str) -> str:
    """Id of a run's table."""
    return store.run(run_id).problem.table_id
