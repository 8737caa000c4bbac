import gzip
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from benchmarks.__main__ import main
from benchmarks.contenders import (
    CONTENDERS,
    Contender,
    Outcome,
    treelab_learner,
    untrained,
)
from benchmarks.runner import Results, measure, splits
from benchmarks.summary import by_contender, by_table, differences, mean_and_error
from benchmarks.tables import choose, read_manifest
from benchmarks.tuned import tuned, tuned_contenders
from treelab.learners.common.origin import Origin


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "code": rng.integers(3, size=60)})
    frame["label"] = np.where(frame["a"] > 0, "yes", "no")
    entries = []
    for name in ("one", "two"):
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            frame.to_csv(file, index=False)
        entries.append(
            {
                "name": name,
                "file": f"{name}.csv.gz",
                "task": "binary",
                "target": "label",
                "categorical": ["code"],
                "papers": ["gradtree", "grande"],
                "reference": {"gradtree": 0.9},
            }
        )
    (tmp_path / "manifest.json").write_text(json.dumps(entries))
    return tmp_path


def test_tables_keep_categories_as_text(folder):
    X, y = read_manifest(folder)[0].load()
    assert set(X["code"]) == {"0", "1", "2"}
    assert set(y) == {"yes", "no"}


def test_one_failure_is_noted_and_results_are_not_measured_twice(folder):
    calls = []

    def fails(X, y, X_test, task, seed):
        raise RuntimeError("out of luck")

    def guesses(X, y, X_test, task, seed):
        calls.append(seed)
        return Outcome(np.full(len(X_test), "yes"), 1)

    tables = read_manifest(folder)
    contenders = [Contender("fails", fails), Contender("guesses", guesses)]
    path = folder / "results.jsonl"
    for _ in range(2):
        measure(tables, contenders, Results(path), protocol="random", trials=2)
    assert calls == [0, 1, 0, 1]
    results = Results(path)
    assert "out of luck" in results.rows[0]["error"]
    wide = by_table(results.frame(), tables, "gradtree")
    assert wide.loc["one", "guesses leaves"] == 1
    assert wide.loc["one", "gradtree (paper)"] == 0.9
    assert "mean" in wide.index


def test_another_seed_measures_other_splits_under_other_numbers(folder):
    tested = []

    def records(X, y, X_test, task, seed):
        tested.append((seed, tuple(X_test.index)))
        return Outcome(np.full(len(X_test), "yes"), 1)

    results = Results(folder / "results.jsonl")
    contenders = [Contender("records", records)]
    tables = read_manifest(folder)[:1]
    for seed in (0, 1, 7):
        measure(tables, contenders, results, protocol="random", trials=2, seed=seed)
    assert [seed for seed, _ in tested] == [0, 1, 2, 7, 8]  # 1 was there already
    assert len({rows for _, rows in tested}) == 5


@pytest.mark.parametrize("protocol", ["random", "folds"])
def test_a_split_keeps_classes_and_shares_no_row(protocol):
    y = np.repeat(["a", "b"], [80, 20])
    for train, test in splits(y, protocol, 3):
        assert not set(train) & set(test)
        assert (y[test] == "b").sum() == 4


def test_from_the_sixth_trial_on_the_same_folds_come_with_another_random_state():
    y = np.repeat(["a", "b"], [80, 20])
    tested = [list(test) for _, test in splits(y, "folds", 12)]
    assert sorted(np.concatenate(tested[:5])) == list(range(100))
    assert tested[5:10] == tested[:5]
    assert tested[10:] == tested[:2]


def test_an_unknown_table_or_contender_is_refused_by_name(folder, capsys):
    with pytest.raises(ValueError, match="three"):
        choose(read_manifest(folder), "gradtree", ("binary",), "three")
    data = ["--data", str(folder)]
    assert main(["gradtree", *data, "--contenders", "id3"]) == 2
    assert "id3" in capsys.readouterr().err
    assert main(["gradtree", "--data", str(folder / "nowhere")]) == 2
    assert "manifest.json" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_prints_the_means_and_writes_them(folder, capsys):
    out = folder / "out.jsonl"
    command = ["gradtree", "--data", str(folder), "--trials", "1"]
    command += ["--contenders", "cart-tuned,cart-default", "--out", str(out)]
    assert main(command) == 0
    assert "cart-tuned" in capsys.readouterr().out
    written = json.loads(out.with_suffix(".summary.json").read_text())
    assert written["one"]["cart-tuned"] > 0.5


@pytest.mark.slow
def test_a_tuned_learner_is_a_contender_for_each_of_its_search_spaces():
    names = [contender.name for contender in tuned_contenders("gradtree", 2)]
    assert names == ["gradtree-tuned", "gradtree-paper-tuned"]
    X, y = make_classification(80, 3, n_redundant=0, random_state=0)
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    found = tuned("cart", "treelab", 3)(rows[:60], y[:60], rows[60:], "binary", 0)
    assert (found.predicted == y[60:]).mean() > 0.5


def test_every_paper_has_its_peers():
    names = {paper: [c.name for c in CONTENDERS[paper]] for paper in CONTENDERS}
    assert {"gradtree", "cart-tuned", "gradtree-untrained"} <= set(names["gradtree"])
    assert "get-linear-untrained" in names["get"]
    assert {"grande", "xgboost", "catboost"} <= set(names["grande"])


def test_the_error_of_a_mean_over_tables_is_that_over_their_splits():
    frame = pd.DataFrame({"table": ["a"] * 3 + ["b"] * 2, "score": [1, 2, 3, 5, 5]})
    mean, error = mean_and_error(frame, "score")
    assert mean == 3.5
    assert error == pytest.approx(np.sqrt(1 / 3) / 2)
    assert np.isnan(mean_and_error(frame[1:4], "score")[1])  # one split of b


def test_origin_sizes_and_differences_are_told_by_contender(folder):
    def learner(right):
        def fit_predict(X, y, X_test, task, seed):
            wrong = np.full(len(X_test), "no")
            good = np.where(X_test["a"] > 0, "yes", "no")
            origin = Origin("greedy", True, 4, 3 if right else 0)
            return Outcome(good if right else wrong, 5, origin, {4: wrong, 8: good})

        return fit_predict

    tables = read_manifest(folder)
    results = Results(folder / "results.jsonl")
    contenders = [Contender("ours", learner(True)), Contender("off", learner(False))]
    measure(tables, contenders, results, protocol="random", trials=2)
    found = by_contender(results.frame(), tables)
    assert found.loc["ours", ["macro_f1", "macro_f1 at 8", "changed"]].tolist() == [
        *(1, 1, 0.75)
    ]
    assert found.loc["off", ["trained", "equals start"]].tolist() == [1, 1]
    assert found.loc["ours", "macro_f1 at 4"] < 0.5
    less = differences(results.frame(), tables, "ours")
    assert list(less.index) == ["off"]
    assert less.loc["off", "macro_f1"] > 0.5
    assert less.loc["off", "macro_f1 at 8"] == 0
    assert less.loc["off", "splits"] == 4


@pytest.mark.slow
def test_learning_off_leaves_the_start_as_it_was(folder):
    X, y = read_manifest(folder)[0].load()
    settings = {"depth": 2, "max_epochs": 5, "sparse_splits": False}
    found = untrained("argmin", **settings)(X, y, X, "binary", 0)
    assert found.origin.n_changed == 0
    trained = treelab_learner("argmin", **settings)(X, y, X, "binary", 0)
    assert trained.origin.n_changed > 0
