"""Small random trees of two numbers and a category, values may be missing."""

import itertools

import numpy as np
import pandas as pd

from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

FEATURES = (
    Feature("a"),
    Feature("b"),
    Feature("c", "category", categories=("u", "v", "w"), scores=(0.0, 1.0, 2.0)),
    Feature("c", "category", categories=("u", "v"), scores=(1.0, 0.0), unseen=0.5),
)
STEPS = np.arange(-0.5, 4.0)  # between all thresholds, 0 to 3


def random_tree(seed: int, n_splits: int, *, classes: tuple | None = None) -> Tree:
    """A tree grown split by split at random leaves, with random rows and values."""
    rng = np.random.default_rng(seed)
    left, right, feature, threshold = [-1], [-1], [-1], [np.nan]
    for _ in range(n_splits):
        node = int(rng.choice(np.flatnonzero(np.array(left) < 0)))
        feature[node] = int(rng.integers(4))
        threshold[node] = float(rng.integers(4)) if feature[node] < 2 else 0.7
        left[node], right[node] = len(left), len(left) + 1
        for grown in (left, right, feature):
            grown += [-1, -1]
        threshold += [np.nan, np.nan]
    n = len(left)
    value = rng.random((n, len(classes or (0,))))
    if classes:
        value /= value.sum(1, keepdims=True)
    return Tree(
        FEATURES,
        np.array(left),
        np.array(right),
        np.array(feature),
        np.array(threshold),
        (rng.random(n) < 0.5) & (np.array(feature) >= 0),
        value,
        rng.integers(1, 50, n),
        np.full(n, np.nan),
        classes=classes,
        between=np.full((n, 2), np.nan),
        missing_rows=np.zeros(n, dtype=int),
    )


def every_row() -> pd.DataFrame:
    """Rows that reach every leaf that any row can reach."""
    values = [[*STEPS, np.nan], [*STEPS, np.nan], ["u", "v", "w", "new", None]]
    return pd.DataFrame(itertools.product(*values), columns=["a", "b", "c"])


def pairs_by_rows(tree: Tree, column: str) -> set[tuple[int, int]]:
    """Different leaves that a row reaches by more of one column, by brute force."""
    frame = every_row()
    frame["leaf"] = tree.apply(frame)
    pairs = set()
    others = [name for name in ("a", "b", "c") if name != column]
    known = frame[frame[column].notna()].sort_values(column)
    for _, rows in known.groupby(others, dropna=False):
        leaf = rows["leaf"].tolist()
        pairs |= {*itertools.combinations(leaf, 2)}
    return {(low, high) for low, high in pairs if low != high}
