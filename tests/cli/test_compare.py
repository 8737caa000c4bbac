"""Runs side by side in the shell: scores, and their differences from the first."""

import json

import pytest

from tests.pages.stores import add_run
from treelab.cli.main import main
from treelab.evaluation.metrics import scores
from treelab.runs.jobs.import_model import NOTE, import_model
from treelab.runs.store.run_store import RunStore
from treelab.trees.words import significant


def test_runs_are_scored_side_by_side(home, capsys, refused):
    store = RunStore()
    runs = [add_run(store, learner) for learner in ("cart", "gradtree")]
    capsys.readouterr()
    assert main(["compare", *runs]) == 0
    text = capsys.readouterr().out
    assert text.startswith("macro F1 on 48 test rows\n")
    assert all(f"run {run}" in text for run in runs)
    assert "the same predictions as the first" in text
    assert main(["compare", runs[0], add_run(store, "argmin")]) == 0
    assert "from the first, 95% interval" in capsys.readouterr().out
    assert main(["compare", *runs, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert "difference" not in first
    assert second["low"] <= second["difference"] <= second["high"]
    assert second["difference"] == second["score"] - first["score"]
    assert "two to four runs" in refused("compare", runs[0])
    other = add_run(store, "cart", target="weight")
    assert "were not tested on" in refused("compare", runs[0], other)


def test_runs_of_weighted_rows_are_compared_by_weight(home, capsys, refused):
    store = RunStore()
    runs = [add_run(store, "cart", weight="weight") for _ in range(2)]
    runs[1] = add_run(store, "grande", weight="weight")
    assert main(["compare", *runs, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    run = store.run(runs[1])
    split = run.problem.split(store.table(run.problem.table_id))
    X, y, weight = split.rows("test")
    own, other = (
        scores("multiclass", y, store.model(each).predict(X), sample_weight=weight)
        for each in runs
    )
    assert second["difference"] == pytest.approx(other["macro_f1"] - own["macro_f1"])
    assert first["score"] == pytest.approx(own["macro_f1"])
    assert main(["compare", *runs]) == 0
    assert "48 test rows, weighted by weight\n" in capsys.readouterr().out
    assert "were not tested on" in refused("compare", runs[0], add_run(store, "cart"))


def test_runs_beside_one_trained_by_costs_say_what_a_row_costs(home, capsys):
    store = RunStore()
    asked = {"constraints": {"class_costs": {"small": {"fine": 5}}}}
    runs = [add_run(store, "cart"), add_run(store, "cart", settings=asked)]
    assert main(["compare", *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["costs_of"] for row in found] == [runs[1]] * 2
    one, other = (significant(row["mean_cost"]) for row in found)
    assert main(["compare", *runs]) == 0
    words = f"a test row costs {one} with CART 2 and {other} with CART.\n"
    assert capsys.readouterr().out.endswith(words)


def test_of_a_model_from_elsewhere_it_is_not_said_what_it_was_fitted_to(
    home, capsys, tmp_path
):
    store, model, table = RunStore(), str(tmp_path / "m.json"), tmp_path / "t.csv"
    run = store.run(add_run(store, "cart"))
    store.table(run.problem.table_id).to_csv(table, index=False)
    assert main(["export", run.id, "--format", "json", "-o", model]) == 0
    assert main(["import", model, str(table), "--target", "kind"]) == 0
    assert "Fitted to" not in capsys.readouterr().out
    same = import_model(store, store.model(run.id), run.problem, "Mine")
    assert main(["compare", run.id, same]) == 0
    assert NOTE in capsys.readouterr().out
