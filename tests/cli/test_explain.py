"""Explaining a test row, and simple rules, from the shell."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from tests.pages.stores import add_run, table
from treelab.cli.main import main
from treelab.evaluation.ensembles import rows_decided_by_one
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning_path import ON_TOP
from treelab.trees.words import percent


def test_rows(store, run):
    problem = store.run(run).problem
    return problem.split(store.table(problem.table_id)).rows("test")[:2]


test_rows.__test__ = False


@pytest.mark.parametrize("learner", ["cart", "argmin"])
@pytest.mark.parametrize("target", ["kind", "weight"])
def test_a_single_trees_path_ends_in_its_leaf(home, capsys, learner, target):
    store = RunStore()
    run = add_run(store, learner, target)
    assert main(["explain", run, "--row", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    X, y = test_rows(store, run)
    if target == "kind":
        predicted = store.model(run).predict(X.iloc[[2]])[0]
        assert lines[0].startswith(f"Prediction: {predicted}, ")
        assert lines[1] == f"Target: {y.iloc[2]}"
    assert lines[2].startswith("1. ")
    assert lines[-1].startswith("This leaf: ")
    assert any(ON_TOP in line for line in lines) == (learner == "argmin")
    assert f"of {len(X)} test rows" in lines[-1]


def test_a_target_is_written_as_the_classes_are(home, capsys, tmp_path):
    store, more = RunStore(), {"size": np.arange(240) % 3}
    run, file = add_run(store, "cart", "size", more=more), tmp_path / "new.csv"
    frame = table().assign(**more).astype({"size": object})[:4]
    frame.loc[2, "size"], frame.loc[3, "size"] = None, 7
    frame.to_csv(file, index=False)
    for row, target in enumerate(["0", "1", None, "7"], start=1):
        asked = ["explain", run, "--table", str(file), "--row", str(row)]
        assert main(asked) == 0
        lines = capsys.readouterr().out.splitlines()
        found = [own for own in lines if own.startswith("Target: ")]
        assert found == ([f"Target: {target}"] if target else [])
        assert main([*asked, "--json"]) == 0
        given = json.loads(capsys.readouterr().out)["target"]
        assert given == {"0": 0, "1": 1}.get(target, target)


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_an_ensemble_names_its_heaviest_trees(home, capsys, target):
    store = RunStore()
    run = add_run(store, "grande", target)
    assert main(["explain", run, "--row", "1"]) == 0
    written = capsys.readouterr().out
    X, _ = test_rows(store, run)
    index, weight = store.model(run).top_estimators(X.iloc[[0]], 2)
    for estimator, share in zip(index[0], weight[0]):
        assert f"tree {estimator} {percent(share)}" in written
    assert f"Tree {index[0, 0]}: " in written


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_simple_rules_are_those_of_rows_that_one_tree_decides(home, capsys, target):
    store = RunStore()
    run = add_run(store, "grande", target)
    assert main(["explain", run, "--simple-rules", "--share", "0.3"]) == 0
    written = pd.read_csv(io.StringIO(capsys.readouterr().out))
    found = rows_decided_by_one(store.model(run), *test_rows(store, run), share=0.3)
    assert found
    assert written["rule"].tolist() == [own.rule for own in found]
    assert written["test_rows"].tolist() == [len(own.rows) for own in found]


def test_what_cannot_be_explained_is_refused(home, refused):
    run = add_run(RunStore(), "cart")
    assert "from 1 to" in refused("explain", run, "--row", "0")
    assert "export --format rules" in refused("explain", run, "--simple-rules")
    row, rules = ("explain", run, "--row", "1"), ("explain", run, "--simple-rules")
    assert "--sheet goes with --table" in refused(*row, "--sheet", "one")
    assert "--header goes with --table" in refused(*row, "--header", "0")
    assert "--share goes with --simple-rules" in refused(*row, "--share", "0.5")
    assert "--table goes with --row" in refused(*rules, "--table", "new.csv")
