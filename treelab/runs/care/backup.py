"""A data folder as one zip file, made while it is in use, and a folder made of one."""

import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from errno import ENOSPC
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from treelab.runs.care.doctor import MODELS
from treelab.runs.store.database import (
    FILE,
    StoreError,
    check_is_file,
    prepare,
    reading_file,
    writing,
)
from treelab.runs.store.files import OWNER, make_private_folder, open_private
from treelab.trees.io import MODEL_FILES, model_from_zip

_NAME = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"  # no path, and nothing that begins with a dot
_MEMBER = re.compile(
    rf"treelab\.sqlite|tables/[0-9a-f]{{64}}\.parquet|runs/{_NAME}(/{_NAME}){{1,4}}"
)
UNREADABLE = (BadZipFile, ZlibError, EOFError)  # what a damaged zip file raises
MOST_FILES = 1_000_000
MOST_BYTES = 100 * 10**9
RESERVE = 10**8  # bytes that stay free on the disk
ENDED = "It was not finished when the backup was made."


def is_member(name: str) -> bool:
    """Whether a backup may hold a file of this name, so that it stays in the folder."""
    is_ours = len(name) <= 255 and _MEMBER.fullmatch(name) is not None
    return is_ours and not name.endswith(".part")


@dataclass(frozen=True)
class Contents:
    """What a backup holds."""

    # That its database lists.
    n_runs: int
    n_tables: int
    # What is missing or not what was stored, in words, by the id of its run or table.
    damage: dict[str, str]

    @property
    def words(self) -> str:
        """List what is damaged: a few of it, and how much more there is."""
        named = list(self.damage.values())[:5]
        more = len(self.damage) - len(named)
        return ", ".join(named) + (f" and {more:,} more" if more else "")


def examine_backup(archive: ZipFile, folder: Path, refusal: str) -> Contents:
    """Read all of a backup, and compare it with what its database lists.

    The database is unpacked into an empty folder meanwhile. ValueError if its database
    is damaged: the refusal, and why.
    """
    digest = {name: _digest(archive, name) for name in archive.namelist()}
    try:
        if not digest.get(FILE):
            raise ValueError(f"its {FILE} cannot be read")
        tables, runs = _listed(Path(archive.extract(FILE, folder)))
    except ValueError as error:
        raise ValueError(f"{refusal}: {error}.") from error
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
        own, place = files[run["id"]], f"runs/{run['id']}"
        is_there = not run["has_model"] or f"{place}/model/model.json" in own
        is_whole = is_there and all(digest[name] for name in own)
        if not (is_whole and _has_whole_models(archive, own, place)):
            damage[str(run["id"])] = f"what the run {run['title']!r} saved"
    named = {Path(name).name for own in files.values() for name in own}
    if not runs and named & {*MODEL_FILES}:
        damage["runs"] = "the list of runs, which is empty beside their models"
    return Contents(len(runs), len(tables), damage)


def _digest(archive: ZipFile, name: str) -> str:
    """Return the SHA-256 of a file of a backup, "" where it cannot be unpacked."""
    try:
        with archive.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    except UNREADABLE:
        return ""


def _listed(path: Path) -> tuple[list, list]:
    """Return the rows of tables and runs that a whole database lists."""
    try:
        with reading_file(path) as db:
            found = db.execute("PRAGMA integrity_check(1)").fetchone()
            if found["integrity_check"] != "ok":
                raise ValueError(f"its database is damaged: {found['integrity_check']}")
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


def _has_whole_models(archive: ZipFile, names: list[str], folder: str) -> bool:
    """Whether each model among the files of a run's folder is the run's, and whole."""
    for place in MODELS:
        if f"{folder}/{place}/{MODEL_FILES[0]}" in names:
            owner = f"{folder}/{place}/{OWNER}"
            if owner in names and archive.read(owner) != Path(folder).name.encode():
                return False
            try:
                model_from_zip(archive, place, f"{folder}/{place}/")
            except ValueError:
                return False
    return True


def back_up(home: Path, file: Path, *, anyway: bool = False) -> Contents:
    """Copy a data folder into a zip file that only its owner may read; return what.

    The database is copied first, as it is at one moment; what runs write later is at
    most more than it knows. The copy is read and compared with what was stored, and
    only then moved to its place, over an older one. OSError if there is no run store,
    it cannot be read or is damaged, or the file cannot be written. ValueError if the
    store is on a server, or the file's name does not end in .zip. With ``anyway`` it is
    made also where tables or models are damaged.
    """
    if file.suffix.lower() != ".zip":
        raise ValueError(f"A backup's name ends in .zip, got {file.name!r}.")
    check_is_file(home)
    if not (home / FILE).exists():
        raise FileNotFoundError(f"There is no run store in {home}.")
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    none = f"No backup of {home} was made, and an older one stays"
    try:
        with tempfile.TemporaryDirectory(dir=file.parent) as name:
            _write(home, part, Path(name))
            try:
                with ZipFile(part) as archive:
                    contents = examine_backup(archive, Path(name), none)
            except ValueError as error:
                raise StoreError(
                    f"{error} Put that one in its place, see `treelab restore --help`."
                ) from error
        # What was deleted meanwhile may lack.
        left = _ids(home / FILE) | {"runs"}
        damage = {id: what for id, what in contents.damage.items() if id in left}
        contents = replace(contents, damage=damage)
        if damage and not anyway:
            raise StoreError(
                f"{none}: {contents.words} cannot be read. `treelab doctor` says "
                "why; mend or delete it, or back up the rest with --anyway."
            )
        part.replace(file)
    except OSError as error:
        if error.errno == ENOSPC:  # it names no file, or one in a folder of its own
            raise OSError(ENOSPC, os.strerror(ENOSPC), str(file)) from error
        raise
    finally:
        part.unlink(missing_ok=True)
    return contents


def _write(home: Path, file: Path, folder: Path) -> None:
    """Write the zip file; the copy of the database passes through an empty folder."""
    copy = folder / FILE
    # A run that begins after the database was copied is left out: its files alone
    # would look like those of an emptied database.
    known = {_id_of(name) for name, _ in members(home)}
    _copy_database(home / FILE, copy)
    known |= _ids(copy)
    with (
        open_private(file, "wb") as raw,
        ZipFile(raw, "w", ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.write(copy, FILE)
        for name, path in members(home):
            if _id_of(name) in known:
                with suppress(FileNotFoundError):  # deleted since it was listed
                    archive.write(path, name)
    copy.unlink()


def _ids(database: Path) -> set[str]:
    """Return the ids of all tables and runs that a database lists."""
    with reading_file(database) as db:
        rows = db.execute("SELECT id FROM runs UNION SELECT id FROM tables")
        return {row["id"] for row in rows}


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
        try:
            db.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, no log beside it
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            # The disk of the copy: the source is only read.
            raise OSError(ENOSPC, os.strerror(ENOSPC)) from error


def restore(
    file: Path, home: Path, *, most_bytes: int = MOST_BYTES, anyway: bool = False
) -> Contents:
    """Make a data folder from a backup, and return what it holds.

    Runs that were under way end as interrupted.

    The folder is there when all of it is: what is wrong with the backup leaves nothing.
    OSError if the folder has files, or the disk has no room. ValueError if the store is
    on a server, or the file is no backup, is damaged, or holds more than it may. That
    is made where there is nothing, or an empty folder, of all files together at most so
    many bytes. With ``anyway`` what is whole is restored of a backup whose tables or
    models are damaged.
    """
    check_is_file(home)
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise FileExistsError(
            f"{home} is not empty. A backup is restored into a folder of its own; "
            "choose another with --home."
        )
    make_private_folder(home.parent)
    part = home.with_name(f"{home.name}.{os.getpid()}.part")
    try:
        with ZipFile(file) as archive:
            entries = archive.infolist()
            free = shutil.disk_usage(home.parent).free
            check_entries(entries, min(most_bytes, free - RESERVE))
            make_private_folder(part)
            refusal = f"Nothing was restored from {file}"
            with tempfile.TemporaryDirectory(dir=part) as folder:
                contents = examine_backup(archive, Path(folder), refusal)
            if contents.damage and not anyway:
                raise ValueError(
                    f"{refusal}: {contents.words} cannot be read. --anyway restores "
                    "the rest."
                )
            for entry in entries:
                path = part / entry.filename
                make_private_folder(path.parent)
                try:  # a plain file, with no more bytes than declared
                    with archive.open(entry) as own, open_private(path, "xb") as out:
                        shutil.copyfileobj(own, out)
                except UNREADABLE:
                    if not anyway:
                        raise
                    path.unlink(missing_ok=True)
        n_runs = _settle(part)
        part.replace(home)
    except (*UNREADABLE, NotImplementedError) as error:
        raise ValueError(f"{file} is no backup, or it is damaged: {error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return replace(contents, n_runs=n_runs)


def check_entries(entries: Sequence[ZipInfo], most_bytes: int) -> None:
    """Raise ValueError unless a zip file holds a backup's files alone, and they fit."""
    names = [entry.filename for entry in entries]
    if FILE not in names:
        raise ValueError(f"This is no backup of treelab: it has no {FILE}.")
    if len(names) > MOST_FILES:
        raise ValueError(
            f"This backup has {len(names):,} files; at most {MOST_FILES:,} are read."
        )
    strange = [name for name in names if not is_member(name)]
    if strange:
        raise ValueError(f"This is no backup of treelab: it holds {strange[0]!r}.")
    if len(set(names)) < len(names):
        raise ValueError("This backup is damaged: it holds files of the same name.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise ValueError("This backup is encrypted; unpack and pack it without.")
    total = sum(entry.file_size for entry in entries)
    if total > most_bytes:
        raise ValueError(
            f"This backup takes {total / 1e9:,.1f} GB unpacked, and there is room for "
            f"{max(most_bytes, 0) / 1e9:,.1f} GB. Free some space, or allow more with "
            "--most-gb."
        )


def _settle(home: Path) -> int:
    """Make the database one that nobody uses yet; return its number of runs."""
    path = home / FILE
    try:
        prepare(path)
        with reading_file(path) as db:
            db.execute("PRAGMA journal_mode=WAL")
            found = [str(row["id"]) for row in db.execute("SELECT id FROM runs")]
            table_ids = [str(row["id"]) for row in db.execute("SELECT id FROM tables")]
        # Ids become paths, which a later deletion follows.
        names = [f"runs/{run_id}/model" for run_id in found]
        names += [f"tables/{table_id}.parquet" for table_id in table_ids]
        if strange := [name for name in names if not is_member(name)]:
            raise ValueError(f"This is no backup of treelab: it names {strange[0]!r}.")
        with writing(path) as db:
            db.execute("DELETE FROM workers")
            db.execute("DELETE FROM apps")
            db.execute("DELETE FROM runs WHERE deleted")
            rows = db.execute(
                "SELECT id FROM runs WHERE state = 'running'"
                " OR (state = 'queued' AND NOT submitted)"
            ).fetchall()
            for row in rows:
                has_model = (home / "runs" / str(row["id"]) / "model").is_dir()
                db.execute(
                    "UPDATE runs SET state = 'interrupted', error = ?, has_model = ?,"
                    " finished = coalesce(heartbeat, ?) WHERE id = ?",
                    (ENDED, has_model, time.time(), row["id"]),
                )
            run_ids = [str(row["id"]) for row in db.execute("SELECT id FROM runs")]
        for run_id in run_ids:  # one that waits has no files yet, but a folder
            make_private_folder(home / "runs" / run_id)
    except StoreError as error:
        raise ValueError(f"This backup's database cannot be used: {error}") from error
    path.with_suffix(".lock").unlink(missing_ok=True)
    return len(run_ids)
