"""Write one sheet of a workbook as CSV text; runs in a process of its own."""

import csv
import datetime
import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from treelab.data.reading.extent import MOST_BYTES, check_bytes
from treelab.data.reading.formats.guarded import serve
from treelab.data.reading.table_error import TableError, pick_table

HEAD = 50  # rows among which the header is looked for
# Where a text of a cell goes on in the next line, which in CSV would be another row's.
LINE_BREAK = "\ue001"

# A cell of a sheet's XML whose type is an error: its place, and what it shows.
_ERROR = re.compile(
    rb'<(?:\w+:)?c (?=[^>]*\bt="e")[^>]*\br="([A-Z]+\d+)"[^>]*>'
    rb"(?:(?!</(?:\w+:)?c>).)*?<(?:\w+:)?v>(#[^<]{1,20})<",
    re.S,
)
# A formula without a result, or 0, and a workbook whose formulas are yet to be
# calculated: some programs write each so.
_NO_RESULT = re.compile(
    rb"<(?:\w+:)?f(?: [^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v>0?<|<(?:\w+:)?v ?/>|</(?:\w+:)?c>)"
)
_UNCALCULATED = re.compile(rb'<(?:\w+:)?calcPr\b[^>]*\bfullCalcOnLoad="(1|true)"')
# Rows and cells of .ods with their attributes, and a cell that covers others.
_ODS_CELL = re.compile(rb"<table:(?:covered-)?table-(row|cell)(?=[\s/>])([^>]*)>")
_ODS_MERGED = re.compile(rb'table:number-(?:rows|columns)-spanned="(?!1")')
# The same as an error in .ods.
_ODS_ERROR = re.compile(
    rb"<table:table-cell [^>]*table:formula=[^>]*>\s*<text:p>"
    rb"(#N/A|#[A-Z0/]+[!?]|Err:\d+)</text:p>"
)
# A duration in .ods that is no time of day, as calamine leaves it.
_ODS_DURATION = re.compile(
    r"(-?)P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?"
)
Row = list
Merge = tuple[tuple[int, int], tuple[int, int]]  # first and last (row, column)


def sheet_as_text(
    content: bytes,
    name: str,
    sheet: str | None,
    header: int | None,
    known: list[str],
    mark: str,
) -> tuple[dict, bytes]:
    """Return what was done to a sheet, and the sheet as CSV, a line for each row.

    Cells become text as a person would write it, dates as 2019-07-31, so that the
    reader of text reads them by the rules that hold for a CSV file.

    The workbook is .xlsx, .xlsm, .xlsb, .xls or .ods; of several ``sheet`` None takes
    the only one that is filled. The ``header`` is the row that names the columns, from
    1; 0 if none does, None finds it: the row with most of the ``known`` names. The
    ``mark`` goes ahead of what is no text: as text, 1.234 may be 1234, and 7 a code.
    """
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        page = book.get_sheet_by_name(_pick_sheet(book, name, sheet))
    except calamine.PasswordError as error:
        raise TableError(
            f"{name} is protected by a password. Save it without one and try again."
        ) from error
    except calamine.CalamineError as error:
        raise _damaged(name, error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust
            raise
        raise _damaged(name, error) from error
    ods = _ods_sheet(content, page.name)
    _refuse_error(ods or b"", page.name, name)
    errors = _errors(content, page.name, name) if ods is None else {}
    merged = page.merged_cell_ranges if ods is None else _ods_merges(ods)
    left = page.start[1] if page.start else 0
    merges = [
        ((top, first - left), (bottom, last - left))
        for (top, first), (bottom, last) in merged or []
    ]

    def page_rows() -> Iterator[Row]:
        """Yield the rows of the sheet, with the errors that calamine leaves out."""
        for i, cells in enumerate(page.iter_rows()):
            row: Row = (
                cells if ods is None else [_with_duration(cell) for cell in cells]
            )
            own = {} if errors is None else errors.get(i, {})
            for j in own.keys() & {j + left for j in range(len(row))}:
                row[j - left] = own[j]
            yield row

    height, width = _filled_extent(page_rows())
    if not height:
        raise TableError(f"{name}: the sheet {page.name!r} is empty. Choose another.")
    notes: list[str] = []
    if errors is None and any("" in row[:width] for row in islice(page_rows(), height)):
        notes.append(
            "In this kind of workbook a formula's error, such as #DIV/0!, is read as "
            "an empty cell; saved as .xlsx it would be named."
        )
    rows = _fill_merges((row[:width] for row in islice(page_rows(), height)), merges)
    head = list(islice(rows, max(HEAD, header or 0) + 1))
    if header is None:
        header = _known_header(head, known)
    text, has_header = _as_csv(head, rows, width, header, merges, notes, mark)
    check_bytes(len(text), name)
    about = {"notes": notes, "sheet": page.name, "header": has_header}
    return {**about, "n_sheets": len(book.sheet_names)}, text


def _damaged(name: str, error: BaseException) -> TableError:
    """Return the error for a file that is no workbook, or not all of one."""
    return TableError(
        f"{name} cannot be read as a workbook: it is damaged, cut off, or no workbook "
        f"({str(error)[:100]}). Open it in a spreadsheet program, save it again as "
        ".xlsx, and try that file."
    )


def _pick_sheet(book, name: str, sheet: str | None) -> str:
    """Return the sheet to read: the one that was chosen, or the only one filled."""
    names = book.sheet_names
    if not names:
        raise TableError(f"{name} has no sheet. Choose another file.")
    if sheet is not None:
        return pick_table(name, names, sheet, "sheet")
    shown = [m.name for m in book.sheets_metadata if "Hidden" not in str(m.visible)]
    if len(shown) > 1:
        shown = [s for s in shown if book.get_sheet_by_name(s).height]
    return pick_table(name, shown or names[:1], None, "sheet")


def _errors(content: bytes, sheet: str, name: str) -> dict[int, dict[int, str]] | None:
    """Return the errors, such as #DIV/0!, by row and column of a sheet of .xlsx.

    Those of .xls and .xlsb are not known: None. An .xlsx whose formulas have no results
    yet is refused.
    """
    found: dict[int, dict[int, str]] = {}
    if content[:2] != b"PK":
        return None
    book = zipfile.ZipFile(io.BytesIO(content))
    if "xl/workbook.bin" in book.namelist():
        return None
    try:
        text = book.read(_part_of(book, sheet))
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, StopIteration):
        return found  # only the sheets themselves are whole
    except ElementTree.ParseError:
        return found
    if _NO_RESULT.search(text) and _UNCALCULATED.search(book.read("xl/workbook.xml")):
        raise TableError(
            f"{name}: formulas in the sheet {sheet!r} have no results yet, as the "
            "program that wrote the workbook did not calculate them. Open it in a "
            "spreadsheet program, save it, and try that file."
        )
    for cell, error in _ERROR.findall(text):
        row = cell.decode().lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        letters = cell.decode().removesuffix(row)
        column = 0
        for letter in letters:
            column = 26 * column + ord(letter) - ord("A") + 1
        found.setdefault(int(row) - 1, {})[column - 1] = error.decode()
    return found


def _part_of(book: zipfile.ZipFile, sheet: str) -> str:
    """Return the part of an .xlsx that holds a sheet."""
    sheets = ElementTree.fromstring(book.read("xl/workbook.xml")).iter()
    links = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    target = {link.get("Id"): link.get("Target", "") for link in links}
    own = next(s for s in sheets if s.get("name") == sheet)
    (link,) = (value for key, value in own.items() if key.endswith("}id"))
    return posixpath.join("/xl", target[link])[1:]


def _ods_sheet(content: bytes, sheet: str) -> bytes | None:
    """Return the XML of a sheet of .ods; None where it is another kind of workbook."""
    book = zipfile.ZipFile(io.BytesIO(content)) if content[:2] == b"PK" else None
    if book is None or "content.xml" not in book.namelist():
        return None
    try:
        text = book.read("content.xml")
    except zipfile.BadZipFile:  # only the sheets themselves are whole
        return b""
    for part in text.split(b"<table:table ")[1:]:
        if f"table:name={quoteattr(sheet)}".encode() in part[: part.find(b">") + 1]:
            return part
    return b""


def _ods_merges(part: bytes) -> list[Merge]:
    """Return the ranges of merged cells of a sheet of .ods."""
    merges: list[Merge] = []
    row = column = next_row = 0

    def number(name: bytes, attributes: bytes) -> int:
        found = re.search(rb'table:number-%s="(\d+)"' % name, attributes)
        return int(found[1]) if found else 1

    for kind, attributes in _ODS_CELL.findall(part) if _ODS_MERGED.search(part) else ():
        if kind == b"row":
            row, column = next_row, 0
            next_row += number(b"rows-repeated", attributes)
            continue
        down = number(b"rows-spanned", attributes)
        across = number(b"columns-spanned", attributes)
        if down * across > 1:
            merges.append(((row, column), (row + down - 1, column + across - 1)))
        column += number(b"columns-repeated", attributes)
    return merges


def _with_duration(cell: object) -> object:
    """Return a cell of .ods, as a duration where it is such as PT30H00M00S."""
    found = _ODS_DURATION.fullmatch(cell) if isinstance(cell, str) else None
    if found is None or not any(found.groups()[1:]):
        return cell
    sign, *parts = found.groups()
    days, hours, minutes, seconds = (float(part or 0) for part in parts)
    duration = datetime.timedelta(days, seconds, 0, 0, minutes, hours)
    return -duration if sign else duration


def _refuse_error(part: bytes, sheet: str, name: str) -> None:
    """Raise TableError where a cell of a sheet of .ods shows an error.

    Some programs write it as zero.
    """
    if found := _ODS_ERROR.search(part):
        raise TableError(
            f"{name}: a formula in the sheet {sheet!r} has no value, but shows "
            f"{found.group(1).decode()}, which OpenDocument files hold as zero or "
            "as an empty cell. Empty such cells, or save the workbook as .xlsx."
        )


def _filled_extent(rows: Iterable[Row]) -> tuple[int, int]:
    """Count rows and columns up to the last that hold something."""
    height = width = 0
    for i, row in enumerate(rows):
        for j in range(len(row) - 1, -1, -1):
            if row[j] != "":
                height, width = i + 1, max(width, j + 1)
                break
    return height, width


def _fill_merges(rows: Iterable[Row], merges: list[Merge]) -> Iterator[Row]:
    """Yield rows with the text of merged cells in each of them."""
    starts: dict[int, list[Merge]] = {}
    for merge in merges:
        starts.setdefault(merge[0][0], []).append(merge)
    active: list[tuple[Merge, object]] = []
    for i, row in enumerate(rows):
        active = [(merge, value) for merge, value in active if merge[1][0] >= i]
        for merge in starts.get(i, []):
            if 0 <= merge[0][1] < len(row):
                active.append((merge, row[merge[0][1]]))
        for ((_, first), (_, last)), value in active:
            for j in range(first, min(last + 1, len(row))):
                row[j] = value
        yield row


def _known_header(head: list[Row], known: list[str]) -> int | None:
    """Return the row, from 1, that names most of the expected columns; None if none."""
    found = [len(_words(row).intersection(known)) for row in head]
    return found.index(max(found)) + 1 if max(found) else None


def _as_csv(
    head: list[Row],
    rows: Iterator[Row],
    width: int,
    header: int | None,
    merges: list[Merge],
    notes: list[str],
    mark: str,
) -> tuple[bytes, bool | None]:
    """Return rows as CSV, and whether the first names the columns, if that is known."""
    start = _first_row(head, width, merges) if header is None else max(header - 1, 0)
    while start < len(head) - 1 and not _words(head[start]):
        start += 1
    if header is None and (above := [i + 1 for i in range(start) if _words(head[i])]):
        where = f"{above[0]}" if len(above) == 1 else f"{above[0]} to {above[-1]}"
        notes.append(
            f"The table begins in row {start + 1} of the sheet; what stands above it, "
            f"in row {where}, is left out."
        )
    depth = 1 if header == 0 else _header_depth(head, start, merges)
    first = head[start]
    if depth > 1:
        first = [
            " ".join(
                dict.fromkeys(_text(row[j]) for row in head[start : start + depth])
            )
            for j in range(width)
        ]
        first = [each.strip() for each in first]
        notes.append(
            f"The names of the columns stand in rows {start + 1} to {start + depth}, "
            f"some in merged cells, and are joined, as in {first[-1]!r}."
        )
    body = [merge for merge in merges if merge[1][0] >= start + depth]
    if body:
        notes.append(
            f"Merged cells below the header ({len(body):,}, the first in row "
            f"{body[0][0][0] + 1:,}) each hold the value of the whole."
        )
    first = [_text(cell) if isinstance(cell, str) else cell for cell in first]
    text = io.BytesIO(b"\n" * (start + depth - 1))  # a line's number is its row's
    text.seek(0, io.SEEK_END)
    file = io.TextIOWrapper(text, "utf-8", "replace", newline="", write_through=True)
    writer = csv.writer(file, lineterminator="\n")
    for row in chain([first], head[start + depth :], rows):
        if text.tell() <= MOST_BYTES:
            writer.writerow(
                ("" if isinstance(cell, str) else mark) + _text(cell, words=False)
                for cell in row
            )
    open_yet = header is None and depth == 1
    return text.getvalue(), None if open_yet else header != 0


def _words(row: Row) -> set[str]:
    """Return the distinct texts in a row."""
    return {_text(cell) for cell in row} - {""}


def _first_row(head: list[Row], width: int, merges: list[Merge]) -> int:
    """Return the first row that is no title: half filled, with two texts or more."""
    for i, row in enumerate(head):
        filled = sum(cell != "" for cell in row)
        if filled >= max(width / 2, 1) and len(_words(row)) >= min(width, 2):
            # Merged cells right above, not from the first column on as a title's, name
            # a group of columns.
            groups = {top for (top, first), (_, last) in merges if 0 < first < last}
            return i - 1 if i - 1 in groups else i
    return 0


def _header_depth(head: list[Row], start: int, merges: list[Merge]) -> int:
    """Count the rows that name the columns: more than one where cells are merged."""
    depth = 1
    for (top, first), (bottom, last) in merges:
        if top == start:
            below = bottom + (last > first)  # a group of columns, named one row below
            depth = max(depth, min(below, len(head) - 2) - start + 1)
    names = [cell for row in head[start : start + depth] for cell in row]
    return depth if all(isinstance(cell, str) for cell in names) else 1


def _text(cell: object, words: bool = True) -> str:
    """Return a cell as text on one line, with one space between ``words`` or as is.

    As is, ``LINE_BREAK`` stands for where a line ended.
    """
    if isinstance(cell, str):
        text = cell.replace("\0", "").strip()
        return " ".join(text.split()) if words else LINE_BREAK.join(text.splitlines())
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= 2**53:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        midnight = cell.time() == datetime.time()
        return cell.date().isoformat() if midnight else cell.isoformat(" ")
    return str(cell)


if __name__ == "__main__":
    serve(sheet_as_text)
