"""How alike several models predict the same rows."""

from collections.abc import Sequence

import numpy as np


def agreement(task: str, predictions: Sequence[np.ndarray]) -> np.ndarray:
    """Compare the predictions of every two models.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    predictions : sequence of k arrays of shape (n_rows,)

    Returns
    -------
    float64 array of shape (k, k)
        Fraction of rows that are predicted alike; in regression Pearson's correlation,
        NaN with a model whose predictions are all the same.
    """
    if task != "regression":
        rows = [[np.mean(one == other) for other in predictions] for one in predictions]
        return np.array(rows, dtype=np.float64)
    values = np.array([np.asarray(own, dtype=float) for own in predictions])
    centred = values - values.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(centred @ centred.T / np.outer(length, length), -1, 1)


def most_and_least_alike(matrix: np.ndarray) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the pair of models that agrees most, and the one that agrees least.

    Raises
    ------
    ValueError
        If no two models compare.
    """
    pairs = [
        (i, j)
        for i in range(len(matrix))
        for j in range(i + 1, len(matrix))
        if not np.isnan(matrix[i, j])
    ]
    if not pairs:
        raise ValueError("Agreement needs two models whose predictions vary.")
    return max(pairs, key=matrix.__getitem__), min(pairs, key=matrix.__getitem__)
