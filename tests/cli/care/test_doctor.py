"""What the doctor prints, and its exit codes."""

import json
import shutil

from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore


def test_the_exit_code_tells_whether_all_is_well(trained, capsys):
    assert main(["doctor"]) == 0
    assert "All is well." in capsys.readouterr().out
    shutil.rmtree(RunStore().folder(trained) / "model")
    assert main(["doctor"]) == 1
    assert "--repair mends 1 of them" in capsys.readouterr().out
    assert main(["doctor", "--repair"]) == 0
    assert "Mended: The row is set right." in capsys.readouterr().out


def test_json_holds_every_finding(trained, capsys):
    shutil.rmtree(RunStore().folder(trained) / "model")
    assert main(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["healthy"]
    (finding,) = [found for found in report["findings"] if found["trouble"]]
    assert finding["about"] == f"run {trained}"
    assert finding["remedy"]
    assert not finding["mended"]


def test_no_store_is_a_sentence(home, refused):
    assert "There is no run store" in refused("doctor")
    assert not home.exists()


def test_cleaning_without_limits_is_no_success(trained, refused, monkeypatch):
    """It said that all is well, and deleted nothing."""
    for name in ("TREELAB_KEEP_DAYS", "TREELAB_MOST_GB"):
        monkeypatch.delenv(name, raising=False)
    assert "set TREELAB_KEEP_DAYS" in refused("doctor", "--clean")
    monkeypatch.setenv("TREELAB_KEEP_DAYS", "30")
    assert main(["doctor", "--clean"]) == 0


def test_a_size_that_is_none_is_refused(home, tmp_path, refused):
    restore = ("restore", str(tmp_path / "all.zip"), "--most-gb")
    assert "must be above 0, got nan" in refused(*restore, "nan")
    assert "must be at least 1" in refused("bench", "speed", "--steps", "0")
