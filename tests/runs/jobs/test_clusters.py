"""Clusters as runs, from the library and from the shell."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tests.runs.jobs.clustered import clustered
from treelab.cli.main import main
from treelab.data.reading.read_table import read_table
from treelab.learners.argmin.clustering import ArgminTreeClusterer
from treelab.learners.registry import CLUSTERS, find_spec, learner_title
from treelab.runs.jobs import run_one
from treelab.runs.jobs.clusters import (
    NO_LABELS,
    OWN_LABELS,
    clusters_problem,
    with_label_shares,
)
from treelab.runs.store.run_store import RunStore
from treelab.runs.users import Visitor, VisitorStore
from treelab.trees.pruning import cut_at
from treelab.trees.pruning_path import PruningPath


def irises() -> pd.DataFrame:
    """Four columns, and the species as words."""
    data = load_iris(as_frame=True)
    return data.data.assign(species=data.target_names[data.target])


def test_without_labels_the_run_has_the_clusters_of_all_rows(store):
    frame = irises().drop(columns="species")
    run = store.run(clustered(store, frame))
    path = store.model(run.id)
    stored = store.table(run.problem.table_id)
    assert (run.state, run.learner, run.metrics) == ("done", "clusters", {})
    assert run.title == "Argmin clusters · irises"
    assert stored.drop(columns="cluster").equals(frame)
    assert (stored["cluster"] == path.predict(stored)).all()
    assert path.tree.n_rows[0] == len(frame)
    assert stored["cluster"].nunique() == run.summary["leaves"] == path.tree.n_leaves
    assert all(OWN_LABELS in tree.notes for tree in path.trees)
    assert run.problem.target == path.target == "cluster"
    assert set(path.classes) == set(stored["cluster"])
    for tree in path.trees:  # all count the chosen tree's clusters
        leaf = tree.apply(stored)
        for node in np.unique(leaf):
            share = (stored["cluster"][leaf == node] == path.classes[0]).mean()
            assert tree.value[node, 0] == pytest.approx(share)
    assert "purity" not in path.scores
    assert path.scores["valid_loss"].notna().all()


def test_the_table_of_a_run_is_another_once_its_clusters_are_found(store):
    frame = irises().drop(columns="species")
    first = store.add_table(frame, "irises")
    run = store.run(clustered(store, frame))
    assert run.problem.origin == first != run.problem.table_id
    assert not run.problem.awaits_clusters
    waits = clusters_problem(frame, table_id=first, table_name="irises")
    assert waits.awaits_clusters


def test_a_table_with_clusters_is_as_private_as_its_run(store):
    ann, bob = (VisitorStore(store.home, Visitor(user)) for user in ("ann", "bob"))
    clustered(ann, irises().drop(columns="species"))
    assert len(ann.tables()) == 2
    assert bob.tables() == []


def test_a_run_that_failed_with_its_clusters_found_finds_them_anew(
    store, monkeypatch, capsys
):
    monkeypatch.setattr(run_one, "save_fitted", lambda *_: 1 / 0)
    run_id = clustered(store, irises().drop(columns="species"))
    assert store.run(run_id).state == "failed"
    assert not store.run(run_id).problem.awaits_clusters
    monkeypatch.undo()
    assert main(["runs", "--resume", run_id, "--home", str(store.home)]) == 0
    assert "Fitted to all rows" in capsys.readouterr().out
    run, path = store.run(run_id), store.model(run_id)
    assert OWN_LABELS in run.summary["notes"]
    found = store.table(run.problem.table_id)
    assert path.tree.n_rows[0] == len(found)
    assert (found["cluster"] == path.predict(found)).all()


def test_with_known_labels_no_split_sees_them_and_leaves_hold_them(store):
    frame = irises()
    found = clustered(store, frame, known="species")
    run, path = store.run(found), store.model(found)
    assert isinstance(path, PruningPath)
    split = run.problem.split(frame)
    assert set(path.columns) <= set(frame.columns) - {"species"}
    assert path.classes == ("setosa", "versicolor", "virginica")
    for tree in path.trees:
        assert NO_LABELS in tree.notes
        leaf = tree.apply(split.X_train)
        for node in np.unique(leaf):
            share = (split.y_train[leaf == node] == "virginica").mean()
            assert tree.value[node, 2] == pytest.approx(share)
    assert run.metrics["test"]["accuracy"] > 0.7
    assert path.scores["purity"].between(0.5, 1).all()


@pytest.mark.parametrize("known", [None, "species"])
def test_trees_of_the_training_have_the_labels_of_the_runs_tree(store, known):
    frame = irises() if known else irises().drop(columns="species")
    run_id = clustered(store, frame, known=known)
    (epoch, *_) = store.snapshots(run_id)
    tree = store.snapshot(run_id, epoch)
    labels = (
        set(irises()["species"]) if known else {f"cluster {k}" for k in range(1, 9)}
    )
    assert set(tree.classes) <= labels
    assert set(tree.predict(frame)) <= labels


def test_a_node_without_rows_has_its_parents_labels(store):
    frame = irises()
    found = clustered(store, frame, known="species")
    tree = store.model(found).trees[0]
    row = frame.drop(columns="species").iloc[:1]
    labelled = with_label_shares(tree, row, ["b"], ("a", "b"))
    assert (labelled.value == [0, 1]).all()


@pytest.mark.parametrize(
    ("change", "known", "words"),
    [
        (lambda f: f, "sepal length (cm)", "looks like numbers, not like labels"),
        (lambda f: f.rename(columns={"species": "cluster"}), None, "already: rename"),
        (lambda f: f[["sepal length (cm)"]], None, "at least 2 informative columns"),
    ],
)
def test_what_cannot_be_clustered_is_refused(change, known, words):
    with pytest.raises(ValueError, match=words):
        clusters_problem(change(irises()), table_id="t", table_name="t", known=known)


def test_splits_of_clusters_have_the_units_of_cells():
    rows = "\n".join(f"{k}.5 kg,{k % 7}" for k in range(40))
    frame = read_table(f"mass,place\n{rows}\n".encode(), "t.csv").frame
    problem = clusters_problem(frame, table_id="t", table_name="t")
    assert dict(problem.units) == {"mass": "kg"}


def test_a_single_cluster_is_no_answer(store, monkeypatch):
    fit = ArgminTreeClusterer.fit

    def fit_and_cut(self, *rows, **given):
        fit(self, *rows, **given)
        path = self.model_
        stumps = [cut_at(tree, np.arange(tree.n_nodes) == 0) for tree in path.trees]
        self.model_ = replace(path, trees=stumps)
        return self

    monkeypatch.setattr(ArgminTreeClusterer, "fit", fit_and_cut)
    run = store.run(clustered(store, irises().drop(columns="species")))
    assert (run.state, run.has_model) == ("failed", False)
    assert "All rows came into one cluster" in run.error
    assert run.problem.awaits_clusters


@pytest.mark.slow
def test_clusters_from_the_shell(tmp_path, capsys):
    irises().to_csv(tmp_path / "irises.csv", index=False)
    command = [
        "cluster",
        str(tmp_path / "irises.csv"),
        "--home",
        str(tmp_path / "home"),
    ]
    command += ["--set", "depth=2", "--set", "max_epochs=20"]
    assert main([*command, "--known", "species"]) == 0
    printed = capsys.readouterr().out
    assert "dendrogram purity 0." in printed
    assert "(all in one cluster: 0.33" in printed
    assert "clusters, depth" in printed
    assert main([*command, "--set", "target_columns=each"]) == 0
    assert "cluster 1: " in capsys.readouterr().out
    assert [run.state for run in RunStore(tmp_path / "home").runs()] == ["done"] * 2
    assert main([*command, "--set", "depth=8"]) == 2
    assert "depth must be at most" in capsys.readouterr().err
    assert main([*command, "--known", "colour"]) == 2
    assert "no column 'colour'" in capsys.readouterr().err


def test_the_registry_knows_clusters_and_refuses_what_it_does_not_know():
    assert find_spec("clusters") is CLUSTERS
    assert find_spec("imported") is None
    assert learner_title("clusters") == "Argmin clusters"
    with pytest.raises(ValueError, match="There is no learner 'oak'; choose cart"):
        find_spec("oak")


def test_clusters_say_how_they_came_about(store):
    run_id = clustered(store, load_iris(as_frame=True).data)
    assert store.run(run_id).origin.trained
    first = store.snapshots(run_id)[0]
    assert first == 0
    assert store.snapshot(run_id, first).classes[0] == "cluster 1"
