"""Two columns as a plane: what models predict on it, and where trees split it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree
from treelab.trees.walk import AXIS, LEAF

_MOST_CELLS = 2**22  # of a table that is predicted at once
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class SplitLine:
    """A split as a line in the plane of two features.

    Attributes
    ----------
    node : int
    level : int
        Of the node, from 0 at the node where the plane begins.
    x, y : tuple of two float
        Its ends.
    """

    node: int
    level: int
    x: tuple[float, float]
    y: tuple[float, float]


def split_lines(
    tree: Tree,
    features: tuple[int, int],
    held: np.ndarray,
    box: tuple[float, float, float, float],
    *,
    node: int = 0,
) -> list[SplitLine]:
    """Return the splits that cut a plane, each as long as rows of the plane reach it.

    Parameters
    ----------
    tree : Tree
    features : tuple of two int
        Features along x and y.
    held : float array of shape (n_features,)
        Values of all other features; NaN is missing.
    box : tuple of four float
        Lowest and highest x, lowest and highest y.
    node : int, default=0
        Where the plane begins: every row of it is taken to pass this node.
    """
    x0, x1, y0, y1 = box
    lines = []
    waiting = [(node, 0, [(x0, y0), (x1, y0), (x1, y1), (x0, y1)])]
    while waiting:
        at, level, corners = waiting.pop()
        if tree.feature[at] == LEAF:
            continue
        a, b, c = _half_plane(tree, at, features, held)
        inside = np.array([a * x + b * y for x, y in corners]) <= c
        left, right = int(tree.left[at]), int(tree.right[at])
        if inside.all() or not inside.any():
            waiting.append((left if inside.all() else right, level + 1, corners))
            continue
        yes, no, cut = _cut(corners, a, b, c)
        (ax, ay), (bx, by) = cut[0], cut[-1]
        lines.append(SplitLine(at, level, (ax, bx), (ay, by)))
        waiting += [(left, level + 1, yes), (right, level + 1, no)]
    return lines


def _half_plane(tree: Tree, node: int, features: tuple[int, int], held: np.ndarray):
    """Return a, b and c: the split holds where ``a * x + b * y <= c``."""
    threshold = float(tree.threshold[node])
    tested = int(tree.feature[node])
    if tested >= AXIS:
        if tested in features:
            is_x = tested == features[0]
            return float(is_x), float(not is_x), threshold
        value = held[tested]
        left = bool(tree.missing_left[node]) if np.isnan(value) else value <= threshold
        return 0.0, 0.0, 0.0 if left else -1.0
    assert tree.weights is not None  # as `check_tree` holds for an oblique split
    weights = tree.weights[node]
    fill = np.array([feature.fill for feature in tree.features])
    rest = np.where(weights != 0, weights * np.where(np.isnan(held), fill, held), 0.0)
    rest[list(features)] = 0
    return weights[features[0]], weights[features[1]], threshold - float(rest.sum())


def _cut(corners: Points, a: float, b: float, c: float):
    """Cut a convex polygon by a line; return both parts, and the ends of the cut."""
    yes: Points = []
    no: Points = []
    cut: Points = []
    for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1]):
        here, there = a * x + b * y - c, a * u + b * v - c
        (yes if here <= 0 else no).append((x, y))
        if (here <= 0) != (there <= 0):
            share = here / (here - there)
            point = (x + share * (u - x), y + share * (v - y))
            for part in (yes, no, cut):
                part.append(point)
    return yes, no, cut


def surface(
    model, row: pd.DataFrame, columns: tuple[str, str], x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Predict a grid of two columns, all others as in one row.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    row : DataFrame of one row
    columns : tuple of two str
        Columns along x and y; the row has both.
    x, y : float arrays of shapes (n_x,), (n_y,)

    Returns
    -------
    array of shape (n_y, n_x)
        Labels, or values of the target.
    """
    read = set(model.columns) | set(columns)
    row = row[[name for name in row if name in read]]
    at_once = max(1, _MOST_CELLS // (len(x) * row.shape[1]))  # rows of the grid
    parts = []
    for start in range(0, len(y), at_once):
        some = y[start : start + at_once]
        grid = row.iloc[np.zeros(len(x) * len(some), dtype=int)].reset_index(drop=True)
        grid[columns[0]] = np.tile(x, len(some))
        grid[columns[1]] = np.repeat(some, len(x))
        parts.append(model.predict(grid).reshape(len(some), len(x)))
    return np.concatenate(parts)


def typical_row(X: pd.DataFrame) -> pd.DataFrame:
    """Return one row: medians of numbers, the most frequent of categories."""
    values = {}
    for name in X:
        known = X[name].dropna()
        if known.empty:
            typical = np.nan
        elif column_kind(X[name]) == "number":
            typical = float(known.astype(float).median())
        else:
            typical = known.mode().iloc[0]
        values[name] = [typical]
    row = pd.DataFrame(values)
    row.attrs = X.attrs  # the note on how its cells were read
    return row


def column_use(model: Tree | WeightedTrees) -> dict[str, float]:
    """Return the fraction of all tests of training rows that falls to each column.

    An oblique split counts for its columns by their weight times spread.
    """
    use = np.zeros(len(model.features))
    if isinstance(model, WeightedTrees):
        n_splits = model.feature.shape[1]
        tests = 1.0 if model.n_rows is None else model.n_rows[:, :n_splits].ravel()
        np.add.at(use, model.feature.ravel(), tests)
    else:
        tests = np.maximum(model.n_rows, 0.0)
        axis = model.feature >= AXIS
        np.add.at(use, model.feature[axis], tests[axis])
        if model.weights is not None:
            spread = np.array([feature.spread for feature in model.features])
            moves = np.abs(model.weights) * np.where(np.isfinite(spread), spread, 1)
            total = moves.sum(axis=1)
            some = total > 0
            use += (moves[some] * (tests[some] / total[some])[:, None]).sum(axis=0)
    by_column: dict[str, float] = {}
    for feature, amount in zip(model.features, use / (use.sum() or 1.0)):
        by_column[feature.column] = by_column.get(feature.column, 0.0) + float(amount)
    return by_column


def most_used(
    uses: Sequence[Mapping[str, float]], columns: Sequence[str]
) -> tuple[str, ...]:
    """Return columns, first those that all models use most, then those that one does.

    Parameters
    ----------
    uses : sequence of mapping
        As ``column_use`` returns it, one a model.
    columns : sequence of str
        To choose from.
    """

    def rank(column: str) -> tuple[float, float]:
        own = [use.get(column, 0.0) for use in uses]
        return -min(own), -sum(own)

    return tuple(sorted(columns, key=rank))
