"""A tree of a run's pruning path, saved as a run of its own."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.pages.stores import add_run
from treelab.data.problem import make_problem
from treelab.editing.edits import Prune
from treelab.editing.log import EditLog, tree_hash
from treelab.runs.jobs.derived import save_pruned
from treelab.runs.jobs.edited import bench_of, save_edited
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning import cost_complexity_path
from treelab.trees.pruning_path import PruningPath


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "home")


def test_it_is_scored_and_names_where_it_comes_from(store):
    run = store.run(add_run(store, "cart"))
    smaller = cost_complexity_path(store.model(run.id))[1]
    saved = store.run(save_pruned(store, run, smaller))
    assert saved.summary["pruned_from"] == run.id
    assert saved.summary["leaves"] == smaller.n_leaves < run.summary["leaves"]
    assert {*saved.metrics} == {"train", "valid", "test"}
    assert saved.settings == run.settings
    assert saved.title == f"CART, {smaller.n_leaves} leaves"
    assert store.model(saved.id).notes[0] == saved.provenance
    assert run.title in saved.provenance


def test_the_same_tree_again_is_the_same_run(store):
    run = store.run(add_run(store, "cart"))
    smaller = cost_complexity_path(store.model(run.id))[1]
    assert save_pruned(store, run, smaller) == save_pruned(store, run, smaller)


def test_a_size_of_a_saved_size_is_one_of_the_run_that_was_trained(store):
    run = store.run(add_run(store, "gradtree", sizes=True))
    path = store.path(run.id)
    assert path is not None
    first = save_pruned(store, run, path.trees[1], replace(path, chosen=1))
    store.set_title(first, "mine")  # it stays the same tree
    other = save_pruned(store, store.run(first), path.trees[0], replace(path, chosen=0))
    assert store.run(other).summary["pruned_from"] == run.id
    again = save_pruned(store, store.run(other), path.trees[1], replace(path, chosen=1))
    own = save_pruned(store, store.run(first), path.tree, path)
    assert (again, own) == (first, run.id)


def test_a_strength_of_a_saved_strength_is_one_of_the_run_that_was_trained(store):
    run = store.run(add_run(store, "argmin"))
    model = store.model(run.id)
    assert isinstance(model, PruningPath)
    first = save_pruned(store, run, replace(model, chosen=2))
    assert store.run(first).title == "Argmin tree, 2 leaves, lambda 100"
    assert save_pruned(store, store.run(first), model) == run.id
    alone = save_pruned(store, run, model.trees[model.chosen])
    assert store.run(alone).title.endswith("tree alone")


def test_trees_alone_of_two_strengths_and_as_many_leaves_are_two_runs(store):
    run = store.run(add_run(store, "argmin"))
    one = store.model(run.id).trees[0]
    other = replace(one, threshold=one.threshold + 1.0)
    saved = [save_pruned(store, run, tree) for tree in (one, other, one)]
    assert saved[0] == saved[2] != saved[1]
    X = pd.DataFrame(np.random.default_rng(0).normal(2, 3, (99, len(one.features))))
    for run_id, tree in zip(saved, (one, other)):
        own = X.set_axis([feature.column for feature in tree.features], axis=1)
        kept = store.model(run_id)
        assert kept.predict(own).tolist() == tree.predict(own).tolist()


@pytest.mark.slow
def test_a_smaller_or_edited_regression_tree_has_an_interval_of_its_own(store):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    frame["y"] = 3 * frame["a"] + frame["b"] + rng.normal(size=300)
    table_id = store.add_table(frame, "made")
    problem = make_problem(frame, "y", table_id=table_id, table_name="made")
    run_id = store.create("cart", {}, problem)
    assert run_one(run_id, store.home) == "done"
    run, path = store.run(run_id), store.path(run_id)
    place = path.chosen - 1
    smaller = save_pruned(store, run, path.trees[place], replace(path, chosen=place))
    split = problem.split(frame)
    bench = bench_of(store.model(run_id), split)
    log = EditLog(tree_hash(bench.tree), (Prune("L"),))
    edited = save_edited(store, run, log)
    coarse, fine = store.model(smaller), store.model(run_id)
    assert coarse.interval_level == fine.interval_level == 0.8
    assert coarse.interval.shape == (coarse.n_nodes, 2)
    assert store.model(edited).interval is not None
    for each in (smaller, edited):
        assert store.run(each).metrics["test"]["coverage"] > 0.6


def test_a_tree_that_could_not_be_saved_is_not_trained_in_its_place(store, monkeypatch):
    run = store.run(add_run(store, "cart"))
    smaller = cost_complexity_path(store.model(run.id))[1]

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "add_model", full_disk)
        with pytest.raises(OSError, match="No space"):
            save_pruned(store, run, smaller)
    left = store.runs()[0]
    assert (left.title, left.state) == (f"CART, {smaller.n_leaves} leaves", "failed")
    assert not left.can_resume
    assert not store.resume(left.id)
    with pytest.raises(LookupError, match="Make it again from the run"):
        store.model(left.id)
    saved = store.run(save_pruned(store, run, smaller))
    assert saved.id != left.id
    assert saved.summary["leaves"] == smaller.n_leaves
