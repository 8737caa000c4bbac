"""What a file is by its first bytes, and which files are no table."""

import gzip
import io
import re
import zlib

from treelab.data.reading import extent
from treelab.data.reading.extent import check_bytes
from treelab.data.reading.table_error import TableError

SAVE_AS_CSV = "Save the table as CSV or Parquet and try again."

OTHER_FORMATS = (  # (first bytes, what the file is)
    (b"\xd0\xcf\x11\xe0", "an old Excel or Office file"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow or Feather file"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
)
OTHER_TEXTS = (  # (first text, lower case, what the file is)
    ("<!doctype html", "a web page, perhaps the page about the file"),
    ("<html", "a web page, perhaps the page about the file"),
    ("<?xml", "an XML file"),
    ("@relation", "an ARFF file"),
    ("{\\rtf", "a rich text document"),
)


def unpack(content: bytes, name: str) -> bytes:
    """Return the bytes behind gzip, or the bytes as they are.

    Raises
    ------
    TableError
        If the archive is damaged, holds too much, or is none that can be read.
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


def refuse_other_formats(content: bytes, name: str) -> None:
    """Raise TableError for a file that is no text; the message names its format."""
    if content[:4] == b"PK\x03\x04":
        if b"xl/" in content[:4000] or name.lower().endswith((".xlsx", ".xlsm")):
            raise TableError(
                f"{name} is an Excel workbook. In Excel, choose File, Save As, CSV "
                "UTF-8 for the sheet, and try again with that file."
            )
        raise TableError(
            f"{name} is a zip archive. Unpack it and try again with the file in it."
        )
    for start, what in OTHER_FORMATS:
        if content.startswith(start):
            raise TableError(f"{name} is {what}. {SAVE_AS_CSV}")
    text = content[:500].lstrip(b"\xef\xbb\xbf \r\n\t").decode("latin-1").lower()
    for opening, what in OTHER_TEXTS:
        if text.startswith(opening):
            raise TableError(f"{name} is {what}. {SAVE_AS_CSV}")
    if re.match(r"\[?\s*\{\s*\"", text):
        raise TableError(f"{name} is a JSON file. {SAVE_AS_CSV}")
