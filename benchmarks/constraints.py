"""What monotone columns cost, and that no pair of leaves breaks.

Each learner is fitted with and without them on the same rows. The free tree is also put
in order afterwards, by its leaves' values alone: what training within the constraints
gains over that.
"""

import time
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.runner import Results, splits
from benchmarks.tables import choose, read_manifest
from treelab.evaluation.metrics import headline, scores
from treelab.learners.registry import make_estimator
from treelab.trees.constraints import Constraints, kept, node_boxes, violations
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import Tree


def run(chosen: Namespace) -> int:
    """Fit, print a line a tree, and the means over the splits."""
    results = Results(chosen.out or Path("bench-constraints.jsonl"))
    tasks = ("binary", "regression")
    (table,) = choose(read_manifest(chosen.data), None, tasks, chosen.table)
    constraints = Constraints(monotone=chosen.monotone)
    X, y = table.load()
    protocol = "quarters" if table.task == "regression" else "random"
    for trial, (train, test) in enumerate(
        splits(y, protocol, chosen.trials, seed=chosen.seed), start=chosen.seed
    ):
        for key in chosen.learners.split(","):
            for name, given in (("free", None), ("monotone", constraints)):
                contender = f"{key}, {name}"
                if results.has(table.name, trial, contender):
                    continue
                began = time.perf_counter()
                learner = make_estimator(
                    key, table.task, {"constraints": given}, random_state=trial
                )
                learner.fit(X.iloc[train], y[train])
                seconds = round(time.perf_counter() - began, 1)
                is_tree = hasattr(learner, "tree_")
                tree = shown_tree(learner.tree_) if is_tree else learner.ensemble_
                row = {"table": table.name, "trial": trial, "contender": contender}
                found = _measured(tree, constraints, X.iloc[test], y[test])
                results.add(row | found | {"seconds": seconds, "error": None})
                if given is None and is_tree:
                    row |= {"contender": f"{key}, free, then put in order"}
                    tree = kept(tree, constraints)
                    found = _measured(tree, constraints, X.iloc[test], y[test])
                    results.add(row | found | {"seconds": seconds, "error": None})
    frame = results.frame()
    print(frame.drop(columns=["table", "error"]).round(3).to_string(index=False))
    means = frame.groupby("contender", sort=False).mean(numeric_only=True)
    print(f"\nMeans over {frame['trial'].nunique()} splits, {constraints}\n")
    print(means.drop(columns="trial").round(3).to_string())
    return 0


def _measured(
    model: Tree | WeightedTrees,
    constraints: Constraints,
    X: pd.DataFrame,
    y: np.ndarray,
) -> dict:
    """Return scores, size, and pairs of leaves that are ordered, of all trees."""
    if isinstance(model, WeightedTrees):
        trees = [model.estimator(e) for e in range(model.n_estimators)]
    else:
        trees = [model]
    n_pairs = 0
    for tree in trees:
        leaves = np.flatnonzero(tree.is_leaf)
        n_pairs += len(node_boxes(tree).of(leaves).ordered(constraints.monotone))
    task = "regression" if model.classes is None else "binary"
    score = scores(task, y, model.predict(X))
    own = {headline(task): float(score[headline(task)])}
    if "accuracy" in score:
        own["accuracy"] = float(score["accuracy"])
    return {
        **own,
        "leaves": sum(tree.n_leaves for tree in trees),
        "pairs": n_pairs,
        "violated": sum(len(violations(tree, constraints)) for tree in trees),
    }
