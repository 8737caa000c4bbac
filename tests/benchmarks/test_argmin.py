import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.argmin import (
    FoundClusters,
    birch,
    glass,
    halving,
    split_rows,
    window_routes,
)
from treelab.bench import SOLVER_STEPS, argmin_fit, solver_step
from treelab.learners.argmin.estimators import ArgminTreeClassifier


def blobs(n_rows=60):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    return rng.normal(size=(n_rows, 2)) * 0.1 + np.eye(3)[y][:, :2] * 4, y


@pytest.mark.parametrize("by_class", [True, False])
def test_a_data_split_is_60_20_20_and_shares_no_row(by_class):
    y = np.repeat(["a", "b"], 50)
    found = split_rows(y, 0, by_class=by_class)
    assert [len(rows) for rows in found] == [60, 20, 20]
    assert len(np.unique(np.concatenate(found))) == 100


@pytest.mark.parametrize("make", [lambda x: halving(x, 3, 0), birch])
def test_hierarchies_send_rows_to_ends_that_hold_one_blob_each(make):
    x, y = blobs()
    found = make(x)
    leaf = found.apply(x)
    assert not np.isin(leaf, found.parent).any()
    assert all(len(set(y[leaf == node])) == 1 for node in np.unique(leaf))
    assert found.depth >= 2


@pytest.mark.slow
def test_glass_is_measured_with_every_method():
    x, y = blobs(300)
    tables = {"glass": (pd.DataFrame(x, columns=["a", "b"]), y)}
    found = pd.DataFrame(glass(tables, [0]))
    assert {"argmin tree", "hierarchical k-means", "BIRCH"} <= set(found["method"])
    assert found["purity"].between(0.8, 1).all()


def test_routes_of_windows_are_held_against_those_of_others():
    x, y = blobs()
    tree = halving(x, 3, 0)
    found = FoundClusters("k-means", tree.parent, tree.apply, tree.depth, 0.0)
    panes = np.array(["windows, float", "windows, drawn"])[np.arange(len(y)) % 2]
    routes = window_routes(found, x, np.where(y == 1, panes, "lamp"))
    assert routes["windows"] > 0.8 > routes["windows_others"]


def test_an_unknown_part_is_refused(tmp_path, capsys):
    (tmp_path / "manifest.json").write_text("[]")
    command = ["argmin", "--data", str(tmp_path), "--parts", "birds"]
    assert main(command) != 0
    assert "There is no part 'birds'" in capsys.readouterr().err


@pytest.mark.slow
def test_solver_steps_run():
    _, *shape = SOLVER_STEPS[0]
    solver_step(*shape)()


@pytest.mark.slow
def test_fits_to_be_timed_train(monkeypatch):
    epochs = []
    fit = ArgminTreeClassifier.fit

    def recorded(self, *rows, **more):
        epochs.append((len(rows[0]), fit(self, *rows, **more).n_epochs_))

    monkeypatch.setattr(ArgminTreeClassifier, "fit", recorded)
    argmin_fit(2, n_rows=200, epochs=2)()
    assert epochs == [(200, 3)]  # one of them once its nodes are emptied
