"""From a column of text cells to numbers, dates or categories."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from treelab.data.reading.delimited import Cells
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import (
    CATEGORY,
    CLOCK,
    DAYS,
    HOURS,
    INFINITE,
    MAY_BE_TIME,
    MISSING,
    MISSING_NUMBER,
    NEGATIVES,
    SPACES,
    TYPED,
    TYPED_NUMBER,
    CellForm,
    plain_numbers,
    read_words,
    typed_value,
    unread_sentence,
    with_hyphen,
    with_leading_minus,
    without_mark,
)
from treelab.trees.dates import STYLES, TIMES, find_style, find_times
from treelab.trees.words import CURRENCIES, counted, listed

MOSTLY_NUMBERS = 0.5  # from this share on, cells that are no numbers are noted
HEAD = 100  # cells by which it is guessed what a column holds

WHOLE = r"^[+-]?\d{1,15}$"
LONG = r"^[+-]?\d{16,}$"
LEADING_ZERO = r"^[+-]?0\d+$"
DAY = r"^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"  # such as 20200131
# Currencies (EUR 5 and US$5, too), percent, or a word behind a number that is not the
# exponent of 1,5E+03.
UNIT = re.compile(
    rf"^[A-Z]{{3}}(?=\s[+-]?\d)|[A-Z]{{0,3}}[{CURRENCIES}]|%"
    r"|(?<=\d)(?![eE][+-]?\d+$)\s?(°|[^\W\d_])\S*$"
)
# Words beside the sums of all rows, small letters.
TOTALS = {
    *("total", "totals", "grand total", "sum", "sums", "summe", "gesamt"),
    *("gesamtsumme", "insgesamt", "somme", "total général", "suma", "totale"),
    *("somma", "totaal", "razem", "итого", "合計", "合计", "总计"),
}
FEWEST_SUMMED = 3  # rows above their sum
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

    # float64 or int64 numbers, text, or true and false; missing cells are NaN.
    column: pd.Series
    form: CellForm  # how its cells are written
    # How many cells held each mark of a missing value.
    missing: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # The cells as they came, where a later table is read as the training rows were.
    written: pd.Series | None = None


@dataclass(frozen=True)
class Said:
    """What a person, or the file, says of the cells of a column."""

    missing: tuple[str, ...] = ()  # marks of no value besides the usual ones
    # Whether the usual marks, NA and the like, are values: then only empty cells and
    # ``missing`` have no value.
    keep_usual: bool = False
    as_text: bool = False  # whether they are categories, whatever they look like
    decimal: str | None = None  # the decimal sign
    # Whether they are text by the file's types: categories, or dates or times.
    is_typed: bool = False

    def marks(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return all marks of a missing value."""
        usual = () if self.keep_usual else usual
        return tuple(dict.fromkeys(("", *usual, *self.missing)))


def read_column(
    column: pa.Array,
    name: str,
    cells: Cells,
    said: Said,
    as_in: CellForm | None = None,
    *,
    is_later: bool = False,
) -> ColumnReading:
    """Read a column of text, of the table that some cells make.

    Texts (n_rows,) have no spaces around them. Where the file's delimiter is no comma,
    commas inside its fields mean decimals, unless a person said otherwise. ``as_in`` is
    how the column was written at training, and so is read, a cell that is written in
    another way being refused; None finds it out. ``is_later``: the table is one to
    predict, in which training decided all kinds.
    """
    coded = column.fill_null("").dictionary_encode()
    words, codes = coded.dictionary, coded.indices.to_numpy()
    notes: list[str] = []
    if as_in is not None:
        form = as_in
        if said.decimal is not None and said.decimal != form.decimal:
            form = replace(form, decimal=said.decimal, thousands="")
    elif said.as_text:
        form = replace(CATEGORY, missing=said.marks(("", "?")))
    else:
        form = find_form(words, name, cells.delimiter, said, notes)
    is_found_out = as_in is None and not (said.as_text or said.is_typed)
    if form.kind == "category":
        if is_found_out:
            words = _with_one_spelling(words, form, name, notes)
        absent = _is_in(words, form.missing)
        known = pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), words)
        if as_in is not None and pc.any(pc.starts_with(words, TYPED)).as_py():
            # Which category a number is depends on those that training rows held.
            held = [None if w is None else typed_value(w) for w in known.to_pylist()]
            found = pd.Series(np.array(held, dtype=object)[codes], dtype=object)
        else:
            texts = without_mark(known).take(coded.indices)
            found = pd.Series(pd.array(texts, dtype="str"))
        if is_found_out and not notes:
            bad, form = _bad_cells(words, codes, form, name, cells, said, is_later)
            alike = "" if is_later else _alike_note(known, name, len(codes))
            notes += filter(None, [bad, alike])
    else:
        values, absent, unread = read_words(words, form)
        if unread.any():
            row = int(np.argmax(unread[codes]))
            value, place = words[codes[row]].as_py(), cells.place_of(row)
            sentence = unread_sentence(name, value, form, place)
            is_other_sign = as_in is not None and form.decimal != as_in.decimal
            if is_other_sign and form.kind == "number":
                sentence = _not_with_sign(name, value, form.decimal, place)
            return unreadable(pd.Series(codes, name=name), form, sentence)
        found = pd.Series(values[codes])
        endless = (np.isnan(values) & ~absent)[codes]
        if endless.any():
            value = words[codes[np.argmax(endless)]].as_py().removeprefix(TYPED)
            notes.append(infinite_note(name, value, endless, cells))
        if as_in is None and form.kind == "number":
            notes += filter(None, [_codes_note(words, values, name)])
        is_whole = form.kind == "number" and _matches(without_mark(words), WHOLE).all()
        if is_whole and not np.isnan(values).any():
            found = found.astype(np.int64)
    missing: dict[str, int] = {}
    is_valid = column.is_valid().to_numpy(zero_copy_only=False)
    n_rows = np.bincount(codes[is_valid], minlength=len(words))
    for k in np.nonzero(absent & (n_rows > 0))[0]:
        mark = words[k].as_py().removeprefix(TYPED)
        missing[mark] = missing.get(mark, 0) + int(n_rows[k])
    if as_in is None and not absent.all():
        telling = _telling(words, form, int(np.argmin(absent)))
        shown = words[telling].as_py().removeprefix(TYPED)
        form = replace(form, example=shown[:40], held=tuple(missing))
    return ColumnReading(found.rename(name), form, missing, notes)


def _not_with_sign(name: str, value: object, decimal: str, place: str) -> str:
    """Say that a cell is no number with the decimal sign that a person named."""
    sign = {".": "points", ",": "commas"}[decimal]
    return (
        f"Column {name!r} holds {str(value).removeprefix(TYPED)!r} in {place}, which "
        f"is no number with decimal {sign} and nothing between thousands. Name "
        f"the sign of this file (--decimal {decimal} was named), or write the cell so."
    )


_SPELT = {"true": "True", "false": "False"}


def _with_one_spelling(
    words: pa.Array, form: CellForm, name: str, notes: list[str]
) -> pa.Array:
    """Return words of which each of true and false is spelt in one way, and note it.

    So they become where a column holds nothing else, and one of them in two ways.
    """
    bare = without_mark(words)
    present = bare.filter(pa.array(~_is_in(words, form.missing)))
    lower = pc.utf8_lower(present)
    if not pc.all(pc.is_in(lower, value_set=pa.array(list(_SPELT)))).as_py():
        return words
    if len(present.unique()) == len(lower.unique()):
        return words
    shown = listed(sorted(present.unique().to_pylist()))
    notes.append(
        f"Column {name!r} spells true and false in several ways, {shown}: they are "
        "read as True and False."
    )
    return pa.array([_SPELT.get(own.lower(), own) for own in bare.to_pylist()])


def _alike_note(words: pa.Array, name: str, n_rows: int) -> str:
    """Name two categories that differ in case or spaces alone, if there are any.

    Of names that nearly each row has its own, two may well be so.
    """
    known = without_mark(words.drop_null()).unique()
    if 2 * len(known) > n_rows:
        return ""
    plain = pc.utf8_lower(pc.utf8_normalize(known, "NFKC"))
    plain = pd.Series(pc.replace_substring_regex(plain, r"\s+", " "), dtype="str")
    twice = np.flatnonzero(plain.duplicated(keep=False))
    if not len(twice):
        return ""
    first, *others = twice
    second = next(k for k in others if plain[k] == plain[first])
    pair = f"{known[int(first)].as_py()!r} and {known[int(second)].as_py()!r}"
    return (
        f"Column {name!r} holds {pair}, which differ in case or spaces alone: they "
        "count as two categories. Write them alike if they mean the same."
    )


def _codes_note(words: pa.Array, values: np.ndarray, name: str) -> str:
    """Name cells that are read as numbers and are written as codes or days are, if any.

    Such as 12E4, which programs write as 120000 or 1.2E+05, 1.10 beside 1.1, and days
    without signs between their parts.
    """
    bare = without_mark(words).filter(pa.array(~np.isnan(values)))
    if len(bare) and _matches(bare, DAY).all():
        return (
            f"Column {name!r} holds numbers that look like days, such as "
            f"{bare[0].as_py()!r}, read as numbers. If they are dates, write them as "
            "2020-01-31 to have them read so."
        )
    powers = _matches(words, r"^\d+[eE]\d+$")
    longer = words.filter(pa.array(_matches(words, r"\d[.,]\d+0$")))
    shorter = pc.utf8_rtrim(longer, "0")
    both = pc.is_in(shorter, value_set=words)
    if powers.any():
        k = int(np.argmax(powers))
        held = f"{words[k].as_py()!r}, read as the number {values[k]:g}"
    elif pc.any(both).as_py():
        pair = [cells.filter(both)[0].as_py() for cells in (shorter, longer)]
        held = f"{pair[0]!r} and {pair[1]!r}, read as one number"
    else:
        return ""
    return (
        f"Column {name!r} holds {held}. If its cells are codes, such as versions, have "
        f"them read as text (--as-text {name!r} on the command line)."
    )


def unreadable(column: pd.Series, form: CellForm, sentence: str) -> ColumnReading:
    """Return what becomes of a column that is not written as at training.

    TableError, with the sentence that says why, where a model needs it; else all of it
    is missing: were it scored, of 9,5 and 10 only the whole numbers would be.
    """
    if form.needed:
        raise TableError(sentence)
    nothing = pd.Series(np.nan, index=column.index, name=column.name)
    become = "The whole column counts as missing; no split of the model reads it."
    return ColumnReading(nothing, form, notes=[f"{sentence} {become}"])


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
    words: pa.Array, name: str, delimiter: str, said: Said, notes: list[str]
) -> CellForm:
    """Return how the cells of a column are written; the words are its distinct ones.

    Sentences on what was found are added to ``notes``.
    """
    words = with_hyphen(words)
    usual, wide = said.marks(MISSING), said.marks(MISSING + MISSING_NUMBER)
    bare = without_mark(words)
    absent, infinite = _is_in(words, usual), _matches(bare, f"^({INFINITE})$")
    marked = (absent, _is_in(words, wide))
    for missing in marked:
        present = words.filter(pa.array(~missing & ~infinite))
        form = _time_form(present, name, notes)
        if form is None and not said.is_typed:
            form = _number_form(present, name, delimiter, said.decimal, notes)
        if form is None and not (notes or said.is_typed):
            form = _negative_form(present, name, delimiter, said.decimal, notes)
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
    if said.is_typed:
        usual = replace(said, keep_usual=True).marks(("", "?"))
    return CellForm("category", usual)


def _time_form(present: pa.Array, name: str, notes: list[str]) -> CellForm | None:
    """Return how times are written; None if one of the words is no time."""
    if not len(present) or not _matches(present, MAY_BE_TIME).all():
        return None
    typed = _matches(present, f"^{CLOCK}$")
    style = find_times(pd.Series(present.filter(pa.array(~typed)), dtype="str"))
    if not (style or typed.all()):
        return None
    texts = without_mark(present)
    has_days = not typed.any() and pc.all(pc.match_substring(texts, "day")).as_py()
    form = CellForm(unit=DAYS if has_days else HOURS, times=style)
    numbers, _, unread = read_words(present, form)
    if unread.any():
        return None
    first = "" if typed.all() else f": {texts[0].as_py()!r} is {numbers[0]:g}"
    notes.append(f"Column {name!r} holds times, which became {form.unit}{first}.")
    return form


def _negative_form(
    present: pa.Array, name: str, delimiter: str, decimal: str | None, notes: list[str]
) -> CellForm | None:
    """Return ``_number_form`` where some negative numbers are one of ``NEGATIVES``.

    Words that all stand in brackets are rather labels, as (1) and (2), and whole ones
    with a minus behind grades, as 2- and 3.
    """
    for style, (pattern, _) in NEGATIVES.items():
        odd = _matches(present, pattern)
        if not 0 < odd.mean() < 1:
            continue
        if style == "-" and not _matches(present, r"\d[.,]\d").any():
            return None
        plain = with_leading_minus(present, style)
        form = _number_form(plain, name, delimiter, decimal, notes)
        if form is not None:
            k = int(np.argmax(odd))
            number = float(plain_numbers(plain, form)[0][k].as_py())
            notes.append(
                f"Column {name!r} holds negative numbers such as "
                f"{present[k].as_py()!r}, which is {number:g}."
            )
            return replace(form, negative=style)
    return None


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


def infinite_note(name: str, value: object, rows: np.ndarray, cells: Cells) -> str:
    """Name the cells (a mask of rows, the first holds ``value``) that are infinite."""
    n_more = int(rows.sum()) - 1
    more = f" and in {counted(n_more, 'more cell')}" if n_more else ""
    held = f"{str(value)!r} on {cells.place_of(int(np.argmax(rows)))}{more}"
    return f"Column {name!r} holds {held}: infinite values count as missing."


def _bad_cells(
    words: pa.Array,
    codes: np.ndarray,
    form: CellForm,
    name: str,
    cells: Cells,
    said: Said,
    is_later: bool,
) -> tuple[str, CellForm]:
    """Name the cells because of which a column is none of numbers or of dates.

    The form of the categories is returned, too, which has how numbers among them are
    written: by it they are read where a person makes them numbers.
    """
    alike = _most_alike(words, form.missing)
    _, absent, bad = read_words(words, alike)
    n_rows = np.bincount(codes, minlength=len(words))
    n_bad, n_present = n_rows[bad].sum(), n_rows[~absent].sum()
    if not 0 < n_bad <= MOSTLY_NUMBERS * n_present:
        return "", form  # it is a column of words
    row, what = int(np.argmax(bad[codes])), "time" if alike.times else alike.kind
    cell = repr(words[codes[row]].as_py().removeprefix(TYPED))
    sentence = (
        f"Column {name!r} is a category, as {n_bad:,} of its {n_present:,} cells "
        f"{f'is no {what}' if n_bad == 1 else f'are no {what}s'}, such as "
        f"{cell} on {cells.place_of(row)}. Correct them, or "
    )
    if is_later:
        return f"{sentence}leave them empty.", form
    remedy, numbers = "leave them empty", None
    if alike.kind == "number" and not alike.times:
        written = words.filter(pa.array(~(bad | absent)))
        how = written, name, cells.delimiter, said.decimal, list[str]()
        numbers = _number_form(*how) or _negative_form(*how)
    if numbers is not None:
        written_so = ("decimal", "thousands", "unit", "negative")
        form = replace(form, **{own: getattr(numbers, own) for own in written_so})
        option = f"train --kind {f'{name}:number'!r} on the command line"
        remedy += f", or choose number as its type ({option}): they then count as "
        first = written[0].as_py().removeprefix(TYPED)
        value = f"{read_words(written[:1], numbers)[0][0]:.15g}"
        remedy += "missing" if value == first else f"missing, and {first!r} is {value}"
    return (
        f"{sentence}{remedy}. Where {cell} means that there is no value, say so under "
        f"Missing values (train --missing {cell} on the command line).",
        form,
    )


def _most_alike(words: pa.Array, missing: tuple[str, ...]) -> CellForm:
    """Return the form of numbers, or of dates, in which most of the first words are."""
    head = words[:HEAD]
    forms = [PLAIN]
    if _matches(head, r"\d").mean() >= MOSTLY_NUMBERS:
        unit = next(filter(None, map(_unit, head.to_pylist())), "")
        forms = [
            replace(form, unit=own, negative=style)
            for style in ("", "()")
            for own in ("", unit)
            for form in STYLED
        ]
    if _matches(head, r"\d{4}").mean() >= MOSTLY_NUMBERS:
        forms += [CellForm("date", date=style) for style in STYLES]
    if _matches(head, r":\d\d").mean() >= MOSTLY_NUMBERS:
        forms += [CellForm(unit=HOURS, times=style) for style in TIMES]
    forms = [replace(form, missing=missing) for form in forms]
    return min(forms, key=lambda form: read_words(head, form)[2].sum())


def without_totals(cells: Cells) -> Cells:
    """Return cells without a last row that holds a word such as Total beside sums.

    Where the word stands there and no sum, all rows stay, and a note names it.
    """
    last = [column[-1].as_py() for column in cells.columns]
    plain = [cell.strip().rstrip(":").casefold() for cell in last]
    places = [j for j, cell in enumerate(plain) if cell in TOTALS]
    if len(cells.columns[0]) < FEWEST_SUMMED + 1 or len(places) != 1:
        return cells
    place = places[0]
    if pc.sum(pc.equal(cells.columns[place], last[place])).as_py() > 1:
        return cells  # a category as others
    held = f"{last[place]!r} in column {cells.names[place]!r}"
    sums = [j for j in range(len(last)) if j != place and _ends_in_sum(cells, j)]
    if not sums:
        note = f"The last row holds {held}. If it sums up the others, delete it."
        return replace(cells, notes=[*cells.notes, note])
    note = (
        f"The last row is left out: it holds {held}, and "
        f"{last[sums[0]].removeprefix(TYPED)} in column {cells.names[sums[0]]!r} is "
        "the sum of the rows above."
    )
    columns = [column[:-1] for column in cells.columns]
    return replace(cells, columns=columns, notes=[*cells.notes, note])


def _ends_in_sum(cells: Cells, place: int) -> bool:
    """Whether the last cell of a column is the sum of the others, which is not 0."""
    coded = cells.columns[place].dictionary_encode()
    words, codes = coded.dictionary, coded.indices.to_numpy()
    form = find_form(words, "", cells.delimiter, Said(), [])
    if form.kind != "number":
        return False
    *numbers, total = read_words(words, form)[0][codes]
    found = np.nansum(numbers)
    return bool(found) and bool(np.isclose(found, total, rtol=1e-9, atol=0))


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
