"""What is wrong with a data folder, and the repair of what is safe to repair."""

import json
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from treelab.runs.care.retention import Limits, clean, plan_cleaning
from treelab.runs.store.database import (
    StoreError,
    database_of,
    fetch,
    is_there,
    prepare,
    read_version,
    reading,
    why_emptied,
)
from treelab.runs.store.files import check_owner, holds_trees, megabytes, remains
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server
from treelab.runs.store.tables import MEND_TABLE, hash_of, why_damaged
from treelab.trees.io import MODEL_FILES, load
from treelab.trees.words import counted

OLD_SECONDS = 3600.0  # unchanged for so long, nobody is writing it any more
PACKAGES = ("treelab", "torch", "streamlit")
LOW_BYTES = 10**9  # a run with its snapshots may take some tens of MB
# The folders in a run's folder that hold trained trees, and what these are.
MODELS = {
    "model": "model",
    "path": "trees by size",
    "rashomon": "trees that score alike",
}
_PART = re.compile(r"([0-9a-f]{64})\.\d+\.part")


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was found, good or bad."""

    about: str  # what it is about: "database", "run cart-abc", "disk"
    message: str  # what was found, in sentences
    is_trouble: bool = True  # whether somebody should do something about it
    # What a repair does, in a sentence; "" where only a person can decide.
    remedy: str = ""
    mend: Callable[[], object] | None = None  # does it; raises OSError where it cannot
    is_mended: bool = False  # whether it was done

    def mended(self) -> "Diagnosis":
        """Return this finding once its remedy is applied, where it has one."""
        if self.mend is None or self.is_mended:
            return self
        try:
            self.mend()
        except OSError as error:
            return replace(self, message=f"{self.message} Not mended: {error}.")
        return replace(self, is_trouble=False, is_mended=True)

    def to_dict(self) -> dict:
        """Return plain values, for JSON."""
        return {
            "about": self.about,
            "message": self.message,
            "trouble": self.is_trouble,
            "remedy": self.remedy,
            "mended": self.is_mended,
        }


def note(about: str, message: str) -> Diagnosis:
    """Return a finding that is no trouble."""
    return Diagnosis(about, message, is_trouble=False)


def is_old(path: Path) -> bool:
    """Whether a file, or all of a folder, has not been changed for an hour."""
    try:
        newest = max(each.stat().st_mtime for each in (path, *path.rglob("*")))
    except (OSError, ValueError):  # it went away while we looked
        return False
    return time.time() - newest > OLD_SECONDS


def check_machine(home: Path) -> Iterator[Diagnosis]:
    """Find what is free on a data folder's disk, and which versions are installed."""
    is_low = (free := shutil.disk_usage(home).free) < LOW_BYTES
    words = f"{free / 1e9:,.1f} GB are free for {home}."
    only = f"Only {words} Free some, before runs fail."
    yield Diagnosis("disk", only if is_low else words, is_low)
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            if package == "treelab":  # a checkout needs no installation
                continue
            how = "pip install -r requirements.txt"
            yield Diagnosis("versions", f"{package} is not installed: {how}.")
    yield note("versions", f"{', '.join(found)}.")
    dot = shutil.which("dot")
    none = "There is no dot; only saving trees as SVG or PDF needs it."
    yield note("graphviz", f"dot is at {dot}." if dot else none)


def check_runs(store: RunStore) -> Iterator[Diagnosis]:
    """Find runs without their model or table, leftovers, and folders of no run.

    What holds a model is never removed: one that was written but not put in its place
    is put there, and one beside another stays.
    """
    if why := store.why_empty():
        yield Diagnosis("runs", why)
    tables = {info.id for info in store.tables()}
    rows = _rows(store)
    dead = store.dead_runs()
    for run_id, run in rows.items():
        about = f"run {run_id}"
        if isinstance(run, str):
            yield Diagnosis(about, f"Its row in the database cannot be read: {run}.")
            continue
        if run_id in dead:
            yield Diagnosis(
                about,
                f"It is {run.state}, but its process has ended.",
                remedy="It is ended as interrupted.",
                mend=store.interrupt_dead_runs,
            )
        if run.problem.table_id not in tables:
            lost = "Its table is not stored, so it cannot be explained."
            yield Diagnosis(about, lost)
        if run.is_finished:
            yield from _check_finished(store, run)
    yield from _check_strangers(store, set(rows))
    yield note("runs", f"{len(rows):,} stored.")


def _rows(store: RunStore) -> dict[str, Run | str]:
    """Return each run by its id, or why its row cannot be read; hidden ones, too."""
    found: dict[str, Run | str] = {}
    for row in fetch(store.database, "SELECT * FROM runs ORDER BY created"):
        try:
            found[row["id"]] = Run.from_row(row)
        except (ValueError, KeyError, TypeError) as error:
            found[row["id"]] = f"{error}"
    return found


def _check_finished(store: RunStore, run: Run) -> Iterator[Diagnosis]:
    """Compare a finished run's folder with its row."""
    about, folder = f"run {run.id}", store.folder(run.id)
    for name in MODELS:
        yield from _check_part(store, run, folder / name)
    for part in _leftovers_in(folder):
        if is_old(part):
            yield _removal(about, part)
    model = folder / "model"
    waits = not model.exists() and not why_unreadable(_part_of(model))
    if model.is_dir() and (why := why_unreadable(model)):
        yield Diagnosis(about, f"Its model cannot be read: {why} Restore it.")
    elif model.is_dir() and not run.summary:
        words = f"It is {run.state}: its model was saved, and its scores were not."
        yield note(about, f"{words} {run.way_to_model}".strip())
    elif model.is_dir() != run.has_model and not waits:
        there = "has" if model.is_dir() else "lacks"
        yield Diagnosis(
            about,
            f"Its folder {there} a model, and its row says otherwise.",
            remedy="The row is set right.",
            mend=partial(store.set_has_model, run.id),
        )
    for name in ("path", "rashomon"):
        place = folder / name
        if place.is_dir() and (why := why_unreadable(place)):
            yield Diagnosis(about, f"Its {MODELS[name]} cannot be read: {why}")


def _leftovers_in(folder: Path) -> list[Path]:
    """List what was not written to the end in a run's folder, but for its trees."""
    of_trees = {_part_of(folder / name) for name in MODELS}
    found = {path for each in ("", "*/") for path in folder.glob(f"{each}*.part")}
    found = {path for path in found if not {path, path.parent} & of_trees}
    return sorted(found | {*folder.glob("snapshots.old")})


def _check_part(store: RunStore, run: Run, place: Path) -> Iterator[Diagnosis]:
    """Find what was written for a place in a run's folder and never put there."""
    about, part = f"run {run.id}", _part_of(place)
    if not part.exists() or not is_old(part):
        return
    # Each file of a model is moved to its place when complete: with all, it is whole.
    if not all((part / name).exists() for name in MODEL_FILES):
        yield _removal(about, part)
        return
    if place.exists() or (why := why_unreadable(part)):
        why = "There is one in its place." if place.exists() else why
        yield Diagnosis(about, f"{part} holds a model and stays: {why}")
        return

    def put_in_place() -> None:
        part.rename(place)
        store.set_has_model(run.id)

    yield Diagnosis(
        about,
        f"{part} holds a model that was not put in its place.",
        remedy="It is put there.",
        mend=put_in_place,
    )


def _part_of(place: Path) -> Path:
    """Return where a folder is written before it is put in its place."""
    return place.with_name(f"{place.name}.part")


def _check_strangers(store: RunStore, known: set[str]) -> Iterator[Diagnosis]:
    """Find folders that no row names."""
    home = store.home / "runs"
    for folder in sorted(home.glob("*")):
        if folder.name in known or not is_old(folder):
            continue
        if holds_trees(folder):
            yield Diagnosis(
                "runs",
                f"{folder} belongs to no run, but it holds trees, so it stays. "
                "`treelab import` reads a model's folder; settings, scores "
                "and curves are lost with the run's row.",
            )
        else:
            yield _removal("runs", folder)


def _removal(about: str, path: Path) -> Diagnosis:
    """Return the finding of a leftover, which a repair removes."""
    remove: Callable = partial(path.unlink, missing_ok=True)
    if path.is_dir() and not path.is_symlink():
        remove = partial(shutil.rmtree, path)
    found = f"{path} is left over."
    return Diagnosis(about, found, remedy="It is removed.", mend=remove)


def why_unreadable(folder: Path) -> str:
    """Return why a run's model cannot be read from its folder, "" where it can."""
    try:
        check_owner(folder)
        load(folder)
    except (ValueError, OSError) as error:
        return f"{error}"
    return ""


def check_tables(store: RunStore) -> Iterator[Diagnosis]:
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
            yield Diagnosis(f"table {info.name}", f"{why} {MEND_TABLE}")
    for path in sorted(folder.glob("*.parquet")):
        if path.stem in known:
            continue
        if why_damaged(path):
            yield note("tables", f"{path} is damaged and in no list; it stays.")
            continue
        yield Diagnosis(
            "tables",
            f"{path} is a whole table that the database does not list.",
            remedy="It is listed again, by another name.",
            mend=partial(store.relist_table, path.stem),
        )
    yield note("tables", f"{len(known):,} stored.")


def _check_leftovers(folder: Path) -> Iterator[Diagnosis]:
    """Find files of tables that were not written to the end, or not renamed."""
    for part in sorted(folder.glob("*.part")):
        if not is_old(part):
            continue
        named = _PART.fullmatch(part.name)
        place = folder / f"{named[1]}.parquet" if named else None
        is_whole = named is not None and hash_of(part) == named[1]
        if is_whole and place is not None and not place.exists():
            yield Diagnosis(
                "tables",
                f"{part} is a whole table that was not put in its place.",
                remedy="It is put there.",
                mend=partial(part.rename, place),
            )
        else:
            yield _removal("tables", part)


def check_workers(store: RunStore) -> Iterator[Diagnosis]:
    """Find the entries of workers of this machine whose process has ended."""
    registry = store.worker_registry
    n_alive = 0
    for worker in registry.workers():
        process = worker.process
        if not process.is_local or process.is_alive():
            n_alive += 1
            continue
        yield Diagnosis(
            f"worker {worker.slot}",
            f"Its process {process.pid} has ended.",
            remedy="Its entry is removed.",
            mend=partial(registry.unregister, worker.slot, process),
        )
    yield note("workers", f"{n_alive:,} registered and alive.")


def examine(
    home: Path, *, repair: bool = False, clean: bool = False
) -> list[Diagnosis]:
    """Examine a data folder, which may be in use.

    FileNotFoundError if there is no run store.

    A repair mends what is safe: it removes leftovers, ends dead runs, sets rows right.
    Nothing that holds a model or a table is removed, whatever else is wrong. To clean
    is to delete the runs and tables beyond the limits of the environment; see
    ``treelab.runs.care.retention``.
    """
    database = database_of(home)
    is_lost = not is_there(database) and not remains(home)
    if is_lost or not home.is_dir():
        raise FileNotFoundError(
            f"There is no run store in {home}; --home or TREELAB_HOME names another."
        )
    found = list(check_database(database))
    if repair:
        found = [finding.mended() for finding in found]
    if not any(finding.is_trouble for finding in found):
        try:
            store = RunStore(home)
            for check in (check_tables, check_runs, check_workers):
                for finding in check(store):
                    found.append(finding.mended() if repair else finding)
            found += check_size(store, delete=clean)
        except (OSError, ValueError) as error:
            found.append(Diagnosis("data folder", f"{error}"))
    return [*found, *check_machine(home)]


def check_database(database: Path | Server) -> Iterator[Diagnosis]:
    """Find damage in the database, and which schema it has."""
    errors = ["ok"]
    try:
        if not isinstance(database, Server) and (why := why_emptied(database)):
            yield Diagnosis(
                "database",
                f"{why} Put a backup in its place.",
                remedy="A new one is made, which lists the tables; runs are lost but "
                "for their models.",
                mend=partial(prepare, database, anew=True),
            )
            return
        with reading(database) as db:
            if not isinstance(database, Server):  # a server looks after its own files
                checked = db.execute("PRAGMA integrity_check(5)").fetchall()
                errors = [row["integrity_check"] for row in checked]
            version = read_version(db)
    except StoreError as error:
        yield Diagnosis("database", f"{error}")
        return
    if errors != ["ok"]:
        yield Diagnosis(
            "database",
            f"{database} is damaged: {'; '.join(errors)}. Put a backup in its place.",
        )
    yield note("database", f"{database}, schema {version}.")


def check_size(store: RunStore, *, delete: bool = False) -> Iterator[Diagnosis]:
    """Find how large the data folder is; ``delete`` what is beyond the limits."""
    limits = Limits.from_environment()
    try:
        plan = plan_cleaning(store, limits, time.time())
    except (json.JSONDecodeError, KeyError, TypeError):  # check_runs reports it
        yield note("size", "Nothing is deleted while a run's row cannot be read.")
        return
    if delete:
        yield from (note("cleaning", each) for each in clean(store, plan))
        plan = plan_cleaning(store, limits, time.time())
    words = f"The data folder holds {megabytes(plan.n_bytes)}. {limits}".strip()
    if plan.runs or plan.tables:
        n_runs = counted(len(plan.runs), "run")
        n_tables = counted(len(plan.tables), "table")
        freed = megabytes(plan.n_bytes - plan.n_bytes_after)
        words += f" It would delete {n_runs} and {n_tables}, {freed}."
    most = limits.most_gb
    yield Diagnosis("size", words, most is not None and plan.n_bytes > most * 1e9)
