"""How the cells of a column are written, and what each of them means by that.

Reading a table finds the form of each column once, at training. A model keeps it, and
reads every later cell by it: what a cell means never depends on the cells beside it.
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_bool, is_bool_dtype, is_complex_dtype, is_numeric_dtype

from treelab.trees.dates import (
    ISO,
    STYLES,
    TIMES,
    decimal_years,
    read_dates,
    read_times,
)
from treelab.trees.words import CURRENCIES, HOURS

# What a spreadsheet shows where a formula has no result.
ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
MISSING = (
    *("", "?", "NA", "N/A", "n/a", *ERRORS),
    *("NaN", "nan", "<NA>", "NULL", "null"),
)
# Marks that may be categories among words, but mean "no value" among numbers.
MISSING_NUMBER = (
    *("-", "--", "–", "—", ".", "..", "...", "…", ":", "*", "n.a.", "N.A."),
    *("none", "None", "missing", "unknown", "na"),
)
LARGEST_NUMBER = 1e150  # squares of larger numbers leave float64
DAYS = "days"  # the unit of durations
MAY_LACK = (*CURRENCIES, DAYS, HOURS)  # units that a number may be written without
TYPED = "\ue000"  # ahead of a number, date, true or false that a file holds as such
# A time of day or a duration that a workbook holds as such.
CLOCK = rf"{TYPED}(-?\d+ days?, )?\d+:\d\d:\d\d(\.\d+)?"
MAY_BE_TIME = r"[:：]|(?i)[0-9０-９] ?[ap]\.? ?m\.?$"
INFINITE = r"(?i)[+-]?inf(inity)?"
_BOOLS = ("true", "false")
TYPED_NUMBER = r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?"  # as Python writes it
BLANK = r"[\s\x{a0}\x{2009}\x{202f}]"  # in text of other countries ahead of a unit
SPACES = r"[ \x{a0}\x{2009}\x{202f}'’]"  # between thousands: 1 234 and 1'234
# How negative numbers are written besides with a minus ahead: what they look like, and
# what the parts become. Such as (1,200.50), $(5) and 1,200.50-.
NEGATIVES = {
    "()": (r"^([^()\d]*)\( *([^()]*\d[^()]*?) *\)([^()\d]*)$", r"\1-\2\3"),
    "-": (r"^([^-]*\d) ?-( ?[^-\d]*)$", r"-\1\2"),
}
ATTRIBUTE = "forms"  # of a data frame: how its columns were read, as JSON
NOTES = "notes"  # of a data frame: what reading its file found, as a JSON list


@dataclass(frozen=True)
class CellForm:
    """How the cells of a column are written.

    ValueError if kind, decimal sign, separator or style is none of these.
    """

    # "number", "date" or "category": what they hold; dates become years with decimals.
    kind: str = "number"
    # Cells that have no value; infinite numbers have none either.
    missing: tuple[str, ...] = MISSING + MISSING_NUMBER
    decimal: str = "."  # "." or ",": the decimal sign
    # "", ".", "," or " ": what separates thousands; a space stands for apostrophes,
    # too.
    thousands: str = ""
    # A sign or word that each number carries, such as % or kg. Of categories, as their
    # decimal sign and separator: that of the cells which show numbers.
    unit: str = ""
    # "", or one of ``NEGATIVES``: how negative numbers may be written, too.
    negative: str = ""
    date: str = ""  # the style of dates: one of ``STYLES``, or ``ISO``
    # The style of times that are read as numbers of their unit: one of ``TIMES``; ""
    # where they were typed, so that text may be in any.
    times: str = ""
    example: str = ""  # a cell that training rows held
    encoding: str = ""  # of the file that held the text, where it was not UTF-8
    width: int = 0  # columns of the file, where no line named them
    # Whether a cell that cannot be read is refused; else it is missing.
    needed: bool = True
    held: tuple[str, ...] = ()  # those of ``missing`` that training rows held
    # Whether true and false are 1 and 0, as where a model does not tell what it read.
    bools: bool = False
    # Whether it is a column of whole dates that is called as parts of dates are, such
    # as "month of sale".
    whole_dates: bool = False

    def __post_init__(self):
        for name in ("missing", "held"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        known = {
            "kind": ("number", "date", "category"),
            "decimal": (".", ","),
            "thousands": ("", ".", ",", " "),
            "negative": ("", *NEGATIVES),
            "date": ("", ISO, *STYLES),
            "times": ("", *TIMES),
        }
        for name, values in known.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"The {name} of a column's cells must be one of {values}, got "
                    f"{getattr(self, name)!r}."
                )

    @property
    def missing_numbers(self) -> tuple[float, ...]:
        """Marks of a missing value that are numbers, such as -999.

        Of times they count as written alone: 0:00 is a time where 0 is such a mark.
        """
        return () if self.unit in (DAYS, HOURS) else _numbers_among(self)

    @property
    def as_numbers(self) -> "CellForm":
        """How its cells are read that show numbers, where it is of categories."""
        return replace(self, kind="number", bools=True)

    @property
    def is_clock(self) -> bool:
        """Whether numbers of hours were written as times: 17:02, not "17 hours"."""
        is_written = bool(self.times) or not self.example or ":" in self.example
        return self.unit == HOURS and is_written

    def to_dict(self) -> dict:
        """Return what differs from a plain form of the kind, for JSON."""
        plain = vars(_plain_form(self.kind))
        differs = {key: v for key, v in vars(self).items() if v != plain[key]}
        return differs if self.kind == "number" else {"kind": self.kind, **differs}

    def __str__(self):
        """Say what training rows held."""
        shown = f", such as {self.example!r}" if self.example else ""
        if self.kind == "category":
            return f"categories{shown}"
        if self.kind == "date":
            style = "year, month and day" if self.date == ISO else STYLES[self.date][1]
            return f"dates, {style}{shown or ', such as 2020-01-31'}"
        if self.times:
            return f"times, {self.times}{shown}"
        how = [f"in {self.unit}"] if self.unit else []
        if self.decimal == ",":
            how.append("with decimal commas")
        if self.thousands:
            sign = {".": "points", ",": "commas", " ": "spaces"}[self.thousands]
            how.append(f"with {sign} between thousands")
        return " ".join(["numbers", " and ".join(how)]).strip() + shown


CATEGORY = CellForm("category", MISSING)
ANY_NUMBER = CellForm(bools=True)


@lru_cache(1024)
def _numbers_among(form: CellForm) -> tuple[float, ...]:
    """Return the marks of missing values that are numbers, written as in the form."""
    marks = pa.array(form.missing, pa.string())
    plain, fits = plain_numbers(marks, form)
    return tuple(pc.cast(plain.filter(pa.array(fits)), pa.float64()).to_pylist())


def read_words(
    words: pa.Array, form: CellForm
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what texts mean as numbers or dates, and which mean nothing.

    All are (n_words,): ``values`` float64, NaN where there is no value, or none that
    can be read; ``absent`` which are marks of a missing value; ``unread`` which are
    neither a mark nor written in this form.
    """
    marks = pa.array([*form.missing, None], pa.string())
    absent = pc.is_in(without_mark(words), value_set=marks)
    absent = absent.to_numpy(zero_copy_only=False)
    values = np.full(len(words), np.nan)
    present = words.filter(pa.array(~absent))
    if form.kind == "date":
        texts = pd.Series(without_mark(with_hyphen(present)), dtype="str")
        dates = decimal_years(read_dates(texts, form.date))
        values[~absent] = dates
        return values, absent, np.isnan(values) & ~absent
    plain, fits = plain_numbers(present, form)
    found = np.full(len(present), np.nan)
    found[fits] = pc.cast(plain.filter(pa.array(fits)), pa.float64())
    for value, word in enumerate(("false", "true") if form.bools else ()):
        is_word = _matches(without_mark(present), f"(?i){word}")
        found[is_word], fits = value, fits | is_word
    times = _times(present, form)
    found, fits = np.where(np.isnan(times), found, times), fits | ~np.isnan(times)
    infinite = _matches(without_mark(present), INFINITE)
    unread = np.zeros(len(words), dtype=bool)
    unread[~absent] = ~fits & ~infinite
    with np.errstate(invalid="ignore"):
        found[np.abs(found) > LARGEST_NUMBER] = np.nan
    values[~absent] = found
    marked = np.isin(found, _numbers_among(form)) & np.isnan(times)
    absent[~absent] = marked  # -999 is also -999.00
    values[absent] = np.nan
    return values, absent, unread


def _times(words: pa.Array, form: CellForm) -> np.ndarray:
    """Return times (n_words,) as numbers of a form's unit; NaN of other words.

    Times that a file holds as such are hours of plain numbers, too.
    """
    found, measured = np.full(len(words), np.nan), form.unit in (DAYS, HOURS)
    may_be = pc.any(pc.match_substring_regex(words, MAY_BE_TIME)).as_py()  # few, fast
    if not may_be or not (measured or not form.unit):
        return found
    words = with_hyphen(words)
    typed = _matches(words, CLOCK)
    texts = pd.Series(without_mark(words), dtype="str")
    times = read_times(texts.where(typed, ""))
    if measured:
        times = times.fillna(read_times(texts.mask(typed, ""), form.times))
    return times.to_numpy() / np.timedelta64(1, "D" if form.unit == DAYS else "h")


def plain_numbers(words: pa.Array, form: CellForm) -> tuple[pa.Array, np.ndarray]:
    """Return numbers as Python writes them, and which of the words are such numbers.

    Both are (n_words,). A number has the unit, if there is one (``MAY_LACK`` may be
    left out), and separators only where the form knows them, or where a decimal sign
    follows.
    """
    number = _number_pattern(form)
    words = with_leading_minus(with_hyphen(words), form.negative)
    fits = _matches(words, rf"[+-]?{number}")
    plain = words
    if form.unit:
        unit = re.escape(form.unit)
        with_unit = rf"[+-]?({unit}{BLANK}*[+-]?{number}|{number}{BLANK}*{unit})"
        has_unit = _matches(words, with_unit)
        fits = fits | has_unit if form.unit in MAY_LACK else has_unit
        plain = pc.replace_substring_regex(plain, rf"{BLANK}*{unit}{BLANK}*", "")
    other = re.escape("." if form.decimal == "," else ",")
    plain = pc.replace_substring_regex(plain, f"{SPACES}|{other}", "")
    plain = pc.replace_substring(plain, ",", ".")
    if form.unit != "%":  # of a number with a format 5% is 0.05, of a text 5
        plain = pc.if_else(pc.starts_with(words, TYPED), without_mark(words), plain)
        fits = fits | _matches(words, TYPED + TYPED_NUMBER)
    return plain, fits


def with_leading_minus(words: pa.Array, negative: str) -> pa.Array:
    """Return text with the minus ahead of what is negative in one of ``NEGATIVES``."""
    if not negative:
        return words
    return pc.replace_substring_regex(words, *NEGATIVES[negative])


def with_hyphen(words: pa.Array) -> pa.Array:
    """Return text whose digits, and minus signs ahead of them, are as Python has them.

    Digits of full width are those of East Asian text.
    """
    if not pc.any(pc.match_substring_regex(words, "[−０-９]")).as_py():
        return words  # most columns, fast
    wide = pc.match_substring_regex(words, "[０-９]")
    words = pc.if_else(wide, pc.utf8_normalize(words, "NFKC"), words)
    return pc.replace_substring_regex(words, "−([^\\d−]*\\d)", r"-\1")


def _number_pattern(form: CellForm) -> str:
    """What a number without its sign looks like."""
    decimal = re.escape(form.decimal)
    # Where a decimal sign follows, the other sign can only separate thousands.
    other = re.escape("." if form.decimal == "," else ",")
    parts = rf"({other}\d{{3}})+"
    if other == ",":  # of India are 12,34,567
        parts = rf"(,\d\d)*{parts}"
    grouped = rf"\d{{1,3}}{parts}{decimal}\d+"
    if form.thousands == " ":
        grouped = rf"[1-9]\d{{0,2}}({SPACES}\d{{3}})+({decimal}\d+)?|{grouped}"
    elif form.thousands:
        grouped = rf"\d{{1,3}}{parts}({decimal}\d+)?"
    plain = rf"(\d+{decimal}?\d*|{decimal}\d+)([eE][+-]?\d+)?"
    return rf"({plain}|{grouped})"


def counted_row(row: int) -> str:
    """Say where a row (from 0) stands, as people count."""
    return f"row {row + 1:,}"


def read_column(
    column: pd.Series,
    form: CellForm | None,
    kind: str,
    levels: tuple[str, ...] = (),
    place_of: Callable[[int], str] = counted_row,
) -> pd.Series:
    """Return a column of any table as a model reads it, float64 or str by its kind.

    Text is read by the form in which training rows were written; None where they were
    no text: then numbers are written plainly, and a category is its text. Numbers are
    taken to be in the model's own unit. ``levels`` are the categories of training rows,
    as written; ``place_of`` says where a row (from 0) stands.

    ValueError if a cell cannot be read so; it names column, row, value and what
    training saw.
    """
    dtype = column.dtype
    if is_complex_dtype(dtype):
        raise ValueError(
            f"Column {column.name!r} should hold numbers or text, but holds {dtype} "
            "values."
        )
    if kind == "number" and is_numeric_dtype(dtype):  # true and false, too
        marks = () if form is None else form.missing_numbers
        if not marks or is_bool_dtype(dtype):
            return column
        numbers = column.astype("float64")
        return numbers.mask(numbers.isin(marks))
    codes, distinct = factorized(column)
    values = distinct.tolist()
    read: list
    if kind == "number" or (form is not None and form.kind != "category"):
        form, cast = form or ANY_NUMBER, kind == "category"
        read = _as_numbers(values, form, column, codes, place_of, cast)
        if cast:  # numbers, or the levels that were made of them
            known, pairs = set(levels), zip(values, read)
            read = [
                v if v in known else np.nan if np.isnan(x) else _number_text(v, x)
                for v, x in pairs
            ]
    else:
        read = _as_categories(values, form, levels, column, codes, place_of)
    found = pd.Series(read, dtype="float64" if kind == "number" else "str")
    table = found.reindex(range(len(values) + 1))  # the last is missing, for code -1
    result = table.array.take(np.where(codes < 0, len(values), codes))
    return pd.Series(result, index=column.index, name=column.name)


def factorized(column: pd.Series) -> tuple[np.ndarray, pd.Index]:
    """Return the place (n_rows,) of each cell among the distinct ones, and these.

    The place is -1 where a cell is missing. True and 1 are two cells, though for Python
    they are equal.
    """
    if column.dtype != object:
        return pd.factorize(column)
    marked = column.map(lambda cell: f"{TYPED}{cell}" if is_bool(cell) else cell)
    codes, values = pd.factorize(marked)
    held = [typed_value(v) if isinstance(v, str) else v for v in values]
    return codes, pd.Index(held, dtype=object)


def _as_numbers(values, form, column, codes, place_of, cast) -> list[float]:
    """Return each distinct value as a number, read by the form where it is text.

    Of numbers that a person made categories (``cast``), text may be plain, too.
    """
    is_text = np.array([isinstance(value, str) for value in values], dtype=bool)
    read = np.full(len(values), np.nan)
    try:
        read[~is_text] = [v for v, text in zip(values, is_text) if not text]
    except (TypeError, ValueError) as error:
        other = next(value for value in values if not isinstance(value, str))
        raise ValueError(
            f"Column {column.name!r} should hold numbers, but holds "
            f"{type(other).__name__} values."
        ) from error
    read[np.isin(read, form.missing_numbers)] = np.nan
    words = pa.array([v.strip() for v in values if isinstance(v, str)], pa.string())
    # A column of text that a person made a number: what is none counts as missing.
    lenient = form.kind == "category"
    found, _, unread = read_words(words, form.as_numbers if lenient else form)
    if cast:
        plain, _, odd = read_words(words, CellForm())
        found, unread = np.where(unread, plain, found), unread & odd
    if unread.any() and not lenient:
        place = np.flatnonzero(is_text)[int(np.argmax(unread))]
        row = int(np.argmax(codes == place))
        raise ValueError(
            unread_sentence(column.name, values[place], form, place_of(row))
        )
    read[is_text] = found
    return read.tolist()


def without_mark(words: pa.Array) -> pa.Array:
    """Return text without the mark of numbers."""
    marked = pc.starts_with(words, TYPED)
    return pc.if_else(marked, pc.utf8_slice_codeunits(words, 1), words)


def unread_sentence(name: object, value: object, form: CellForm, place: str) -> str:
    """Say that a cell is not written as those of training were."""
    return (
        f"Column {name!r} holds {str(value).removeprefix(TYPED)!r} in {place}, but the "
        f"training rows held {form}. Write it in that way, or leave the cell empty."
    )


def _as_categories(values, form, levels, column, codes, place_of) -> list:
    """Return each distinct value as the category that it is, NaN where it is a mark."""
    missing = form.missing if form is not None else ()
    known = set(levels)
    read: list = []
    by_value: dict | None = None
    for place, value in enumerate(values):
        # Without a form, a level may be how Python writes the value.
        text = str(value) if str(value) in known else value_text(value)
        if isinstance(value, str):
            text = value if form is None else value.strip()
            if text not in known and text.lower() in _BOOLS:
                spelt = [level for level in levels if level.lower() == text.lower()]
                text = spelt[0] if len(spelt) == 1 else text
        if text in missing:
            read.append(np.nan)
            continue
        # A frame has numbers, and what is written like one of them is that number.
        if isinstance(value, str) or (form is None and text in known):
            read.append(text)
            continue
        # As written in a file 7.1 and 7.10 are two categories, and as numbers one.
        by_value = _levels_by_value(levels) if by_value is None else by_value
        is_bool = isinstance(value, bool)
        found = by_value.get((is_bool, value)) or by_value.get((not is_bool, value), [])
        if isinstance(value, int):  # it has all its digits, as a float has not
            found = [own for own in found if not own.isdecimal() or int(own) == value]
        found = found or [text]
        if len(found) > 1:
            row = int(np.argmax(codes == place))
            raise ValueError(
                f"Column {column.name!r} holds the number {value} in {place_of(row)}, "
                f"which may be {found[0]!r} or {found[1]!r}: its categories are text. "
                "Give the column as text."
            )
        read += found
    return read


def _levels_by_value(levels: tuple[str, ...]) -> dict[tuple[bool, float], list[str]]:
    """Return the categories that mean a number, or true and false.

    The keys are whether it is true or false, and the value.
    """
    found: dict[tuple[bool, float], list[str]] = {}
    for level in levels:
        word = level.lower()
        try:
            key = (True, word == "true") if word in _BOOLS else (False, float(level))
        except ValueError:
            continue  # no number
        found.setdefault(key, []).append(level)
    return found


def value_text(value) -> str:
    """Write any value as a category, alike from every library and time zone.

    Whole numbers have no point, dates are as ISO has them, those of a zone in UTC.
    """
    if isinstance(value, timedelta | np.timedelta64):
        return str(pd.Timedelta(value))
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(" ")
    return str(value)


def _number_text(value, number: float) -> str:
    """Write a cell that means a number as a category; whole numbers keep all digits."""
    text = str(value).strip()
    is_whole = text.removeprefix("-").isdecimal() and text.isascii()
    return str(int(text)) if is_whole else value_text(number)


def typed_value(word: str) -> str | int | float | bool:
    """Return the value of a cell that has the mark of one; of another its text.

    A date is its text, as ISO 8601 has it.
    """
    text = word.removeprefix(TYPED)
    if text == word or text.lower() in _BOOLS:
        return text if text == word else text.lower() == "true"
    if not re.fullmatch(TYPED_NUMBER, text):
        return text
    return float(text) if re.search("[.e]", text) else int(text)


def check_held(name: object, dtype: Any, held: CellForm, form: CellForm | None) -> None:
    """Raise ValueError where typed cells are not what those of training rows held.

    They are of a ``dtype`` and ``held`` in a form, or as a kind: true and false are
    categories. ``form`` is that of the training rows; None of numbers of which no more
    is known. A warning says where times became hours, as numbers of other things do not
    tell themselves from these.
    """
    measures = {DAYS: "durations", HOURS: "times of day"}
    what = "dates" if held.kind == "date" else measures.get(held.unit, "")
    are_numbers = form is None or (form.kind == "number" and not form.unit)
    if held.unit == HOURS and are_numbers:
        words = "holds times of day, which became hours since midnight."
        warnings.warn(f"Column {name!r} {words}", stacklevel=2)
        return
    if form is None:
        if what:
            raise ValueError(
                f"Column {name!r} holds {what}, but the model was trained elsewhere, "
                "on numbers. Give the column as these numbers."
            )
        return
    # Of a number with a format 5% is 0.05, and of a text 5, also among words.
    if form.unit == "%":
        form = form.as_numbers
    is_same = held.kind == form.kind and (held.unit == "%") == (form.unit == "%")
    is_same &= held.unit not in measures or form.unit == held.unit
    is_same |= form.bools and is_bool_dtype(dtype)
    if form.kind != "category" and not is_same:
        what = what or f"{dtype} values"
        raise ValueError(
            f"Column {name!r} holds {what}, but the training rows held {form}. "
            "Give the column as text that is written so."
        )


def note_forms(frame: pd.DataFrame, forms: Mapping[str, CellForm]) -> None:
    """Note on a data frame how its columns were read."""
    noted = {name: form.to_dict() for name, form in forms.items()}
    frame.attrs[ATTRIBUTE] = json.dumps(noted)


@lru_cache(16)
def _noted(note: str) -> dict[str, CellForm | None]:
    """Return the forms of a note."""
    return {name: as_form(form) for name, form in json.loads(note).items()}


def noted_forms(frame: pd.DataFrame) -> dict[str, CellForm]:
    """Return how columns were read by the note on their table, absent ones too."""
    forms = _noted(frame.attrs.get(ATTRIBUTE, "{}"))
    return {name: form for name, form in forms.items() if form is not None}


def noted_form(frame: pd.DataFrame, column: str) -> CellForm | None:
    """Return how a column was read by the note on its table; None without a note."""
    return _noted(frame.attrs.get(ATTRIBUTE, "{}")).get(column)


def holds_times(frame: pd.DataFrame, column: str) -> bool:
    """Whether a column's numbers are hours that were written as times, by the note."""
    form = noted_form(frame, column)
    return form is not None and form.is_clock


def noted_units(frame: pd.DataFrame) -> dict[str, str]:
    """Return the units that the cells of columns carry, by the note on their table."""
    forms = noted_forms(frame).items()
    return {n: form.unit for n, form in forms if form.unit and form.kind == "number"}


def forms_of(frame: pd.DataFrame) -> dict[str, CellForm]:
    """Return how each column of a data frame is written: as noted, else plainly."""
    forms: dict[str, CellForm] = {}
    for name, dtype in zip(map(str, frame.columns), frame.dtypes):
        is_number = is_numeric_dtype(dtype) and not is_bool_dtype(dtype)
        plain = CellForm() if is_number else CATEGORY
        forms[name] = noted_form(frame, name) or plain
    return forms


def as_form(value) -> CellForm | None:
    """Return a form as ``to_dict`` describes it; None stays None."""
    if value is None or isinstance(value, CellForm):
        return value
    known = {field.name for field in fields(CellForm)}
    if not isinstance(value, Mapping) or not set(value) <= known:
        raise ValueError(f"A column's cells have no such form: {value!r}.")
    return replace(_plain_form(value.get("kind", "number")), **value)


def _plain_form(kind: str) -> CellForm:
    """Return the form from which others of a kind differ."""
    return CATEGORY if kind == "category" else CellForm()


def _matches(words: pa.Array, pattern: str) -> np.ndarray:
    """Which words a pattern fits from end to end, (n_words,), bool."""
    flags = "(?i)" if pattern.startswith("(?i)") else ""
    found = pc.match_substring_regex(
        words, f"{flags}^({pattern.removeprefix('(?i)')})$"
    )
    return found.to_numpy(zero_copy_only=False).astype(bool)
