"""Which fold holds out which row."""

import numpy as np


def assign_folds(target: np.ndarray, n_folds: int, *, seed: int) -> np.ndarray:
    """Give each row the fold that holds it out, so that folds are alike.

    Rows are shuffled, sorted by target and dealt out in turn: folds differ by one row
    of a class at most, and cover the range of a target of numbers evenly.

    Parameters
    ----------
    target : ndarray of shape (n,)
        Class codes or values.
    n_folds : int
        At least 2.
    seed : int
        Shuffles the rows.

    Returns
    -------
    ndarray of shape (n,), int64
        0 to ``n_folds - 1``.
    """
    shuffled = np.random.RandomState(seed).permutation(len(target))
    in_order = shuffled[np.argsort(target[shuffled], kind="stable")]
    fold = np.empty(len(target), dtype=np.int64)
    fold[in_order] = np.arange(len(target)) % n_folds
    return fold
