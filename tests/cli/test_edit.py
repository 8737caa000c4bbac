"""Logs of edits from the shell: printed, replayed, trained on."""

import json

from tests.pages.stores import add_run
from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore


def test_a_log_is_printed_filled_and_replayed(home, tmp_path, capsys, refused):
    store = RunStore()
    run_id = add_run(store, "cart")
    path = tmp_path / "edits.json"
    assert main(["edit", run_id, "-o", str(path)]) == 0
    log = json.loads(path.read_text("utf-8"))
    assert log["edits"] == []
    log["edits"] = [{"kind": "prune", "path": "R"}, {"kind": "lock", "path": ""}]
    path.write_text(json.dumps(log), "utf-8")
    capsys.readouterr()
    hashes = []
    for training in ([], ["--train", "cart", "--below", "root", "--leaves", "3"]):
        for _ in range(2):
            assert main(["edit", run_id, "--log", str(path), *training]) == 0
            hashes.append(capsys.readouterr().out.splitlines()[-1])
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]
    newest = store.runs()[0]
    assert main(["edit", newest.id]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["training"]["max_leaf_nodes"] == 3
    assert printed["edits"][0] == log["edits"][0]
    assert "need --train" in refused("edit", run_id, "--log", str(path), "--below", "L")
    assert "need --train" in refused("edit", run_id, "--below", "L")
    assert "another tree" in refused("edit", newest.id, "--log", str(path))
    path.write_text("nothing", "utf-8")
    assert "not JSON" in refused("edit", run_id, "--log", str(path))
