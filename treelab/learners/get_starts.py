"""Where the starts of an oblique tree begin: greedy trees and random hyperplanes.

Shapes: E starts, N = 2**D - 1 splits breadth first, n rows, F features.
"""

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

LEAF_ROWS = (5, 20)  # fewest rows in a leaf of the greedy trees, in turn
DIRECTIONS = 4  # random directions a feature that an oblique greedy tree may test
COLUMNS_A_DIRECTION = 3  # columns that enter a random direction, on average


def starting_splits(
    x: np.ndarray,
    y: np.ndarray,
    depth: int,
    n_starts: int,
    rng: np.random.Generator,
    *,
    classes: bool,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Splits of ``n_starts`` complete trees, each a different place to begin.

    In turn: a CART tree (its splits test one column each), a CART tree over random
    sparse directions, and, from the fifth start on, random hyperplanes laid through
    random rows. Where a greedy tree has no split, a random hyperplane stands.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded rows.
    y : ndarray of shape (n,)
        Values, or class codes.
    depth : int
        Splits on every path.
    n_starts : int
        Trees wanted.
    rng : numpy Generator
    classes : bool
        Whether ``y`` holds class codes.
    weight : ndarray of shape (n,), optional
        What each row counts.

    Returns
    -------
    weights : ndarray of shape (E, N, F)
    threshold : ndarray of shape (E, N)
        A row goes left where ``weights @ x <= threshold``.
    """
    found = []
    for start in range(n_starts):
        if start >= 2 * len(LEAF_ROWS):
            found.append(_complete(x, depth, rng))
            continue
        directions = np.eye(x.shape[1])
        if start % 2:
            directions = np.hstack([directions, _directions(x, rng)])
        grower = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(
            max_depth=depth,
            min_samples_leaf=LEAF_ROWS[start // 2],
            random_state=int(rng.integers(2**31)),
        )
        grower.fit(x @ directions, y, sample_weight=weight)
        found.append(_complete(x, depth, rng, grower.tree_, directions))
    weights, threshold = zip(*found)
    return np.stack(weights), np.stack(threshold)


def _directions(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random sparse directions (F, k), each a unit of spread-scaled columns."""
    n_features = x.shape[1]
    shape = (n_features, DIRECTIONS * n_features)
    kept = rng.random(shape) < COLUMNS_A_DIRECTION / n_features
    return _unit(rng.normal(size=shape) * kept / _spread(x)[:, None])


def _complete(x, depth, rng, grown=None, directions=None):
    """Weights (N, F) and thresholds (N,) of a grown tree, completed at random."""
    n_splits = 2**depth - 1
    weights = np.zeros((n_splits, x.shape[1]))
    threshold = np.zeros(n_splits)
    spread = _spread(x)
    waiting = [(0, 0 if grown is not None else -1, np.arange(len(x)))]
    while waiting:
        at, node, rows = waiting.pop()
        if at >= n_splits:
            continue
        left = right = -1
        if node >= 0 and grown.children_left[node] >= 0:
            weights[at] = directions[:, grown.feature[node]]
            threshold[at] = grown.threshold[node]
            left, right = grown.children_left[node], grown.children_right[node]
        else:
            weights[at] = _unit(rng.normal(size=x.shape[1]) / spread)
            through = rng.choice(rows) if len(rows) else rng.integers(len(x))
            threshold[at] = x[through] @ weights[at]
        goes_left = x[rows] @ weights[at] <= threshold[at]
        waiting.append((2 * at + 1, left, rows[goes_left]))
        waiting.append((2 * at + 2, right, rows[~goes_left]))
    return weights, threshold


def _spread(x: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, 1 where it is constant."""
    spread = x.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _unit(directions: np.ndarray) -> np.ndarray:
    """Columns (or one vector) of length 1; zeros stay zeros."""
    length = np.linalg.norm(directions, axis=0)
    return directions / np.where(length > 0, length, 1.0)
