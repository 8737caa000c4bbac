"""Stored tables that are missing, damaged or left over."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from treelab.runs.care.finding import Finding, note
from treelab.runs.care.leftovers import is_old
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.tables import MEND_TABLE, hash_of, why_damaged

_PART = re.compile(r"([0-9a-f]{64})\.\d+\.part")


def check_tables(store: RunStore) -> Iterator[Finding]:
    """Find tables whose file is missing or not what was stored, and leftovers.

    No file that holds a whole table is ever removed; one that no list names is listed
    again.
    """
    folder = store.home / "tables"
    known = {info.id: info for info in store.tables()}
    yield from _check_leftovers(folder)
    for info in known.values():
        try:
            why = why_damaged(folder / f"{info.id}.parquet")
        except OSError as error:
            why = f"Its file cannot be read: {error}."
        if why:
            yield Finding(f"table {info.name}", f"{why} {MEND_TABLE}")
    for path in sorted(folder.glob("*.parquet")):
        if path.stem in known:
            continue
        if why_damaged(path):
            yield note("tables", f"{path} is damaged and in no list; it stays.")
            continue
        yield Finding(
            "tables",
            f"{path} is a whole table that the database does not list.",
            remedy="It is listed again, by another name.",
            mend=partial(store.relist_table, path.stem),
        )
    yield note("tables", f"{len(known):,} stored.")


def _check_leftovers(folder: Path) -> Iterator[Finding]:
    """Find files of tables that were not written to the end, or not renamed."""
    for part in sorted(folder.glob("*.part")):
        if not is_old(part):
            continue
        named = _PART.fullmatch(part.name)
        place = folder / f"{named[1]}.parquet" if named else None
        is_whole = named is not None and hash_of(part) == named[1]
        if is_whole and place is not None and not place.exists():
            yield Finding(
                "tables",
                f"{part} is a whole table that was not put in its place.",
                remedy="It is put there.",
                mend=partial(part.rename, place),
            )
        else:
            yield Finding(
                "tables",
                f"{part} is left over from a table that was not written to its end.",
                remedy="It is removed.",
                mend=partial(part.unlink, missing_ok=True),
            )
