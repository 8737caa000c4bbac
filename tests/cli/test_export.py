"""A trained tree as rules, text, code, JSON and a page."""

import io
import json
import re

import pandas as pd
import pytest

from treelab import load
from treelab.cli.main import main
from treelab.evaluation.metrics import scores
from treelab.runs.store.run_store import RunStore
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import ON_TOP, PruningPath, shown_tree
from treelab.trees.text import to_text
from treelab.trees.tree import Tree


def test_export_writes_the_tree_that_predicts(trained, capsys, tmp_path):
    model = RunStore().model(trained)
    written = {}
    for name in ("text", "dot", "json", "rules"):
        assert main(["export", trained, "--format", name]) == 0
        written[name], said = capsys.readouterr()
    assert model.notes
    assert said.splitlines() == [*model.notes]  # rules have no place for them
    assert len(written["rules"].strip().split("\n")) == 1 + model.n_leaves
    assert written["text"].strip() == to_text(model).strip()
    assert written["dot"].startswith("digraph")
    again = Tree.from_dict(json.loads(written["json"]))
    assert to_text(again) == to_text(model)
    out = tmp_path / "tree.json"
    assert main(["export", trained, "--format", "json", "-o", str(out)]) == 0
    assert json.loads(out.read_text("utf-8")) == json.loads(written["json"])


def test_no_spreadsheet_runs_a_rule(home, tmp_path, capsys):
    path = tmp_path / "formulas.csv"
    size = [k % 9 for k in range(80)]
    target = ["=2*3" if each > 4 else "b" for each in size]
    pd.DataFrame({"=1+1": size, "n": 40 * [1, 2], "y": target}).to_csv(
        path, index=False
    )
    train = ["train", str(path), "--target", "y", "--learner", "cart"]
    assert main([*train, "--set", "tune=false", "--set", "max_depth=1"]) == 0
    capsys.readouterr()
    assert main(["export", RunStore().runs()[0].id, "--format", "rules"]) == 0
    rules = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert set(rules["prediction"]) == {"'=2*3", "b"}
    assert rules["rule"].str.startswith("'=1+1").all()


def test_export_writes_code_that_predicts(trained, table, capsys, tmp_path):
    X = pd.read_csv(table).drop(columns="kind")
    wanted = RunStore().model(trained).predict(X).tolist()
    for name in ("python", "sql", "c"):
        assert main(["export", trained, "--format", name]) == 0
        code = capsys.readouterr().out
        assert re.search(r"yes \((0\.\d+|1\.00)\)", code)
        if name == "python":
            names = {}
            exec(code, names)
            predicted = [names["predict"](row) for row in X.to_dict("records")]
            assert predicted == wanted


def test_export_writes_a_page_with_the_rows_it_was_trained_on(trained, capsys):
    assert main(["export", trained, "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert '"hist"' in page
    assert "test row" in page


def test_export_of_an_ensemble_asks_which_tree(tmp_path, capsys, refused, trained):
    assert "--estimator" in refused("export", trained, "--estimator", "0")
    tree = RunStore().model(trained)
    ensemble = WeightedTrees(
        features=tree.features,
        feature=[[0], [0]],
        threshold=[[0.0], [1.0]],
        missing_left=[[True], [True]],
        leaf_value=[[[1.0, -1.0], [-1.0, 1.0]]] * 2,
        leaf_weight=[[0.5, 0.5]] * 2,
        classes=("no", "yes"),
    )
    ensemble.save(tmp_path / "ensemble")
    folder = str(tmp_path / "ensemble")
    assert "one of its trees" in refused("export", folder)
    assert "one of its trees" in refused("export", folder, "--format", "pmml")
    assert main(["export", folder, "--format", "python"]) == 0
    names: dict = {}
    exec(capsys.readouterr().out, names)
    assert len(names["_TREES"]) == 2
    assert "0 to 1" in refused("export", folder, "--estimator", "2")
    assert main(["export", folder, "--estimator", "1", "--format", "text"]) == 0
    assert "size" in capsys.readouterr().out
    assert main(["export", folder, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "WeightedTrees"
    one = tmp_path / "one.treelab"
    call = ["export", folder, "--estimator", "1", "--format", "model", "-o", str(one)]
    assert main(call) == 0
    assert to_text(load(one)) == to_text(shown_tree(ensemble, estimator=1))


@pytest.mark.slow
def test_a_model_in_one_file_predicts_without_its_run(
    trained, table, tmp_path, capsys, refused
):
    file = tmp_path / "model.treelab"
    assert main(["export", trained, "--format", "model", "-o", str(file)]) == 0
    written = []
    for named in (trained, str(file)):
        capsys.readouterr()
        assert main(["predict", named, table]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]
    assert main(["import", str(file), table, "--target", "kind"]) == 0
    assert "add -o FILE" in refused("export", trained, "--format", "model")


def test_export_writes_onnx_and_pmml(trained, tmp_path, capsys, refused):
    file = tmp_path / "tree.onnx"
    assert main(["export", trained, "--format", "onnx", "-o", str(file)]) == 0
    assert file.stat().st_size > 100
    assert main(["export", trained, "--format", "pmml"]) == 0
    assert "<TreeModel" in capsys.readouterr().out


def train_argmin(table, *more) -> str:
    """The id of an argmin run of few epochs."""
    command = ["train", table, "--target", "kind", "--learner", "argmin"]
    for setting in ("max_epochs=5", "depth=2", "n_restarts=2"):
        command += ["--set", setting]
    assert main([*command, *more]) == 0
    return RunStore().runs()[0].id


@pytest.mark.slow
def test_the_scores_of_an_argmin_run_are_those_of_the_tree_that_is_drawn(
    home, table, capsys
):
    run = RunStore().run(train_argmin(table))
    capsys.readouterr()
    assert main(["export", run.id, "--format", "python"]) == 0
    names: dict = {}
    exec(capsys.readouterr().out, names)
    tree = shown_tree(RunStore().model(run.id))
    split = run.problem.split(RunStore().table(run.problem.table_id))
    for name in ("train", "valid", "test"):
        X, y, _ = split.rows(name)
        predicted = tree.predict(X)
        found = scores(run.problem.task, y, predicted)["macro_f1"]
        assert run.metrics[name]["macro_f1"] == found
        assert [names["predict"](r) for r in X.to_dict("records")] == [*predicted]


@pytest.mark.slow
def test_a_predictor_on_top_is_written_whole_or_not_at_all(
    home, table, capsys, refused, tmp_path
):
    run = train_argmin(table, "--set", "predictor=linear")
    X = pd.read_csv(table).drop(columns="kind")
    wanted = RunStore().model(run).predict(X).tolist()
    file = tmp_path / "model.treelab"
    assert main(["export", run, "--format", "model", "-o", str(file)]) == 0
    assert load(file).predict(X).tolist() == wanted
    capsys.readouterr()
    assert main(["export", run, "--format", "json"]) == 0
    again = PruningPath.from_dict(json.loads(capsys.readouterr().out))
    assert again.predict(X).tolist() == wanted
    for name in ("python", "sql", "c", "pmml", "onnx"):
        sentence = refused("export", run, "--format", name, "-o", str(tmp_path / name))
        assert "A predictor on top of the tree makes this model's" in sentence
    for name in ("text", "dot", "html"):
        assert main(["export", run, "--format", name]) == 0
        words = " ".join(capsys.readouterr().out.replace("\\n", " ").split())
        assert "predictor on top of this tree" in words
    assert main(["export", run, "--format", "rules"]) == 0
    assert ON_TOP in capsys.readouterr().err


def test_a_files_ending_says_how_it_is_written(trained, tmp_path, refused):
    for name in ("tree.csv", "tree.onnx", "tree.html", "tree.py", "m.treelab", "odd"):
        file = tmp_path / name
        assert main(["export", trained, "-o", str(file)]) == 0
    rules = (tmp_path / "tree.csv").read_bytes()
    assert rules == (tmp_path / "odd").read_bytes()
    page = (tmp_path / "tree.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "def predict" in (tmp_path / "tree.py").read_text("utf-8")
    kept = load(tmp_path / "m.treelab")
    assert to_text(shown_tree(kept)) == to_text(RunStore().model(trained))
    assert rules not in (tmp_path / "tree.onnx").read_bytes()
    sentence = refused("export", trained, "-o", str(tmp_path / "tree.svg"))
    assert "The ending .svg is of no format here" in sentence
    assert not (tmp_path / "tree.svg").exists()
    assert main(["export", trained, "--format", "dot", "-o", str(file)]) == 0
    assert file.read_text("utf-8").startswith("digraph")
