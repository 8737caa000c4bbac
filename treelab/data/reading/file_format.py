"""What a file is by its first bytes, which are no table, and what archives hold."""

import gzip
import io
import re
import zipfile
import zlib
from pathlib import PurePosixPath

from treelab.data.reading import extent
from treelab.data.reading.extent import check_bytes
from treelab.data.reading.table_error import TableError

FORMATS = (  # (first bytes, the format)
    (b"PAR1", "parquet"),
    (b"\xd0\xcf\x11\xe0", "workbook"),  # .xls
    (b"SQLite format 3\0", "sqlite"),
    (b"ARROW1", "arrow"),
    (b"FEA1", "arrow"),
    (b"<stata_dta>", "stata"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", "sas"),
    (b"HEADER RECORD*******LIB", "xport"),
)
OLD_STATA = re.compile(rb"[\x69\x6c\x6e-\x73][\x01\x02]\x01\x00")  # .dta before 13
DATABASES = ("sqlite", "duckdb")  # formats that a query can be run on
# Texts that are not delimited, by how they begin. ``read_NAME`` in ``formats/NAME.py``
# returns the cells of a text (UTF-8).
TEXT_FORMATS = {
    "arff": re.compile(rb"(?i)(\s*(%[^\n]*)?\n)*\s*@relation\b"),
    "json_lines": re.compile(rb'\s*\{\s*["}]'),
}
KINDS = [  # endings of the files that are read
    *("csv", "tsv", "txt", "gz", "zip", "xlsx", "xlsm", "xlsb", "xls", "ods"),
    *("parquet", "arrow", "feather", "jsonl", "ndjson", "json", "arff"),
    *("dta", "sav", "zsav", "sas7bdat", "xpt", "db", "sqlite", "sqlite3"),
    *("duckdb", "ddb"),
]
MARK = b"\xef\xbb\xbf"

SAVE_AS_CSV = "Save the table as CSV or Parquet and try again."

OTHER_FORMATS = (  # (first bytes, what the file is)
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x89HDF", "an HDF5 file"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"RDX", "an R file"),
    (b"X\n\0\0\0", "an R file"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
)
OTHER_TEXTS = (  # (first text, lower case, what the file is)
    ("<!doctype html", "a web page, perhaps the page about the file"),
    ("<html", "a web page, perhaps the page about the file"),
    ("<?xml", "an XML file"),
    ("{\\rtf", "a rich text document"),
)


def unpack(content: bytes, name: str) -> bytes:
    """Return the bytes behind gzip, or the bytes as they are.

    Raises TableError if the archive is damaged, holds too much, or is none that can be
    read.
    """
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        with gzip.open(io.BytesIO(content)) as packed:
            unpacked = packed.read(extent.MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{name} is a damaged gzip archive. Download or pack it again."
        ) from error
    check_bytes(len(unpacked), name)
    return unpacked


def format_of(content: bytes) -> str:
    """Return what a file is by its content, "text" where nothing else is known.

    Else "workbook", "zip", "duckdb", or one of ``FORMATS`` or ``TEXT_FORMATS``.
    """
    # Four letters may stand anywhere in a text, zeros after them do not.
    if content[8:12] == b"DUCK" and content[14:20] == bytes(6):
        return "duckdb"
    if content[:4] == b"PK\x03\x04" or content[:4] == b"PK\x05\x06":
        return "workbook" if is_workbook(content) else "zip"
    for start, kind in FORMATS:
        if content.startswith(start):
            return kind
    if OLD_STATA.match(content):
        return "stata"
    text = content[:100_000].removeprefix(MARK)
    found = (kind for kind, opening in TEXT_FORMATS.items() if opening.match(text))
    return next(found, "text")


def refuse_other_formats(content: bytes, name: str) -> None:
    """Raise TableError for a file that is no text; the message names its format."""
    for start, what in OTHER_FORMATS:
        if content.startswith(start):
            raise TableError(f"{name} is {what}. {SAVE_AS_CSV}")
    text = content[:500].lstrip(b"\xef\xbb\xbf \r\n\t").decode("latin-1").lower()
    for opening, what in OTHER_TEXTS:
        if text.startswith(opening):
            raise TableError(f"{name} is {what}. {SAVE_AS_CSV}")
    if re.match(r"\[\s*\{\s*\"", text):
        raise TableError(
            f"{name} is a JSON file that holds one list. Write JSON lines, a record a "
            "line (in pandas, to_json(..., orient='records', lines=True)), and try "
            "again."
        )


# Zip archives: the one table in them, and workbooks, which are such archives, too.


WORKBOOK_PARTS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")
# Bytes of all parts of a workbook: XML is many times its table, and is read slowly.
MOST_UNPACKED = 2**28


def is_workbook(content: bytes) -> bool:
    """Whether a zip archive is a workbook, by the parts it lists or begins with."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError):  # cut off: the list stands at its end
        return b"xl/" in content[:4000] or b"opendocument.spreadsheet" in content[:200]
    return any(part in names for part in WORKBOOK_PARTS)


def check_parts(content: bytes, name: str) -> None:
    """Raise TableError for a workbook that says it unpacks to more than any table.

    What it says may be a lie; the process that unpacks it has little memory. An old
    workbook, .xls, is no archive.
    """
    if content[:2] != b"PK":
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            n_bytes = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, ValueError) as error:
        raise TableError(
            f"{name} is a workbook that is damaged or cut off. Download or save it "
            "again."
        ) from error
    if n_bytes > MOST_UNPACKED:
        raise TableError(
            f"{name} is a workbook that unpacks to {n_bytes / 2**20:,.0f} MiB; at most "
            f"{MOST_UNPACKED // 2**20:,} MiB can be read. Save the table itself as CSV "
            "or Parquet, or take a sample of its rows."
        )


def unzip(content: bytes, name: str) -> tuple[bytes, str]:
    """Return the only file in a zip archive, and its name.

    Raises TableError if the archive is damaged, needs a password, or holds none or
    several files.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = [part for part in archive.infolist() if _is_shown(part)]
            if len(parts) != 1:
                held = ", ".join(repr(part.filename) for part in parts[:5])
                more = " and more" if len(parts) > 5 else ""
                what = f"{len(parts):,} files: {held}{more}" if parts else "no file"
                raise TableError(
                    f"{name} is a zip archive with {what}. Choose one with exactly one "
                    "table in it, or unpack it and choose the table."
                )
            check_bytes(parts[0].file_size, name)
            # No more than the size above is ever unpacked; a lie fails the checksum.
            unpacked = archive.read(parts[0])
    except RuntimeError as error:
        raise TableError(
            f"{name} is protected by a password. Unpack it and choose the table."
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise TableError(
            f"{name} is a damaged zip archive. Download or pack it again."
        ) from error
    if unpacked[:4] == b"PK\x03\x04" and not is_workbook(unpacked):
        raise TableError(f"{name} is a zip archive in a zip archive. Unpack it once.")
    return unpacked, f"{PurePosixPath(parts[0].filename).name} in {name}"


def _is_shown(part: zipfile.ZipInfo) -> bool:
    """Whether a part is a file that a person put there."""
    path = PurePosixPath(part.filename)
    hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    return not part.is_dir() and not hidden
