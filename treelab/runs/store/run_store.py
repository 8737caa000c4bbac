"""The run store: every table, every run and its results, in one folder."""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from treelab.data.problem import Problem
from treelab.learners.registry import complete_settings, find_spec, learner_title
from treelab.runs.store.database import (
    StoreError,
    change,
    fetch,
    is_there,
    open_database,
)
from treelab.runs.store.events import RunEvents
from treelab.runs.store.files import (
    OWNER,
    WAY_OUT,
    check_owner,
    make_private_folder,
    remains,
    write_private,
)
from treelab.runs.store.run import Run
from treelab.runs.store.server import Server
from treelab.runs.store.states import (
    NORMAL_PRIORITY,
    QUICK_PRIORITY,
    REPEAT_PRIORITY,
    to_json,
)
from treelab.runs.store.tables import StoredTables, TableInfo
from treelab.runs.store.workers import ProcessId, WorkerRegistry
from treelab.trees.io import Stored, load
from treelab.trees.pruning import SizePath
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree

__all__ = ["Run", "RunStore", "TableInfo", "default_home"]

T = TypeVar("T")

MOST_SNAPSHOTS = 60
PLANS = ("edits", "more", "sweep")  # see ``RunStore.add_plan``
_ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that look alike


def default_home() -> Path:
    """Folder of the run store: ``TREELAB_HOME``, else ``~/.treelab``."""
    return Path(os.environ.get("TREELAB_HOME") or Path.home() / ".treelab")


class RunStore(RunEvents, StoredTables):
    """Tables and runs in one folder, shared by the app, its workers and the shell.

    A SQLite file, or what ``TREELAB_STORE`` names, holds what changes (states, events),
    a folder a run what is large (snapshots, model, log). Every method opens the file
    for itself, so one store may be used from many threads, and many stores from many
    processes. States change atomically: of two calls that would end a run, one succeeds
    and returns True. StoreError if the folder cannot be made or written to, or an
    address is given for it. ValueError if a newer treelab wrote it.

    The folder, by default that of ``default_home``, is made when it is not there, for
    its owner alone. A server is the database in place of the one that ``TREELAB_STORE``
    names, if any.
    """

    user = ""  # whose new runs are; "" where nobody signs in
    makes_private = False  # whether new runs are seen by their user and admins alone

    def __init__(
        self, home: str | os.PathLike | None = None, server: Server | None = None
    ):
        folder = Path(home or default_home())
        if re.match("[A-Za-z]{2,}:/", folder.as_posix()):
            raise StoreError(
                "The home of runs is a folder, not an address with ://. A PostgreSQL "
                "database beside it is named by TREELAB_STORE."
            )
        self.home = folder.expanduser().absolute()
        self.database = open_database(self.home, server)
        self.worker_registry = WorkerRegistry(self.database)

    def __repr__(self) -> str:
        """Name the folder."""
        return f"RunStore({str(self.home)!r})"

    def exists(self) -> bool:
        """Whether the folder is still there."""
        return is_there(self.database) and self.home.exists()

    # Tables

    def delete_table(self, table_id: str) -> None:
        """Delete a table on which no run is left.

        ValueError if a run needs it; delete the run first.
        """
        for run in self.runs():
            if table_id in run.table_ids:
                raise ValueError(
                    f"The run {run.title!r} was trained on this table; delete the run "
                    "first."
                )
        self._drop_table(table_id)

    # Runs

    def create(
        self,
        learner: str,
        settings: dict,
        problem: Problem,
        device: str = "auto",
        title: str = "",
        repeat_of: str = "",
        is_background: bool = False,
        parent: Run | None = None,
        stage: str = "",
    ) -> str:
        """Create a run in the state "queued" and return its id.

        No worker takes it before ``submit`` (see ``Queue.submit``); until then it is
        the calling process's, with which it ends. ValueError for an unknown learner or
        setting, or a value out of range. LookupError if the problem's table is not in
        the store.

        Settings that were not chosen are at their defaults; the title is that of the
        learner with the table's name. Other runs are trained before one that is in the
        background, as a sweep, and before a repeat of a run on another data split, but
        for those of quick learners. It is as private as the run that it repeats, and
        private where the parent is, of which it is made. The stage is ``SAVING`` where
        it is not trained.
        """
        name, spec = learner_title(learner), find_spec(learner)
        priority = REPEAT_PRIORITY if repeat_of else NORMAL_PRIORITY
        if spec is not None and spec.is_quick:
            priority = QUICK_PRIORITY
        if is_background:
            priority = REPEAT_PRIORITY
        settings = complete_settings(learner, problem.task, settings)
        is_private = self.makes_private or (parent is not None and parent.is_private)
        if repeat_of:
            parent = self.run(repeat_of)
            is_private = parent.is_private
        user = self.user or (parent.user if parent and is_private else "")
        self._table_name(problem.table_id)  # or refuse it
        ending = "".join(secrets.choice(_ID_LETTERS) for _ in range(7))
        run_id = f"{learner}-{ending}"
        row = {
            "id": run_id,
            "title": title or f"{name} · {problem.table_name}",
            "learner": learner,
            "settings": to_json(settings),
            "problem": to_json(problem.to_dict()),
            "device": device,
            "priority": priority,
            "created": time.time(),
            "owner": str(ProcessId.here()),
            "repeat_of": repeat_of,
            '"user"': user,
            "is_private": is_private,
            "stage": stage,
        }
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        statement = f"INSERT INTO runs ({columns}) VALUES ({marks})"
        change(self.database, statement, [*row.values()])
        make_private_folder(self.folder(run_id))
        return run_id

    def run(self, run_id: str) -> Run:
        """Read a run; LookupError if there is none of this id."""
        where, values = self._seen()
        query = f"SELECT * FROM runs WHERE id = ? AND {where}"
        if rows := fetch(self.database, query, (run_id, *values)):
            return Run.from_row(rows[0])
        words = f"There is no run {run_id!r} in {self.home}. {self.why_empty()}"
        raise LookupError(words.strip())

    def why_empty(self) -> str:
        """Return that all runs were lost from the database; "" where they were not."""
        if fetch(self.database, "SELECT 1 FROM runs LIMIT 1"):
            return ""
        beside = remains(self.home)
        if "run" not in beside:
            return ""
        return (
            f"{self.database} lists no run, but {self.home} holds {beside}. {WAY_OUT}"
        )

    def runs(self) -> list[Run]:
        """List the runs, newest first."""
        where, values = self._seen()
        query = f"SELECT * FROM runs WHERE {where} ORDER BY created DESC, rowid DESC"
        return [Run.from_row(row) for row in fetch(self.database, query, values)]

    def set_title(self, run_id: str, title: str) -> None:
        """Give a run another title."""
        self._set(run_id, "title", title)

    def set_settings(self, run_id: str, settings: dict) -> None:
        """Replace a run's settings, once a search has found them."""
        self._set(run_id, "settings", to_json(settings))

    def set_problem(self, run_id: str, problem: Problem) -> None:
        """Replace a run's problem, once its table has a column of clusters."""
        self._table_name(problem.table_id)  # or refuse it
        self._set(run_id, "problem", to_json(problem.to_dict()))

    def _set(self, run_id: str, column: str, value: str | bool) -> None:
        """Write one value of a run's row."""
        statement = f"UPDATE runs SET {column} = ? WHERE id = ?"
        change(self.database, statement, (value, run_id))

    def log(self, run_id: str) -> str:
        """Read a run's log, which holds the traceback of a failure."""
        path = self.folder(self.run(run_id).id) / "log.txt"
        return path.read_text("utf-8") if path.exists() else ""

    # What a training writes

    def add_snapshot(self, run_id: str, epoch: float, tree: Tree) -> None:
        """Save the tree of an epoch; older ones are thinned out as they add up."""
        _write_snapshot(self._snapshots(run_id), epoch, tree)

    def replace_snapshots(self, run_id: str, trees: Mapping[float, Tree]) -> None:
        """Save trees by epoch in the place of all that were saved."""
        folder = self._snapshots(run_id)
        # Written aside and renamed: who looks meanwhile finds the old or the new ones.
        part, old = (folder.with_suffix(suffix) for suffix in (".part", ".old"))
        for stale in (part, old):
            shutil.rmtree(stale, ignore_errors=True)
        for epoch, tree in trees.items():
            _write_snapshot(part, epoch, tree)
        if folder.exists():
            folder.replace(old)
        if part.exists():
            part.replace(folder)
        shutil.rmtree(old, ignore_errors=True)

    def snapshots(self, run_id: str) -> list[float]:
        """List the epochs of which a tree is stored, first to last."""
        return [*_snapshot_files(self._snapshots(run_id))]

    def snapshot(self, run_id: str, epoch: float) -> Tree:
        """Read the tree of an epoch; LookupError if it is gone."""
        run = self.run(run_id)
        folder = self.folder(run.id) / "snapshots"
        return _whole(run, lambda own: _read_snapshot(own, epoch), folder)

    def remove_trees(self, run_id: str) -> None:
        """Remove a run's model, its trees by size, and those that score alike."""
        for name in ("model", "path", "rashomon"):
            shutil.rmtree(self.folder(run_id) / name, ignore_errors=True)

    def add_model(self, run_id: str, model) -> None:
        """Save a trained model (``Tree``, ``WeightedTrees`` or ``PruningPath``)."""
        self._save(run_id, "model", model)

    def model(self, run_id: str):
        """Load a run's model.

        LookupError if it has none. StoreError if its files are gone or damaged.
        """
        run = self.run(run_id)
        if not run.has_model:
            words = f"The run {run.title!r} ({run.state}) has no model."
            raise LookupError(f"{words} {run.way_to_model}".strip())
        return _whole(run, load, self.folder(run_id) / "model")

    def add_path(self, run_id: str, path: SizePath) -> None:
        """Save a run's best tree at each number of leaves."""
        self._save(run_id, "path", path)

    def path(self, run_id: str) -> SizePath | None:
        """Load a run's best tree at each number of leaves; None where it has none."""
        run = self.run(run_id)
        folder = self.folder(run.id) / "path"
        return _whole(run, SizePath.load, folder) if folder.is_dir() else None

    def add_rashomon(self, run_id: str, trees: RashomonSet) -> None:
        """Save the trees that score nearly as well as a run's own, or better."""
        self._save(run_id, "rashomon", trees)

    def rashomon(self, run_id: str) -> RashomonSet | None:
        """Load a run's Rashomon set; None where none was stored."""
        run = self.run(run_id)
        folder = self.folder(run.id) / "rashomon"
        return _whole(run, RashomonSet.load, folder) if folder.is_dir() else None

    def add_plan(self, run_id: str, name: str, text: str) -> None:
        """Save what a run is to do beside or before training its learner, as JSON.

        "edits" of another run's tree, or those that its own came from; "more" trees to
        find beside another run's; a "sweep" of settings.
        """
        write_private(self.folder(run_id) / f"{name}.json", text)

    def plan(self, run_id: str, name: str) -> str | None:
        """Read what ``add_plan`` saved; None where the run has none of this name."""
        path = self.folder(self.run(run_id).id) / f"{name}.json"
        return path.read_text("utf-8") if path.is_file() else None

    def has_plan(self, run_id: str) -> bool:
        """Whether a run does something beside or before training its learner."""
        return any(self.plan(run_id, name) is not None for name in PLANS)

    def _save(self, run_id: str, name: str, stored: Stored) -> None:
        """Save something into a folder of a run's folder, in the place of what is."""
        # Written aside and renamed: a killed worker leaves nothing by halves.
        part = self.folder(run_id) / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        stored.save(part)
        write_private(part / OWNER, run_id)
        shutil.rmtree(self.folder(run_id) / name, ignore_errors=True)
        part.replace(self.folder(run_id) / name)

    def _snapshots(self, run_id: str) -> Path:
        """Folder of a run's snapshots."""
        return self.folder(self.run(run_id).id) / "snapshots"


def _write_snapshot(folder: Path, epoch: float, tree: Tree) -> None:
    """Save the tree of an epoch, and delete an older one when there are many.

    Of more than ``MOST_SNAPSHOTS`` the one goes whose neighbours are nearest to each
    other; the first and the newest stay, so they cover the whole training evenly.
    """
    make_private_folder(folder)
    write_private(folder / f"{epoch:013.4f}.json", json.dumps(tree.to_dict()))
    files = _snapshot_files(folder)
    if len(files) > MOST_SNAPSHOTS:
        epochs = [*files]
        gaps = [after - before for before, after in zip(epochs, epochs[2:])]
        files[epochs[1 + gaps.index(min(gaps))]].unlink(missing_ok=True)


def _snapshot_files(folder: Path) -> dict[float, Path]:
    """Return the snapshot of each epoch that has one, first to last."""
    # Names of one width sort as numbers do.
    return {float(file.stem): file for file in sorted(folder.glob("*.json"))}


def _read_snapshot(folder: Path, epoch: float) -> Tree:
    """Read the tree of an epoch; LookupError where none is left of it."""
    try:
        text = (folder / f"{epoch:013.4f}.json").read_text("utf-8")
    except FileNotFoundError as error:
        raise LookupError(f"No tree was saved at epoch {epoch:g}.") from error
    return Tree.from_dict(json.loads(text))


def create_like(store: RunStore, run: Run, title: str, **changed: Any) -> str:
    """Create a run as another one was, but for its title and what is given."""
    names = ("learner", "settings", "problem", "device")
    asked = {name: getattr(run, name) for name in names} | {"title": title}
    return store.create(**asked | changed, parent=run)


def _whole(run: Run, read: Callable[[Path], T], folder: Path) -> T:
    """Read what a run saved into a folder.

    StoreError where it is gone or damaged, or another run saved it.
    """
    try:
        check_owner(folder)
        return read(folder)
    except (ValueError, FileNotFoundError) as error:
        raise StoreError(
            f"What the run {run.title!r} saved cannot be read. {error} Put its folder "
            f"{folder.parent} back from a backup, or train it again."
        ) from error
