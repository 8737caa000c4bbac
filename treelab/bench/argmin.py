"""``bench argmin``: clusters of Glass, errors on Mushroom, and what pruning empties."""

import json
import time
from argparse import Namespace
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

from treelab.bench.hierarchies import birch, halving
from treelab.bench.tables import read_manifest
from treelab.evaluation.metrics import (
    confusion_matrix,
    dendrogram_purity,
    macro_f1_error,
)
from treelab.learners.argmin.clustering import ArgminTreeClusterer
from treelab.learners.argmin.estimators import ArgminTreeClassifier
from treelab.learners.cart.estimators import CartClassifier

DEPTHS = (3, 4, 5, 6)  # deeper, Glass has fewer training rows than nodes
PAPER = {
    "glass": {"argmin tree": 0.494, "hierarchical k-means": 0.508, "BIRCH": 0.429},
    "mushroom": {"argmin tree": 0.0723, "optimal tree": 0.0122},
}


def run(chosen: Namespace) -> int:
    """Measure the parts that are asked for, print and save the results."""
    parts = {"glass": glass, "mushroom": mushroom, "path": path}
    tables = {
        table.name: table.load()
        for table in read_manifest(chosen.data)
        if table.name in ("glass", "mushroom")
    }
    found = {}
    for name in chosen.parts.split(","):
        if name not in parts:
            raise ValueError(
                f"There is no part {name!r}; there are {', '.join(parts)}."
            )
        seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
        rows = pd.DataFrame(parts[name](tables, seeds))
        found[name] = rows.to_dict("records")
        print(f"\n{(parts[name].__doc__ or name).splitlines()[0]}")
        by = ["table", "method"] if "table" in rows else ["method"]
        means = rows.drop(columns="seed").groupby(by, sort=False).mean()
        print(means.round(4).to_string())
        if name in PAPER:
            print(f"paper: {PAPER[name]}")
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(found, indent=1))
    return 0


def glass(tables, seeds: Sequence[int]) -> list[dict]:
    """Dendrogram purity on Glass: 60/20/20 at random, test rows; all: every row."""
    X, y = tables["glass"]
    rows = []
    for seed in seeds:
        train, valid, test = parts_of(y, seed, by_class=False)

        def add(method, parent, apply, seconds, depth, seed=seed, test=test):
            rows.append(
                {
                    "method": method,
                    "seed": seed,
                    "purity": dendrogram_purity(parent, apply(X.iloc[test]), y[test]),
                    "all": dendrogram_purity(parent, apply(X), y),
                    "depth": depth,
                    "seconds": seconds,
                }
            )

        started = time.perf_counter()
        models = [
            ArgminTreeClusterer(depth=depth, random_state=seed).fit(
                X.iloc[train], X_valid=X.iloc[valid]
            )
            for depth in DEPTHS
        ]
        seconds = time.perf_counter() - started
        best = min(models, key=lambda model: model.path_.scores["valid_loss"].min())
        add("argmin tree", best.tree_.parent, best.tree_.apply, seconds, best.depth)
        for model in models:
            tree = model.tree_
            name = f"argmin tree, depth {model.depth}"
            add(name, tree.parent, tree.apply, seconds / len(DEPTHS), model.depth)
        for name, make in (
            (
                "hierarchical k-means",
                lambda x, seed=seed: halving(x, max(DEPTHS), seed),
            ),
            ("BIRCH", lambda x: birch(x)),
        ):
            started = time.perf_counter()
            center, scale = X.iloc[train].mean(), X.iloc[train].std()
            found = make(((X.iloc[train] - center) / scale).to_numpy())
            seconds = time.perf_counter() - started
            add(
                name,
                found.parent,
                lambda frame, found=found, center=center, scale=scale: found.apply(
                    ((frame - center) / scale).to_numpy()
                ),
                seconds,
                found.depth,
            )
    return rows


def mushroom(tables, seeds: Sequence[int]) -> list[dict]:
    """Test error on Mushroom: 60/20/20 by class, strength chosen on validation."""
    X, y = tables["mushroom"]
    rows = []
    for seed in seeds:
        train, valid, test = parts_of(y, seed, by_class=True)
        for method, model in (
            ("argmin tree", ArgminTreeClassifier(max_epochs=60, random_state=seed)),
            (
                "argmin tree alone",
                ArgminTreeClassifier(
                    predictor="leaf", max_epochs=60, random_state=seed
                ),
            ),
            ("CART, same depth", CartClassifier(max_depth=4, random_state=seed)),
        ):
            started = time.perf_counter()
            model.fit(X.iloc[train], y[train], X_valid=X.iloc[valid], y_valid=y[valid])
            rows.append(
                {
                    "method": method,
                    "seed": seed,
                    "error": 1 - model.score(X.iloc[test], y[test]),
                    "leaves": int(
                        (model.tree_.is_leaf & (model.tree_.n_rows > 0)).sum()
                    ),
                    "seconds": time.perf_counter() - started,
                }
            )
    return rows


def path(tables, seeds: Sequence[int]) -> list[dict]:
    """Along the grid: rank correlation of empty nodes with strength, and the choice."""
    named = {
        "glass": tables["glass"],
        "breast cancer": load_breast_cancer(return_X_y=True, as_frame=True),
        "wine": load_wine(return_X_y=True, as_frame=True),
    }
    rows = []
    for name, (X, y) in named.items():
        y = np.unique(y, return_inverse=True)[1]
        tables_of_scores = []
        for seed in seeds:
            train, valid, test = parts_of(y, seed, by_class=True)
            model = ArgminTreeClassifier(random_state=seed).fit(
                X.iloc[train], y[train], X_valid=X.iloc[valid], y_valid=y[valid]
            )
            scores, chosen = model.path_.scores, model.path_.chosen
            tables_of_scores.append(scores)
            best = scores["valid_score"].max()
            rows.append(
                {
                    "table": name,
                    "method": "each seed",
                    "seed": seed,
                    "rank_correlation": rank_correlation(scores),
                    "share_of_splits": scores["active_splits"][chosen]
                    / (2**model.depth - 1),
                    "valid_score_lost": best - scores["valid_score"][chosen],
                    "one_error": macro_f1_error(
                        confusion_matrix(
                            y[valid],
                            model.path_.predict(
                                X.iloc[valid], int(scores["valid_score"].argmax())
                            ),
                            int(y.max()) + 1,
                        )
                    ),
                    "test_accuracy": model.score(X.iloc[test], y[test]),
                }
            )
        mean = sum(tables_of_scores) / len(tables_of_scores)
        rows.append(
            {
                "table": name,
                "method": "mean over seeds",
                "seed": -1,
                "rank_correlation": rank_correlation(mean),
            }
        )
    return rows


def rank_correlation(scores: pd.DataFrame) -> float:
    """Spearman's, of pruning strength and empty nodes."""
    return spearmanr(scores["strength"], scores["empty_nodes"])[0]


def parts_of(
    y: np.ndarray, seed: int, *, by_class: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers to train, validate and test on: 60, 20, 20 percent."""
    rest, test = train_test_split(
        np.arange(len(y)),
        test_size=0.2,
        random_state=seed,
        stratify=y if by_class else None,
    )
    train, valid = train_test_split(
        rest, test_size=0.25, random_state=seed, stratify=y[rest] if by_class else None
    )
    return train, valid, test
