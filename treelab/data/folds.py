"""K-fold cross-validation: each row is a test row in one of k data splits.

A problem with ``n_folds`` numbers its data splits by the seed: split ``seed % n_folds``
tests on that fold of repeat ``seed // n_folds``, for which rows are dealt anew.
"""

import numpy as np
import pandas as pd

from treelab.trees.words import counted

N_FOLDS = 5  # of the click on a page
MOST_SEEDS = 2**31  # what a seed stays below
TRAIN, VALID, TEST = 0, 1, 2


def first_fold(seed: int, n_folds: int) -> int:
    """Return the seed of fold 1 of the repeat that a seed of a problem numbers."""
    return seed % (MOST_SEEDS // n_folds) * n_folds


def fold_name(seed: int, n_folds: int) -> str:
    """Name the fold of a seed: "fold 2 of 5", with the repeat after the first one."""
    repeat = seed // n_folds
    name = f"fold {seed % n_folds + 1} of {n_folds}"
    return f"{name}, repeat {repeat + 1}" if repeat else name


def splits_words(n_splits: int, n_folds: int) -> str:
    """Count data splits, as folds where they are: "5 folds", "3 data splits"."""
    if not n_folds:
        return counted(n_splits, "data split")
    words = counted(n_splits, "fold")
    n_repeats, rest = divmod(n_splits, n_folds)
    if n_repeats > 1 and not rest:
        words += f" ({n_repeats} repeats of {n_folds})"
    return words


def assign_folds(
    strata: np.ndarray,
    groups: pd.Series | None,
    n_folds: int,
    valid_share: float,
    seed: int,
) -> np.ndarray:
    """Assign rows to training (0), validation (1) or, one fold of them, test (2).

    Rows are shuffled, sorted by class and dealt to the folds in turn (scikit-learn's
    ``StratifiedKFold``); a class's counts in two folds differ by one at most. Of the
    other rows a share validates, stratified too. A class's last row there trains.

    ``strata`` (n_rows,) are the class of each row, or zeros for a plain shuffle. Rows
    of one value of ``groups`` stay together (``GroupKFold``), whatever their classes; a
    missing value is a group of its own. Groups are shuffled, and each joins the fold
    with the fewest rows so far. ``valid_share`` is of all rows; of ``seed`` see the
    module. ValueError if there are too few rows or groups.
    """
    repeat, fold = divmod(seed, n_folds)
    code, n_rows, what = np.arange(len(strata)), np.ones(len(strata), int), "rows"
    if groups is not None:
        code = pd.factorize(groups, use_na_sentinel=False)[0]
        n_rows, what = np.bincount(code), f"groups in column {groups.name!r}"
        strata = np.zeros(len(n_rows), dtype=np.int64)
    if len(strata) <= n_folds:
        raise ValueError(
            f"{n_folds} folds need at least {n_folds + 1} {what}; there are "
            f"{len(strata)}."
        )
    order = _shuffled(strata, np.random.default_rng([n_folds, repeat]))
    split = np.where(_dealt(order, n_rows, n_folds) == fold, TEST, TRAIN)
    rest = _shuffled(strata, np.random.default_rng([n_folds, repeat, fold]))
    rest = rest[split[rest] == TRAIN]
    wanted = valid_share * n_rows.sum() / n_rows[rest].mean()
    split[_evenly(rest[_is_followed(strata[rest])], round(wanted))] = VALID
    if not {TRAIN, VALID} <= set(split.tolist()):
        raise ValueError(
            f"Beside {fold_name(seed, n_folds)} there are too few {what} to train and "
            "to validate on. Take more folds, or split at random."
        )
    return split[code]


def _shuffled(strata: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the places of all strata in random order, sorted by stratum."""
    order = rng.permutation(len(strata))
    return order[np.argsort(strata[order], kind="stable")]


def _dealt(order: np.ndarray, n_rows: np.ndarray, n_folds: int) -> np.ndarray:
    """Deal units to folds in an order, each to the fold with the fewest rows so far."""
    fold = np.empty(len(order), dtype=np.int64)
    if (n_rows == 1).all():
        fold[order] = np.arange(len(order)) % n_folds
        return fold
    filled = np.zeros(n_folds, dtype=np.int64)
    for unit in order:
        fold[unit] = filled.argmin()
        filled[fold[unit]] += n_rows[unit]
    return fold


def _is_followed(strata: np.ndarray) -> np.ndarray:
    """Whether another of the same stratum comes next."""
    return np.append(strata[1:] == strata[:-1], False)


def _evenly(units: np.ndarray, wanted: int) -> np.ndarray:
    """Choose so many units, at least one, at even distances."""
    n = min(max(wanted, 1), len(units))
    return units[((np.arange(n) + 0.5) * len(units) / max(n, 1)).astype(int)]
