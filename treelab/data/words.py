"""Numbers and names in sentences."""

from collections.abc import Sequence


def count(n: int, noun: str) -> str:
    """Write a number of things: "1 row", "1,200 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Name a few things in a sentence, and how many more there are."""
    shown = [repr(str(name)) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    if len(shown) > 1:
        return f"{', '.join(shown[:-1])} and {shown[-1]}"
    return "".join(shown)
