"""The command line does what it says, and says in a sentence when it cannot."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from tests.runs.conftest import small_table
from tests.runs.workers.slow_tree import SPEC
from treelab.cli.main import main
from treelab.cli.train import parse_settings
from treelab.learners.registry import LEARNERS
from treelab.runs.store.run_store import RunStore
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text.rules import to_text
from treelab.trees.tree import Tree

SLOW_TRAIN = (
    "import sys; from tests.runs.workers.slow_tree import register; register();"
    "from treelab.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A run store of our own, the slow tree among the learners."""
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(LEARNERS, SPEC.key, SPEC)
    return tmp_path / "home"


@pytest.fixture
def table(tmp_path):
    """A CSV file."""
    path = tmp_path / "small.csv"
    small_table().to_csv(path, index=False)
    return str(path)


@pytest.fixture
def trained(home, table, capsys):
    """The id of a CART run."""
    assert main(["train", table, "--target", "kind", "--learner", "cart"]) == 0
    capsys.readouterr()
    return RunStore().runs()[0].id


def refused(capsys, *arguments):
    """Run a command that has to fail, and return its sentence."""
    assert main(list(arguments)) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    "command", ["", "train", "predict", "export", "runs", "worker", "bench"]
)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    assert left.value.code == 0
    assert "usage: python -m treelab" in capsys.readouterr().out


def test_train_keeps_the_run_where_the_app_looks_and_prints_its_scores(
    home, table, capsys
):
    arguments = ["--target", "kind", "--learner", "slow", "--set", "epochs=7"]
    more = ["--seed", "3", "--name", "my tree", "--device", "cpu"]
    assert main(["train", table, *arguments, *more]) == 0
    (run,) = RunStore().runs()
    assert (run.state, run.title, run.device) == ("done", "my tree", "cpu")
    assert run.settings == {"epochs": 7}
    assert (run.problem.seed, run.problem.task) == (3, "binary")
    assert run.problem.columns == ("size", "color")
    printed = capsys.readouterr().out
    for name, scores in run.metrics.items():
        (line,) = [line for line in printed.split("\n") if line.startswith(name)]
        assert f"{scores['accuracy']:.4f}" in line
    assert run.id in printed


def test_train_shows_a_progress_bar_in_a_terminal(home, table, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    arguments = ["--target", "kind", "--learner", "slow", "--set", "pause=0.05"]
    assert main(["train", table, *arguments]) == 0
    bar = capsys.readouterr().err
    assert "5/5" in bar
    assert "valid=0.4" in bar


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("depth=5", {"depth": 5}),
        ("learning_rate=0.5", {"learning_rate": 0.5}),
        ("class_weight=balanced", {"class_weight": "balanced"}),
        ("depth=", None),
        ("depth", None),
        ("depth=five", None),
        ("depth=5.5", None),
    ],
)
def test_settings_are_read_by_their_kind(text, settings):
    if settings is not None:
        assert parse_settings("gradtree", [text]) == settings
    else:
        with pytest.raises(ValueError, match="depth"):
            parse_settings("gradtree", [text])


def test_a_depth_may_be_left_to_the_learner_that_finds_it():
    assert parse_settings("get", ["depth=auto"]) == {"depth": "auto"}
    with pytest.raises(ValueError, match="depth must be"):
        parse_settings("cart", ["max_depth=auto"])


@pytest.mark.parametrize("text", ["0.1,1,10", "[0.1, 1, 10]"])
def test_a_sequence_of_numbers_is_a_setting(text):
    read = parse_settings("argmin", [f"pruning_strength={text}"])
    assert read == {"pruning_strength": [0.1, 1.0, 10.0]}


def test_train_refuses_what_it_cannot_do(home, table, tmp_path, capsys):
    train = ["train", table, "--learner", "cart", "--target"]
    assert "no column 'sort'; it has 'size', 'color'" in refused(capsys, *train, "sort")
    said = refused(capsys, *train, "kind", "--task", "regression")
    assert "'kind'" in said
    assert "height" in refused(capsys, *train, "kind", "--set", "height=3")
    assert "depth" in refused(capsys, *train, "kind", "--set", "depth=0")
    absent = str(tmp_path / "absent.csv")
    said = refused(capsys, "train", absent, "--target", "kind")
    assert said == f"treelab: {absent}: No such file or directory.\n"
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "empty.csv" in refused(capsys, "train", str(empty), "--target", "kind")
    with pytest.raises(SystemExit) as left:
        main([*train, "kind", "--learner", "oak"])
    assert left.value.code == 2


def test_a_failed_training_says_why_and_where_the_traceback_is(home, table, capsys):
    arguments = ["--target", "kind", "--learner", "slow", "--set", "fail_at=2"]
    said = refused(capsys, "train", table, *arguments)
    assert "The loss was not a number from epoch 3 on." in said
    assert "log.txt" in said


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C otherwise")
def test_ctrl_c_stops_and_keeps_the_best_so_far(home, table):
    arguments = ["--target", "kind", "--learner", "slow"]
    arguments += ["--set", "epochs=1000", "--set", "pause=0.05"]
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW_TRAIN, "train", table, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        store, until = RunStore(), time.monotonic() + 60
        while not (store.runs() and store.runs()[0].epoch >= 3):
            assert time.monotonic() < until
            assert child.poll() is None
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 0
    assert "the best tree so far is kept" in err
    assert "(stopped)" in out
    (run,) = store.runs()
    assert (run.state, run.has_model) == ("stopped", True)


@pytest.mark.parametrize("by", ["run", "folder"])
def test_predict_writes_the_table_with_the_models_answers(
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
    assert main([*train, "--learner", "cart"]) == 0
    (run,) = RunStore(tmp_path / "home").runs()
    two[["size"]].to_csv(tmp_path / "one.csv", index=False)
    out = str(tmp_path / "out.csv")
    command = ["predict", run.id, str(tmp_path / "one.csv"), "-o", out, *home]
    assert main(command) == 0
    assert (pd.read_csv(out)["prediction"] == two["kind"]).mean() > 0.95


def test_predict_refuses_what_does_not_fit(trained, table, tmp_path, capsys):
    narrow = tmp_path / "narrow.csv"
    small_table()[["size", "kind"]].to_csv(narrow, index=False)
    assert "'color'" in refused(capsys, "predict", trained, str(narrow))
    assert "no run 'cart-x'" in refused(capsys, "predict", "cart-x", table)
    taken = tmp_path / "taken.csv"
    small_table().assign(prediction=1).to_csv(taken, index=False)
    said = refused(capsys, "predict", trained, str(taken))
    assert "'prediction' already; rename it" in said


def test_export_writes_the_tree_that_predicts(trained, capsys, tmp_path):
    model = RunStore().model(trained)
    written = {}
    for name in ("rules", "text", "dot", "json"):
        assert main(["export", trained, "--format", name]) == 0
        written[name] = capsys.readouterr().out
    assert len(written["rules"].strip().split("\n")) == 1 + model.n_leaves
    assert written["text"].strip() == to_text(model).strip()
    assert written["dot"].startswith("digraph")
    again = Tree.from_dict(json.loads(written["json"]))
    assert to_text(again) == to_text(model)
    out = tmp_path / "tree.json"
    assert main(["export", trained, "--format", "json", "-o", str(out)]) == 0
    assert json.loads(out.read_text("utf-8")) == json.loads(written["json"])


def test_export_writes_code_that_predicts(trained, table, capsys, tmp_path):
    X = pd.read_csv(table).drop(columns="kind")
    wanted = RunStore().model(trained).predict(X).tolist()
    for name in ("python", "sql", "c"):
        assert main(["export", trained, "--format", name]) == 0
        code = capsys.readouterr().out
        assert code.count("yes (1.00)") >= 1
        if name == "python":
            names = {}
            exec(code, names)
            said = [names["predict"](row) for row in X.to_dict("records")]
            assert said == wanted


def test_export_writes_a_page_with_the_rows_it_was_trained_on(trained, capsys):
    assert main(["export", trained, "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert '"hist"' in page
    assert "test row" in page


def test_export_of_an_ensemble_asks_which_tree(tmp_path, capsys, monkeypatch, trained):
    assert "--estimator" in refused(capsys, "export", trained, "--estimator", "0")
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
    assert "one of its trees" in refused(capsys, "export", folder)
    assert "0 to 1" in refused(capsys, "export", folder, "--estimator", "2")
    assert main(["export", folder, "--estimator", "1", "--format", "text"]) == 0
    assert "size" in capsys.readouterr().out
    assert main(["export", folder, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "WeightedTrees"


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


def test_the_module_runs_from_the_shell():
    done = subprocess.run(
        [sys.executable, "-m", "treelab", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "bench" in done.stdout
    assert done.stderr == ""
