"""Costs of errors: missing a rare class costs ten times a false alarm.

Each learner has the matrix among its constraints. The peer is scikit-learn's CART with
classes weighted by their cost, whose size and pruning a grid search chooses by cost.
"""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from tqdm import tqdm

from benchmarks.contenders import encode
from benchmarks.runner import Results, splits
from benchmarks.tables import choose, read_manifest
from treelab.bench import machine
from treelab.learners.registry import make_estimator
from treelab.trees.constraints import Constraints
from treelab.trees.ensemble import WeightedTrees

MISSED = 10.0  # what a missed row of the rare class costs; a false alarm costs 1
OURS = ("cart", "gradtree", "grande", "get")
PEER = "tuned CART"
GRID = {
    "max_leaf_nodes": [2, 4, 8, 16, 32, 64, None],
    "ccp_alpha": [0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2],
}


def run(chosen: Namespace) -> int:
    """Fit all that the file lacks; print costs a test row and their ratios."""
    results = Results(chosen.out or Path("bench-costs.jsonl"))
    names = [PEER, *(chosen.learners.split(",") if chosen.learners else OURS)]
    tables = choose(read_manifest(chosen.data), None, ("binary",), chosen.tables)
    for table in tqdm(tables):
        X, y = table.load()
        if len(y) > chosen.max_rows:
            continue
        rare = pd.Series(y).value_counts().index[-1]
        trials = splits(y, "random", chosen.trials, seed=chosen.seed)
        for trial, (train, test) in enumerate(trials, start=chosen.seed):
            for name in names:
                if results.has(table.name, trial, name):
                    continue
                rows = X.iloc[train], y[train], X.iloc[test]
                predicted, leaves = fitted(name, rows, rare, trial)
                row = {"table": table.name, "trial": trial, "contender": name}
                row |= {"cost": cost(y[test], predicted, rare), "leaves": int(leaves)}
                results.add(row | {"machine": machine(), "error": None})
    print(summary(results.frame()))
    return 0


def cost(truth: np.ndarray, predicted: np.ndarray, rare) -> float:
    """Return the mean cost of a row."""
    each = np.where(truth == rare, MISSED, 1.0)
    return float(np.mean(each * (truth != predicted)))


def fitted(name: str, rows: tuple, rare, seed: int) -> tuple[np.ndarray, int]:
    """Return what a contender predicts for test rows, and its leaves."""
    X, y, X_test = rows
    (other,) = set(np.unique(y)) - {rare}
    if name == PEER:
        known, unknown = encode(X, y, X_test, "binary", seed)
        search = GridSearchCV(
            DecisionTreeClassifier(class_weight={0: 1, 1: MISSED}, random_state=seed),
            GRID,
            scoring=make_scorer(cost, greater_is_better=False, rare=1),
            cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        ).fit(known, (y == rare).astype(int))
        predicted = np.where(search.predict(unknown), rare, other)
        return predicted, search.best_estimator_.get_n_leaves()
    asked = Constraints(class_costs={rare: {other: MISSED}, other: {rare: 1.0}})
    learner = make_estimator(name, "binary", {"constraints": asked}, random_state=seed)
    model = learner.fit(X, y).model_
    n_trees = model.n_estimators if isinstance(model, WeightedTrees) else 1
    return learner.predict(X_test), n_trees * model.n_leaves


def summary(results: pd.DataFrame) -> str:
    """Write mean costs by table, and those of each learner as parts of the peer's."""
    found = results.pivot_table("cost", ["table", "trial"], "contender")
    found = found.dropna(subset=[PEER])
    means = found.groupby("table").mean()
    ratio = means.drop(columns=PEER).div(means[PEER], axis=0)
    ratio = ratio.where(means[PEER] > 0)
    table = means.join(ratio.add_suffix(", ratio"))
    overall = ", ".join(
        f"{name} {own.mean():.3f} ({own.count()} tables)" for name, own in ratio.items()
    )
    words = f"{found.index.get_level_values('trial').nunique()} splits"
    return f"{table.round(3).to_string()}\n\nMean ratio, {words}: {overall}"
