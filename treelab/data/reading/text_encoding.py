"""The encoding of a text file: given, known by its first bytes, or guessed."""

import codecs
import re
from collections.abc import Iterator

from treelab.data.reading.extent import check_bytes
from treelab.data.reading.file_format import SAVE_AS_CSV
from treelab.data.reading.table_error import TableError

SAMPLE = 200_000  # bytes that encodings are guessed from
# Polish and Czech letters that become signs when read as Western European.
EASTERN_SIGNS = re.compile(r"[^\W\d_][¹³¿¢¥ª¯»¾¼¶£][^\W\d_]|[£¯][^\W\d_]")
# Files from old Macs are rare, and the guesser takes those from Windows for such.
WINDOWS_FOR = {"mac_cyrillic": "cp1251", "mac_greek": "cp1253"}
# Signs that stand alone in text, as in 5 °C, in the same places of Windows' encodings;
# in others their bytes and the letters behind them are one character.
SIGNS = "°µ²³±×·½¼¾§€£©®™«»–—‘’“”…"
MIXED_SCRIPTS = re.compile(r"[A-Za-z][\u0370-\uffff]|[\u0370-\uffff][A-Za-z]")

_BLOCK = 2**20  # bytes decoded at once: a whole text may take four times its bytes
_MARK = codecs.BOM_UTF8


def to_utf8(
    content: bytes, name: str, encoding: str | None, likely: str = ""
) -> tuple[bytes, str, str]:
    """Return the text of a file as UTF-8, its encoding, and a note if it was guessed.

    Without an encoding UTF-8 is tried; then the guess is ``likely``, the encoding of a
    file before it, if there was one. Bytes that are no text, or none in the given
    encoding, are refused.
    """
    text, encoding, note = _to_utf8(content, name, encoding, likely)
    check_bytes(len(text), name)
    if b"\0" in text:
        raise TableError(f"{name} is not a text file. {SAVE_AS_CSV}")
    return text.removeprefix(_MARK), encoding, note


def _to_utf8(
    content: bytes, name: str, encoding: str | None, likely: str
) -> tuple[bytes, str, str]:
    """Return what ``to_utf8`` returns, of bytes that may yet be no text."""
    if encoding is not None:
        try:
            b"".decode(encoding)  # refuses the codecs that are no text encodings
            return _recoded(content, encoding), encoding, ""
        except (UnicodeError, LookupError) as error:
            raise TableError(
                f"{name} cannot be read as {encoding}: {error}."
            ) from error
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        try:
            text = _recoded(content, "utf-16")
        except UnicodeDecodeError as error:
            raise TableError(f"{name} is not a text file. {SAVE_AS_CSV}") from error
        return text, "utf-16", "The file was read as UTF-16."
    if (first := _first_not_utf8(content)) is None or b"\0" in content:
        return content, "utf-8", ""
    guessed = likely or _guess(content, first)
    text = _recoded(content, guessed, errors="replace")
    shown = ""
    if beyond := re.search(rb"[\x80-\xff]", text):
        near = text[max(0, beyond.start() - 200) : beyond.start() + 200]
        odd = re.search(r"\w*[^\x00-\x7f]\w*", near.decode("utf-8", errors="ignore"))
        shown = f', such as "{odd.group()[:40]}"' if odd else ""
    return (
        text,
        guessed,
        f"The file is not UTF-8; it was read as {guessed}. If letters look "
        f"wrong{shown}, save it as UTF-8.",
    )


def _decoded(content: bytes, encoding: str, errors: str = "strict") -> Iterator[str]:
    """Return the text of a file, a block at a time."""
    starts = range(0, len(content), _BLOCK)
    blocks = (content[start : start + _BLOCK] for start in starts)
    return codecs.iterdecode(blocks, encoding, errors)


def _recoded(content: bytes, encoding: str, errors: str = "strict") -> bytes:
    """Return a text of some encoding as UTF-8."""
    parts = _decoded(content, encoding, errors)
    return b"".join(part.encode("utf-8", errors="replace") for part in parts)


def _first_not_utf8(content: bytes) -> int | None:
    """Return the place of the first byte that is not UTF-8; None where all are."""
    if content.isascii():
        return None
    end = 0
    try:
        for part in _decoded(content, "utf-8"):
            end += len(part.encode())
    except UnicodeDecodeError as error:
        return end + error.start
    return None


def _guess(content: bytes, first: int) -> str:
    """Return the likely encoding of text that is not UTF-8 from byte ``first`` on.

    A guesser distinguishes scripts well and the Latin alphabets badly, so those are
    taken to be Western European, unless that puts signs into the middle of words.
    Where there are such signs alone there is nothing to distinguish.
    """
    from charset_normalizer import from_bytes

    start = content.rfind(b"\n", 0, first) + 1
    sample = content[start : start + SAMPLE]
    western = sample.decode("cp1252", errors="replace")
    if {*western} <= {*map(chr, range(128)), *SIGNS}:
        return "cp1252"
    for match in from_bytes(sample):
        if match.encoding.startswith("utf"):
            continue  # it would have a mark or zeros
        if match.encoding == "cp1254" or _other_script(str(match)):
            return WINDOWS_FOR.get(match.encoding, match.encoding)
        if not MIXED_SCRIPTS.search(str(match)):
            break
    if "\ufffd" in western or EASTERN_SIGNS.search(western):
        return "cp1250"
    return "cp1252"


def _other_script(text: str) -> bool:
    """Whether most letters beyond ASCII are of another script, in whole words."""
    letters = [c for c in text if ord(c) > 127 and c.isalpha()]
    others = sum(ord(c) >= 0x370 for c in letters)
    return others > len(letters) / 2 and not MIXED_SCRIPTS.search(text)
