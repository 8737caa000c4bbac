"""What a backup holds, and whether that is what was stored."""

import hashlib
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from treelab.runs.care.members import DATABASE
from treelab.runs.care.runs import MODELS, why_unreadable
from treelab.runs.store.database import StoreError, reading_file
from treelab.trees.io import MODEL_FILES, MOST_ARRAY_BYTES, MOST_BYTES

UNREADABLE = (BadZipFile, ZlibError, EOFError)  # what a damaged zip file raises
_BLOCK = 2**20


@dataclass(frozen=True)
class Contents:
    """What a backup holds.

    Attributes
    ----------
    n_runs, n_tables : int
        That its database lists.
    damage : dict of str to str
        What is missing or not what was stored, in words, by the id of its run or table.
    """

    n_runs: int
    n_tables: int
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


def in_words(damage: dict[str, str], most: int = 5) -> str:
    """List what is damaged: a few of it, and how much more there is."""
    named = list(damage.values())[:most]
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
