"""The lock keeps others out, and dies with its holder."""

import subprocess
import sys

from treelab.runs.store.lock import exclusive

HOLDER = """
import sys, time
from pathlib import Path
from treelab.runs.store.lock import exclusive
with exclusive(Path(sys.argv[1]), 1) as held:
    print(held, flush=True)
    time.sleep(60)
"""


def test_a_lock_is_had_by_one_at_a_time(tmp_path):
    path = tmp_path / "some.lock"
    with exclusive(path, 0) as held, exclusive(path, 0) as other:
        assert (held, other) == (True, False)
    with exclusive(path, 0) as held:
        assert held


def test_a_killed_holder_leaves_no_lock(tmp_path):
    path = tmp_path / "some.lock"
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "True\n"
        with exclusive(path, 0) as held:
            assert not held
    finally:
        child.kill()
        child.communicate()
    with exclusive(path, 5) as held:
        assert held
