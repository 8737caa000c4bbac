"""A data folder made from a backup, which may come from anybody."""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from treelab.runs.care.backup import (
    DATABASE,
    UNREADABLE,
    Contents,
    examine_backup,
    in_words,
    is_member,
)
from treelab.runs.store.database import (
    StoreError,
    check_is_file,
    prepare,
    reading_file,
    writing,
)
from treelab.runs.store.files import make_private_folder, open_private

MOST_FILES = 1_000_000
MOST_BYTES = 100 * 10**9
RESERVE = 10**8  # bytes that stay free on the disk
ENDED = "It was not finished when the backup was made."
_BLOCK = 2**20


def restore(
    file: Path, home: Path, *, most_bytes: int = MOST_BYTES, anyway: bool = False
) -> Contents:
    """Make a data folder from a backup, and return what it holds.

    Runs that were under way end as interrupted.

    The folder is there when all of it is: what is wrong with the backup leaves nothing.

    Parameters
    ----------
    file : Path
    home : Path
        There is nothing of this name, or an empty folder.
    most_bytes : int, default=100 GB
        Of all files together.
    anyway : bool, default=False
        Restore what is whole of a backup whose tables or models are damaged.

    Raises
    ------
    OSError
        If the folder has files, or the disk has no room.
    ValueError
        If the store is on a server, or the file is no backup, is damaged, or holds
        more than it may.
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
            check_entries(entries, min(most_bytes, _room(home.parent)))
            make_private_folder(part)
            contents = _examined(archive, file, part / "examined")
            if (damage := contents.damage) and not anyway:
                raise ValueError(
                    f"Nothing was restored: {file} is damaged, and {in_words(damage)} "
                    "cannot be read. --anyway restores the rest."
                )
            for entry in entries:
                try:
                    _extract(archive, entry, part / entry.filename)
                except UNREADABLE:
                    if not anyway:
                        raise
                    (part / entry.filename).unlink(missing_ok=True)
        n_runs = _settle(part)
        part.replace(home)
    except (*UNREADABLE, NotImplementedError) as error:
        raise ValueError(f"{file} is no backup, or it is damaged: {error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return replace(contents, n_runs=n_runs)


def _examined(archive: ZipFile, file: Path, folder: Path) -> Contents:
    """Return what a backup holds, and what of it is damaged."""
    make_private_folder(folder)
    try:
        return examine_backup(archive, folder)
    except ValueError as error:
        raise ValueError(f"Nothing was restored from {file}: {error}.") from error
    finally:
        shutil.rmtree(folder)


def check_entries(entries: Sequence[ZipInfo], most_bytes: int) -> None:
    """Raise ValueError unless all files of a zip file are a backup's, and fit.

    Parameters
    ----------
    entries : sequence of ZipInfo
    most_bytes : int
        Of all files together, unpacked.
    """
    names = [entry.filename for entry in entries]
    if DATABASE not in names:
        raise ValueError(f"This is no backup of treelab: it has no {DATABASE}.")
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


def _room(folder: Path) -> int:
    """Return the bytes that may be written to a disk."""
    return shutil.disk_usage(folder).free - RESERVE


def _extract(archive: ZipFile, entry: ZipInfo, path: Path) -> None:
    """Write one file of a backup as a plain file, with no more bytes than declared."""
    make_private_folder(path.parent)
    left = entry.file_size
    with archive.open(entry) as source, open_private(path, "xb") as target:
        while block := source.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise BadZipFile(f"{entry.filename} is larger than it says")
            target.write(block)
    if left:
        raise BadZipFile(f"{entry.filename} is smaller than it says")


def _settle(home: Path) -> int:
    """Make the database one that nobody uses yet; return its number of runs."""
    path = home / DATABASE
    try:
        prepare(path)
        with reading_file(path) as db:
            db.execute("PRAGMA journal_mode=WAL")
            found = [str(row[0]) for row in db.execute("SELECT id FROM runs")]
            table_ids = [str(row[0]) for row in db.execute("SELECT id FROM tables")]
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
            for (run_id,) in rows:
                has_model = (home / "runs" / str(run_id) / "model").is_dir()
                db.execute(
                    "UPDATE runs SET state = 'interrupted', error = ?, has_model = ?,"
                    " finished = coalesce(heartbeat, ?) WHERE id = ?",
                    (ENDED, has_model, time.time(), run_id),
                )
            run_ids = [str(row[0]) for row in db.execute("SELECT id FROM runs")]
        for run_id in run_ids:  # one that waits has no files yet, but a folder
            make_private_folder(home / "runs" / run_id)
    except StoreError as error:
        raise ValueError(f"This backup's database cannot be used: {error}") from error
    path.with_suffix(".lock").unlink(missing_ok=True)
    return len(run_ids)
