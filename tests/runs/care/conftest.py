"""A store with a finished run and its model, made without training."""

import os

import numpy as np
import pytest

from tests.runs.conftest import problem_in
from treelab.runs.care import doctor as leftovers
from treelab.runs.store.workers import ProcessId
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def stump() -> Tree:
    """One split, two classes."""
    return Tree(
        features=(Feature("size"),),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.array([0, -1, -1]),
        threshold=np.array([0.5, np.nan, np.nan]),
        missing_left=np.zeros(3, dtype=bool),
        value=np.array([[0.5, 0.5], [1, 0], [0, 1]]),
        n_rows=np.array([4.0, 2.0, 2.0]),
        impurity=np.array([0.5, 0.0, 0.0]),
        classes=("no", "yes"),
        target="kind",
    )


def finished(store, title="") -> str:
    """A run that is done, with a model."""
    run_id = store.create("cart", {}, problem_in(store), title=title)
    assert store.start(run_id, ProcessId.here())
    store.add_model(run_id, stump())
    assert store.finish(run_id, "done", summary={"leaves": 2})
    return run_id


@pytest.fixture
def run_id(store):
    return finished(store)


@pytest.fixture(autouse=True)
def nothing_is_young(monkeypatch):
    """What was left a moment ago counts as left over."""
    monkeypatch.setattr(leftovers, "OLD_SECONDS", -1.0)


def dead_process() -> ProcessId:
    """A process of this machine that has ended."""
    here = ProcessId.here()
    return ProcessId(here.host, os.getpid(), here.started - 1000)
