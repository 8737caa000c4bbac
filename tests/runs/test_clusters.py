"""Clusters as runs, from the library and from the shell."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from treelab.__main__ import main
from treelab.learners.argmin_clusters import ArgminTreeClusterer
from treelab.learners.registry import CLUSTERS, find_spec, learner_title
from treelab.runs.clusters import NO_LABELS, OWN_LABELS, cluster_table, tell_labels
from treelab.runs.store import RunStore
from treelab.trees.path import PruningPath

QUICK = {"depth": 2, "pruning_strength": (0.0, 30.0), "max_epochs": 30}


def irises() -> pd.DataFrame:
    """Four columns, and the species as words."""
    data = load_iris(as_frame=True)
    return data.data.assign(species=data.target_names[data.target])


def test_without_labels_the_run_tells_the_clusters_of_all_rows(store):
    frame = irises().drop(columns="species")
    run = store.run(cluster_table(store, frame, "irises", settings=QUICK))
    tree = store.model(run.id)
    kept = store.table(run.problem.table_id)
    assert (run.state, run.learner, run.metrics) == ("done", "clusters", {})
    assert run.title == "Argmin clusters · irises"
    assert (kept["cluster"] == tree.predict(kept)).all()
    assert tree.n_rows[0] == len(frame)
    assert kept["cluster"].nunique() == run.summary["leaves"] == tree.n_leaves
    assert OWN_LABELS in tree.notes
    assert run.problem.target == tree.target == "cluster"


def test_with_known_labels_no_split_sees_them_and_leaves_tell_them(store):
    frame = irises()
    found = cluster_table(store, frame, "irises", known="species", settings=QUICK)
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


def test_a_node_without_rows_tells_what_its_parent_tells(store):
    frame = irises()
    found = cluster_table(store, frame, "irises", known="species", settings=QUICK)
    tree = store.model(found).trees[0]
    row = frame.drop(columns="species").iloc[:1]
    told = tell_labels(tree, row, ["b"], ("a", "b"))
    assert (told.value == [0, 1]).all()


def test_what_cannot_be_clustered_is_refused(store):
    frame = irises()
    with pytest.raises(ValueError, match="looks like numbers, not like labels"):
        cluster_table(store, frame, "t", known="sepal length (cm)")
    with pytest.raises(ValueError, match="has a column 'cluster' already"):
        cluster_table(store, frame.rename(columns={"species": "cluster"}), "t")
    with pytest.raises(ValueError, match="at least 2 columns"):
        cluster_table(store, frame[["sepal length (cm)"]], "t")
    assert not store.runs()


def test_a_single_cluster_is_no_answer(store, monkeypatch):
    monkeypatch.setattr(ArgminTreeClusterer, "fit", lambda self, *_, **__: self)
    monkeypatch.setattr(ArgminTreeClusterer, "tree_", None)
    monkeypatch.setattr(ArgminTreeClusterer, "n_clusters_", 1, raising=False)
    with pytest.raises(ValueError, match="All rows came into one cluster"):
        cluster_table(store, irises().drop(columns="species"), "t")
    assert not store.runs()


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
    said = capsys.readouterr().out
    assert "dendrogram purity 0." in said
    assert "clusters, depth" in said
    assert main([*command, "--set", "target_columns=each"]) == 0
    assert "cluster 1: " in capsys.readouterr().out
    assert len(RunStore(tmp_path / "home").runs()) == 2
    assert main([*command, "--known", "colour"]) == 2
    assert "no column 'colour'" in capsys.readouterr().err


def test_the_registry_knows_clusters_and_refuses_what_it_does_not_know():
    assert find_spec("clusters") is CLUSTERS
    assert find_spec("imported") is None
    assert learner_title("clusters") == "Argmin clusters"
    with pytest.raises(ValueError, match="There is no learner 'oak'; choose cart"):
        find_spec("oak")
