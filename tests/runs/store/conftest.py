"""Each test of the store, on SQLite and on PostgreSQL."""

import pytest

from treelab.runs.store.run_store import RunStore


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """An empty run store."""
    if request.param == "postgresql":
        request.getfixturevalue("on_server")
    return RunStore(tmp_path / "home")
