"""Argmin trees on the paper's tables: clusters, classes, the path of prunings."""

import json
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.cluster import Birch, KMeans
from sklearn.model_selection import train_test_split

from benchmarks.tables import read_manifest
from treelab.evaluation.metrics import dendrogram_purity, headline_score
from treelab.evaluation.routing import route_similarity, rows_passing
from treelab.learners.argmin.clustering import ArgminTreeClusterer
from treelab.learners.argmin.estimators import ArgminTreeClassifier, ArgminTreeRegressor
from treelab.learners.cart.estimators import CartClassifier
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import Tree

# Hierarchies of clusters from scikit-learn, to hold argmin trees against.


@dataclass(frozen=True)
class Hierarchy:
    """A tree of centres; a row goes to the nearest child until there is none.

    Attributes
    ----------
    parent : int array of shape (n_nodes,)
        -1 at the root, which is node 0.
    center : float array of shape (n_nodes, n_features)
    """

    parent: np.ndarray
    center: np.ndarray

    @property
    def depth(self) -> int:
        """Steps from the root to the farthest node."""
        level = np.zeros(len(self.parent), dtype=int)
        for node in range(1, len(self.parent)):  # parents come first
            level[node] = level[self.parent[node]] + 1
        return int(level.max())

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Return the node (n_rows,) at which each row of ``x`` ends."""
        leaf = np.zeros(len(x), dtype=int)
        here = {0: np.arange(len(x))}
        while here:
            node, rows = here.popitem()
            leaf[rows] = node
            children = np.flatnonzero(self.parent == node)
            if len(children) and len(rows):
                gap = x[rows][:, None] - self.center[children]  # (rows, children, F)
                nearest = children[np.square(gap).sum(2).argmin(1)]
                here |= {int(child): rows[nearest == child] for child in children}
        return leaf


def halving(x: np.ndarray, depth: int, seed: int) -> Hierarchy:
    """Split the rows (n_rows, n_features) in two by k-means, again and again."""
    parent, center = [-1], [x.mean(0)]
    waiting = [(0, np.arange(len(x)), 0)]
    while waiting:
        node, rows, level = waiting.pop()
        if level == depth or len(np.unique(x[rows], axis=0)) < 2:
            continue
        halves = KMeans(2, n_init=3, random_state=seed).fit(x[rows])
        for side in (0, 1):
            parent.append(node)
            center.append(halves.cluster_centers_[side])
            waiting.append((len(parent) - 1, rows[halves.labels_ == side], level + 1))
    return Hierarchy(np.array(parent), np.array(center))


def birch(x: np.ndarray) -> Hierarchy:
    """Birch's own tree, two children a node at most, over rows (n_rows, n_features)."""
    model = Birch(n_clusters=None, branching_factor=2).fit(x)
    parent, center = [-1], [x.mean(0)]
    waiting = [(0, model.root_)]
    while waiting:
        node, branch = waiting.pop()
        for cluster in branch.subclusters_:
            parent.append(node)
            center.append(cluster.centroid_)
            if cluster.child_ is not None:
                waiting.append((len(parent) - 1, cluster.child_))
    return Hierarchy(np.array(parent), np.array(center))


# Clusters of Glass, errors on Mushroom, and what pruning empties.


DEPTHS = (3, 4, 5, 6)  # deeper, Glass has fewer training rows than nodes
PATH_TABLES = (
    "heart-failure",
    "wdbc",
    "banknote-authentication",
    "raisin",
    "ilpd",
    "glass",
    "wine",
    "zoo",
    "airfoil-self-noise",
    "blood-transfusion",
    "climate-simulation-crashes",
    "titanic",
)
PAPER = {
    "glass": {"argmin tree": 0.494, "hierarchical k-means": 0.508, "BIRCH": 0.429},
    "mushroom": {"argmin tree": 0.0723, "optimal tree": 0.0122},
}
TITLES = {
    "glass": "Dendrogram purity on Glass: 60/20/20 at random, test rows; all: every "
    "row; windows: how alike the routes of two window classes are, windows_others: "
    "those of a window class and another",
    "mushroom": "Test error on Mushroom: 60/20/20 by class, strength chosen on "
    "validation rows",
    "path": "Along the strengths: rank correlation of drawn leaves with strength, the "
    "chosen tree's leaves, columns a split and macro F1 (R2) on a fifth of the rows",
}


@dataclass(frozen=True)
class FoundClusters:
    """A hierarchy of clusters, and how long it took to find.

    Attributes
    ----------
    method : str
    parent : int array of shape (n_nodes,)
        -1 at the root.
    apply : callable
        Returns the node (n_rows,) at which each row of a table ends.
    depth : int
    seconds : float
    """

    method: str
    parent: np.ndarray
    apply: Callable[[pd.DataFrame], np.ndarray]
    depth: int
    seconds: float


def run(chosen: Namespace) -> int:
    """Measure the parts that are asked for, print and save them.

    Parameters
    ----------
    chosen : Namespace
        Arguments of ``benchmarks argmin``.

    Returns
    -------
    int
        The exit code, 0.

    Raises
    ------
    ValueError
        For an unknown part.
    """
    parts = {"glass": glass, "mushroom": mushroom, "path": path}
    tables = {
        table.name: table.load()
        for table in read_manifest(chosen.data)
        if table.name in ("glass", "mushroom", *PATH_TABLES)
    }
    results = {}
    for name in chosen.parts.split(","):
        if name not in parts:
            raise ValueError(
                f"There is no part {name!r}; there are {', '.join(parts)}."
            )
        seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
        rows = pd.DataFrame(parts[name](tables, seeds))
        results[name] = rows.to_dict("records")
        print(f"\n{TITLES[name]}")
        by = ["table", "method"] if "table" in rows else ["method"]
        means = rows.drop(columns="seed").groupby(by, sort=False).mean()
        print(means.round(4).to_string())
        if name in PAPER:
            print(f"paper: {PAPER[name]}")
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(results, indent=1))
    return 0


def glass(tables, seeds: Sequence[int]) -> list[dict]:
    """Cluster Glass without its labels; see `TITLES`."""
    X, y = tables["glass"]
    rows = []
    for seed in seeds:
        train, valid, test = split_rows(y, seed, by_class=False)
        X_train, X_valid, X_test = X.iloc[train], X.iloc[valid], X.iloc[test]
        rows += [
            {
                "method": found.method,
                "seed": seed,
                "purity": dendrogram_purity(found.parent, found.apply(X_test), y[test]),
                "all": dendrogram_purity(found.parent, found.apply(X), y),
                **window_routes(found, X, y),
                "depth": found.depth,
                "seconds": found.seconds,
            }
            for found in (
                *argmin_clusters(X_train, X_valid, seed),
                *other_clusters(X_train, seed),
            )
        ]
    return rows


def window_routes(found: FoundClusters, X: pd.DataFrame, y: np.ndarray) -> dict:
    """Measure how alike the routes of window classes are, and of windows and others.

    Means over pairs of classes; see ``route_similarity``.
    """
    names, code = np.unique(y.astype(str), return_inverse=True)
    rows = rows_passing(found.parent, found.apply(X), code, len(names))
    similarity = route_similarity(rows)
    window = np.char.find(names, "windows") >= 0
    others = similarity[np.ix_(window, ~window)]
    inside = similarity[np.ix_(window, window)][np.triu_indices(window.sum(), 1)]
    return {
        "windows": inside.mean() if inside.size else np.nan,
        "windows_others": others.mean() if others.size else np.nan,
    }


def argmin_clusters(
    X: pd.DataFrame, X_valid: pd.DataFrame, seed: int
) -> list[FoundClusters]:
    """Train an argmin tree of each depth; the first is the best on validation rows."""
    started = time.perf_counter()
    models = [
        ArgminTreeClusterer(depth=depth, random_state=seed).fit(X, X_valid=X_valid)
        for depth in DEPTHS
    ]
    seconds = time.perf_counter() - started
    best = min(models, key=lambda model: model.path_.scores["valid_loss"].min())
    named = [
        (f"argmin tree, depth {m.depth}", m, seconds / len(DEPTHS)) for m in models
    ]
    return [
        FoundClusters(method, m.tree_.parent, m.tree_.apply, m.depth, taken)
        for method, m, taken in [("argmin tree", best, seconds), *named]
    ]


def other_clusters(X: pd.DataFrame, seed: int) -> list[FoundClusters]:
    """Cluster standardised rows by scikit-learn's hierarchies."""
    mean, deviation = X.mean(), X.std()

    def standardised(frame: pd.DataFrame) -> np.ndarray:
        return ((frame - mean) / deviation).to_numpy()

    found = []
    for method, grow in (
        ("hierarchical k-means", partial(halving, depth=max(DEPTHS), seed=seed)),
        ("BIRCH", birch),
    ):
        started = time.perf_counter()
        tree = grow(standardised(X))
        seconds = time.perf_counter() - started

        def apply(frame, tree=tree):
            return tree.apply(standardised(frame))

        found.append(FoundClusters(method, tree.parent, apply, tree.depth, seconds))
    return found


def mushroom(tables, seeds: Sequence[int]) -> list[dict]:
    """Classify Mushroom; see `TITLES`."""
    X, y = tables["mushroom"]
    rows = []
    for seed in seeds:
        train, valid, test = split_rows(y, seed, by_class=True)
        for method, model in (
            ("argmin tree", ArgminTreeClassifier(max_epochs=60, random_state=seed)),
            (
                "argmin tree, predictor on top",
                ArgminTreeClassifier(
                    predictor="linear", max_epochs=60, random_state=seed
                ),
            ),
            (
                "CART, same depth",
                CartClassifier(max_depth=4, tune=False, random_state=seed),
            ),
        ):
            started = time.perf_counter()
            model.fit(X.iloc[train], y[train], X_valid=X.iloc[valid], y_valid=y[valid])
            rows.append(
                {
                    "method": method,
                    "seed": seed,
                    "error": 1 - model.score(X.iloc[test], y[test]),
                    "leaves": shown_tree(model.model_).n_leaves,
                    "seconds": time.perf_counter() - started,
                }
            )
    return rows


def path(tables, seeds: Sequence[int]) -> list[dict]:
    """Follow the trees along the pruning strengths; see `TITLES`."""
    return [
        {"table": name, "method": "argmin tree", "seed": seed}
        | _path_row(tables[name][0], tables[name][1], seed)
        for name in PATH_TABLES
        if name in tables
        for seed in seeds
    ]


def _path_row(X: pd.DataFrame, y: np.ndarray, seed: int) -> dict:
    """Train one path, on four fifths of the rows; return what was measured."""
    is_class = y.dtype == object
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=0.2,
        random_state=seed,
        stratify=y if is_class else None,
    )
    kind = ArgminTreeClassifier if is_class else ArgminTreeRegressor
    model, started = kind(random_state=seed), time.perf_counter()
    model.fit(X.iloc[train], y[train])
    seconds = time.perf_counter() - started
    trees = [shown_tree(model.path_, strength=i) for i in range(len(model.path_))]
    leaves, found = [tree.n_leaves for tree in trees], model.path_.scores
    chosen = model.path_.chosen
    task = model.path_.task
    return {
        "rank_correlation": spearmanr(model.path_.strengths, leaves)[0],
        "most_leaves": leaves[0],
        "leaves": leaves[chosen],
        "columns": columns_per_split(trees[chosen]),
        "valid_score_lost": found["valid_score"].max() - found["valid_score"][chosen],
        "test_score": headline_score(task, y[test], model.predict(X.iloc[test])),
        "seconds": seconds,
    }


def columns_per_split(tree: Tree) -> float:
    """Mean number of columns that a tree's splits weigh, 0 where it has none."""
    splits = ~tree.is_leaf
    n = np.ones(splits.sum())
    if tree.weights is not None:
        n = np.maximum((tree.weights[splits] != 0).sum(axis=1), 1)
    return float(n.mean()) if len(n) else 0.0


def split_rows(
    y: np.ndarray, seed: int, *, by_class: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw row numbers to train, validate and test on: 60, 20, 20 percent."""
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
