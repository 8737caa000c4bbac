"""A tree of a run's pruning path, saved as a run of its own."""

import pytest

from tests.pages.stores import add_run
from treelab.runs.jobs.save_pruned import save_pruned
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning.cost_complexity import cost_complexity_path


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
