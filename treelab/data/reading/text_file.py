"""From the bytes of a file to its text: what is no text, and in which encoding."""

import gzip
import io
import re
import zlib

from treelab.data.reading.table_error import TableError

MOST_BYTES = 2 * 2**30
SAMPLE = 200_000  # bytes that encodings are guessed from
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
# Polish and Czech letters that become signs when read as Western European.
EASTERN_SIGNS = re.compile(r"[^\W\d_][¹³¿¢¥ª¯»¾¼¶£][^\W\d_]|[£¯][^\W\d_]")
# Files from old Macs are rare, and the guesser takes those from Windows for such.
WINDOWS_FOR = {"mac_cyrillic": "cp1251", "mac_greek": "cp1253"}
MIXED_SCRIPTS = re.compile(r"[A-Za-z][\u0370-\uffff]|[\u0370-\uffff][A-Za-z]")


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
            unpacked = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{name} is a damaged gzip archive. Download or pack it again."
        ) from error
    check_size(unpacked, name)
    return unpacked


def check_size(content: bytes, name: str) -> None:
    """Refuse files with more bytes than a table here may have."""
    if len(content) > MOST_BYTES:
        raise TableError(
            f"{name} is larger than {MOST_BYTES / 2**30:.0f} GiB. Take a sample of its "
            "rows."
        )


def refuse_other_formats(content: bytes, name: str) -> None:
    """Raise TableError for a file that is no text, saying what it is."""
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


def decode(content: bytes, name: str, encoding: str | None) -> tuple[str, str, str]:
    """Return the text of a file, its encoding, and a note where that was guessed.

    Parameters
    ----------
    content : bytes
    name : str
        The file, in messages.
    encoding : str or None
        None tries UTF-8 and then guesses.

    Raises
    ------
    TableError
        If the bytes are no text, or no text in the given encoding.
    """
    if encoding is not None:
        try:
            return content.decode(encoding), encoding, ""
        except (UnicodeDecodeError, LookupError) as error:
            raise TableError(
                f"{name} cannot be read as {encoding}: {error}."
            ) from error
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _decode_utf16(content, name)
    if b"\0" in content[:SAMPLE]:
        raise TableError(f"{name} is not a text file. {SAVE_AS_CSV}")
    try:
        return content.decode("utf-8-sig"), "utf-8", ""
    except UnicodeDecodeError as error:
        guessed = _guess(content, error.start)
    text = content.decode(guessed, errors="replace")
    odd = re.search(r"\w*[^\x00-\x7f]\w*", text)
    shown = f', such as "{odd.group()[:40]}"' if odd else ""
    return (
        text,
        guessed,
        f"The file is not UTF-8; it was read as {guessed}. If letters look "
        f"wrong{shown}, save it as UTF-8.",
    )


def _decode_utf16(content: bytes, name: str) -> tuple[str, str, str]:
    """Return the text of a file that begins with the mark of UTF-16."""
    try:
        return content.decode("utf-16"), "utf-16", "The file was read as UTF-16."
    except UnicodeDecodeError as error:
        raise TableError(f"{name} is not a text file. {SAVE_AS_CSV}") from error


def _guess(content: bytes, first: int) -> str:
    """Return the likely encoding of text that is not UTF-8 from byte ``first`` on.

    A guesser tells scripts apart well and the Latin alphabets badly, so those are
    taken to be Western European, unless that puts signs into the middle of words.
    """
    from charset_normalizer import from_bytes

    start = content.rfind(b"\n", 0, first) + 1
    sample = content[start : start + SAMPLE]
    for match in from_bytes(sample):
        if match.encoding.startswith("utf"):
            continue  # it would have a mark or zeros
        if match.encoding == "cp1254" or _other_script(str(match)):
            return WINDOWS_FOR.get(match.encoding, match.encoding)
        if not MIXED_SCRIPTS.search(str(match)):
            break
    western = sample.decode("cp1252", errors="replace")
    if "\ufffd" in western or EASTERN_SIGNS.search(western):
        return "cp1250"
    return "cp1252"


def _other_script(text: str) -> bool:
    """Tell whether most letters beyond ASCII are of another script, in whole words."""
    letters = [c for c in text if ord(c) > 127 and c.isalpha()]
    others = sum(ord(c) >= 0x370 for c in letters)
    return others > len(letters) / 2 and not MIXED_SCRIPTS.search(text)
