"""Training from the shell, with its scores, its progress and its refusals."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import d2_tweedie_score

from tests.runs.conftest import small_table
from treelab.cli.main import main
from treelab.runs.store.database import change
from treelab.runs.store.run_store import RunStore
from treelab.trees.words import joined, significant

SLOW_TRAIN = (
    "import sys; from tests.runs.workers.slow_tree import register; register();"
    "from treelab.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


def test_train_saves_the_run_where_the_app_looks_and_prints_its_scores(
    home, table, capsys
):
    arguments = ["--target", "kind", "--learner", "slow", "--set", "epochs=7"]
    more = ["--seed", "3", "--name", "my tree", "--device", "cpu"]
    assert main(["train", table, *arguments, *more]) == 0
    (run,) = RunStore().runs()
    assert (run.state, run.title, run.device) == ("done", "my tree", "cpu")
    assert run.settings == {"epochs": 7, "pause": 0.0, "fail_at": None}
    assert (run.problem.seed, run.problem.task) == (3, "binary")
    assert run.problem.columns == ("size", "color")
    printed = capsys.readouterr().out
    for name, scores in run.metrics.items():
        (line,) = [line for line in printed.split("\n") if line.startswith(name)]
        assert f"{scores['accuracy']:.4f}" in line
    assert run.id in printed


def test_costs_of_errors_name_classes_of_the_table_and_are_what_a_row_costs(
    home, table, capsys, refused
):
    kinds = sorted(small_table()["kind"].unique())
    train = ["train", table, "--target", "kind", "--learner", "cart", "--set"]
    refuse = [*train, f"constraints.class_costs={kinds[0]} as none: 10"]
    assert "no class 'none'" in refused(*refuse)
    assert "named by part" in refused(*train, "constraints=nothing")
    assert RunStore().runs() == []
    asked = f"constraints.class_costs={kinds[0]} as {kinds[1]}: 10"
    assert main([*train, asked, "--set", "tune=false"]) == 0
    assert "it was trained, a test row costs" in capsys.readouterr().out
    # Whole numbers beside an empty cell are stored as 1.0, and called 1.
    small_table().assign(kind=lambda own: (own["kind"] == "yes").astype("Int64")).pipe(
        lambda own: pd.concat([own, own[:1].assign(kind=pd.NA)])
    ).to_csv(table, index=False)
    costs = "constraints.class_costs=1 as 0: 10"
    assert main([*train, costs, "--set", "tune=false"]) == 0


def test_folds_of_a_tree_trained_by_costs_say_what_a_row_costs(home, table, capsys):
    kinds = sorted(small_table()["kind"].unique())
    costs = f"constraints.class_costs={kinds[0]} as {kinds[1]}: 10"
    train = ["train", table, "--target", "kind", "--learner", "cart", "--folds", "3"]
    assert main([*train, "--set", "tune=false", "--set", costs]) == 0
    store, each = RunStore(), []
    for run in store.runs()[::-1]:
        X, y, _ = run.problem.split(store.table(run.problem.table_id)).rows("test")
        predicted = store.model(run.id).predict(X)
        dear = (y == kinds[0]) & (predicted == kinds[1])
        each.append(np.mean(np.where(dear, 10, y != predicted)))
    assert f"costs {joined([*map(significant, each)])}; the mean is " in (
        printed := capsys.readouterr().out
    )
    assert f"the mean is {significant(np.mean(each))}." in printed


@pytest.mark.slow
def test_train_repeats_on_the_next_data_splits_and_prints_their_mean(
    home, table, capsys, refused
):
    train = ["train", table, "--target", "kind", "--learner", "slow", "--seed", "3"]
    assert main([*train, "--repeats", "2"]) == 0
    runs = RunStore().runs()[::-1]
    assert [run.problem.seed for run in runs] == [3, 4, 5]
    assert [run.repeat_of for run in runs] == ["", runs[0].id, runs[0].id]
    scores = [run.metrics["test"]["macro_f1"] for run in runs]
    printed = capsys.readouterr().out
    assert f"{sum(scores) / 3:.4f}  standard deviation" in printed
    assert all(f"{score:.4f}  run {r.id}" in printed for score, r in zip(scores, runs))
    assert "at least 0" in refused(*train, "--repeats", "-1")
    by_time = [*train, "--split", "time:size", "--repeats", "2"]
    assert "by 'size', the test rows are always the same" in refused(*by_time)


@pytest.mark.slow
def test_train_cross_validates_and_trains_each_fold_once(home, table, capsys, refused):
    train = ["train", table, "--target", "kind", "--learner", "slow", "--folds", "3"]
    assert main([*train, "--seed", "1"]) == 0
    runs = RunStore().runs()[::-1]
    assert [run.problem.seed for run in runs] == [3, 4, 5]
    assert [run.repeat_of for run in runs] == ["", runs[0].id, runs[0].id]
    assert "repeat 2, " not in capsys.readouterr().out
    assert main([*train, "--repeats", "1"]) == 0  # the second repeat is there already
    assert sorted(run.problem.seed for run in RunStore().runs()) == [*range(6)]
    assert "6 folds (2 repeats of 3)" in capsys.readouterr().out
    assert main([*train, "--repeats", "1", "--json"]) == 0
    assert [run["seed"] for run in json.loads(capsys.readouterr().out)] == [*range(6)]
    assert "at least 2" in refused(*train[:-1], "1")
    change(RunStore().database, "UPDATE runs SET state = 'queued', metrics = '{}'")
    assert "wait or train elsewhere" in refused(*train)


def test_train_shows_a_progress_bar_in_a_terminal(home, table, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    arguments = ["--target", "kind", "--learner", "slow", "--set", "pause=0.05"]
    assert main(["train", table, *arguments]) == 0
    bar = capsys.readouterr().err
    assert "5/5" in bar
    assert "valid=0.4" in bar


def test_train_refuses_what_it_cannot_do(home, table, tmp_path, refused):
    train = ["train", table, "--learner", "cart", "--target"]
    assert "no column 'sort'; it has 'size', 'color'" in refused(*train, "sort")
    message = refused(*train, "kind", "--task", "regression")
    assert "'kind'" in message
    assert "height" in refused(*train, "kind", "--set", "height=3")
    assert "max_depth" in refused(*train, "kind", "--set", "max_depth=0")
    absent = str(tmp_path / "absent.csv")
    message = refused("train", absent, "--target", "kind")
    assert message == f"treelab: {absent}: No such file or directory.\n"
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "empty.csv" in refused("train", str(empty), "--target", "kind")
    with pytest.raises(SystemExit) as left:
        main([*train, "kind", "--learner", "oak"])
    assert left.value.code == 2
    assert RunStore().tables() == []  # what is refused leaves nothing behind


def test_a_failed_training_says_why_and_where_the_traceback_is(home, table, refused):
    arguments = ["--target", "kind", "--learner", "slow", "--set", "fail_at=2"]
    message = refused("train", table, *arguments)
    assert "The loss was not a number from epoch 3 on." in message
    assert "log.txt" in message


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C otherwise")
@pytest.mark.slow
def test_ctrl_c_stops_and_saves_the_best_so_far(home, table):
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
    assert "the best tree so far is saved" in err
    assert "(stopped)" in out
    (run,) = store.runs()
    assert (run.state, run.has_model) == ("stopped", True)


def test_clusters_that_are_refused_store_no_table(home, table, refused):
    assert "depth" in refused("cluster", table, "--set", "depth=0")
    assert "no column 'sort'" in refused("cluster", table, "--known", "sort")
    assert RunStore().tables() == []


def test_a_column_of_predictions_is_imitated_and_its_truth_is_no_feature(
    home, table, refused
):
    arguments = ["train", table, "--target", "kind", "--learner", "cart"]
    truth = pd.read_csv(table)["kind"]
    pd.read_csv(table).assign(truth=truth).to_csv(table, index=False)
    assert main([*arguments, "--truth", "truth", "--set", "tune=false"]) == 0
    (run,) = RunStore().runs()
    assert run.problem.is_surrogate
    assert run.problem.truth == "truth"
    assert "truth" not in run.problem.columns
    itself = ["--target", "truth", "--truth", "truth"]
    assert "the predictions themselves" in refused("train", table, *itself)


@pytest.mark.slow
def test_train_counts_rare_categories_as_one(home, tmp_path, refused):
    frame = small_table().assign(town=[f"t{i // 4}" for i in range(len(small_table()))])
    path = tmp_path / "towns.csv"
    frame.to_csv(path, index=False)
    train = ["train", str(path), "--target", "kind", "--learner", "cart"]
    train += ["--set", "tune=false"]
    frame.to_csv(path, index=False, sep="\t")
    assert main([*train, "--rare", "town:50%", "--delimiter", r"\t"]) == 0
    (run,) = RunStore().runs()
    assert run.problem.rare == (("town", 0.5),)
    assert "'size' holds numbers" in refused(*train, "--rare", "size:10")
    assert "has no column 'twon'" in refused(*train, "--rare", "twon:10")
    assert "'kind' is a target" in refused(*train, "--kind", "kind:number")
    two = "--kind", "size:number", "--kind", "size:category"
    assert "two kinds of 'size'" in refused(*train, *two)
    two = "--kind", "size:number", "--as-text", "size"
    assert "--kind reads 'size' as number" in refused(*train, *two)
    assert "must be one character" in refused(*train, "--delimiter", ";;")
    assert "counted from 1" in refused(*train, "--header", "-1")
    assert "has no sheets" in refused(*train, "--sheet", "first")
    left_out = [*train, "--without", "town"]
    assert "'town', which is left out" in refused(*left_out, "--rare", "town:10")
    asked = ["--set", 'constraints={"monotone": {"town": 1}}']
    assert "'town', which is not among those" in refused(*left_out, *asked)
    assert "rare below" in refused(*train, "--rare", "town:few")


@pytest.mark.slow
def test_train_splits_by_group_or_tests_on_a_file(home, tmp_path, capsys, refused):
    frame = small_table().assign(who=[f"w{i % 9}" for i in range(len(small_table()))])
    both, half = tmp_path / "both.csv", tmp_path / "half.csv"
    frame.to_csv(both, index=False)
    frame.head(12).to_csv(half, index=False)
    train = ["train", str(both), "--target", "kind", "--learner", "cart"]
    assert main([*train, "--split", "group:who", "--set", "tune=false"]) == 0
    assert main([*train, "--test-file", str(half), "--set", "tune=false"]) == 0
    assert "of the 12 rows of half.csv stand in both.csv" in capsys.readouterr().err
    given, grouped = RunStore().runs()
    assert grouped.problem.split_column == "who"
    assert "who" not in grouped.problem.columns
    assert given.metrics["test"]["n_rows"] == 12
    for way in ("group", "random:who"):
        assert "--split takes WAY:COLUMN" in refused(*train, "--split", way)
    assert "no column 'nobody'" in refused(*train, "--split", "group:nobody")
    frame.head(12).assign(kind="other").to_csv(half, index=False)
    why = refused(*train, "--test-file", str(half))
    assert (
        "12 rows of a class that no training row has, such as 'other', are left" in why
    )
    assert "no row to test on" in why
    frame.head(20).assign(kind=["other"] * 3 + ["yes"] * 17).to_csv(half, index=False)
    assert main([*train, "--test-file", str(half), "--set", "tune=false"]) == 0
    assert "3 rows of a class that no training row has" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*train, "--seed", "-1"])
    assert "'-1' is no whole number from 0" in capsys.readouterr().err


def killed_in_the_second_fold(command, home):
    """Train in a process of its own, killed while the second fold's run trains.

    It draws folds once, as tests do, where probabilities are measured.
    """
    code = (
        "import sys; from tests.runs.workers import slow_tree; slow_tree.register();"
        "from treelab.learners.common import folds; folds.REPEATED_ROWS = 20;"
        "from treelab.cli.main import main; main(sys.argv[1:])"
    )
    process = subprocess.Popen([sys.executable, "-c", code, *command])
    while process.poll() is None:
        runs = RunStore(home).runs() if (home / "treelab.sqlite").exists() else []
        if [run.state for run in runs] == ["running", "done"]:
            break
        time.sleep(0.05)
    process.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("repeated", [[], ["--repeats", "1"]])
def test_a_cross_validation_whose_process_was_killed_trains_no_fold_twice(
    home, table, repeated
):
    train = ["train", table, "--target", "kind", "--learner", "slow"]
    train += ["--set", "epochs=20", "--set", "pause=0.05", "--folds", "2", *repeated]
    killed_in_the_second_fold(train, home)
    before = RunStore(home).runs()
    assert [run.state for run in before] == ["running", "done"]
    assert main(train) == 0
    runs = RunStore(home).runs()[::-1]
    assert len(runs) == 2 * (1 + len(repeated) // 2)
    assert {run.state for run in runs} == {"done"}
    assert [run.id for run in runs[:2]] == [run.id for run in before[::-1]]
    assert [run.attempts for run in runs] == [1, 2, *[1] * (len(runs) - 2)]
    assert runs[0].finished == before[1].finished  # the first fold was left alone
    assert {run.repeat_of for run in runs[1:]} == {runs[0].id}
    again = RunStore(home.with_name("whole"))
    assert main([*train, "--home", str(again.home)]) == 0
    assert [run.metrics for run in again.runs()[::-1]] == [run.metrics for run in runs]


def test_train_weighs_rows_by_a_column_and_scores_by_it(home, tmp_path):
    path = tmp_path / "weighted.csv"
    frame = small_table().assign(times=lambda t: (t.index % 3) + 1.0)
    frame.to_csv(path, index=False)
    given = ["--target", "kind", "--learner", "cart", "--weight", "times"]
    assert main(["train", str(path), *given, "--set", "tune=false"]) == 0
    (run,) = RunStore().runs()
    assert run.problem.weight == "times"
    assert "times" not in run.problem.columns
    model, split = RunStore().model(run.id), run.problem.split(frame)
    X, y, _ = split.rows("test")
    right = model.predict(X) == y
    assert run.metrics["test"]["accuracy"] == pytest.approx(
        np.average(right, weights=split.rows("test").weight)
    )
    assert model.weight[0] == split.rows("train").weight.sum()
    assert "Rows are weighted by times." in run.summary["notes"]


def test_train_takes_a_loss_and_scores_by_it(home, tmp_path):
    path = tmp_path / "numbers.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90)})
    frame.assign(y=frame["x"] + rng.exponential(size=90)).to_csv(path, index=False)
    own = ["--set", "loss=quantile", "--set", "quantile=0.9", "--set", "tune=false"]
    own += ["--set", "interval=none"]  # leaves hold the quantiles of their rows
    assert main(["train", str(path), "--target", "y", "--learner", "cart", *own]) == 0
    (run,) = RunStore().runs()
    model = RunStore().model(run.id)
    assert (model.loss.name, model.loss.parameter) == ("quantile", 0.9)
    assert run.metrics["train"]["d2"] == pytest.approx(1.0)
    assert "0.9 quantile" in " ".join(model.notes)


@pytest.mark.slow
def test_train_by_exposure_is_poisson_regression_with_an_offset(
    home, tmp_path, capsys, refused
):
    path = tmp_path / "claims.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "years": rng.random(400)})
    frame["years"] = (0.1 + frame["years"]).round(3)
    rate = np.where(frame["age"] < 30, 1.5, 0.3)
    frame["claims"] = rng.poisson(rate * frame["years"])
    frame.to_csv(path, index=False)
    given = ["--target", "claims", "--learner", "cart", "--exposure", "years"]
    own = ["--task", "regression", "--set", "loss=poisson", "--set", "max_leaf_nodes=3"]
    assert main(["train", str(path), *given, *own]) == 0
    (run,) = RunStore().runs()
    assert (run.problem.exposure, run.problem.columns) == ("years", ("age",))
    model = RunStore().model(run.id)
    assert model.target == "claims per years"
    split = run.problem.split(frame)
    X, _, _ = split.rows(run.fitted_split)
    rows, leaf = frame.loc[X.index], model.apply(X)
    for node in np.unique(leaf):
        here = rows[leaf == node]
        # What maximises the likelihood of counts with the logarithm of years as offset.
        of_counts = here["claims"].sum() / here["years"].sum()
        assert model.value[node, 0] == pytest.approx(of_counts)
    X, _, _ = split.rows("test")
    counts = d2_tweedie_score(
        frame["claims"][X.index] / frame["years"][X.index],
        model.predict(X),
        sample_weight=frame["years"][X.index],
        power=1,
    )
    assert run.metrics["test"]["d2"] == pytest.approx(counts)
    found = run.metrics["test"]
    assert found["total"] == pytest.approx(frame["claims"][X.index].sum())
    expected = (model.predict(X) * frame["years"][X.index]).sum()
    assert found["predicted_total"] == pytest.approx(expected)
    printed = capsys.readouterr().out
    assert "weighted by years" in printed
    total = significant(float(frame["claims"][X.index].sum()))
    assert f"claims predicted, {total} observed." in printed
    assert main(["predict", run.id, str(path), "-o", str(tmp_path / "out.csv")]) == 0
    assert (
        "On 400 rows with the target, weighted by years: D²" in capsys.readouterr().err
    )
    explain = ["explain", run.id, "--row", "3", "--table", str(path)]
    assert main(explain) == 0
    truth = significant(float(frame["claims"][2] / frame["years"][2]))
    assert f"Target: {truth}" in capsys.readouterr().out
    for wrong, why in (("-0.5", "is -0.5 in row 3"), ("half", "'half' in line 4")):
        frame.assign(years=frame["years"].where(frame.index != 2, wrong)).to_csv(path)
        assert why in refused("predict", run.id, str(path))
    frame.loc[3, ["years", "claims"]] = 0, 1
    frame.to_csv(path, index=False)
    assert main([*explain[:3], "4", *explain[4:]]) == 0
    assert "Target" not in capsys.readouterr().out
    assert main(["train", str(path), *given, *own]) == 2
    assert "above 0, but is 0 in row 4" in capsys.readouterr().err
    assert main(["train", str(path), *given[:-1], "none", *own]) == 2
    assert "no column 'none'" in capsys.readouterr().err
    capsys.readouterr()
    frame.drop(columns="claims").to_csv(path, index=False)
    assert main(["predict", run.id, str(path)]) == 0
    written = pd.read_csv(io.StringIO(capsys.readouterr().out))
    amounts = frame["years"] * model.predict(frame)
    np.testing.assert_allclose(written["predicted claims"], amounts)


def test_a_target_that_the_loss_does_not_know_is_named_by_its_row(
    home, tmp_path, capsys
):
    path = tmp_path / "claims.csv"
    frame = pd.DataFrame({"x": np.tile(np.arange(60), 2), "times": 1.0, "y": 1.0})
    frame.loc[[2, 40], "y"], frame.loc[[0, 2], "times"] = -1.0, 0.0
    frame.to_csv(path, index=False)
    given = ["--target", "y", "--task", "regression", "--weight", "times"]
    given += ["--learner", "cart", "--set", "loss=poisson"]
    for seed in range(5):  # in whatever part of the data split it is
        assert main(["train", str(path), *given, "--seed", str(seed)]) == 2
        assert "'y' holds -1 in row 41" in capsys.readouterr().err
