"""The viewer's benchmark in a real browser, on a small tree."""

import os
import shutil

import pytest

from treelab.bench import viewer
from treelab.cli.main import main


@pytest.mark.slow
def test_the_viewer_is_measured_in_a_browser(capsys):
    pytest.importorskip("playwright")
    if not any(map(shutil.which, viewer.CHROMIUM)):
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("No Chromium or Chrome is installed.")
    (row,) = viewer.run_viewer(depths=(3,), n_moves=5).to_dict("records")
    assert row["nodes"] == 15
    assert min(row.values()) > 0
    assert "first_picture_ms" in capsys.readouterr().out


def test_without_a_browser_the_benchmark_says_so(monkeypatch, capsys):
    monkeypatch.setattr(viewer.shutil, "which", lambda name: None)
    assert main(["bench", "viewer"]) == 2
    assert "No Chromium" in capsys.readouterr().err
