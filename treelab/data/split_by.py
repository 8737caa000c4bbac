"""Data splits that are not drawn row by row: by group, by time, as a column says."""

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.folds import TEST, TRAIN, VALID
from treelab.data.split import MIN_ROWS
from treelab.trees.cells import noted_form, read_column
from treelab.trees.date_parts import looks_like_dates, moments
from treelab.trees.words import counted

WAYS = ("random", "group", "time", "given")
WAY_TITLES = {
    "random": "at random",
    "group": "by group",
    "time": "by time",
    "given": "as a column says",
}
_MARKS = dict.fromkeys(("test", "testing"), TEST)
_MARKS |= dict.fromkeys(("valid", "validation", "val", "dev"), VALID)
_MARKS |= dict.fromkeys(("train", "training"), TRAIN)


def assign_by(
    way: str, column: pd.Series, valid_share: float, test_share: float, seed: int
) -> np.ndarray:
    """Assign each row to training (0), validation (1) or test (2) by a column's values.

    By "group" rows of one value stay together, values are drawn at random; a missing
    value is a group of its own. By "time" the latest rows are test rows, those before
    them validation; rows of one time stay together, and those without one train. As is
    "given", the word "test", "valid" (or "val", "validation", "dev") or "train" marks a
    row, and one without a word trains; without validation rows some are drawn from
    these. The shares are of all rows, reached as nearly as whole groups and times
    allow.

    ValueError if one of the three would have no row, or a word is none of these; says
    what the column lacks.
    """
    rng = np.random.default_rng(seed)
    if way == "given":
        return _given(column, valid_share / max(1 - test_share, 1e-9), rng)
    if way == "time":
        code = _time_codes(column)
        order = np.unique(code[code >= 0])[::-1]  # the latest first
        what = "different times"
    else:
        code = pd.factorize(column, use_na_sentinel=False)[0]
        order = rng.permutation(np.unique(code))
        what = "groups"
    if len(order) < MIN_ROWS:
        raise ValueError(
            f"Column {column.name!r} has {len(order)} {what}, and a split needs at "
            f"least {MIN_ROWS}: one each to train, to validate and to test. Choose "
            "another column, or split at random."
        )
    n_rows = np.bincount(code[code >= 0], minlength=int(order.max()) + 1)[order]
    split = np.full(len(n_rows), TRAIN)
    n_test = _fewest(n_rows, test_share * len(column), len(order) - 2)
    split[:n_test] = TEST
    rest = n_rows[n_test:]
    n_valid = _fewest(rest, valid_share * len(column), len(rest) - 1)
    split[n_test : n_test + n_valid] = VALID
    of_code = np.full(int(order.max()) + 1, TRAIN)
    of_code[order] = split
    return np.where(code >= 0, of_code[code], TRAIN)


def folds_by(
    way: str, column: pd.Series, n_folds: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the places of rows to fit, and of others to score, as a split has them.

    By "group" each row is scored once, ``seed`` draws the groups. By "time", rows are
    scored that come after all that are fitted; the earliest never are. ValueError if
    there are too few groups or times.
    """
    # Here, as it takes a moment, and pages import this module to be shown.
    from sklearn.model_selection import GroupKFold, TimeSeriesSplit

    if way == "group":
        groups = pd.factorize(column, use_na_sentinel=False)[0]
        if groups.max() + 1 < n_folds:
            raise _too_few(column, n_folds, counted(groups.max() + 1, "group"))
        folds = GroupKFold(n_folds, shuffle=True, random_state=seed)
        yield from folds.split(column, groups=groups)
        return
    code = _time_codes(column)
    order = np.argsort(code, kind="stable")
    few = _too_few(column, n_folds, counted(code.max() + 1, "time"))
    if len(order) <= n_folds:
        raise few
    for fit, held_out in TimeSeriesSplit(n_folds).split(order):
        is_before = code[order[fit]] < code[order[held_out[0]]]
        if not is_before.any():  # most rows have the first time
            raise few
        yield order[fit][is_before], order[held_out]


N_BLOCKS = 20  # of time, each held out as one


def fold_groups(way: str, column: pd.Series) -> pd.Series | None:
    """Return what each row is held out with in folds, as ``assign_by`` has them.

    Rows of a group are, and rows of one of twenty spans of time with about as many rows
    each, as neighbours in time are alike (Bergmeir and Benitez, "On the use of
    cross-validation for time series predictor evaluation", Information Sciences 191,
    2012). As integers with the column's index; None where a column says which rows are
    which.
    """
    if way == "group":
        groups = pd.factorize(column, use_na_sentinel=False)[0]
    elif way == "time":
        code = _time_codes(column)
        n_earlier = np.searchsorted(np.sort(code), code)
        groups = n_earlier * N_BLOCKS // len(code)
    else:
        return None
    return pd.Series(groups, column.index)


def has_groups(groups: np.ndarray | None) -> TypeGuard[np.ndarray]:
    """Whether there are groups of which some can be held out of the others."""
    return groups is not None and pd.Series(groups).nunique(dropna=False) > 1


def grouped_folds(
    target: np.ndarray, n_folds: int, seed: int, groups: np.ndarray
) -> np.ndarray:
    """Give each row the fold (n,) that holds its group out, 0 to ``n_folds - 1``.

    Groups are dealt as scikit-learn does, classes (codes, not floats) alike where each
    has rows for all folds. Fewer groups than folds make fewer folds.
    """
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    code = pd.factorize(pd.Series(groups), use_na_sentinel=False)[0]
    n_folds, kind = min(n_folds, int(code.max()) + 1), GroupKFold
    is_class = not np.issubdtype(target.dtype, np.floating)
    if is_class and np.unique(target, return_counts=True)[1].min() >= n_folds:
        kind = StratifiedGroupKFold
    dealt = kind(n_folds, shuffle=True, random_state=seed)
    fold = np.empty(len(target), dtype=np.int64)
    for number, (_, held_out) in enumerate(dealt.split(code, target, code)):
        fold[held_out] = number
    return fold


def _too_few(column: pd.Series, n_folds: int, what: str) -> ValueError:
    """Return the error of a column by which no such folds can be made."""
    return ValueError(
        f"Column {column.name!r} ({what}) gives no {n_folds} folds that each have rows "
        "to fit and rows to score. Take fewer folds, or score by the validation rows."
    )


def _fewest(n_rows: np.ndarray, wanted: float, most: int) -> int:
    """Return how many of these groups together come nearest to the rows wanted."""
    reached = np.cumsum(n_rows)
    return int(np.clip(np.abs(reached - wanted).argmin() + 1, 1, most))


def _time_codes(column: pd.Series) -> np.ndarray:
    """Return the place of each row's time among all times, -1 where it is missing."""
    values = column
    if not pd.api.types.is_numeric_dtype(column.dtype):
        values = pd.Series(moments(column), name=column.name)
        if values.isna().all():
            raise ValueError(
                f"Column {column.name!r} holds neither dates such as 2024-01-31 nor "
                "numbers, by which rows could be ordered. Choose another column."
            )
        unread = column[(values.isna() & column.notna().to_numpy()).to_numpy()]
        if len(unread):  # its row would train, however late it is
            raise ValueError(
                f"Column {column.name!r} holds dates, and {unread.iloc[0]!r}, which is "
                f"none such as 2024-01-31, in {counted(len(unread), 'row')}. Correct "
                "or empty such cells, or choose another column."
            )
    codes, _ = pd.factorize(values, sort=True)
    return codes


def _given(column: pd.Series, valid_share: float, rng) -> np.ndarray:
    """Assign rows by the words of a column."""
    marks = _words(column).map(_MARKS)
    unknown = np.flatnonzero(marks.isna() & column.notna())
    if len(unknown):
        raise ValueError(
            f"Column {column.name!r} says {str(column.iloc[unknown[0]])!r} on row "
            f"{unknown[0] + 1} of the table. Write train, valid or test in each row, "
            "or split by another column."
        )
    split = np.array(marks.fillna(TRAIN), dtype=np.int64)
    if not (split == TEST).any():
        raise ValueError(
            f"No row of column {column.name!r} says “test”, so there is nothing to "
            "test on. Choose another column, or split at random."
        )
    train = np.flatnonzero(split == TRAIN)
    if not (split == VALID).any() and len(train) > 1:
        n_valid = int(np.clip(round(valid_share * len(train)), 1, len(train) - 1))
        split[rng.permutation(train)[:n_valid]] = VALID
    if len(np.unique(split)) < len((TRAIN, VALID, TEST)):
        raise ValueError(
            f"Column {column.name!r} leaves no row to train on or to validate on; it "
            f"marks {counted(int((split == TEST).sum()), 'test row')}."
        )
    return split


def likely_columns(frame: pd.DataFrame, way: str, target: str) -> list[str]:
    """Return the columns by which a table may be split, the likeliest first."""
    names = [str(name) for name in frame.columns if str(name) != target]
    if way == "given":
        return [n for n in names if _has_marks(frame[n])]
    if way == "time":
        numeric = [n for n in names if pd.api.types.is_numeric_dtype(frame[n].dtype)]
        dates = {n for n, own in frame.items() if looks_like_dates(own)}
        return sorted(numeric, key=lambda n: n not in dates)
    repeated = {n: frame[n].nunique() for n in names}
    fits = [n for n in names if MIN_ROWS <= repeated[n] <= len(frame) / 2]
    return sorted(fits, key=lambda n: -repeated[n])


def _has_marks(column: pd.Series) -> bool:
    """Whether a column has words for parts of a split alone, "test" among them."""
    words = pd.Series(column.dropna().unique(), dtype=object)
    split = set(_words(words).map(_MARKS))
    return TEST in split <= {TRAIN, VALID, TEST}


def _words(column: pd.Series) -> pd.Series:
    """Return cells as words without spaces around them, in small letters."""
    return column.map(str).str.strip().str.lower()


def with_test_file(
    frame: pd.DataFrame, test: pd.DataFrame, name: str
) -> tuple[pd.DataFrame, str]:
    """Append a test table to a table, and a column that says which rows those are.

    The test table, called ``name`` in messages, has all columns of the table; its
    others are left out. The new column's name is returned, too: "data split" where that
    is free. ValueError if the test table lacks a column, or has text where the table
    has numbers.
    """
    absent = [str(c) for c in frame.columns if str(c) not in map(str, test.columns)]
    if absent:
        raise ValueError(
            f"{name} lacks the column {absent[0]!r} of the table; it must have all of "
            "them."
        )
    own = test.rename(columns=str)[[str(c) for c in frame.columns]]
    attrs, frame = frame.attrs, frame.copy(deep=False)
    for column in frame.columns:
        parts = (frame[column], own[column])
        here, there = (column_kind(part) == "number" for part in parts)
        if not (here or there) and not all(part.dtype == bool for part in parts):
            # True and false as the table spells them.
            levels = tuple(map(str, parts[0].dropna().unique()))
            form = noted_form(frame, str(column))
            own[column] = read_column(parts[1], form, "category", levels)
            if parts[0].dtype == bool:
                frame[column] = read_column(parts[0], form, "category", levels)
        if here != there and own[column].notna().any():
            kinds = ("numbers", "text") if here else ("text", "numbers")
            raise ValueError(
                f"Column {column!r} holds {kinds[0]} in the table and {kinds[1]} in "
                f"{name}; both must be alike."
            )
    marked = "data split"
    while marked in frame.columns:
        marked += "'"
    both = pd.concat([frame, own], ignore_index=True)
    both.attrs = attrs  # with the note on how both were read
    both[marked] = ["train"] * len(frame) + ["test"] * len(own)
    return both, marked
