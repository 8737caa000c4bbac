"""Rows, and which of them are held out of training: once for all, or in folds."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from treelab.data.encoding import first_component
from treelab.data.split_by import grouped_folds, has_groups

VALIDATION_FRACTION = 0.2  # held out of X when no validation rows are given
N_PARTS = 20  # of all rows, by which a standard error is measured
N_FOLDS, N_REPEATS = 5, 3
REPEATED_ROWS = 5000  # larger tables have their folds drawn once
REPEATED_COLUMNS = 1000  # and so have wider ones, each fold of which takes seconds
FEWEST_ROWS = 10  # smaller tables cannot spare a row


class Rows(NamedTuple):
    """Rows of a table that a model is fitted to, or measured on."""

    frame: pd.DataFrame  # as the caller gave them
    # (n_rows,): class codes (int64), or values in the units of the target (float64); of
    # several targets, or levels of one, (n_rows, n_outputs).
    y: np.ndarray
    # (n_rows,): of each row, above 0; None: all count alike.
    weight: np.ndarray | None = None
    # (n_rows,): rows of one value are held out together; None: each by itself.
    groups: np.ndarray | None = None

    @property
    def weights(self) -> np.ndarray:
        """Weight of each row (n_rows,), ones where all count alike."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def take(self, some: np.ndarray) -> "Rows":
        """Return those of these places, or where a mask is True."""
        weight = None if self.weight is None else self.weight[some]
        groups = None if self.groups is None else self.groups[some]
        return Rows(self.frame.iloc[some], self.y[some], weight, groups)

    def joined(self, other: "Rows") -> "Rows":
        """Return these rows, then the others; groups where both have them."""
        weight = groups = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self.weights, other.weights])
        if self.groups is not None and other.groups is not None:
            groups = np.concatenate([self.groups, other.groups])
        frame = pd.concat([self.frame, other.frame], ignore_index=True)
        return Rows(frame, np.concatenate([self.y, other.y]), weight, groups)


def hold_out(
    target: np.ndarray, *, by_class: bool, seed: int, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split row numbers, ascending, into training and validation, a fifth.

    Where the ``target`` (n,) holds classes, ``by_class``, both splits have the same
    fractions of each where there are rows enough, and training has a row of every
    class: a class's only row, or group, trains (``groups`` are as in ``assign_folds``).
    Tables too small to spare a row, or a group, are validated on their training rows.
    """
    rows = np.arange(len(target))
    if len(rows) < FEWEST_ROWS:
        return rows, rows
    if has_groups(groups):
        fold = assign_folds(target, N_FOLDS, seed=seed, groups=groups)
        train, held_out = rows[fold != 0], rows[fold == 0]
    else:
        n_valid = round(len(rows) * VALIDATION_FRACTION)
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
        train, held_out = np.append(train, rescued), np.setdiff1d(held_out, rescued)
    if len(held_out) == 0:  # each is the only one of its class
        return rows, rows
    return np.sort(train), np.sort(held_out)


def assign_folds(
    target: np.ndarray, n_folds: int, *, seed: int, groups: np.ndarray | None = None
) -> np.ndarray:
    """Give each row of a target the fold, from 0, that holds it out, so alike.

    Rows are shuffled, sorted by target, (n,) or (n, C), and assigned in turn: folds
    differ by one row of a class at most, and cover the range of numbers evenly. Rows of
    one of the ``groups`` (n,) are held out together, missing ones as a group; they are
    dealt as scikit-learn does, classes alike where each has rows for all folds. Fewer
    groups than folds make fewer folds, and a single one counts as none.
    """
    if has_groups(groups):
        return grouped_folds(first_component(target), n_folds, seed, groups)
    target, random = first_component(target), np.random.RandomState(seed)
    shuffled = random.permutation(len(target))
    in_order = shuffled[np.argsort(target[shuffled], kind="stable")]
    if np.issubdtype(target.dtype, np.floating):
        # Distinct values have one order: neighbours change places.
        place = np.arange(len(target)) + n_folds * random.random_sample(len(target))
        in_order = in_order[np.argsort(place)]
    fold = np.empty(len(target), dtype=np.int64)
    fold[in_order] = np.arange(len(target)) % n_folds
    return fold


def repeated_folds(
    target: np.ndarray,
    *,
    seed: int,
    n_columns: int = 1,
    groups: np.ndarray | None = None,
) -> list[list[np.ndarray]]:
    """Draw the folds of small tables three times, so that scores hang less on a draw.

    Returned as a list, one entry a repeat, of masks (n,) of the rows that each fold
    holds out. Source: Kim, "Estimating classification error rate: repeated
    cross-validation, repeated hold-out and bootstrap", Computational Statistics & Data
    Analysis 53(11), 2009.
    """
    is_small = len(target) <= REPEATED_ROWS and n_columns <= REPEATED_COLUMNS
    seeds = range(seed, seed + (N_REPEATS if is_small else 1))
    drawn = [assign_folds(target, N_FOLDS, seed=own, groups=groups) for own in seeds]
    return [[fold == number for number in np.unique(fold)] for fold in drawn]


def assign_parts(
    n_rows: int, *, seed: int, groups: np.ndarray | None = None
) -> np.ndarray:
    """Give each row, or group, one of twenty parts from 0, which measure errors.

    Twenty parts of all rows make a standard error steadier than five folds do, and
    they are the same where folds are drawn again.
    """
    code = np.arange(n_rows)
    if has_groups(groups):
        code = pd.factorize(pd.Series(groups), use_na_sentinel=False)[0]
    return (np.random.RandomState(seed).permutation(code.max() + 1) % N_PARTS)[code]
