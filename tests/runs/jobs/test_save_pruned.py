"""A tree of a run's pruning path, saved as a run of its own."""

from dataclasses import replace

import pytest

from tests.pages.stores import add_run
from treelab.runs.jobs.derived import save_pruned
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning import cost_complexity_path
from treelab.trees.pruning_path import PruningPath


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "home")


def test_it_is_scored_and_names_where_it_comes_from(store):
    run = store.run(add_run(store, "cart"))
    smaller = cost_complexity_path(store.model(run.id)).trees[1]
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
    smaller = cost_complexity_path(store.model(run.id)).trees[1]
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
