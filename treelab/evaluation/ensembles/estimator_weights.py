"""The weights of an ensemble's trees, averaged over rows."""

import numpy as np
import pandas as pd

from treelab.trees.ensemble import WeightedTrees

_BLOCK = 2_000  # rows at once; the weights of all rows and trees are large
_EQUAL = 1e-9  # weights that differ by no more are one


def mean_estimator_weights(ensemble: WeightedTrees, X: pd.DataFrame) -> np.ndarray:
    """Return each tree's mean weight over some rows, (n_estimators,); zero without any.

    A tree's weight on one row is its share of the prediction, in [0, 1]; the weights
    of a row add up to 1.
    """
    total = np.zeros(ensemble.n_estimators)
    for start in range(0, len(X), _BLOCK):
        block = X.iloc[start : start + _BLOCK]
        total += ensemble.estimator_weights(block).sum(axis=0)
    return total / max(len(X), 1)


def heaviest_estimators(
    ensemble: WeightedTrees, X: pd.DataFrame, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the trees of highest mean weight over some rows, and these weights.

    Returns
    -------
    index : int array of shape (k,)
        Heaviest first, and of equal ones the first; at most ``most``.
    weight : float array of shape (k,)
        Mean weight, in [0, 1].
    """
    mean = mean_estimator_weights(ensemble, X)
    index = np.argsort(-mean, kind="stable")[:most]
    return index, mean[index]


def are_equal(weight: np.ndarray) -> bool:
    """Whether trees of these mean weights all count alike."""
    return bool(np.ptp(weight) <= _EQUAL)
