"""The paper's case on a small table, from the command line."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.decider_facts import decider_facts
from treelab.learners.grande.estimators import GrandeClassifier

SMALL = {"n_estimators": 8, "depth": 2, "max_epochs": 3, "random_state": 0}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "sign": rng.integers(2, size=80)})
    table["label"] = np.where(table["sign"] > 0, "yes", "no")
    return table


@pytest.fixture
def folder(tmp_path, frame):
    with gzip.open(tmp_path / "one.csv.gz", "wt") as file:
        frame.to_csv(file, index=False)
    entry = {"name": "one", "file": "one.csv.gz", "task": "binary", "target": "label"}
    (tmp_path / "manifest.json").write_text(json.dumps([entry]))
    return tmp_path


@pytest.mark.slow
def test_facts_are_medians_over_the_rows(frame):
    X, y = frame[["a", "sign"]], frame["label"]
    ensemble = GrandeClassifier(**SMALL).fit(X, y).ensemble_
    facts = decider_facts(ensemble, X)
    weights = np.sort(ensemble.estimator_weights(X), axis=1)[:, ::-1]
    enough = (weights.cumsum(axis=1) < 0.9 - 1e-9).sum(axis=1) + 1
    assert facts["trees"] == ensemble.n_estimators
    assert facts["top weight"] == pytest.approx(np.median(weights[:, 0]))
    assert facts["trees for 90%"] == np.median(enough)


@pytest.mark.slow
def test_the_command_says_who_decides_and_by_which_rule(folder, capsys, monkeypatch):
    from benchmarks import deciders

    def small(key, task, settings, *, random_state):
        return GrandeClassifier(**{**SMALL, **settings, "random_state": random_state})

    monkeypatch.setattr(deciders, "make_estimator", small)
    chosen = ["--data", str(folder), "--table", "one", "--where", "sign=1"]
    assert main(["deciders", *chosen]) == 0
    printed = capsys.readouterr().out
    assert "All 16 test rows: median top weight" in printed
    assert "with sign = 1: median top weight" in printed
    assert "rule names sign on" in printed
    assert "precision 1.000" in printed
    assert main(["deciders", *chosen[:-1], "sign=7"]) == 0
    assert "No test row has sign = 7." in capsys.readouterr().out
