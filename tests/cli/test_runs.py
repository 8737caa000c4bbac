"""The list of runs."""

import json

from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore


def test_runs_lists_each_run_with_its_test_score(trained, capsys):
    store = RunStore()
    waits = store.create("cart", {}, store.run(trained).problem, title="later")
    assert main(["runs"]) == 0
    head, first, second = capsys.readouterr().out.strip().split("\n")
    assert head.split()[:3] == ["run", "state", "title"]
    assert first.split()[:3] == [waits, "queued", "later"]
    score = store.run(trained).metrics["test"]["macro_f1"]
    assert f"macro F1 {score:.3f}" in second


def test_an_empty_store_is_a_sentence(home, capsys):
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == f"No run yet in {home}.\n"


def test_a_title_cannot_command_the_terminal(trained, capsys):
    store = RunStore()
    title = "red \x1b[31m\x1b]0;mine\x07 and\r\nmore\u202e köln 😀"
    store.create("cart", {}, store.run(trained).problem, title=title)
    assert main(["runs"]) == 0
    printed = capsys.readouterr().out
    assert not set(printed) & set("\x1b\x07\r\u202e")
    assert len(printed.strip().split("\n")) == 3
    assert r"red \x1b[31m" in printed
    assert "köln 😀" in printed


def test_runs_are_json_for_machines(trained, table, capsys):
    assert main(["runs", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert run["id"] == trained
    assert run["metrics"]["test"]["n_rows"] > 0
    call = ["train", table, "--target", "kind", "--learner", "cart", "--json"]
    assert main([*call, "--set", "tune=false"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["tune"] is False


def test_a_run_is_paused_and_resumed(trained, refused, capsys):
    store = RunStore()
    run_id = store.create("cart", {"tune": False}, store.run(trained).problem)
    store.submit(run_id)
    assert main(["runs", "--pause", run_id]) == 0
    assert store.run(run_id).state == "paused"
    assert "paused once" in capsys.readouterr().out
    assert main(["runs", "--resume", run_id, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "done"
    assert "leave it out" in refused("runs", "--delete", run_id, "--json")
    assert store.run(run_id).has_model
    assert "is done" in refused("runs", "--pause", run_id)
    assert "only one that is paused" in refused("runs", "--resume", run_id)


def test_a_run_is_deleted_with_its_repeats(trained, refused, capsys):
    store = RunStore()
    problem = store.run(trained).problem
    run_id = store.create("cart", {}, problem, title="worse")
    store.create("cart", {}, problem, repeat_of=run_id)
    assert main(["runs", "--delete", run_id]) == 0
    assert capsys.readouterr().out == "Deleted worse and its 1 repeat.\n"
    assert [run.id for run in store.runs()] == [trained]
    assert run_id in refused("runs", "--delete", run_id)
