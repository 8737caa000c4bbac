"""Weighted sums with fewer columns: what an oblique split is replaced by.

Shapes: n rows, F features.
"""

import numpy as np

N_COLUMNS = (1, 2, 3, 5, 8, 13, 21)  # that a split may be left with, fewest first


def approximations(
    x: np.ndarray, weights: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """Approximate a weighted sum with 1, 2, 3, 5, ... of its columns.

    Orthogonal matching pursuit: the column that explains most of the residual enters
    next, and all weights are fitted again.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        The rows on which the sums shall agree.
    weights : ndarray of shape (F,)

    Returns
    -------
    list of (weights (F,), float)
        For each number in ``N_COLUMNS`` below that of the sum's own columns: weights,
        and what the approximation lacks to the sum on average.
    """
    used = np.flatnonzero(weights)
    x, own = x[:, used], weights[used]
    mean = x.mean(axis=0)
    gram = (x - mean).T @ (x - mean)
    norm = np.sqrt(np.diag(gram))
    usable = norm > 1e-9
    scale = np.where(usable, norm, 1.0)
    gram = gram / np.outer(scale, scale)
    wanted = gram @ (own * scale)
    chosen: list[int] = []
    found = []
    for n_columns in range(1, int(usable.sum())):
        fitted = np.zeros(len(own))
        if chosen:
            fitted[chosen] = _solve(gram, wanted, chosen)
        residual = np.where(usable, np.abs(wanted - gram @ fitted), -1.0)
        residual[chosen] = -1.0
        chosen.append(int(residual.argmax()))
        if n_columns in N_COLUMNS:
            sparse = np.zeros(len(weights))
            sparse[used[chosen]] = _solve(gram, wanted, chosen) / scale[chosen]
            found.append((sparse, float(mean @ (own - sparse[used]))))
        if n_columns == N_COLUMNS[-1]:
            break
    return found


def _solve(gram: np.ndarray, wanted: np.ndarray, chosen: list[int]) -> np.ndarray:
    """Weights of the chosen columns that fit best; a touch of ridge for twins."""
    part = gram[np.ix_(chosen, chosen)] + 1e-9 * np.eye(len(chosen))
    return np.linalg.solve(part, wanted[chosen])
