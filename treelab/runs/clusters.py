"""Clusters become a run: a tree that was trained without labels, on every page."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.columns import useful_columns
from treelab.data.problem import Problem, make_problem
from treelab.data.split import SPLITS
from treelab.learners.registry import CLUSTERS, make_estimator
from treelab.runs.model_facts import Model, model_scores, model_size, with_names
from treelab.runs.process import ProcessId
from treelab.runs.store import RunStore
from treelab.trees.tree import Tree

COLUMN = "cluster"  # of the table that is kept, where no labels are known
OWN_LABELS = (
    "The clusters are this tree's own leaves, so it tells them without an error; a "
    "score says nothing here."
)
NO_LABELS = "No label was used to find these splits; leaves show whom they caught."


def cluster_table(
    store: RunStore,
    frame: pd.DataFrame,
    table_name: str,
    *,
    known: str | None = None,
    settings: dict | None = None,
    seed: int = 0,
    device: str = "auto",
    title: str = "",
    callbacks: Sequence = (),
) -> str:
    """Cluster a table's rows and keep the tree as a run that is done.

    Without known labels all rows are clustered; the table is kept with a column
    "cluster", which is the run's target. With known labels the training and validation
    rows are clustered, every leaf tells the labels' shares among its training rows,
    and the run keeps the trees of all strengths, with their dendrogram purity.

    Parameters
    ----------
    store : RunStore
    frame : DataFrame
    table_name : str
    known : str or None, default=None
        Column of labels, which no split sees.
    settings : dict or None, default=None
        Of ``ArgminTreeClusterer``.
    seed : int, default=0
        Deals the rows, starts the trees.
    device : str, default="auto"
    title : str, default=""
    callbacks : sequence of callable
        Hear a ``Progress`` after each epoch.

    Returns
    -------
    str
        The run's id.

    Raises
    ------
    ValueError
        If the table or the settings allow no clusters.
    """
    settings = settings or {}
    began = time.monotonic()
    model = make_estimator(
        CLUSTERS.key, "multiclass", settings, random_state=seed, device=device
    )
    if known is None:
        kept, note = _found(model, frame, callbacks), OWN_LABELS
        frame = frame.assign(**{COLUMN: kept.predict(frame)})
        problem = _problem(store, frame, table_name, COLUMN, seed)
        problem = replace(problem, task=kept.task)
    else:
        problem = _problem(store, frame, table_name, known, seed)
        if problem.task == "regression":
            raise ValueError(
                f"{known!r} looks like numbers, not like labels. Name a column of "
                "classes, or leave --known out."
            )
        kept, note = _labelled(model, frame, problem, callbacks), NO_LABELS
    run_id = store.create(CLUSTERS.key, settings, problem, device=device, title=title)
    _keep(store, run_id, kept, note, time.monotonic() - began)
    return run_id


def _problem(store, frame, table_name: str, target: str, seed: int) -> Problem:
    """Keep the table; what the run then says of its target."""
    table_id = store.add_table(frame, table_name)
    return make_problem(
        frame, target, table_id=table_id, table_name=table_name, seed=seed
    )


def _found(model, frame: pd.DataFrame, callbacks) -> Tree:
    """The tree over all rows; its classes are the names of the clusters."""
    if COLUMN in frame.columns:
        raise ValueError(
            f"The table has a column {COLUMN!r} already: rename it, or name it as the "
            "known labels."
        )
    model.fit(frame[list(useful_columns(frame, COLUMN))], callbacks=callbacks)
    tree, n = model.tree_, model.n_clusters_
    if n < 2:
        raise ValueError(
            "All rows came into one cluster. Try smaller pruning strengths, or leave "
            "out columns that say nothing."
        )
    return replace(
        tree,
        value=tree.value[:, :n],
        class_counts=tree.class_counts[:, :n],
        classes=tuple(f"cluster {k + 1}" for k in range(n)),
        notes=(*tree.notes, OWN_LABELS),
    )


def _labelled(model, frame: pd.DataFrame, problem: Problem, callbacks):
    """The path over training rows; every leaf tells the shares of the known labels."""
    split = problem.split(frame)
    model.fit(split.X_train, split.y_train, X_valid=split.X_valid, callbacks=callbacks)
    path = model.path_
    classes = tuple(np.unique(split.y_train).tolist())
    trees = [
        tell_labels(tree, split.X_train, split.y_train, classes) for tree in path.trees
    ]
    notes = (*trees[0].notes, NO_LABELS)
    return replace(path, trees=[replace(tree, notes=notes) for tree in trees])


def tell_labels(tree: Tree, X: pd.DataFrame, y, classes: tuple) -> Tree:
    """Let every node tell the share of each label among the rows that pass it.

    Parameters
    ----------
    tree : Tree
        Its splits stay, what it told is forgotten.
    X : DataFrame of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,)
        Labels, all of them in ``classes``.
    classes : tuple

    Returns
    -------
    Tree
        Where no row comes, a node tells what its parent tells.
    """
    shares = np.full((tree.n_nodes, len(classes)), 1 / len(classes))
    tree = replace(
        tree, value=shares, class_counts=np.zeros(shares.shape), classes=classes
    ).with_rows(X, y)
    shares = tree.class_counts / np.maximum(tree.n_rows, 1)[:, None]
    for node in np.flatnonzero(tree.n_rows == 0):  # parents come first
        shares[node] = shares[tree.parent[node]]
    return replace(tree, value=shares)


def _keep(
    store: RunStore, run_id: str, model: Model, note: str, seconds: float
) -> None:
    """Keep the model as that of a run that is done."""
    from treelab.learners.device import device_name, resolve_device  # loads torch

    run = store.run(run_id)
    split = run.problem.split(store.table(run.problem.table_id))
    model = with_names(model, run.problem)
    scored = note == NO_LABELS  # else the clusters would be held against themselves
    store.start(run_id, ProcessId.here())
    try:
        store.add_model(run_id, model)
        summary = {
            **model_size(model),
            "seconds": seconds,
            "device": device_name(resolve_device(run.device)),
            "rows": {name: len(split.rows(name)[1]) for name in SPLITS},
            "notes": [note, *split.notes],
        }
        scores = model_scores(model, run.problem.task, split) if scored else {}
    except BaseException:
        store.finish(run_id, "failed", error="Its model could not be kept.")
        raise
    store.finish(run_id, "done", metrics=scores, summary=summary)
