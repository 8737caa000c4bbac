"""Several targets, and several quantiles, from the shell."""

import json

import numpy as np
import pandas as pd
import pytest

from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore


@pytest.fixture
def table(tmp_path):
    """A CSV file with two numbers to predict; one is missing once."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    frame["width"] = 1000 * (frame["a"] > 0) + rng.normal(0, 50, 80)
    frame["height"] = 0.01 * (frame["b"] > 0) + rng.normal(0, 0.001, 80)
    frame.loc[3, "height"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    return str(tmp_path / "t.csv")


def train(table, *more: str):
    """Train CART, untuned; return its run and its model."""
    assert (
        main(["train", table, "--learner", "cart", "--set", "tune=false", *more]) == 0
    )
    run = RunStore().runs()[0]
    return run, RunStore().model(run.id)


def test_one_tree_predicts_two_targets(home, table, tmp_path, capsys):
    run, model = train(table, "--target", "width", "--target", "height")
    assert run.problem.targets == ("width", "height")
    assert run.problem.columns == ("a", "b")
    printed = capsys.readouterr().out
    each = run.metrics["test"]["outputs"]
    words = ", ".join(f"{name} R² {own['r2']:.3g}" for name, own in each.items())
    assert f"Test rows: {words}." in printed
    assert sum(run.summary["rows"].values()) == 79
    out = tmp_path / "out.csv"
    assert main(["predict", run.id, table, "-o", str(out)]) == 0
    found = pd.read_csv(out)[["prediction of width", "prediction of height"]]
    np.testing.assert_allclose(found, model.predict(pd.read_csv(table)))
    capsys.readouterr()
    assert main(["explain", run.id, "--row", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    X = run.problem.split(pd.read_csv(table)).X_test.iloc[[1]]
    predicted = [told[name]["prediction"] for name in ("width", "height")]
    np.testing.assert_allclose(predicted, model.predict(X)[0])
    assert main(["explain", run.id, "--row", "2"]) == 0
    assert "height:\nPrediction: " in capsys.readouterr().out


def test_a_model_of_several_targets_is_held_against_these(home, table, refused):
    run, _ = train(table, "--target", "width", "--target", "height")
    model = str(RunStore().folder(run.id) / "model")
    turned = ["--target", "height", "--target", "width"]
    assert main(["import", model, table, *turned]) == 0
    imported = RunStore().runs()[0]
    assert imported.problem.targets == ("width", "height")
    assert imported.metrics["test"]["r2"] == pytest.approx(run.metrics["test"]["r2"])
    one = ["import", model, table, "--target", "height"]
    assert "predicts 'width' and 'height': name a target" in refused(*one)
    one, _ = train(table, "--target", "width", "--without", "height")
    model = str(RunStore().folder(one.id) / "model")
    assert "predicts 'width': name a target" in refused("import", model, table, *turned)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--target", "height"], "several outputs is not"),
        (["--set", "loss=absolute_error"], "predicts medians is not"),
    ],
)
def test_what_is_not_edited_is_not_regrown_without_an_edit(
    home, table, refused, more, said
):
    run, _ = train(table, "--target", "width", *more)
    assert said in refused("edit", run.id, "--train", "cart", "--below", "root")
    assert len(RunStore().runs()) == 1


def test_no_log_is_printed_of_a_tree_that_is_not_edited(home, table, refused):
    targets = ["--target", "width", "--target", "height"]
    for how in (targets, [*targets, "--weight", "b"]):
        if "--weight" in how:
            frame = pd.read_csv(table)
            frame.assign(b=frame["b"].abs() + 1).to_csv(table, index=False)
        run, _ = train(table, *how)
        assert "several outputs is not edited" in refused("edit", run.id)


def test_one_of_several_targets_is_exported(home, table, capsys, refused):
    run, _ = train(table, "--target", "width", "--target", "height")
    command = ["export", run.id, "--format", "c"]
    assert "predicts one number" in refused(*command)
    assert main([*command, "--of", "height"]) == 0
    assert "Decision tree that predicts height" in capsys.readouterr().out
    sentence = refused(*command, "--of", "depth")
    assert "'width' and 'height', not 'depth'" in sentence


def test_quantiles_have_columns_of_their_own(home, table, tmp_path):
    levels = ["--set", "loss=quantile", "--set", "quantile=0.1,0.5,0.9"]
    run, model = train(table, "--target", "width", *levels)
    test = run.problem.split(pd.read_csv(table)).rows("test")
    low, _, high = model.predict(test.X).T
    inside = ((test.y >= low) & (test.y <= high)).mean()
    assert run.metrics["test"]["coverage"] == pytest.approx(inside)
    out = tmp_path / "out.csv"
    assert main(["predict", run.id, table, "-o", str(out)]) == 0
    assert list(pd.read_csv(out))[4:] == [
        "quantile 0.1",
        "quantile 0.5",
        "quantile 0.9",
    ]


def test_targets_that_do_not_go_together_are_refused(home, table, refused):
    train_two = ["train", table, "--target", "width", "--target"]
    assert "no column 'depth'" in refused(*train_two, "depth")
    exposed = [*train_two, "height", "--exposure", "a"]
    assert "Several targets are numbers" in refused(*exposed)
    compared = [*train_two, "height", "--learner", "grande"]
    assert "this learner predicts one target" in refused(*compared)
