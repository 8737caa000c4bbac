"""The names of a table's columns: each its own, none empty."""

from collections.abc import Collection, Sequence

from treelab.trees.words import counted, listed


def unique_names(
    names: Sequence[str], columns: list, notes: list[str], known: Collection[str] = ()
) -> list[str]:
    """Give each column a name of its own; "" for one without name and content.

    A column that is ``known`` by the name it would get has a name without content, too.
    """
    mended, unnamed, twice = [], [], []
    taken = set(names)
    for j, name in enumerate(names):
        new = name
        if not name:
            new = f"column_{j + 1}"
            filled = any(cell.as_py() for cell in columns[j].unique())
            if not filled and new not in known:
                mended.append("")
                continue
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
