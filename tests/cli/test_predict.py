"""Predicting the rows of a file with a saved model."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.runs.conftest import small_table
from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore
from treelab.trees.words import short_time, significant


@pytest.mark.parametrize("by", ["run", "folder"])
def test_predict_writes_the_table_with_the_models_predictions(
    trained, table, tmp_path, by, capsys
):
    store, out = RunStore(), tmp_path / "out.csv"
    folder = store.folder(trained) / "model"
    named = trained if by == "run" else str(folder)
    assert main(["predict", named, table, "-o", str(out)]) == 0
    written, model = pd.read_csv(out), store.model(trained)
    X = small_table()[["size", "color"]]
    assert list(written)[:3] == ["size", "color", "kind"]
    assert written["prediction"].tolist() == model.predict(X).tolist()
    proba = written[["probability of no", "probability of yes"]]
    assert proba.to_numpy() == pytest.approx(model.predict_proba(X))


def test_a_model_of_one_column_predicts_a_table_of_one_column(tmp_path, capsys):
    two = pd.DataFrame({"size": np.random.default_rng(0).normal(size=60).round(1)})
    two["kind"] = np.where(two["size"] > 0, "yes", "no")
    two.to_csv(tmp_path / "two.csv", index=False)
    home = ["--home", str(tmp_path / "home")]
    train = ["train", str(tmp_path / "two.csv"), "--target", "kind", *home]
    assert main([*train, "--learner", "cart", "--set", "tune=false"]) == 0
    (run,) = RunStore(tmp_path / "home").runs()
    two[["size"]].to_csv(tmp_path / "one.csv", index=False)
    out = str(tmp_path / "out.csv")
    command = ["predict", run.id, str(tmp_path / "one.csv"), "-o", out, *home]
    assert main(command) == 0
    assert (pd.read_csv(out)["prediction"] == two["kind"]).mean() > 0.95


def test_errors_of_times_are_times(tmp_path, capsys):
    clock = [f"{hour}:{minute:02}" for hour in (8, 9) for minute in range(0, 60, 2)]
    rows = [f"{time},{time[0]}" for time in clock]
    (tmp_path / "t.csv").write_text("\n".join(["came,hour", *rows]))
    home = ["--home", str(tmp_path / "home")]
    train = ["train", str(tmp_path / "t.csv"), "--target", "came", *home]
    assert main([*train, "--learner", "cart", "--set", "max_leaf_nodes=2"]) == 0
    (run,) = RunStore(tmp_path / "home").runs()
    error = float(run.metrics["test"]["rmse"])
    written = capsys.readouterr().out.partition("test ")[2].split()
    assert short_time(error) in written[:3]
    assert main(["predict", run.id, str(tmp_path / "t.csv"), *home]) == 0
    said = capsys.readouterr().err
    assert "RMSE 0:17:21, MAE 0:15." in said


def test_errors_of_small_targets_are_not_written_as_nothing(tmp_path, capsys):
    rows = [f"{i % 7},{(i % 7) * 3e-7 + (i % 2) * 1e-7}" for i in range(80)]
    (tmp_path / "t.csv").write_text("\n".join(["x,dose", *rows]))
    home = ["--home", str(tmp_path / "home")]
    train = ["train", str(tmp_path / "t.csv"), "--target", "dose", *home]
    assert main([*train, "--learner", "cart", "--set", "max_leaf_nodes=2"]) == 0
    (run,) = RunStore(tmp_path / "home").runs()
    assert significant(run.metrics["test"]["rmse"]) in capsys.readouterr().out


def test_predict_refuses_what_does_not_fit(trained, table, tmp_path, refused):
    narrow = tmp_path / "narrow.csv"
    small_table()[["size", "kind"]].to_csv(narrow, index=False)
    assert "'color'" in refused("predict", trained, str(narrow))
    assert "no run 'cart-x'" in refused("predict", "cart-x", table)
    taken = tmp_path / "taken.csv"
    small_table().assign(prediction=1).to_csv(taken, index=False)
    message = refused("predict", trained, str(taken))
    assert "'prediction' already; rename it" in message


def test_the_files_ending_says_how_it_is_written(trained, table, tmp_path, capsys):
    for ending, read in {"parquet": pd.read_parquet, "csv": pd.read_csv}.items():
        out = tmp_path / f"out.{ending}"
        columns = ["--columns", "prediction,leaf,rule"]
        assert main(["predict", trained, table, "--out", str(out), *columns]) == 0
        assert list(read(out)) == ["prediction", "leaf", "rule"]
    assert "macro F1" in capsys.readouterr().err


def test_what_is_absent_may_count_as_missing(trained, tmp_path, capsys):
    narrow = tmp_path / "narrow.csv"
    small_table()[["size"]].to_csv(narrow, index=False)
    assert main(["predict", trained, str(narrow), "--fill-absent", "--json"]) == 0
    found = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert "'color' is absent" in found["notes"][0]
    assert found["scores"] == {}


def test_unknown_names_of_columns_are_refused(trained, table, capsys, refused):
    only = ["predict", trained, table, "--columns", "prediction,tree"]
    assert "names 'tree', which predictions of this model have not" in refused(*only)
    with pytest.raises(SystemExit):
        main(["predict", trained, table, "--columns", "leaf,reason"])
    assert "'reason' is none of" in capsys.readouterr().err


def test_rows_that_the_run_was_trained_on_are_counted(trained, table, tmp_path, capsys):
    assert main(["predict", trained, table]) == 0
    run = RunStore().run(trained)
    split = run.problem.split(small_table())
    once = small_table().drop_duplicates(keep=False).index
    n_seen = len(once.intersection(split.rows("train+valid").X.index))
    said = f"At least {n_seen} of the 120 rows were training or validation rows"
    assert said in capsys.readouterr().err
    test = tmp_path / "test.csv"
    small_table().loc[split.X_test.index].to_csv(test, index=False)
    assert main(["predict", trained, str(test)]) == 0
    assert "validation rows" not in capsys.readouterr().err
