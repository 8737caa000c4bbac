"""First splits of a clustering tree: hierarchical k-means as hyperplanes."""

import numpy as np
from sklearn.cluster import KMeans

SCORE_STD = 0.6  # of the first split scores; the program reads those from -1/2 to 1


def kmeans_splits(
    x: np.ndarray, depth: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Halve the rows by k-means, level by level, and return the planes between halves.

    Parameters
    ----------
    x : ndarray of shape (n_rows, F)
    depth : int
    seed : int

    Returns
    -------
    weights : ndarray of shape (N, F)
        N = 2**depth - 1 splits breadth first; a row goes left, to the larger half,
        where ``x @ weights + bias >= 0``. 0 where fewer than two distinct rows come.
    bias : ndarray of shape (N,)
    """
    n_splits = 2**depth - 1
    weights, bias = np.zeros((n_splits, x.shape[1])), np.full(n_splits, 0.5)
    node = np.zeros(len(x), dtype=int)
    for t in range(n_splits):
        rows = np.flatnonzero(node == t)
        if len(np.unique(x[rows], axis=0)) >= 2:
            halves = KMeans(2, n_init=3, random_state=seed).fit(x[rows])
            large = int(halves.labels_.mean() > 0.5)
            near, far = halves.cluster_centers_[[large, 1 - large]]
            plane = near - far
            score = x[rows] @ plane - (near @ near - far @ far) / 2
            scale = SCORE_STD / max(score.std(), 1e-12)
            weights[t] = scale * plane
            bias[t] = -scale * (near @ near - far @ far) / 2
        left = x[rows] @ weights[t] + bias[t] >= 0
        node[rows] = np.where(left, 2 * t + 1, 2 * t + 2)
    return weights, bias
