"""Names of columns, categories and units as people read them."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_UNCLEAR = ",{}\"'"  # a category with one of these is quoted, so lists stay clear
_DIRECTION_MARKS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def with_unit(text: str, unit: str) -> str:
    """Return the text with its unit behind it."""
    unit = clean(unit)
    return f"{text} {unit}" if unit else text


def clean(name) -> str:
    """Return a name of the user's on one line and harmless to the text around it.

    Control characters and line breaks become spaces, and marks that turn the writing
    direction go; a name with right-to-left letters is isolated, so that the rest of
    the line keeps its order.
    """
    return _cleaned(str(name))


@lru_cache(maxsize=4096)
def _cleaned(name: str) -> str:
    """Return ``clean`` of text; pictures need the same names at every node."""
    characters, turns = [], False
    for character in name:
        kind = unicodedata.category(character)
        direction = unicodedata.bidirectional(character)
        no_letter = kind == "Cs" or ord(character) & 0xFFFE == 0xFFFE
        if direction in _DIRECTION_MARKS or no_letter:
            continue
        turns = turns or direction in ("R", "AL", "AN")
        characters.append(" " if kind in ("Cc", "Zl", "Zp") else character)
    text = " ".join("".join(characters).split())
    return f"\u2068{text}\u2069" if turns else text


def short(name, length: int | None) -> str:
    """Return a clean name of at most ``length`` characters, shortened in its middle."""
    text = clean(name)
    if length is None:
        return text
    isolated = text.startswith("\u2068")
    bare = text.strip("\u2068\u2069")
    if len(bare) > length:
        ahead = length // 2
        bare = f"{bare[:ahead].rstrip()}…{bare[len(bare) - (length - 1 - ahead) :]}"
    return f"\u2068{bare}\u2069" if isolated else bare


def quoted(category: str, length: int | None = None) -> str:
    """Return a category, in quotes where it would not be clear without."""
    text = short(category, length)
    same = text == category or text != clean(category)
    plain = text and same and not any(c in _UNCLEAR for c in text)
    return text if plain or text.startswith("\u2068") else f"“{text}”"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Name a few things in a sentence, and how many more there are."""
    shown = [repr(str(name)) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    if len(shown) > 1:
        return f"{', '.join(shown[:-1])} and {shown[-1]}"
    return "".join(shown)
