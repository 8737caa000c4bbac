"""From a column of text cells to numbers, dates or categories."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from treelab.data.reading.dates import date_note, styled_dates
from treelab.data.values import LARGEST_NUMBER
from treelab.trees.derived.decimal_years import decimal_years
from treelab.trees.text.numerals import counted

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "<NA>", "NULL", "null")
# Marks that may be categories among words, but mean "no value" among numbers.
MISSING_NUMBER = ("-", "--", ".", "*", "none", "None", "missing", "unknown", "na")
MOSTLY_NUMBERS = 0.5  # from this share on, cells that are no numbers are noted

PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
WHOLE = r"^[+-]?\d{1,15}$"
LONG = r"^[+-]?\d{16,}$"
LEADING_ZERO = r"^[+-]?0\d+$"
INFINITE = r"(?i)^[+-]?inf(inity)?$"
DECIMAL_COMMA = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$"
THOUSANDS_COMMA = r"^[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$"
MARKED = r"[1-9]\d{0,2}([ \x{a0}\x{202f}'’]\d{3})+"  # 1 234 567 and 1'234'567
THOUSANDS_MARK = rf"^[+-]?({MARKED}|\d+)([.,]\d+)?$"
UNIT = re.compile(r"[$€£¥₹%]")
DECIMAL_COMMAS = "commas are decimal commas"
ISO_DATE = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$"


@dataclass
class ColumnReading:
    """A column as it was read, and what a person should know about it.

    Attributes
    ----------
    column : Series
        float64 or int64 numbers, or text; missing cells are NaN.
    missing : dict of str to int
        How many cells held each mark of a missing value.
    notes : list of str
    is_date : bool
        Whether the numbers are dates, as years with decimals.
    """

    column: pd.Series
    missing: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    is_date: bool = False

    @property
    def has_decimal_commas(self) -> bool:
        """Whether commas were found to be its decimal signs."""
        return any(DECIMAL_COMMAS in note for note in self.notes)


def read_column(
    cells: pa.Array,
    name: str,
    place_of: Callable[[int], str],
    delimiter: str,
    decimal: str | None = None,
) -> ColumnReading:
    """Read a column of text.

    Parameters
    ----------
    cells : Array of str, (n_rows,)
        Without spaces around them.
    name : str
    place_of : callable
        Where in the file a row (from 0) stands, such as "line 7", for messages.
    delimiter : str
        Of the file: commas inside its fields mean decimals where it is no comma.
    decimal : {",", "."} or None, default=None
        The decimal sign; None finds it out.

    Returns
    -------
    ColumnReading
    """
    coded = cells.dictionary_encode()
    words, codes = coded.dictionary, coded.indices.to_numpy()
    counts = np.bincount(codes, minlength=len(words))
    missing = _is_in(words, MISSING)
    infinite = _matches(words, INFINITE) & ~missing
    absent = missing | infinite
    reading = ColumnReading(pd.Series(dtype="str"))

    words = _with_points(words, absent, decimal)
    if decimal is not None:  # no comma is left to be taken for a decimal sign
        delimiter = ","
    values = _numbers(words, absent, delimiter, name, reading.notes)
    also_missing = absent | _is_in(words, MISSING_NUMBER)
    if values is None and not reading.notes and (also_missing & ~absent).any():
        values = _numbers(words, also_missing, delimiter, name, reading.notes)
        if values is not None:
            missing, absent = missing | (also_missing & ~infinite), also_missing
    if values is None:
        infinite[:] = False  # a word among words
        absent = missing
        values = _dates(words, absent, name, reading.notes)
        reading.is_date = values is not None
    reading.missing = {words[k].as_py(): int(counts[k]) for k in np.nonzero(missing)[0]}
    if values is None:
        _note_bad_cells(words, codes, counts, absent, name, place_of, reading.notes)
        known = pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), words)
        texts = pd.array(known.take(coded.indices), dtype="str")
        reading.column = pd.Series(texts, name=name)
        return reading
    with np.errstate(invalid="ignore"):
        large = np.abs(values) > LARGEST_NUMBER
    infinite |= large
    values[large] = np.nan
    if infinite.any():
        rows = np.nonzero(infinite[codes])[0]
        more = f" and in {counted(len(rows) - 1, 'more cell')}" if len(rows) > 1 else ""
        reading.notes.append(
            f"Column {name!r} holds {words[codes[rows[0]]].as_py()!r} on "
            f"{place_of(rows[0])}{more}: infinite values count as missing."
        )
    numbers = values[codes]
    if not absent.any() and not large.any() and _matches(words, WHOLE).all():
        numbers = numbers.astype(np.int64)
    reading.column = pd.Series(numbers, name=name)
    return reading


def read_words(cells: pa.Array, name: str) -> ColumnReading:
    """Read a column of text (n_rows,) whose file says that it holds categories."""
    missing = pc.is_in(cells, value_set=pa.array(["", "?"]))
    marks = pc.value_counts(cells.filter(missing)).to_pylist()
    known = pc.if_else(missing, pa.scalar(None, pa.string()), cells)
    return ColumnReading(
        pd.Series(pd.array(known, dtype="str"), name=name),
        {mark["values"]: mark["counts"] for mark in marks},
    )


def _with_points(words: pa.Array, absent: np.ndarray, decimal: str | None) -> pa.Array:
    """Write numbers with the decimal sign that a person named as Python does."""
    pattern = {",": DECIMAL_COMMA, ".": THOUSANDS_COMMA}.get(decimal or "")
    present = pa.array(~absent)
    if pattern is None or not _matches(words.filter(present), pattern).all():
        return words
    plain = pc.replace_substring(words, "." if decimal == "," else ",", "")
    plain = pc.replace_substring(plain, ",", ".")
    return pc.if_else(present, plain, words)


def _numbers(
    words: pa.Array, absent: np.ndarray, delimiter: str, name: str, notes: list[str]
) -> np.ndarray | None:
    """Return the number that each word is (n_words,), None if one is no number."""
    present = words.filter(pa.array(~absent))
    if len(present) == 0:
        return np.full(len(words), np.nan)
    if _matches(present, LEADING_ZERO).any():
        code = present.filter(pa.array(_matches(present, LEADING_ZERO)))[0].as_py()
        if _matches(present, PLAIN).all():
            notes.append(
                f"Column {name!r} holds codes with leading zeros such as {code!r}, so "
                "it is a category."
            )
        return None
    if _matches(present, LONG).any() and _matches(present, r"^[+-]?\d+$").all():
        notes.append(
            f"Column {name!r} holds whole numbers of more than 15 digits, as ids have, "
            "so it is a category."
        )
        return None
    if not _matches(present, PLAIN).all():
        present, found = _plain_numbers(present, delimiter)
        if present is None:
            return None
        notes.append(f"Column {name!r}: {found}")
    values = np.full(len(words), np.nan)
    values[~absent] = pc.cast(present, pa.float64()).to_numpy(zero_copy_only=False)
    return values


def _plain_numbers(present: pa.Array, delimiter: str) -> tuple[pa.Array | None, str]:
    """Return numbers as Python writes them, and how they were understood."""
    first, understood = present[0].as_py(), []
    present, unit = _without_unit(present)
    if unit:
        understood.append(f"its numbers are in {unit}, {first!r} is {{:g}}")
    marked = _matches(present, rf"^[+-]?{MARKED}").any()
    if marked and _matches(present, THOUSANDS_MARK).all():
        present = pc.replace_substring_regex(present, r"[ \x{a0}\x{202f}'’]", "")
        understood.append("spaces or apostrophes separate thousands")
    if not _matches(present, PLAIN).all():
        plain, note = _without_commas(present, delimiter)
        if plain is None:
            return None, ""
        present = plain
        understood.append(note)
    sentence = "; ".join(understood).format(float(present[0].as_py()))
    return present, f"{sentence}."


def _without_unit(present: pa.Array) -> tuple[pa.Array, str]:
    """Return numbers without the unit that each of them carries, and the unit."""
    if not (found := UNIT.search(present[0].as_py())):
        return present, ""
    unit = found.group()
    before = rf"{re.escape(unit)}\s*[+-]?[\d.,][^{unit}]*"
    after = rf"[\d.,][^{unit}]*{re.escape(unit)}"
    if not _matches(present, rf"^[+-]?({before}|{after})$").all():
        return present, ""
    bare = pc.replace_substring_regex(present, rf"\s*{re.escape(unit)}\s*", "")
    return bare, unit


def _without_commas(present: pa.Array, delimiter: str) -> tuple[pa.Array | None, str]:
    """Return numbers written with commas without them, and how they were understood."""
    decimal = bool(_matches(present, DECIMAL_COMMA).all())
    thousands = bool(_matches(present, THOUSANDS_COMMA).all())
    if decimal and thousands:  # every comma stands before three digits
        decimal = delimiter != ","
    if not (decimal or thousands):
        return None, ""
    if decimal:
        plain = pc.replace_substring(present, ".", "")
        plain = pc.replace_substring(plain, ",", ".")
        what = DECIMAL_COMMAS
    else:
        plain = pc.replace_substring(present, ",", "")
        what = "commas separate thousands"
    k = int(np.argmin(_matches(present, PLAIN)))
    return plain, f"{what}, {present[k].as_py()!r} is {float(plain[k].as_py()):g}"


def _dates(
    words: pa.Array, absent: np.ndarray, name: str, notes: list[str]
) -> np.ndarray | None:
    """Return each word's date in years (n_words,), None if one is no date."""
    present = words.filter(pa.array(~absent))
    texts = pd.Series(present.to_pylist(), dtype="str")
    if _matches(present, ISO_DATE).all():
        found = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
        if found.isna().any():
            return None
        times, note = found.dt.tz_localize(None), date_note(name)
    else:
        styled, understood = styled_dates(texts)
        if styled is None:
            if understood:
                notes.append(f"Column {name!r} {understood}")
            return None
        times, note = styled, f"{date_note(name)} {understood}"
    notes.append(note)
    values = np.full(len(words), np.nan)
    values[~absent] = decimal_years(times)
    return values


def _note_bad_cells(
    words: pa.Array,
    codes: np.ndarray,
    counts: np.ndarray,
    absent: np.ndarray,
    name: str,
    place_of: Callable[[int], str],
    notes: list[str],
) -> None:
    """Note the cells because of which a column is no column of numbers."""
    numeric = _matches(words, PLAIN) & ~absent
    bad = ~numeric & ~absent
    n_bad, n_present = counts[bad].sum(), counts[~absent].sum()
    if notes or not 0 < n_bad <= MOSTLY_NUMBERS * n_present:
        return  # it was explained already, or is a column of words
    row = int(np.argmax(bad[codes]))
    notes.append(
        f"Column {name!r} is a category, as {n_bad:,} of its {n_present:,} cells "
        f"{'is no number' if n_bad == 1 else 'are no numbers'}, such as "
        f"{words[codes[row]].as_py()!r} on {place_of(row)}. Correct them, or "
        "change its kind to number, and they count as missing."
    )


def _matches(words: pa.Array, pattern: str) -> np.ndarray:
    """Which words a pattern fits, (n_words,), bool."""
    found = pc.match_substring_regex(words, pattern)
    return found.to_numpy(zero_copy_only=False).astype(bool)


def _is_in(words: pa.Array, marks: tuple[str, ...]) -> np.ndarray:
    """Which words are among some marks, (n_words,), bool."""
    found = pc.is_in(words, value_set=pa.array(marks))
    return found.to_numpy(zero_copy_only=False).astype(bool)
