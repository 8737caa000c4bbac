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
