"""Text of other people on a terminal, which obeys some characters."""


def printable(text: str) -> str:
    """Return a text with its control characters spelled out, and on one line.

    A terminal would obey them: colours, a cleared screen, a title, lines of its own.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )
