"""One process at a time prepares the database, and a killed one leaves no lock."""

import subprocess
import sys

import pytest

from treelab.runs.store import database
from treelab.runs.store.run_store import RunStore

HOLDER = """
import sys, time
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_that_held_the_lock_leaves_none(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "treelab.lock")],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(OSError, match="being prepared by another process"):
            RunStore(tmp_path)
    finally:
        child.kill()
        child.communicate()
    assert RunStore(tmp_path).runs() == []
