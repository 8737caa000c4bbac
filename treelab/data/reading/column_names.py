"""The names of a table's columns: each its own, none empty."""

from collections.abc import Sequence

from treelab.trees.text.names import listed
from treelab.trees.text.numerals import counted


def unique_names(names: Sequence[str], columns: list, notes: list[str]) -> list[str]:
    """Give each column a name of its own; "" for one without name and content."""
    mended, unnamed, twice = [], [], []
    taken = set(names)
    for j, name in enumerate(names):
        new = name
        if not name:
            if not any(cell.as_py() for cell in columns[j].unique()):
                mended.append("")
                continue
            new = f"column_{j + 1}"
        suffix = 2
        while new in mended or (new != name and new in taken):
            new = f"{name or f'column_{j + 1}'}_{suffix}"
            suffix += 1
        if not name:
            unnamed.append(new)
        elif new != name:
            twice.append(new)
        mended.append(new)
    if unnamed:
        notes.append(
            f"{counted(len(unnamed), 'column')} without a name "
            f"{'is' if len(unnamed) == 1 else 'are'} called {listed(unnamed)}."
        )
    if twice:
        notes.append(
            "Some columns have the same name; the later ones are now called "
            f"{listed(twice)}."
        )
    return mended
