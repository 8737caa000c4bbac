"""The list of runs."""

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
    assert f"macro_f1 {score:.3f}" in second


def test_an_empty_store_is_a_sentence(home, capsys):
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == f"No run yet in {home}.\n"
