"""Zip archives: the one table in them, and workbooks, which are such archives, too."""

import io
import zipfile
import zlib
from pathlib import PurePosixPath

from treelab.data.reading.extent import check_bytes
from treelab.data.reading.table_error import TableError

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
