"""Clusters as runs: a tree that was trained without labels, on every page."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.columns import useful_columns
from treelab.data.problem import Problem, make_problem
from treelab.learners.registry import make_estimator
from treelab.runs.jobs.model_facts import model_scores, with_names
from treelab.runs.jobs.save_model import device_used, keep_model
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.events import Progress
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree

COLUMN = "cluster"  # of the table that is kept, where no labels are known
OWN_LABELS = (
    "The clusters are the leaves of the tree that was chosen, so it tells them without "
    "an error; a score says nothing here."
)
NO_LABELS = "No label was used to find these splits; leaves show whom they caught."


def clusters_problem(
    frame: pd.DataFrame,
    *,
    table_id: str,
    table_name: str,
    known: str | None = None,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | Sequence = (),
    seed: int = 0,
    units: Mapping[str, str] | Sequence = (),
) -> Problem:
    """Return what a run of clusters is about.

    Parameters
    ----------
    frame : DataFrame
    table_id, table_name : str
    known : str or None, default=None
        Column of labels, which no split sees; they become the run's target. None:
        the clusters do, once they are found.
    columns : sequence of str or None, default=None
        Columns that may be used; None: all. Those that say nothing are left out.
    kinds, units : mapping or pairs
        As in ``Problem``.
    seed : int, default=0
        Deals the rows, starts the trees.

    Raises
    ------
    ValueError
        If the table allows no clusters, or the known labels are numbers.
    """
    names = useful_columns(frame, COLUMN if known is None else known)
    if columns is not None:
        names = tuple(name for name in names if name in columns)
    if len(names) < 2:
        raise ValueError(
            f"Clustering needs at least 2 columns that say something, got {len(names)}."
            " Choose more columns, or another table."
        )
    given = {"table_id": table_id, "table_name": table_name, "seed": seed}
    if known is None:
        if COLUMN in frame.columns:
            raise ValueError(
                f"The table has a column {COLUMN!r} already: rename it, or name it as "
                "the known labels."
            )
        return Problem(
            target=COLUMN,
            columns=names,
            kinds=kinds,
            task="multiclass",
            units=units,
            origin=table_id,
            **given,
        )
    problem = make_problem(frame, known, columns=names, units=units, **given)
    if problem.task == "regression":
        raise ValueError(
            f"{known!r} looks like numbers, not like labels. Name a column of "
            "classes, or no known labels."
        )
    return replace(problem, kinds=kinds)


def find_clusters(store: RunStore, run: Run, *, callbacks: Sequence = ()) -> dict:
    """Cluster the rows of a run's table and keep the trees of all strengths.

    Without known labels all rows are clustered. A copy of the table is kept with a
    column of clusters, and becomes the run's table; trees of other strengths tell how
    many rows of each of these clusters they hold. With known labels the training
    and validation rows are clustered, every leaf tells the labels' shares among its
    training rows, and dendrogram purity is measured.

    Parameters
    ----------
    store : RunStore
    run : Run
        Its problem is one of ``clusters_problem``.
    callbacks : sequence of callable
        Hear a ``Progress`` after each epoch.

    Returns
    -------
    dict of str to dict
        ``metrics``, empty where no labels are known, and ``summary``.

    Raises
    ------
    ValueError
        If the settings or the rows allow no clusters.
    """
    began = time.monotonic()
    problem = run.problem
    frame = store.table(problem.table_id)
    model = make_estimator(
        run.learner,
        problem.task,
        run.settings,
        random_state=problem.seed,
        device=run.device,
    )
    if problem.awaits_clusters:
        X = problem.table(frame)
        model.fit(X, callbacks=_telling(callbacks, name_clusters))
        path, note = _own_labels(model.path_, X), OWN_LABELS
        frame = frame.assign(**{problem.target: path.predict(X)})
        name = f"{problem.table_name} with clusters"
        problem = replace(
            problem, table_id=store.add_table(frame, name), task=path.task
        )
        store.set_problem(run.id, problem)
        split, metrics = problem.split(frame), {}
    else:
        split, note = problem.split(frame), NO_LABELS
        classes = tuple(np.unique(split.y_train).tolist())

        def tell(tree: Tree) -> Tree:
            return tell_labels(tree, split.X_train, split.y_train, classes)

        model.fit(
            split.X_train,
            split.y_train,
            X_valid=split.X_valid,
            callbacks=_telling(callbacks, tell),
        )
        path = model.path_
        path = replace(path, trees=[tell(tree) for tree in path.trees])
        metrics = model_scores(path, problem.task, split)
    seconds = time.monotonic() - began
    trees = [replace(tree, notes=(*tree.notes, note)) for tree in path.trees]
    summary = keep_model(
        store,
        run.id,
        with_names(replace(path, trees=trees), problem),
        split,
        seconds=seconds,
        device=device_used(run),
        notes=[note],
    )
    if "purity" in path.scores:
        summary["purity"] = float(path.scores["purity"].iloc[path.chosen])
    return {"metrics": metrics, "summary": summary}


def _own_labels(path: PruningPath, X: pd.DataFrame) -> PruningPath:
    """Let every tree tell the chosen tree's clusters; refuse a path that found none."""
    if path.tree.n_leaves < 2:
        raise ValueError(
            "All rows came into one cluster. Try smaller pruning strengths, or leave "
            "out columns that say nothing."
        )
    chosen = name_clusters(path.tree)
    clusters = chosen.predict(X)
    classes = chosen.classes[: path.tree.n_leaves]
    trees = [tell_labels(tree, X, clusters, classes) for tree in path.trees]
    return replace(path, trees=trees)


def _telling(callbacks: Sequence, tell: Callable[[Tree], Tree]) -> list:
    """The callbacks, to which the trees of the training tell what the run's do."""

    def telling(callback):
        def hear(report: Progress):
            snapshot = report.snapshot
            if snapshot is None:
                return callback(report)
            return callback(replace(report, snapshot=lambda: tell(snapshot())))

        return hear

    return [telling(callback) for callback in callbacks]


def name_clusters(tree: Tree) -> Tree:
    """Call the clusters of a tree "cluster 1", "cluster 2", ..."""
    return replace(tree, classes=tuple(f"cluster {k + 1}" for k in tree.classes))


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
