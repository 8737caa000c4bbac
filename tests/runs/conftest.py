"""A run store with a small table, and the slow tree among the learners."""

import numpy as np
import pandas as pd
import pytest

from tests.runs.workers.slow_tree import SPEC
from treelab.data.problem import Problem
from treelab.learners.registry import LEARNERS
from treelab.runs.store.run_store import RunStore


def small_table(n_rows: int = 120) -> pd.DataFrame:
    """Numbers, categories and missing values, and two classes."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n_rows)
    color = rng.choice(["red", "green", "blue"], n_rows)
    kind = np.where((size > 0) == (color == "red"), "yes", "no")
    size[::11] = np.nan
    return pd.DataFrame({"size": size, "color": color, "kind": kind})


def problem_in(store: RunStore) -> Problem:
    """Predict the small table's ``kind``."""
    table_id = store.add_table(small_table(), "small")
    return Problem(table_id, "small", "kind", ("size", "color"), task="binary")


@pytest.fixture(autouse=True)
def slow_tree(monkeypatch):
    """The slow tree, for the length of a test."""
    monkeypatch.setitem(LEARNERS, SPEC.key, SPEC)


@pytest.fixture
def store(tmp_path):
    """An empty run store."""
    return RunStore(tmp_path / "home")


@pytest.fixture
def problem(store):
    """A problem whose table is in the store."""
    return problem_in(store)
