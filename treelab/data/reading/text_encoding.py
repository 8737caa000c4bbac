"""The encoding of a text file: given, known by its first bytes, or guessed."""

import re

from treelab.data.reading.file_format import SAVE_AS_CSV
from treelab.data.reading.table_error import TableError

SAMPLE = 200_000  # bytes that encodings are guessed from
# Polish and Czech letters that become signs when read as Western European.
EASTERN_SIGNS = re.compile(r"[^\W\d_][¹³¿¢¥ª¯»¾¼¶£][^\W\d_]|[£¯][^\W\d_]")
# Files from old Macs are rare, and the guesser takes those from Windows for such.
WINDOWS_FOR = {"mac_cyrillic": "cp1251", "mac_greek": "cp1253"}
MIXED_SCRIPTS = re.compile(r"[A-Za-z][\u0370-\uffff]|[\u0370-\uffff][A-Za-z]")


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

    A guesser distinguishes scripts well and the Latin alphabets badly, so those are
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
    """Whether most letters beyond ASCII are of another script, in whole words."""
    letters = [c for c in text if ord(c) > 127 and c.isalpha()]
    others = sum(ord(c) >= 0x370 for c in letters)
    return others > len(letters) / 2 and not MIXED_SCRIPTS.search(text)
