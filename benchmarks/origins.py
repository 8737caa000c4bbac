"""Whether default fits retain trees that were trained, on every table of a folder.

What a learner says of its tree (``origin_``) is held against the tree that it reported
as the start of the retained one: splits are compared anew.
"""

import time
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks.runner import Results, splits
from benchmarks.tables import BenchTable, choose, read_manifest
from treelab.evaluation.metrics import headline, scores
from treelab.learners.common.origin import changed_splits, feature_spread
from treelab.learners.registry import make_estimator
from treelab.training.events import Progress
from treelab.trees.feature import feature_matrix
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import Tree

SINGLE_TREES = ("gradtree", "get", "argmin")
"""Learners of one tree that gradient descent trains."""


class StartOfRetained:
    """Training callback that notes the tree that the retained one began as.

    Attributes
    ----------
    tree : Tree or None
        The tree at epoch 0: of the candidate that led, until it is known which one is
        retained.
    is_known : bool
        Whether it is the retained one's.
    """

    def __init__(self):
        self.tree: Tree | None = None
        self.is_known = False

    def __call__(self, report: Progress) -> None:
        """Note the start where it is reported, and once it is known whose it is."""
        if report.retained is not None and 0 in report.retained.snapshots:
            self.tree, self.is_known = report.retained.snapshots[0](), True
        elif report.epoch == 0 and report.snapshot is not None:
            self.tree = report.snapshot()


def check_origin(
    key: str, table: BenchTable, train: np.ndarray, test: np.ndarray, seed: int
) -> dict:
    """Fit a learner at its defaults; return its origin and what its start shows.

    Returns
    -------
    dict
        ``start``, ``trained``, ``splits`` and ``changed`` as the learner says them;
        ``found``, the splits that differ from the start it reported, None where it
        reported none; ``is_true``, whether both agree: in number, or, where later steps
        moved the tree, in whether any did; the score on test rows and the seconds.
    """
    X, y = table.load()
    began, start = time.perf_counter(), StartOfRetained()
    learner = make_estimator(key, table.task, {}, random_state=seed)
    learner.fit(X.iloc[train], y[train], callbacks=[start])
    seconds = time.perf_counter() - began
    origin, tree = learner.origin_, shown_tree(learner.tree_)
    found = None
    if start.tree is not None:
        spread = feature_spread(feature_matrix(tree.features, X.iloc[train]))
        found = changed_splits(start.tree, tree, spread)
    exact = start.is_known and not origin.later
    said = origin.n_changed
    name = headline(table.task)
    return {
        "start": origin.start,
        "trained": origin.trained,
        "splits": origin.n_splits,
        "changed": said,
        "found": found,
        "is_true": found is not None
        and (found == said if exact else (found > 0) == (said > 0)),
        name: scores(table.task, y[test], learner.predict(X.iloc[test]))[name],
        "seconds": round(seconds, 1),
        "says": origin.headline,
    }


def report(chosen: Namespace) -> int:
    """Run ``benchmarks origins``: fit, print a line a fit, and what holds of all."""
    results = Results(chosen.out or Path("bench-origins.jsonl"))
    keys = chosen.learners.split(",") if chosen.learners else [*SINGLE_TREES]
    tasks = ("binary", "multiclass", "regression")
    tables = choose(read_manifest(chosen.data), None, tasks, chosen.tables)
    small_first = sorted(tables, key=lambda table: table.path.stat().st_size)
    wanted = [(key, table) for table in small_first for key in keys]
    for key, table in tqdm(wanted, unit="fit"):
        if results.has(table.name, chosen.seed, key):
            continue
        row = {"table": table.name, "trial": chosen.seed, "contender": key}
        y = table.load()[1]
        protocol = "quarters" if table.task == "regression" else "random"
        train, test = next(splits(y, protocol, 1, seed=chosen.seed))
        try:
            found = check_origin(key, table, train, test, chosen.seed)
        except Exception as error:  # a benchmark goes on
            results.add(row | {"error": f"{type(error).__name__}: {error}"})
            continue
        results.add(row | found | {"error": None})
    frame = results.frame()
    print(frame.drop(columns=["trial", "says"]).round(3).to_string(index=False))
    for key, own in frame.groupby("contender", sort=False):
        print(f"\n{_sentence(str(key), own)}")
    return 0


def _sentence(key: str, rows: pd.DataFrame) -> str:
    """Sum up a learner's fits."""
    done = rows[rows["error"].isna()]
    trained, true = int(done["trained"].sum()), int(done["is_true"].sum())
    still = int((done["trained"].astype(bool) & (done["changed"] == 0)).sum())
    failed = f"; {len(rows) - len(done)} failed" if len(done) < len(rows) else ""
    return (
        f"{key}: of {len(done)} retained trees {trained} were trained, {still} equal "
        f"their start; {true} say of their origin what their start shows{failed}."
    )
