"""The knee of a pruning path: the smallest tree whose score is almost the best."""

import numpy as np
import pandas as pd

KNEE_TOLERANCE = 0.01  # how much validation score a smaller tree may cost


def knee(size, score, tolerance: float = KNEE_TOLERANCE) -> int:
    """Find the smallest tree whose score is almost the best.

    Parameters
    ----------
    size : array-like of shape (n_steps,)
        Splits or leaves of each tree.
    score : array-like of shape (n_steps,)
        Validation scores, more is better; NaN is never chosen.
    tolerance : float, default=0.01
        How far below the best the score may lie.

    Returns
    -------
    int
        Its step; among equals in size the better, then the later.

    Raises
    ------
    ValueError
        If no score is a number.
    """
    size, score = np.asarray(size, dtype=float), np.asarray(score, dtype=float)
    if not np.isfinite(score).any():
        raise ValueError("A knee needs at least one score that is a number.")
    good = np.flatnonzero(score >= np.nanmax(score) - tolerance - 1e-12)
    return int(min(good, key=lambda step: (size[step], -score[step], -step)))


def judged_by(table: pd.DataFrame) -> str:
    """Name the column of a pruning path by which its trees are judged."""
    names = ("held_out_score", "valid_score", "valid_loss")
    return next((name for name in names if name in table), names[-1])


def knee_of(table: pd.DataFrame) -> int:
    """Find the knee of a pruning path's table; of a loss, less is better."""
    sign = -1 if judged_by(table) == "valid_loss" else 1
    size = "leaves" if "leaves" in table else "active_splits"
    return knee(table[size], sign * table[judged_by(table)])
