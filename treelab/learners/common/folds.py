"""Which rows are held out of training: once for all, or in folds."""

from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import train_test_split

VALIDATION_FRACTION = 0.2  # held out of X when no validation rows are given
N_PARTS = 20  # of all held-out rows, by which a standard error is measured
FEWEST_ROWS = 10  # smaller tables cannot spare a row


def hold_out(
    target: np.ndarray,
    *,
    by_class: bool,
    seed: int,
    fraction: float = VALIDATION_FRACTION,
) -> tuple[np.ndarray, np.ndarray]:
    """Split row numbers into training and validation, by classes where that works.

    Tables too small to spare a row are validated on their training rows.

    Parameters
    ----------
    target : ndarray of shape (n,)
        Class codes or values.
    by_class : bool
        Whether the target holds classes: both splits then have the same fractions of
        each where there are rows enough, and training has a row of every class.
    seed : int
        Draws the rows.
    fraction : float, default=0.2
        Of the rows, for validation.

    Returns
    -------
    train, held_out : ndarray of int
        Row numbers, ascending.
    """
    rows = np.arange(len(target))
    if len(rows) < FEWEST_ROWS:
        return rows, rows
    n_valid = round(len(rows) * fraction)
    strata = None
    if by_class:
        counts = np.unique(target, return_counts=True)[1]
        if counts.min() >= 2 and n_valid >= len(counts):
            strata = target
    train, held_out = train_test_split(
        rows, test_size=n_valid, stratify=strata, random_state=seed
    )
    if by_class:
        missing = np.setdiff1d(target, target[train])
        rescued = held_out[np.isin(target[held_out], missing)]
        train = np.concatenate([train, rescued])
    return np.sort(train), np.sort(held_out)


def assign_folds(target: np.ndarray, n_folds: int, *, seed: int) -> np.ndarray:
    """Give each row the fold that holds it out, so that folds are alike.

    Rows are shuffled, sorted by target and assigned in turn: folds differ by one row
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


def scored_parts(
    held_out: Sequence[np.ndarray], n_parts: int, seed: int
) -> list[list[np.ndarray]]:
    """Cut each fold's held-out rows at random into parts, by which errors are measured.

    Twenty parts of all rows make a standard error steadier than five folds do.

    Parameters
    ----------
    held_out : sequence of bool arrays of shape (n,)
        One a fold.
    n_parts : int
        Of each fold, where it has so many rows.
    seed : int

    Returns
    -------
    list, one entry a fold, of lists of int arrays
        Row numbers.
    """
    random = np.random.RandomState(seed)
    rows = [random.permutation(np.flatnonzero(fold)) for fold in held_out]
    return [np.array_split(own, max(1, min(n_parts, len(own)))) for own in rows]
