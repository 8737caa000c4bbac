"""The data split: which rows train, which validate, which test."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from treelab.trees.words import listed

SPLITS = ("train", "valid", "test")
JOINED = "train+valid"  # training and validation rows together
# How each of them is called in a sentence.
SPLIT_NAMES = {
    "train": "training",
    "valid": "validation",
    "test": "test",
    JOINED: "training and validation",
}
MIN_ROWS = 3  # one to train on, one to validate on, one to test on


def some_rows(n_rows: int, most: int) -> np.ndarray:
    """Return row numbers, ascending: all, or so many drawn at random, always the same.

    Neither the first rows nor every other one stand for a table, which may be sorted or
    have two classes in turn.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


class Rows(NamedTuple):
    """Rows of a table, with what each of them counts in whatever is measured."""

    X: pd.DataFrame  # (n_rows, n_columns)
    # (n_rows,): the target: labels, or numbers for regression; several are a frame.
    y: pd.Series
    # float64 (n_rows,): above 0; None: all count alike.
    weight: np.ndarray | None = None

    def take(self, places: np.ndarray) -> "Rows":
        """Return some of the rows, by their places or a mask."""
        weight = None if self.weight is None else self.weight[places]
        return Rows(self.X.iloc[places], self.y.iloc[places], weight)

    def sample(self, most: int) -> "Rows":
        """Return the rows, or where they are more than so many a random sample."""
        return self.take(some_rows(len(self.X), most))

    @property
    def total(self) -> float:
        """What the rows weigh together: their number where all count alike."""
        return float(len(self.y) if self.weight is None else self.weight.sum())


@dataclass(frozen=True)
class DataSplit:
    """A table's training, validation and test rows; no row is in two of them."""

    # The chosen columns; the index is that of the table, so a row can be found again.
    X_train: pd.DataFrame
    # The target: labels, or numbers for regression; several are frames.
    y_train: pd.Series
    X_valid: pd.DataFrame
    y_valid: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series
    # Sentences on what was left out or could not be stratified.
    notes: tuple[str, ...] = ()
    # What each row of all three counts, by the table's index; None: all alike.
    weight: pd.Series | None = None
    # Whether the target is an amount by its exposure, so that weight times target is an
    # amount.
    is_rate: bool = False
    # What rows are split by, by the table's index; None: at random.
    by: pd.Series | None = None
    # By which rows are held out in folds, by the table's index; see ``fold_groups``.
    groups: pd.Series | None = None

    def rows(self, name: str) -> Rows:
        """Return the rows of the split "train", "valid" or "test", or of ``JOINED``.

        They come with their weights, so that what is measured on them takes these.
        """
        if name == JOINED:
            X = pd.concat([self.X_train, self.X_valid])
            y = pd.concat([self.y_train, self.y_valid])
        elif name in SPLITS:
            X, y = getattr(self, f"X_{name}"), getattr(self, f"y_{name}")
        else:
            raise ValueError(f"The splits are {', '.join(SPLITS)}; got {name!r}.")
        if self.weight is None:
            return Rows(X, y)
        return Rows(X, y, self.weight.loc[y.index].to_numpy())

    def whole(self) -> Rows:
        """Return the rows of all three, in the table's order."""
        parts = [self.rows(name) for name in SPLITS]
        X = pd.concat([own.X for own in parts]).sort_index()
        y = pd.concat([own.y for own in parts]).sort_index()
        weight = None if self.weight is None else self.weight.loc[y.index].to_numpy()
        return Rows(X, y, weight)

    def of_target(self, name: str) -> "DataSplit":
        """Return the split with one of several targets, or as it is with its one."""
        if isinstance(self.y_train, pd.Series):
            return self
        own = {f"y_{part}": getattr(self, f"y_{part}")[name] for part in SPLITS}
        return replace(self, **own)

    def n_rows(self, name: str) -> int:
        """Count the rows of a split; see ``rows``."""
        if name == JOINED:
            return len(self.y_train) + len(self.y_valid)
        return len(self.rows(name).y)


def assign_splits(
    strata: np.ndarray, valid_share: float, test_share: float, seed: int
) -> np.ndarray:
    """Assign rows to training (0), validation (1) or test (2) at random, stratified.

    A stratum of one row goes to training; one of two never leaves it; one of three or
    more has a row in each split. Every split has at least one row, so that fewer than 3
    rows are refused.

    ``strata`` (n_rows,) are the class of each row, or zeros for a plain shuffle; both
    shares are in (0, 1), together less than 1. The same seed assigns the same rows to
    the same splits. ValueError if there are fewer than 3 rows.
    """
    if len(strata) < MIN_ROWS:
        raise ValueError(
            f"A table needs at least {MIN_ROWS} rows with a target, one each to "
            f"train, to validate and to test; this one has {len(strata)}."
        )
    rng = np.random.default_rng(seed)
    split = np.zeros(len(strata), dtype=np.int64)
    values, counts = np.unique(strata, return_counts=True)
    owed = np.zeros(2)  # what rounding withheld from test and valid so far
    for value, count in sorted(zip(values, counts), key=lambda pair: pair[1]):
        rows = rng.permutation(np.nonzero(strata == value)[0])
        fewest = int(count >= MIN_ROWS)
        wanted = owed + count * np.array([test_share, valid_share])
        n_test = int(np.clip(np.rint(wanted[0]), fewest, count - 1 - fewest))
        n_valid = int(np.clip(np.rint(wanted[1]), fewest, count - 1 - n_test))
        owed = wanted - [n_test, n_valid]
        split[rows[:n_test]] = 2
        split[rows[n_test : n_test + n_valid]] = 1
    for empty in {1, 2} - set(split.tolist()):
        _spare_one_row(split, strata, empty)
    return split


def rare_class_notes(labels: pd.Series, assigned: np.ndarray) -> list[str]:
    """Return sentences on classes with too few rows to be in all three splits.

    ``assigned`` (n_rows,) are codes of ``SPLITS``; of a class that no row trains,
    nothing is said, as its rows are left out.
    """
    counts = labels.value_counts()
    trained = labels[assigned == 0].value_counts().reindex(counts.index, fill_value=0)
    notes = []
    if single := [str(name) for name in counts.index[(counts == 1) & (trained == 1)]]:
        notes.append(
            f"{_classes_have(single)} one row only, which is trained on: how well it "
            "is predicted cannot be measured. Add rows, or leave it out."
        )
    if pairs := [str(name) for name in counts.index[(counts == 2) & (trained == 1)]]:
        notes.append(
            f"{_classes_have(pairs)} two rows only: one is trained on, and the other "
            "cannot be both validation and test."
        )
    if both := [str(name) for name in counts.index[(counts == 2) & (trained == 2)]]:
        notes.append(
            f"{_classes_have(both)} two rows only, which are trained on: how well it "
            "is predicted cannot be measured."
        )
    return notes


def _classes_have(names: list[str]) -> str:
    """Name classes as the subject of a sentence, with its verb."""
    return (
        f"Class {names[0]!r} has"
        if len(names) == 1
        else f"Classes {listed(names)} have"
    )


def _spare_one_row(split: np.ndarray, strata: np.ndarray, empty: int) -> None:
    """Move a training row of the largest stratum to a split that has none."""
    values, counts = np.unique(strata[split == 0], return_counts=True)
    largest = values[np.argmax(counts)]
    split[np.nonzero((split == 0) & (strata == largest))[0][-1]] = empty
