"""Sessions that watch runs and start them, as a browser speaks with the server."""

import os
import re
import subprocess
import sys

import pytest

from benchmarks import watchers
from benchmarks.__main__ import main


@pytest.mark.slow
@pytest.mark.timeout(590)
@pytest.mark.skipif(os.name == "nt", reason="the server is ended by a signal")
def test_a_watcher_takes_less_than_a_twentieth_of_a_core_and_all_runs_end_in_turn(
    monkeypatch, capsys
):
    # Of fewer trees, as a run that is stopped still scores and saves all of them.
    monkeypatch.setitem(watchers.LONG, "n_estimators", 1024)
    command = ["watchers", "--watchers", "5", "--polls", "8", "--starters", "2"]
    assert main(command) == 0, capsys.readouterr().out
    found = r"5 sessions watched .* took ([\d.]+) of a core"
    (cores,) = re.findall(found, capsys.readouterr().out)
    assert float(cores) < 5 / 20


@pytest.mark.slow
def test_twenty_sessions_that_start_at_once_import_nothing_at_once():
    lines = [
        "import sys",
        "from benchmarks.watchers import Session",
        "Session(1, 'train')",
        "names = ('streamlit.proto.BackMsg_pb2', 'streamlit.proto.ForwardMsg_pb2')",
        "assert all(name in sys.modules for name in names), names",
    ]
    ended = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
