"""Stored tables that are missing, damaged or left over."""

import hashlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from treelab.runs.care.finding import Finding, note
from treelab.runs.care.leftovers import is_old
from treelab.runs.store.run_store import RunStore

_PART = re.compile(r"([0-9a-f]{64})\.\d+\.part")


def check_tables(store: RunStore) -> Iterator[Finding]:
    """Find tables whose file is missing or not what was stored, and leftovers.

    No file that holds a whole table is ever removed.
    """
    folder = store.home / "tables"
    known = {info.id: info for info in store.tables()}
    yield from _check_leftovers(folder)
    for info in known.values():
        path = folder / f"{info.id}.parquet"
        about = f"table {info.name}"
        try:
            damaged = content_hash(path) != info.id
        except FileNotFoundError:
            yield Finding(about, f"Its file {path} is missing. Restore it.")
        except OSError as error:
            yield Finding(about, f"Its file cannot be read: {error}.")
        else:
            if damaged:
                yield Finding(
                    about,
                    f"{path} is not what was stored: its hash differs. Restore it.",
                )
    strangers = [path for path in folder.glob("*.parquet") if path.stem not in known]
    for path in strangers:
        yield note("tables", f"{path} is in no list of tables; it stays.")
    yield note("tables", f"{len(known):,} stored.")


def _check_leftovers(folder: Path) -> Iterator[Finding]:
    """Find files of tables that were not written to the end, or not renamed."""
    for part in sorted(folder.glob("*.part")):
        if not is_old(part):
            continue
        named = _PART.fullmatch(part.name)
        place = folder / f"{named[1]}.parquet" if named else None
        is_whole = named is not None and content_hash(part) == named[1]
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


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
