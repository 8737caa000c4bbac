"""The error for a file that cannot be read as a table."""

from collections.abc import Sequence


class TableError(ValueError):
    """A file cannot be read as a table: what was wrong, where, and what to do."""


class ChoiceError(TableError):
    """A file holds several tables, and one has to be chosen as ``sheet``."""

    def __init__(self, sentence: str, choices: Sequence[str]):
        super().__init__(sentence)
        self.choices = list(choices)  # their names


def pick_table(name: str, names: Sequence[str], sheet: str | None, what: str) -> str:
    """Return which of a file's tables, at least one, is read.

    ``sheet`` is the one that was chosen, if any; ``what`` is what a table is called in
    such a file: "sheet" or "table". ChoiceError if none was chosen of several, or one
    that the file has not.
    """
    if sheet in names:
        return str(sheet)
    shown = ", ".join(repr(each) for each in names[:10])
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    if sheet is not None:
        raise ChoiceError(
            f"{name} has no {what} {sheet!r}; it has {shown}{more}.", names
        )
    if len(names) > 1:
        raise ChoiceError(
            f"{name} has {len(names):,} {what}s: {shown}{more}. Choose one (on the "
            "command line with --sheet, of a test file with --test-sheet).",
            names,
        )
    return names[0]
