"""Runs whose folder and row differ, and folders that no row names."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from treelab.runs.care.finding import Finding, note
from treelab.runs.care.leftovers import is_old
from treelab.runs.store.database import reading
from treelab.runs.store.remains import holds_trees
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.io import MODEL_FILES, load

MODELS = ("model", "path")  # the folders in a run's folder that hold trained trees


def check_runs(store: RunStore) -> Iterator[Finding]:
    """Find runs without their model or table, leftovers, and folders of no run.

    What holds a model is never removed: one that was written but not put in its place
    is put there, and one beside another stays.
    """
    if why := store.why_empty():
        yield Finding("runs", why)
    tables = {info.id for info in store.tables()}
    rows = _rows(store)
    dead = store.dead_runs()
    for run_id, run in rows.items():
        about = f"run {run_id}"
        if isinstance(run, str):
            yield Finding(about, f"Its row in the database cannot be read: {run}.")
            continue
        if run_id in dead:
            yield Finding(
                about,
                f"It is {run.state}, but its process has ended.",
                remedy="It is ended as interrupted.",
                mend=store.interrupt_dead_runs,
            )
        if run.problem.table_id not in tables:
            yield Finding(about, "Its table is not stored, so it cannot be explained.")
        if run.is_finished:
            yield from _check_finished(store, run)
    yield from _check_strangers(store, set(rows))
    yield note("runs", f"{len(rows):,} stored.")


def _rows(store: RunStore) -> dict[str, Run | str]:
    """Return each run by its id, or why its row cannot be read; hidden ones, too."""
    with reading(store.database) as db:
        rows = db.execute("SELECT * FROM runs ORDER BY created").fetchall()
    found: dict[str, Run | str] = {}
    for row in rows:
        try:
            found[row["id"]] = Run.from_row(row)
        except (ValueError, KeyError, TypeError) as error:
            found[row["id"]] = f"{error}"
    return found


def _check_finished(store: RunStore, run: Run) -> Iterator[Finding]:
    """Compare a finished run's folder with its row."""
    about, folder = f"run {run.id}", store.folder(run.id)
    for name in MODELS:
        yield from _check_part(store, run, folder / name)
    for part in sorted(folder.glob("snapshots/*.part")):
        if is_old(part):
            yield _removal(about, part)
    model = folder / "model"
    waits = not model.exists() and not why_unreadable(_part_of(model))
    if model.is_dir() and (why := why_unreadable(model)):
        yield Finding(about, f"Its model cannot be read: {why} Restore it.")
    elif model.is_dir() != run.has_model and not waits:
        there = "has" if model.is_dir() else "lacks"
        yield Finding(
            about,
            f"Its folder {there} a model, and its row says otherwise.",
            remedy="The row is set right.",
            mend=partial(store.set_has_model, run.id),
        )
    path = folder / "path"
    if path.is_dir() and (why := why_unreadable(path)):
        yield Finding(about, f"Its trees by size cannot be read: {why}")


def _check_part(store: RunStore, run: Run, place: Path) -> Iterator[Finding]:
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
        yield Finding(about, f"{part} holds a model and stays: {why}")
        return

    def put_in_place() -> None:
        part.rename(place)
        store.set_has_model(run.id)

    yield Finding(
        about,
        f"{part} holds a model that was not put in its place.",
        remedy="It is put there.",
        mend=put_in_place,
    )


def _part_of(place: Path) -> Path:
    """Return where a folder is written before it is put in its place."""
    return place.with_name(f"{place.name}.part")


def _check_strangers(store: RunStore, known: set[str]) -> Iterator[Finding]:
    """Find folders that no row names."""
    home = store.home / "runs"
    for folder in sorted(home.glob("*")):
        if folder.name in known or not is_old(folder):
            continue
        if holds_trees(folder):
            yield Finding(
                "runs",
                f"{folder} belongs to no run, but it holds trees, so it stays. "
                "`python -m treelab import` reads a model's folder; settings, scores "
                "and curves are lost with the run's row.",
            )
        else:
            yield _removal("runs", folder)


def _removal(about: str, path: Path) -> Finding:
    """Return the finding of a leftover, which a repair removes."""
    remove = (
        partial(shutil.rmtree, path)
        if path.is_dir() and not path.is_symlink()
        else partial(path.unlink, missing_ok=True)
    )
    return Finding(about, f"{path} is left over.", remedy="It is removed.", mend=remove)


def why_unreadable(folder: Path) -> str:
    """Return why a model's folder cannot be read, "" where it can."""
    try:
        load(folder)
    except (ValueError, OSError) as error:
        return f"{error}"
    return ""
