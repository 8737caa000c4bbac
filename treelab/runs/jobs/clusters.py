"""Clusters as runs: a tree that was trained without labels, on every page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.columns import useful_columns
from treelab.data.problem import Problem, make_problem, pairs
from treelab.evaluation.metrics import one_cluster_purity
from treelab.learners.common.origin import Origin
from treelab.runs.jobs.fit import Fitted, check_is_ours, run_estimator
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.checkpointer import Checkpointer
from treelab.training.events import Callback, Progress
from treelab.trees.cells import noted_units
from treelab.trees.pruning_path import PruningPath
from treelab.trees.tree import Tree

COLUMN = "cluster"  # of the table that is stored, where no labels are known
OWN_LABELS = (
    "The clusters are the leaves of the chosen tree, so it predicts them without an "
    "error; a score means nothing here."
)
NO_LABELS = "No label was used to find these splits; leaves show the known labels."


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
    """Return the problem of a run that finds clusters.

    ValueError if the table allows no clusters, or the known labels are numbers. The
    ``known`` column has labels, which no split sees; they become the run's target.
    None: the clusters do, once they are found. Of the columns that may be used (None:
    all) uninformative ones are left out; all else is as in ``Problem``.
    """
    names = useful_columns(frame, COLUMN if known is None else known)
    if columns is not None:
        names = tuple(name for name in names if name in columns)
    if len(names) < 2:
        raise ValueError(
            f"Clustering needs at least 2 informative columns, got {len(names)}."
            " Choose more columns, or another table."
        )
    if known is None:
        if COLUMN in frame.columns:
            raise ValueError(
                f"The table has a column {COLUMN!r} already: rename it, or name it as "
                "the known labels."
            )
        return Problem(
            table_id,
            table_name,
            COLUMN,
            names,
            kinds=pairs(kinds),
            task="multiclass",
            seed=seed,
            units=pairs(noted_units(frame) | dict(pairs(units))),
            origin=table_id,
        )
    problem = make_problem(
        frame,
        known,
        table_id=table_id,
        table_name=table_name,
        columns=names,
        seed=seed,
        units=units,
    )
    if problem.task == "regression":
        raise ValueError(
            f"{known!r} looks like numbers, not like labels. Name a column of "
            "classes, or no known labels."
        )
    return replace(problem, kinds=pairs(kinds))


def fit_clusters(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Cluster the rows of a run's table; the model has the trees of all strengths.

    Without known labels all rows are clustered. A copy of the table is stored with a
    column of clusters, and becomes the run's table; trees of other strengths count how
    many rows of each of these clusters they hold. With known labels the training and
    validation rows are clustered, every leaf holds the labels' fractions among its
    training rows, and dendrogram purity is measured. ValueError if the settings or the
    rows allow no clusters.
    """
    # One that goes on may have a table with clusters already: they are found anew.
    frame = store.table(run.problem.origin or run.problem.table_id)
    if run.problem.weighting:
        raise ValueError("Clusters are found by rows that count alike: no weight.")
    if not run.problem.origin:
        return _fit_known_labels(run, frame, callbacks)
    path, X, origin = _fit_own_labels(run, frame, callbacks)
    table = frame.assign(**{run.problem.target: path.predict(X)})
    name = f"{run.problem.table_name} with clusters"
    check_is_ours(store, run.id, run.attempts)
    table_id = store.add_table(table, name, run.user)  # as private as its run
    problem = replace(run.problem, table_id=table_id, task=path.task)
    store.set_problem(run.id, problem)
    return Fitted(
        path, problem, problem.split(table), notes=(OWN_LABELS,), origin=origin
    )


def _fit_known_labels(
    run: Run, frame: pd.DataFrame, callbacks: Sequence[Callback]
) -> Fitted:
    """Cluster the training rows; let each node hold its labels' fractions."""
    split = run.problem.split(frame)
    classes = tuple(np.unique(split.y_train).tolist())

    def label(tree: Tree) -> Tree:
        return with_label_shares(tree, split.X_train, split.y_train, classes)

    estimator = run_estimator(run)
    estimator.fit(
        split.X_train,
        split.y_train,
        X_valid=split.X_valid,
        callbacks=_with_snapshots(callbacks, label),
    )
    path = _map_trees(estimator.model_, label, NO_LABELS)
    purity = float(path.scores["purity"].iloc[path.chosen])
    one = one_cluster_purity(split.y_train)
    return Fitted(
        path,
        run.problem,
        split,
        (NO_LABELS,),
        {"purity": purity, "one_cluster_purity": one},
        origin=estimator.origin_,
    )


def _fit_own_labels(
    run: Run, frame: pd.DataFrame, callbacks: Sequence[Callback]
) -> tuple[PruningPath, pd.DataFrame, Origin]:
    """Cluster all rows; let each node hold the chosen tree's clusters' fractions."""
    X = run.problem.table(frame)
    estimator = run_estimator(run)
    estimator.fit(X, callbacks=_with_snapshots(callbacks, name_clusters))
    path = estimator.model_
    if path.tree.n_leaves < 2:
        raise ValueError(
            "All rows came into one cluster. Try smaller pruning strengths, or leave "
            "out uninformative columns."
        )
    chosen = name_clusters(path.tree)
    clusters = chosen.predict(X)
    classes = (chosen.classes or ())[: path.tree.n_leaves]

    def label(tree: Tree) -> Tree:
        return with_label_shares(tree, X, clusters, classes)

    return _map_trees(path, label, OWN_LABELS), X, estimator.origin_


def with_label_shares(tree: Tree, X: pd.DataFrame, y, classes: tuple) -> Tree:
    """Return the tree with, at each node, the fraction of each label among its rows.

    A node that no row reaches has its parent's fractions. The splits stay; labels
    (n_rows,) are all in ``classes``.
    """
    share = np.full((tree.n_nodes, len(classes)), 1 / len(classes))
    tree = replace(
        tree, value=share, class_counts=np.zeros(share.shape), classes=classes
    ).with_rows(X, y)
    share = tree.class_counts / np.maximum(tree.n_rows, 1)[:, None]
    for node in tree.depth_first[tree.n_rows[tree.depth_first] == 0]:
        share[node] = share[tree.parent[node]]
    return replace(tree, value=share)


def _map_trees(
    path: PruningPath, change: Callable[[Tree], Tree], note: str
) -> PruningPath:
    """Change each tree of a path and add a note to it."""
    trees = [change(tree) for tree in path.trees]
    noted = tuple(replace(tree, notes=(*tree.notes, note)) for tree in trees)
    return replace(path, trees=noted)


def _with_snapshots(
    callbacks: Sequence[Callback], change: Callable[[Tree], Tree]
) -> list[Callback]:
    """Wrap callbacks so that the trees of the training are changed as the run's are."""

    def wrap(callback: Callback) -> Callback:
        def call(report: Progress) -> bool | None:
            retained = report.retained
            if retained is not None:
                trees = {e: changed(build) for e, build in retained.snapshots.items()}
                retained = replace(retained, snapshots=trees)
            snapshot = None if report.snapshot is None else changed(report.snapshot)
            return callback(replace(report, snapshot=snapshot, retained=retained))

        return call

    def changed(build: Callable[[], Tree]) -> Callable[[], Tree]:
        return lambda: change(build())

    return [
        callback if isinstance(callback, Checkpointer) else wrap(callback)
        for callback in callbacks
    ]


def name_clusters(tree: Tree) -> Tree:
    """Name the clusters of a tree "cluster 1", "cluster 2", ..."""
    clusters = tree.classes or ()  # numbers from 0
    return replace(tree, classes=tuple(f"cluster {k + 1}" for k in clusters))
