"""From a column of text cells to numbers, dates or categories."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from treelab.data.reading.table_error import TableError
from treelab.trees.cells import (
    CATEGORY,
    CURRENCIES,
    INFINITE,
    MISSING,
    MISSING_NUMBER,
    SPACES,
    TYPED,
    TYPED_NUMBER,
    CellForm,
    plain_numbers,
    read_words,
    typed_value,
    unread_sentence,
    with_hyphen,
    without_mark,
)
from treelab.trees.dates import STYLES, find_style, read_dates
from treelab.trees.words import counted

NOT_NEEDED = "The whole column counts as missing; no split of the model reads it."
MOSTLY_NUMBERS = 0.5  # from this share on, cells that are no numbers are noted
HEAD = 100  # cells by which it is guessed what a column holds

WHOLE = r"^[+-]?\d{1,15}$"
LONG = r"^[+-]?\d{16,}$"
LEADING_ZERO = r"^[+-]?0\d+$"
# A time of day or a duration that a workbook holds as such.
CLOCK = rf"^{TYPED}(\d+ days?, )?\d+:\d\d:\d\d(\.\d+)?$"
# Currencies (EUR 5 and US$5, too), percent, or a word behind a number that is not the
# exponent of 1,5E+03.
UNIT = re.compile(
    rf"^[A-Z]{{3}}(?=\s[+-]?\d)|[A-Z]{{0,3}}[{CURRENCIES}]|%"
    r"|(?<=\d)(?![eE][+-]?\d+$)\s?(°|[^\W\d_])\S*$"
)
PLAIN = CellForm()
# How numbers may be written that Python does not write so.
STYLED = (
    CellForm(),
    CellForm(thousands=" "),
    CellForm(decimal=",", thousands=" "),
    CellForm(decimal=",", thousands="."),
    CellForm(thousands=","),
)


@dataclass
class ColumnReading:
    """A column as it was read, and what a person should know about it."""

    column: pd.Series  # float64 or int64 numbers, or text; missing cells are NaN
    # How many cells held each mark of a missing value.
    missing: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # How its cells are written; None where they are true and false.
    form: CellForm | None = None
    # The cells as they came, where a later table is read as the training rows were.
    written: pd.Series | None = None

    @property
    def is_date(self) -> bool:
        """Whether the numbers are dates, as years with decimals."""
        return self.form is not None and self.form.kind == "date"


@dataclass(frozen=True)
class Marks:
    """What a person says of the cells that have no value."""

    more: tuple[str, ...] = ()  # marks that count as missing besides the usual ones
    # Whether the usual marks, NA and the like, are values: then only empty cells and
    # ``more`` are missing.
    keep_usual: bool = False

    def of(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return all marks of a missing value."""
        return tuple(
            dict.fromkeys(("", *(() if self.keep_usual else usual), *self.more))
        )


def read_column(
    cells: pa.Array,
    name: str,
    place_of: Callable[[int], str],
    delimiter: str,
    decimal: str | None = None,
    *,
    marks: Marks = Marks(),
    as_text: bool = False,
    as_in: CellForm | None = None,
    is_later: bool = False,
) -> ColumnReading:
    """Read a column of text.

    Cells (n_rows,) have no spaces around them. In messages ``place_of`` tells where in
    the file a row (from 0) stands, such as "line 7". Where the file's delimiter is no
    comma, commas inside its fields mean decimals, unless ``decimal`` is the sign. With
    ``as_text`` a person, or the file, says that these are categories. ``as_in`` is how
    the column was written at training, and so is read, a cell that is written in
    another way being refused; None finds it out. ``is_later``: the table is one to
    predict, in which training decided all kinds.
    """
    coded = cells.dictionary_encode()
    words, codes = coded.dictionary, coded.indices.to_numpy()
    reading = ColumnReading(pd.Series(dtype="str"))
    is_time = _matches(words, CLOCK)
    if as_in is not None:
        are_hours = is_time.any() and as_in.kind == "number" and not as_in.unit
    else:  # beside words or numbers they stay text
        absent = _is_in(words, marks.of(MISSING))
        are_hours = is_time.any() and not as_text and (is_time | absent).all()
    if are_hours:
        words = _with_hours(words, is_time)
    if as_in is not None:
        reading.form = as_in
    elif as_text:
        reading.form = replace(CATEGORY, missing=marks.of(("", "?")))
    else:
        reading.form = find_form(words, name, delimiter, decimal, marks, reading.notes)
    form = reading.form
    if are_hours:
        reading.notes.append(f"Column {name!r} holds times, which became hours.")
    if form.kind == "category":
        absent = _is_in(words, form.missing)
        unread = np.zeros(len(words), dtype=bool)
        known = pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), words)
        if as_in is not None and pc.any(pc.starts_with(words, TYPED)).as_py():
            # Which category a number is depends on those that training rows held.
            held = [None if w is None else typed_value(w) for w in known.to_pylist()]
            values = np.array(held, dtype=object)
            reading.column = pd.Series(values[codes], name=name, dtype=object)
        else:
            texts = pd.array(without_mark(known).take(coded.indices), dtype="str")
            reading.column = pd.Series(texts, name=name)
        if as_in is None and not as_text and not reading.notes:
            bad = _bad_cells(words, codes, absent, name, place_of, is_later)
            reading.notes += filter(None, [bad])
    else:
        values, absent, unread = read_words(words, form)
        if unread.any():
            row = int(np.argmax(unread[codes]))
            value = words[codes[row]].as_py()
            sentence = unread_sentence(name, value, form, place_of(row))
            if form.needed:
                raise TableError(sentence)
            reading.notes.append(f"{sentence} {NOT_NEEDED}")
            # Nothing is scored on the rest: of 9,5 and 10 only the whole numbers.
            values, absent = np.full(len(words), np.nan), absent | True
            unread = absent
        reading.column = pd.Series(values[codes], name=name)
        endless = np.isnan(values) & ~absent
        if endless.any():
            _note_infinite(endless[codes], words, codes, name, place_of, reading.notes)
        is_whole = form.kind == "number" and _matches(without_mark(words), WHOLE).all()
        if is_whole and not np.isnan(values).any():
            reading.column = reading.column.astype(np.int64)
    counts = np.bincount(codes, minlength=len(words))
    for k in np.nonzero(absent & ~unread)[0]:
        mark = words[k].as_py().removeprefix(TYPED)
        reading.missing[mark] = reading.missing.get(mark, 0) + int(counts[k])
    example = next((k for k in range(len(words)) if not absent[k]), None)
    if as_in is None and example is not None:
        shown = words[_telling(words, form, example)].as_py().removeprefix(TYPED)
        reading.form = replace(form, example=shown[:40], held=tuple(reading.missing))
    return reading


def _with_hours(words: pa.Array, is_time: np.ndarray) -> pa.Array:
    """Return words in which times are hours, as numbers that a file holds as such."""
    times = pd.Series(without_mark(words.filter(pa.array(is_time))), dtype="str")
    hours = pd.to_timedelta(times) / np.timedelta64(1, "h")
    numbers = pa.array([f"{TYPED}{hour!r}" for hour in hours.tolist()])
    return pc.replace_with_mask(words, pa.array(is_time), numbers)


def may_part_thousands(cells: pa.Array, sign: str) -> bool | None:
    """Whether three digits stand behind each sign, as in 1.250; None without it."""
    words = cells.unique()
    words = words.filter(pc.match_substring(words, sign))
    words = words.filter(pc.invert(pc.starts_with(words, TYPED)))
    parted = rf"^\D*[1-9]\d{{0,2}}([{sign}]\d{{3}})+\D*$"
    return bool(_matches(words, parted).all()) if len(words) else None


def as_written(cells: pa.Array, name: str) -> pd.Series:
    """Return cells as they came: of one type if all are written so, else text.

    A cell without content is missing.
    """
    coded = cells.dictionary_encode()
    held = [_plain_value(word) for word in coded.dictionary.to_pylist()]
    kinds = {type(value) for value in held if value is not None}
    if str in kinds or (len(kinds) > 1 and not kinds <= {int, float}):
        return pd.Series(pd.array(without_mark(cells), dtype="str"), name=name)
    values = pd.Series(held, dtype=object)  # 1 and 1.0 as they stand there
    if kinds == {datetime} or (len(kinds) == 1 and None not in held):
        values = values.infer_objects()
    return values.take(coded.indices).reset_index(drop=True).rename(name)


def _plain_value(text: str) -> int | float | str | bool | datetime | None:
    """Return the value that a cell holds, or that Python writes so, else its text."""
    if not text:
        return None
    if text.startswith(TYPED):
        value = typed_value(text)
        try:
            return datetime.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:  # a time of day
            return value
    kind = float if "." in text else int
    try:
        value = kind(text)
    except ValueError:
        return text
    return value if repr(value) == text and len(text) <= 17 else text


def _telling(words: pa.Array, form: CellForm, first: int) -> int:
    """Return the place of a word that shows how the cells are written."""
    if form.kind == "date":  # a day above 12 shows which it is
        found = _matches(
            words, r"^(1[3-9]|2\d|3[01])\D.*|\d{1,2}\D(1[3-9]|2\d|3[01])\D"
        )
    elif form.kind == "number":
        found = _matches(words, r"^.*\d[^\d\s]\d")
    else:
        return first
    return int(np.argmax(found)) if found.any() else first


def find_form(
    words: pa.Array,
    name: str,
    delimiter: str,
    decimal: str | None,
    marks: Marks,
    notes: list[str],
) -> CellForm:
    """Return how the cells of a column are written; the words are its distinct ones.

    ``marks`` are what a person says of missing values; sentences on what was found are
    added to ``notes``. All else is as in ``read_column``.
    """
    words = with_hyphen(words)
    usual, wide = marks.of(MISSING), marks.of(MISSING + MISSING_NUMBER)
    bare = without_mark(words)
    absent, infinite = _is_in(words, usual), _matches(bare, f"^({INFINITE})$")
    marked = (absent, _is_in(words, wide))
    for missing in marked:
        present = words.filter(pa.array(~missing & ~infinite))
        form = _number_form(present, name, delimiter, decimal, notes)
        if form is not None:
            return replace(form, missing=wide)
        if notes:
            break  # it was explained already
    for missing in () if notes else marked:
        present = bare.filter(pa.array(~missing))
        style, note = find_style(pd.Series(present, dtype="str"))
        if style:
            notes.append(f"{date_note(name)} {note}".strip())
            return CellForm("date", wide, date=style)
        if note:
            notes.append(f"Column {name!r} {note}")
            break
    return CellForm("category", usual)


def _number_form(
    present: pa.Array, name: str, delimiter: str, decimal: str | None, notes: list[str]
) -> CellForm | None:
    """Return how numbers are written; None if one of the words is no number."""
    if _matches(present, LEADING_ZERO).any():
        code = present.filter(pa.array(_matches(present, LEADING_ZERO)))[0].as_py()
        if plain_numbers(present, PLAIN)[1].all():
            notes.append(
                f"Column {name!r} holds codes with leading zeros such as {code!r}, so "
                "it is a category."
            )
        return None
    bare = without_mark(present)
    if _matches(bare, LONG).any() and _matches(bare, r"^[+-]?\d+$").all():
        notes.append(long_note(name))
        return None
    text = present.filter(pa.array(~_matches(present, f"^{TYPED}{TYPED_NUMBER}$")))
    if len(text) == 0 < len(present):
        return PLAIN  # numbers of the file, however it shows them
    if decimal is not None:
        other = "." if decimal == "," else ","
        form = CellForm(decimal=decimal, thousands=other)
        if plain_numbers(text, form)[1].all():
            return replace(form, thousands=other if _holds(text, other) else "")
    if plain_numbers(text, PLAIN)[1].all() and not _holds(text, ","):
        return PLAIN
    if len(text) < len(present) and _holds(text, "%"):
        return None  # of a number with a format 5% is 0.05, of a text 5
    return _styled_form(text, name, delimiter, decimal, notes)


def _styled_form(
    present: pa.Array, name: str, delimiter: str, decimal: str | None, notes: list[str]
) -> CellForm | None:
    """Return how numbers are written that Python does not write so, and note it."""
    unit = _unit(present[0].as_py())
    if unit and not pc.all(pc.match_substring(present, unit)).as_py():
        return None
    spaced = _matches(present, rf"\d{SPACES}\d").any()
    forms = [
        replace(form, unit=unit) for form in STYLED if spaced == (form.thousands == " ")
    ]
    fits = [form for form in forms if plain_numbers(present, form)[1].all()]
    if not fits:
        return None
    form = next((form for form in fits if form.decimal == decimal), fits[0])
    may_part = form.thousands == "." and fits[-1].thousands == ","
    if may_part and delimiter == "," and decimal is None:
        form = fits[-1]  # every comma stands before three digits
    if form.thousands != " ":
        other = "." if form.decimal == "," else ","
        form = replace(form, thousands=other if _holds(present, other) else "")
    plain, _ = plain_numbers(present, form)
    if unit and (_matches(plain, LEADING_ZERO) | _matches(plain, LONG)).any():
        return None  # codes
    understood = []
    if unit:
        first = f"{present[0].as_py()!r} is {float(plain[0].as_py()):g}"
        understood.append(f"its numbers are in {unit}, {first}")
    if form.thousands == " ":
        understood.append("spaces or apostrophes separate thousands")
    if form.decimal == "," or form.thousands == ",":
        k = int(
            np.argmax(pc.match_substring(present, ",").to_numpy(zero_copy_only=False))
        )
        what = "are decimal commas" if form.decimal == "," else "separate thousands"
        shown = f"{present[k].as_py()!r} is {float(plain[k].as_py()):g}"
        understood.append(f"commas {what}, {shown}")
    note = f"Column {name!r}: {'; '.join(understood)}."
    if may_part and decimal is None:
        note = f"{note} {other_sign('.' if form.decimal == ',' else ',')}"
    notes.append(note)
    return form


def _unit(word: str) -> str:
    """Return the sign of a currency, or the word behind a number; "" without one."""
    found = UNIT.search(word)
    return found.group().strip() if found else ""


def other_sign(decimal: str) -> str:
    """Say how a person chooses the other decimal sign where both would do."""
    return (
        f"If not, choose the decimal sign {decimal} (--decimal {decimal} on the "
        "command line)."
    )


def _note_infinite(
    rows: np.ndarray,
    words: pa.Array,
    codes: np.ndarray,
    name: str,
    place_of: Callable[[int], str],
    notes: list[str],
) -> None:
    """Note the cells (a mask of rows) whose numbers are no finite ones."""
    first, *others = np.flatnonzero(rows)
    more = f" and in {counted(len(others), 'more cell')}" if others else ""
    value = words[codes[first]].as_py().removeprefix(TYPED)
    held = f"{value!r} on {place_of(int(first))}{more}"
    notes.append(f"Column {name!r} holds {held}: infinite values count as missing.")


def _bad_cells(
    words: pa.Array,
    codes: np.ndarray,
    absent: np.ndarray,
    name: str,
    place_of: Callable[[int], str],
    is_later: bool,
) -> str:
    """Name the cells because of which a column is none of numbers or of dates."""
    counts = np.bincount(codes, minlength=len(words))
    what, good, is_plain = _most_alike(words)
    bad = ~good & ~absent
    n_bad, n_present = counts[bad].sum(), counts[~absent].sum()
    if not 0 < n_bad <= MOSTLY_NUMBERS * n_present:
        return ""  # it is a column of words
    row = int(np.argmax(bad[codes]))
    cell = repr(words[codes[row]].as_py().removeprefix(TYPED))
    sentence = (
        f"Column {name!r} is a category, as {n_bad:,} of its {n_present:,} cells "
        f"{f'is no {what}' if n_bad == 1 else f'are no {what}s'}, such as "
        f"{cell} on {place_of(row)}. Correct them, or "
    )
    if is_later:
        return f"{sentence}leave them empty."
    remedy = "leave them empty."
    if is_plain:
        option = f"train --kind {f'{name}:number'!r} on the command line"
        remedy = f"change its kind to number ({option}), and they count as missing."
    return (
        f"{sentence}{remedy} Where {cell} means that there is no value, say so under "
        f"Missing values (train --missing {cell} on the command line)."
    )


def _most_alike(words: pa.Array) -> tuple[str, np.ndarray, bool]:
    """Return what most of some words are, by the first of them, which of them, and how.

    They are a "number" in one form, or a "date" in one style; which fit is (n_words,),
    and last is whether they are numbers as Python writes them.
    """
    head = words[:HEAD]
    forms = [PLAIN]
    if _matches(head, r"\d").mean() >= MOSTLY_NUMBERS:
        unit = next(filter(None, map(_unit, head.to_pylist())), "")
        forms = [replace(form, unit=own) for own in ("", unit) for form in STYLED]
    if _matches(head, r"\d{4}").mean() >= MOSTLY_NUMBERS:
        forms += [CellForm("date", date=style) for style in STYLES]
    best = max(forms, key=lambda form: _fits(head, form).sum())
    return best.kind, _fits(words, best), best == PLAIN


def _fits(words: pa.Array, form: CellForm) -> np.ndarray:
    """Which words are numbers or dates of a form, (n_words,), bool."""
    if form.kind == "number":
        return plain_numbers(words, form)[1]
    texts = pd.Series(without_mark(words), dtype="str")
    return read_dates(texts, form.date).notna().to_numpy()


def long_note(name: str) -> str:
    """Return what a person should know of a column of very long numbers."""
    return (
        f"Column {name!r} holds whole numbers of more than 15 digits, as ids have, so "
        "it is a category."
    )


def date_note(name: str) -> str:
    """Return what a person should know of a column of dates."""
    return (
        f"Column {name!r} holds dates, which became years with decimals: 2019.5 is the "
        "middle of 2019."
    )


def _holds(words: pa.Array, sign: str) -> bool:
    """Whether any word holds a sign."""
    return bool(pc.any(pc.match_substring(words, sign)).as_py())


def _matches(words: pa.Array, pattern: str) -> np.ndarray:
    """Which words a pattern fits, (n_words,), bool."""
    found = pc.match_substring_regex(words, pattern)
    return found.to_numpy(zero_copy_only=False).astype(bool)


def _is_in(words: pa.Array, marks: Collection[str]) -> np.ndarray:
    """Which words are among some marks, (n_words,), bool."""
    found = pc.is_in(without_mark(words), value_set=pa.array(list(marks), pa.string()))
    return found.to_numpy(zero_copy_only=False).astype(bool)
