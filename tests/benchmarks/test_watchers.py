"""Sessions that watch runs and start them, as a browser speaks with the server."""

import os
import re
from unittest.mock import MagicMock

import pytest

from benchmarks import watchers
from benchmarks.__main__ import main


@pytest.mark.slow
@pytest.mark.timeout(590)
@pytest.mark.skipif(os.name == "nt", reason="the server is ended by a signal")
def test_what_watchers_take_is_told_and_all_runs_end_in_turn(monkeypatch, capsys):
    # Of fewer trees, as a run that is stopped still scores and saves all of them.
    for settings in (watchers.LONG, watchers.SOON_SAVED):
        monkeypatch.setitem(settings, "n_estimators", 64)
    monkeypatch.setitem(watchers.SHORT, "max_epochs", 20)
    monkeypatch.setattr(watchers, "SETTLING_SECONDS", 2.0)
    command = ["watchers", "--watchers", "3", "--polls", "4", "--starters", "2"]
    assert main(command) == 0, capsys.readouterr().out
    found = r"3 sessions watched .* took ([\d.]+) of a core"
    (cores,) = re.findall(found, capsys.readouterr().out)
    assert float(cores) > 0


def test_what_sessions_need_is_imported_before_they_are_threads(monkeypatch):
    imported = MagicMock()
    monkeypatch.setattr(watchers, "import_module", imported)
    watchers.Session(1, "train")
    names = {call.args[0] for call in imported.call_args_list}
    assert {f"streamlit.proto.{name}Msg_pb2" for name in ("Back", "Forward")} <= names
