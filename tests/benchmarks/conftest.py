"""A small table as benchmarks know it."""

import pytest

from benchmarks.tables import BenchTable
from treelab.data.builtin import BUILTIN


@pytest.fixture
def table(tmp_path):
    """A small table in a file."""
    path = tmp_path / "iris.csv"
    builtin = BUILTIN["iris"]
    builtin.load().to_csv(path, index=False)
    return BenchTable("iris", path, builtin.task, builtin.target)
