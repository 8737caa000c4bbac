"""A copy of a data folder as one zip file, made while it is in use."""

import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile
from zlib import error as ZlibError

from treelab.runs.care.doctor import MODELS, why_unreadable
from treelab.runs.store.database import StoreError, check_is_file, reading_file
from treelab.runs.store.files import open_private
from treelab.trees.io import MODEL_FILES, MOST_ARRAY_BYTES, MOST_BYTES

# Which names a backup's files may have: those of a data folder, and no others.


DATABASE = "treelab.sqlite"
_NAME = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"  # no path, and nothing that begins with a dot
_MEMBER = re.compile(
    rf"treelab\.sqlite|tables/[0-9a-f]{{64}}\.parquet|runs/{_NAME}(/{_NAME}){{1,4}}"
)


def is_member(name: str) -> bool:
    """Whether a backup may hold a file of this name, so that it stays in the folder."""
    return (
        len(name) <= 255
        and _MEMBER.fullmatch(name) is not None
        and not name.endswith(".part")
    )


# What a backup holds, and whether that is what was stored.


UNREADABLE = (BadZipFile, ZlibError, EOFError)  # what a damaged zip file raises
_BLOCK = 2**20


@dataclass(frozen=True)
class Contents:
    """What a backup holds."""

    # That its database lists.
    n_runs: int
    n_tables: int
    # What is missing or not what was stored, in words, by the id of its run or table.
    damage: dict[str, str]


def examine_backup(archive: ZipFile, folder: Path) -> Contents:
    """Read all of a backup, and compare it with what its database lists.

    Parameters
    ----------
    archive : ZipFile
    folder : Path
        Empty; the database and one model at a time are unpacked there.

    Raises
    ------
    ValueError
        If its database is damaged.
    """
    digest = {name: _digest(archive, name) for name in archive.namelist()}
    if not digest.get(DATABASE):
        raise ValueError(f"its {DATABASE} cannot be read")
    archive.extract(DATABASE, folder)
    tables, runs = _listed(folder / DATABASE)
    files = defaultdict(list)
    for name in digest:
        room, _, rest = name.partition("/")
        if room == "runs":
            files[rest.partition("/")[0]].append(name)
    damage = {
        str(table["id"]): f"the table {table['name']!r}"
        for table in tables
        if digest.get(f"tables/{table['id']}.parquet") != table["id"]
    }
    for run in runs:
        own = files[run["id"]]
        lacks_model = (
            run["has_model"] and f"runs/{run['id']}/model/model.json" not in own
        )
        is_whole = all(digest[name] for name in own) and not lacks_model
        if not (is_whole and _has_whole_models(archive, own, folder)):
            damage[str(run["id"])] = f"what the run {run['title']!r} saved"
    if not runs and any(
        Path(n).name in MODEL_FILES for own in files.values() for n in own
    ):
        damage["runs"] = "the list of runs, which is empty beside their models"
    return Contents(len(runs), len(tables), damage)


def in_words(damage: dict[str, str]) -> str:
    """List what is damaged: a few of it, and how much more there is."""
    named = list(damage.values())[:5]
    more = len(damage) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _digest(archive: ZipFile, name: str) -> str:
    """Return the SHA-256 of a file of a backup, "" where it cannot be unpacked."""
    digest = hashlib.sha256()
    try:
        with archive.open(name) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except UNREADABLE:
        return ""
    return digest.hexdigest()


def _listed(path: Path) -> tuple[list, list]:
    """Return the rows of tables and runs that a whole database lists."""
    try:
        with reading_file(path) as db:
            found = [row[0] for row in db.execute("PRAGMA integrity_check(1)")]
            if found != ["ok"]:
                raise ValueError(f"its database is damaged: {found[0]}")
            for name in ("events", "workers", "apps"):
                db.execute(f"SELECT count(*) FROM {name}")
            tables = db.execute("SELECT id, name FROM tables").fetchall()
            runs = db.execute(
                "SELECT id, title, has_model AND state NOT IN ('queued', 'running')"
                " AS has_model FROM runs WHERE NOT deleted"
            ).fetchall()
    except StoreError as error:
        raise ValueError(f"its database is damaged: {error.__cause__}") from error
    return tables, runs


def _has_whole_models(archive: ZipFile, names: list[str], folder: Path) -> bool:
    """Whether each model among a run's files can be read."""
    for name in names:
        _, run_id, place, *rest = name.split("/")
        if place not in (*MODELS, "rashomon") or rest != [MODEL_FILES[0]]:
            continue
        files = [f"runs/{run_id}/{place}/{part}" for part in MODEL_FILES]
        if any(file not in names for file in files):
            return False
        sizes = [archive.getinfo(file).file_size for file in files]
        if sizes[0] > MOST_BYTES or sizes[1] > MOST_ARRAY_BYTES:
            return False
        for file in files:
            archive.extract(file, folder)
        why = why_unreadable(folder / "runs" / run_id / place)
        shutil.rmtree(folder / "runs")
        if why:
            return False
    return True


# A copy of a data folder as one zip file, made while it is in use.


def back_up(home: Path, file: Path, *, anyway: bool = False) -> Contents:
    """Copy a data folder into a zip file that only its owner may read; return what.

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
                f"{in_words(damage)} cannot be read. `treelab doctor` says "
                "why; mend or delete it, or back up the rest with --anyway."
            )
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return contents


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
            "one in its place, see `treelab restore --help`."
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
