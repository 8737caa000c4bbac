"""A table as a file that people carry away: CSV, Parquet, Excel."""

import io
import os
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from treelab.trees.words import CURRENCIES

MOST_EXCEL_ROWS, MOST_EXCEL_COLUMNS = 1_048_576, 16_384
# -50,5, -$50 and -1e-9 € are no formulas, though they are text, nor are -5 kg and
# signs alone, as classes may be called.
NO_FORMULA = re.compile(
    rf"[+-][{CURRENCIES}]?(\d|[.,]\d)[\d.,' \u00a0\u202f]*([eE][+-]?\d+)?"
    rf"[ \u00a0\u202f]?([%{CURRENCIES}]|(°|[^\W\d_])([^\W\d_]|/)*)?"
    r"|[+-]+"
)
MOST_EXCEL_LETTERS = 32_767  # of one cell
MOST_EXCEL_DIGITS = 15  # of a number; others read alike
# A spreadsheet that opens a CSV file runs text that begins with one of these.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defused(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose text no spreadsheet takes for a formula.

    Text and names of columns that begin as a formula does get an apostrophe ahead;
    numbers stay, negative ones, too.
    """
    safe = frame.copy(deep=False)
    for place, kind in enumerate(frame.dtypes):
        if not (is_numeric_dtype(kind) or kind.kind in "mM"):
            column = frame.iloc[:, place]
            texts = [value for value in column.unique() if isinstance(value, str)]
            if any(text.startswith(FORMULA_STARTS) for text in texts):
                safe.isetitem(place, column.astype(object).map(_defused).array)
    safe.columns = [_defused(str(name)) for name in frame.columns]
    return safe


def _defused(value):
    """Put an apostrophe ahead of text that begins as a formula does."""
    is_formula = isinstance(value, str) and value.startswith(FORMULA_STARTS)
    is_formula = is_formula and not NO_FORMULA.fullmatch(value)
    return f"'{value}" if is_formula else value


def csv_text(frame: pd.DataFrame) -> str:
    """Write a table as CSV, formulas defused.

    Lines end in CR LF where a cell holds a carriage return, which pandas quotes then
    alone.
    """
    safe = defused(frame)
    text = safe.to_csv(index=False)
    return safe.to_csv(index=False, lineterminator="\r\n") if "\r" in text else text


def _csv(frame: pd.DataFrame) -> bytes:
    """Write a table as CSV in UTF-8."""
    return csv_text(frame).encode("utf-8", errors="replace")


def _parquet(frame: pd.DataFrame) -> bytes:
    """Write a table as Parquet, as it is."""
    target = io.BytesIO()
    frame.rename(columns=str).to_parquet(target, index=False)
    return target.getvalue()


def _excel(frame: pd.DataFrame) -> bytes:
    """Write a table as the one sheet of a workbook; text is text, never a formula."""
    if len(frame) >= MOST_EXCEL_ROWS or frame.shape[1] > MOST_EXCEL_COLUMNS:
        raise ValueError(
            f"A sheet holds {MOST_EXCEL_ROWS - 1:,} rows and {MOST_EXCEL_COLUMNS:,} "
            f"columns; the table has {len(frame):,} and {frame.shape[1]:,}. Choose "
            "CSV or Parquet."
        )
    target = io.BytesIO()
    texts = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    # No temporary files, and numbers that are missing leave their cells empty.
    options = {"in_memory": True, **dict.fromkeys(texts, False)}
    plain = frame.astype(object).map(_plain, na_action="ignore")
    plain.columns = [str(name)[:MOST_EXCEL_LETTERS] for name in frame.columns]
    with pd.ExcelWriter(
        target, engine="xlsxwriter", engine_kwargs={"options": options}
    ) as book:
        plain.to_excel(
            book, sheet_name="predictions", index=False, freeze_panes=(1, 0), inf_rep=""
        )
    return target.getvalue()


def _plain(value):
    """Return a number, or true or false, as it is, and else text that fits a cell.

    Whole numbers of more digits than a spreadsheet knows, as ids have, are text.
    """
    is_long = isinstance(value, int) and abs(value) >= 10**MOST_EXCEL_DIGITS
    is_plain = isinstance(value, bool | int | float) and not is_long
    return value if is_plain else str(value)[:MOST_EXCEL_LETTERS]


@dataclass(frozen=True)
class TableFormat:
    """A kind of file: what it is called, its ending and MIME type, what writes it."""

    title: str
    ending: str
    mime: str
    write: Callable[[pd.DataFrame], bytes]


FORMATS = {
    each.ending: each
    for each in (
        TableFormat("CSV", "csv", "text/csv", _csv),
        TableFormat("Parquet", "parquet", "application/vnd.apache.parquet", _parquet),
        TableFormat(
            "Excel",
            "xlsx",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            _excel,
        ),
    )
}


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table to a file, by its ending.

    OSError if it cannot be written. ValueError if the ending is none of ``FORMATS``, or
    the table is too large for it.
    """
    wanted = FORMATS.get(path.suffix.lower().removeprefix("."))
    if wanted is None:
        raise ValueError(
            f"{path.name} must end with {', '.join(f'.{name}' for name in FORMATS)}, "
            "which says how the table is written."
        )
    write_whole(path, wanted.write(frame))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in the place of what is there: whole, or not at all.

    What is no plain file, as a pipe, or lies where no other may be made is written to.
    OSError, which names the file, if it cannot be written.
    """
    named, path = path, path.resolve()  # else a link would be replaced, not the file
    is_there, folder = path.exists(), path.parent
    if is_there and not (path.is_file() and os.access(folder, os.W_OK)):
        path.write_bytes(content)
        return
    part = folder / f".{os.getpid()}{threading.get_ident()}.part"
    try:
        if is_there:
            path.open("ab").close()  # or it may not be written
            part.touch()
            shutil.copymode(path, part)
        part.write_bytes(content)
        part.replace(path)
    except BaseException as error:  # a full disk, perhaps
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(named)) from error
        raise
