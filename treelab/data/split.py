"""Rows for training, validation and test, dealt by a seed."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

SPLITS = ("train", "valid", "test")
FEWEST_ROWS = 3  # one to learn from, one to choose by, one to test on


@dataclass(frozen=True)
class Split:
    """A table's rows in three parts, each row in one of them.

    Attributes
    ----------
    X_train, X_valid, X_test : DataFrame
        The chosen columns; the index is that of the table, so a row can be found
        again.
    y_train, y_valid, y_test : Series
        The target: labels, or numbers for regression.
    notes : tuple of str
        Sentences on what was left out or could not be dealt as usual.
    """

    X_train: pd.DataFrame
    y_train: pd.Series
    X_valid: pd.DataFrame
    y_valid: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series
    notes: tuple[str, ...] = ()

    def rows(self, name: str) -> tuple[pd.DataFrame, pd.Series]:
        """Return (X, y) of the part "train", "valid" or "test"."""
        if name not in SPLITS:
            raise ValueError(f"The parts are {', '.join(SPLITS)}; got {name!r}.")
        return getattr(self, f"X_{name}"), getattr(self, f"y_{name}")


def deal_rows(
    strata: np.ndarray, valid_share: float, test_share: float, seed: int
) -> np.ndarray:
    """Deal rows to the three parts so that each part has its share of each stratum.

    A stratum of one row goes to training; one of two never leaves it; one of three or
    more has a row in each part. Every part has at least one row.

    Parameters
    ----------
    strata : ndarray of shape (n_rows,), int
        The class of each row, or zeros for a plain shuffle.
    valid_share, test_share : float
        In (0, 1), together less than 1.
    seed : int
        The same seed deals the same rows the same way.

    Returns
    -------
    ndarray of shape (n_rows,), int
        0 for training, 1 for validation, 2 for test.

    Raises
    ------
    ValueError
        If there are fewer than 3 rows.
    """
    if len(strata) < FEWEST_ROWS:
        raise ValueError(
            f"A table needs at least {FEWEST_ROWS} rows with a target, one each to "
            f"train, to validate and to test; this one has {len(strata)}."
        )
    rng = np.random.default_rng(seed)
    part = np.zeros(len(strata), dtype=np.int64)
    values, counts = np.unique(strata, return_counts=True)
    owed = np.zeros(2)  # what rounding withheld from test and valid so far
    for value, count in sorted(zip(values, counts), key=lambda pair: pair[1]):
        rows = rng.permutation(np.nonzero(strata == value)[0])
        fewest = int(count >= FEWEST_ROWS)
        wanted = owed + count * np.array([test_share, valid_share])
        n_test = int(np.clip(np.rint(wanted[0]), fewest, count - 1 - fewest))
        n_valid = int(np.clip(np.rint(wanted[1]), fewest, count - 1 - n_test))
        owed = wanted - [n_test, n_valid]
        part[rows[:n_test]] = 2
        part[rows[n_test : n_test + n_valid]] = 1
    for empty in {1, 2} - set(part.tolist()):
        _spare_one_row(part, strata, empty)
    return part


def _spare_one_row(part: np.ndarray, strata: np.ndarray, empty: int) -> None:
    """Move a row of the largest stratum in training to a part that has none."""
    values, counts = np.unique(strata[part == 0], return_counts=True)
    largest = values[np.argmax(counts)]
    part[np.nonzero((part == 0) & (strata == largest))[0][-1]] = empty
