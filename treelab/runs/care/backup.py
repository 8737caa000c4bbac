"""A copy of a data folder as one zip file, made while it is in use."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from treelab.runs.care.contents import Contents, examine_backup, in_words
from treelab.runs.care.members import DATABASE, is_member
from treelab.runs.store.database import StoreError, check_is_file, reading_file
from treelab.runs.store.private import open_private


@dataclass(frozen=True)
class Backup:
    """What a backup holds; see ``Contents``."""

    n_runs: int
    n_tables: int
    n_bytes: int  # of the zip file
    damage: dict[str, str]


def back_up(home: Path, file: Path, *, anyway: bool = False) -> Backup:
    """Copy a data folder into a zip file, which only its owner may read.

    The database is copied first, as it is at one moment; what runs write later is at
    most more than it knows. The copy is read and compared with what was stored, and
    only then moved to its place, over an older one.

    Parameters
    ----------
    home : Path
    file : Path
        Its name ends in .zip.
    anyway : bool, default=False
        Make it also where tables or models are damaged.

    Raises
    ------
    OSError
        If there is no run store, it cannot be read or is damaged, or the file cannot
        be written.
    ValueError
        If the store is on a server, or the file's name does not end in .zip.
    """
    if file.suffix.lower() != ".zip":
        raise ValueError(f"A backup's name ends in .zip, got {file.name!r}.")
    check_is_file(home)
    if not (home / DATABASE).exists():
        raise FileNotFoundError(f"There is no run store in {home}.")
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        with tempfile.TemporaryDirectory(dir=file.parent) as name:
            folder = Path(name)
            _write(home, part, folder)
            with ZipFile(part) as archive:
                contents = _examined(archive, home, folder)
        damage = contents.damage
        if damage and not anyway:
            raise StoreError(
                f"No backup was made, and an older one stays: in {home} "
                f"{in_words(damage)} cannot be read. `python -m treelab doctor` says "
                "why; mend or delete it, or back up the rest with --anyway."
            )
        n_bytes = part.stat().st_size
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return Backup(contents.n_runs, contents.n_tables, n_bytes, damage)


def _write(home: Path, file: Path, folder: Path) -> None:
    """Write the zip file; the copy of the database passes through an empty folder."""
    copy = folder / DATABASE
    # A run that begins after the database was copied is left out: its files alone
    # would look like those of an emptied database.
    known = {_id_of(name) for name, _ in members(home)}
    _copy_database(home / DATABASE, copy)
    known |= _ids(copy)
    with (
        open_private(file, "wb") as raw,
        ZipFile(raw, "w", ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.write(copy, DATABASE)
        for name, path in members(home):
            if _id_of(name) not in known:
                continue
            try:
                archive.write(path, name)
            except FileNotFoundError:
                continue  # deleted since it was listed
    copy.unlink()


def _examined(archive: ZipFile, home: Path, folder: Path) -> Contents:
    """Examine a backup that was just written; what was deleted meanwhile may lack."""
    try:
        contents = examine_backup(archive, folder)
    except ValueError as error:
        raise StoreError(
            f"No backup of {home} was made, and an older one stays: {error}. Put that "
            "one in its place, see `python -m treelab restore --help`."
        ) from error
    left = _ids(home / DATABASE) | {"runs"}
    damage = {id: what for id, what in contents.damage.items() if id in left}
    return replace(contents, damage=damage)


def _ids(database: Path) -> set[str]:
    """Return the ids of all tables and runs that a database lists."""
    with reading_file(database) as db:
        rows = db.execute("SELECT id FROM runs UNION SELECT id FROM tables")
        return {row[0] for row in rows}


def _id_of(name: str) -> str:
    """Return the id of the run or table that a file of a data folder belongs to."""
    return name.split("/")[1].removesuffix(".parquet")


def members(home: Path) -> Iterator[tuple[str, Path]]:
    """Yield what a backup holds beside the database: each file with its name in it."""
    for room in ("tables", "runs"):
        for folder, below, files in os.walk(home / room):
            below[:] = sorted(name for name in below if not name.endswith(".part"))
            for file in sorted(files):
                path = Path(folder) / file
                name = path.relative_to(home).as_posix()
                if is_member(name) and not path.is_symlink():
                    yield name, path


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database that others may be writing, as it is at one moment."""
    with reading_file(source) as db, closing(sqlite3.connect(target)) as copy:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, no log beside it
