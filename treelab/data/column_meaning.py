"""What a column most likely holds, and why it is read so."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.columns import (
    MOST_CODES,
    ROWS_A_CODE,
    cast_column,
    column_kind,
    column_note,
)
from treelab.data.reading.text_column import MOSTLY_NUMBERS
from treelab.trees.cells import CellForm, holds_times, noted_form, value_text
from treelab.trees.date_parts import first_day, has_times, looks_like_dates
from treelab.trees.words import (
    apart,
    clock_text,
    counted,
    listed,
    percent,
    quoted,
    shortest,
)

WORDS_A_TEXT = 4  # cells of more words on average are texts that people wrote
TEXT_SHARE = 0.5  # where at least this share of them differ
ROWS_OF_IDS = 100  # at least, whose whole numbers may be ids where none comes twice
MOST_LEVELS = 24  # of an ordered category

# Words that have an order, lower case; a column's words are ordered if all are in one.
SCALES = (
    ("very low", "low", "medium", "high", "very high"),
    ("low", "moderate", "high"),
    ("low", "normal", "high"),
    ("none", "mild", "moderate", "severe"),
    ("very small", "small", "medium", "large", "very large"),
    ("small", "medium", "big"),
    ("low", "med", "high", "vhigh"),
    ("small", "med", "big"),
    ("xxs", "xs", "s", "m", "l", "xl", "xxl"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("first", "second", "third", "fourth", "fifth"),
    ("primary", "secondary", "tertiary"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    (
        *("monday", "tuesday", "wednesday", "thursday", "friday"),
        *("saturday", "sunday"),
    ),
    (
        *("jan", "feb", "mar", "apr", "may", "jun"),
        *("jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    (
        *("january", "february", "march", "april", "may", "june"),
        *("july", "august", "september", "october", "november", "december"),
    ),
)
# A range or a grade begins with its number: "<20", "20-30", "30 to 39", "40+", "5more".
RANGE = re.compile(
    r"(?i)(<|>|≤|≥|under |over |up to )?\s*(\d+(?:\.\d+)?)\s*"
    r"((-|–|to|\.\.)\s*\d+(\.\d+)?|\+|more|(and|or) (more|over|above|older))?"
)


@dataclass(frozen=True)
class Meaning:
    """What a column most likely holds."""

    # "number", "whole number", "integer code", "date", "date and time", "yes or no",
    # "ordered category", "category", "text", "numbers and words", "id", "possible id",
    # "constant", "empty".
    kind: str
    reason: str  # a sentence with what was seen, and what to do where it may be wrong


def column_meaning(
    column: pd.Series,
    form: CellForm | None = None,
    *,
    n_unique: int | None = None,
    note: str | None = None,
) -> Meaning:
    """Return what a column most likely holds, and why.

    ``form`` is that of its cells where they were read from a file, ``n_unique`` how
    many different values it has, missing ones aside, and ``note`` what ``column_note``
    says of it; None finds these two out.
    """
    known = column.dropna()
    note = column_note(column) if note is None else note
    if n_unique is None:
        n_unique = int(known.nunique())
    if n_unique == 0:
        return Meaning("empty", "No row has a value.")
    if n_unique == 1:
        some = "" if len(known) == len(column) else ", or none"
        return Meaning("constant", f"Every row holds {_shown(known.iloc[0])}{some}.")
    if column_kind(column) == "number":
        return _of_numbers(column, known, n_unique, note)
    meaning = _of_categories(known, n_unique, note)
    if meaning.kind in ("id", "category") and known.dtype == "str":
        shows = cast_column(known, "number", form).notna()
        if MOSTLY_NUMBERS < shows.mean() < 1:
            number, other = known[shows].iloc[0], known[~shows].iloc[0]
            return Meaning(
                "numbers and words",
                f"{shows.sum():,} of {counted(len(known), 'cell')} are numbers, such "
                f"as {_shown(number)}: choose number, and others, such as "
                f"{_shown(other)}, count as missing.",
            )
    return meaning


def describe_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Describe each column of a table in one row.

    That has its column; kind ("number" or "category"); missing_share in [0, 1];
    n_unique (missing not counted); example (a cell as it is written, "" without any);
    note, see ``column_note``; meaning and reason, as ``column_meaning`` has them.
    """
    described = []
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        known = column.dropna()
        n_unique = int(known.nunique())
        note = column_note(column)
        form = noted_form(frame, str(name))
        meaning = column_meaning(column, form, n_unique=n_unique, note=note)
        is_said = n_unique < 2 or meaning.kind == "id"
        if not is_said and holds_times(frame, str(name)):
            ends = f"{clock_text(known.min())} to {clock_text(known.max())}"
            times = f"{n_unique:,} different times, {ends}"
            meaning = Meaning("time", f"{times}, held as hours: 8.5 is 8:30.")
        described.append(
            {
                "column": str(name),
                "kind": column_kind(column),
                "missing_share": 1 - len(known) / len(column) if len(column) else 0.0,
                "n_unique": n_unique,
                "example": _example(frame, str(name), known),
                "note": note,
                "meaning": meaning.kind,
                "reason": meaning.reason,
            }
        )
    columns = ["column", "kind", "missing_share", "n_unique", "example", "note"]
    return pd.DataFrame(described, columns=[*columns, "meaning", "reason"])


def _example(frame: pd.DataFrame, name: str, known: pd.Series) -> str:
    """Write one of a column's values: as its file does where that is known."""
    form = noted_form(frame, name)
    if len(known) == 0:
        return ""
    if form is None or form.kind == "category" or not form.example:
        return value_text(known.iloc[0])
    return form.example


def level_order(levels: Sequence[str]) -> list[str] | None:
    """Return categories from the lowest to the highest, None where they have no order.

    They have one where all are words of one scale, such as low, medium and high, or
    ranges of numbers, such as "<20", "20-29" and "30+".
    """
    if not 3 <= len(levels) <= MOST_LEVELS:
        return None
    plain = [str(level).strip().lower() for level in levels]
    for scale in SCALES:
        if set(plain) <= set(scale):
            return [str(levels[i]) for i in np.argsort([scale.index(p) for p in plain])]
    found = [RANGE.fullmatch(level) for level in plain]
    starts, is_range = [], False  # bare numbers that are text are codes
    for match in found:
        if match is None:
            return None
        is_range |= bool(match[1] or match[3])
        lower = (match[1] or "") in ("<", "≤", "under ", "up to ")
        starts.append((float(match[2]), not lower))
    if not is_range or len(set(starts)) < len(starts):
        return None
    return [str(levels[i]) for i in sorted(range(len(levels)), key=starts.__getitem__)]


def _of_numbers(
    column: pd.Series, known: pd.Series, n_unique: int, note: str
) -> Meaning:
    """Return the meaning of a column of numbers."""
    if note == "looks like a row number":
        return Meaning(
            "id", "Whole numbers without a gap, each once: they count the rows."
        )
    low, high = known.min(), known.max()
    ends = apart([low, high])
    span = " to ".join(ends)
    if n_unique == 2:
        return Meaning(
            "yes or no",
            f"Two different numbers, {ends[0]} and {ends[1]}: a split parts them alike "
            "as number and as category.",
        )
    if looks_like_dates(column):
        kind = "date and time" if has_times(column) else "date"
        return Meaning(
            kind,
            f"Dates from {first_day(column)} on, held as years with decimals: 2019.5 "
            "is the middle of 2019.",
        )
    whole = bool((known == np.round(known)).all())
    many = f"{n_unique:,} different {'whole numbers' if whole else 'numbers'}, {span}"
    if not whole:
        return Meaning("number", f"{many}: an amount.")
    if n_unique <= MOST_CODES and len(known) >= ROWS_A_CODE * n_unique:
        return Meaning(
            "integer code",
            f"Only {many}: counts or grades, which have an order. Codes without one, "
            "such as 1 for red and 2 for blue, are categories: choose category.",
        )
    if n_unique == len(known) >= ROWS_OF_IDS:
        return Meaning(
            "possible id",
            f"{many}, each once: an amount, or numbers that name the rows, such as "
            "those of patients. Leave these out.",
        )
    return Meaning("whole number", f"{many}: an amount or a count.")


def _of_categories(known: pd.Series, n_unique: int, note: str) -> Meaning:
    """Return the meaning of a column of text, or of true and false."""
    if note:
        return Meaning(
            "id",
            f"{n_unique:,} different values in {counted(len(known), 'row')}: nearly "
            "every row has its own.",
        )
    if n_unique == 2:
        both = listed(sorted(map(str, known.unique())), write=quoted)
        return Meaning("yes or no", f"Two different values, {both}.")
    levels = sorted(map(str, known.unique())) if n_unique <= MOST_LEVELS else []
    if order := level_order(levels):
        return Meaning(
            "ordered category",
            f"{n_unique} different values with an order, {quoted(order[0])} to "
            f"{quoted(order[-1])}. Trees part them into two sets, in whatever order "
            "predicts best.",
        )
    words = 0.0
    if n_unique >= TEXT_SHARE * len(known):
        some = known.iloc[:1000].map(str)
        words = float(some.str.count(r"\s+").mean()) + 1
    if words >= WORDS_A_TEXT:
        return Meaning(
            "text",
            f"{words:.0f} words a cell, {percent(n_unique / len(known))} of the cells "
            "different: trees compare whole cells and learn little of it.",
        )
    return Meaning(
        "category",
        f"{n_unique:,} different texts, such as {_shown(known.iloc[0])}; they have no "
        "order.",
    )


def _shown(value) -> str:
    """Write one value of a column, a long one cut."""
    if isinstance(value, (bool, np.bool_, str)):
        return quoted(str(value), 30)
    try:
        return shortest(float(value))
    except (TypeError, ValueError):
        return quoted(str(value), 30)
