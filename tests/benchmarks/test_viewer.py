"""The viewer's benchmark in a real browser, on a small tree."""

import pytest

from benchmarks import viewer
from benchmarks.__main__ import main
from tests.served_app import chromium


@pytest.mark.slow
def test_the_viewer_is_measured_in_a_browser(capsys):
    pytest.importorskip("playwright")
    chromium()
    (row,) = viewer.run_viewer(depths=(3,), n_moves=5).to_dict("records")
    assert row["nodes"] == 15
    assert min(row.values()) > 0
    assert "first_picture_ms" in capsys.readouterr().out


def test_without_a_browser_the_benchmark_says_so(monkeypatch, capsys):
    monkeypatch.setattr(viewer.shutil, "which", lambda name: None)
    assert main(["viewer"]) == 2
    assert "No Chromium" in capsys.readouterr().err
