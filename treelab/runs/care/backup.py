"""A copy of a data folder as one zip file, made while it is in use."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from treelab.runs.care.members import DATABASE, is_member
from treelab.runs.store.database import check_is_file, reading_file
from treelab.runs.store.private import open_private


@dataclass(frozen=True)
class Backup:
    """What a backup holds."""

    n_runs: int
    n_tables: int
    n_bytes: int  # of the zip file


def back_up(home: Path, file: Path) -> Backup:
    """Copy a data folder into a zip file, which only its owner may read.

    The database is copied first, as it is at one moment; what runs write later is at
    most more than it knows. A reader never finds half a backup: the file is moved to
    its place, over an older one, when it is complete.

    Parameters
    ----------
    home : Path
    file : Path
        Its name ends in .zip.

    Raises
    ------
    OSError
        If there is no run store, it cannot be read, or the file cannot be written.
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
        with tempfile.TemporaryDirectory(dir=file.parent) as folder:
            copy = Path(folder) / DATABASE
            _copy_database(home / DATABASE, copy)
            n_runs, n_tables = _counts(copy)
            with (
                open_private(part, "wb") as raw,
                ZipFile(raw, "w", ZIP_DEFLATED, compresslevel=1) as archive,
            ):
                archive.write(copy, DATABASE)
                for name, path in members(home):
                    try:
                        archive.write(path, name)
                    except FileNotFoundError:
                        continue  # deleted since it was listed
        n_bytes = part.stat().st_size
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return Backup(n_runs, n_tables, n_bytes)


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


def _counts(database: Path) -> tuple[int, int]:
    """Return the numbers of runs and tables."""
    with reading_file(database) as db:
        n_runs = db.execute("SELECT count(*) FROM runs WHERE NOT deleted").fetchone()[0]
        return n_runs, db.execute("SELECT count(*) FROM tables").fetchone()[0]
