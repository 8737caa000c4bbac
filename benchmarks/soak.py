"""A running app in trouble: what it loses when it is killed, filled and damaged."""

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import psutil

from benchmarks.service import Service
from treelab.data.builtin import BUILTIN
from treelab.data.problem import Problem, make_problem
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.database import FILE, writing
from treelab.runs.store.run_store import RunStore

# What must not be lost: finished runs with their models, settings, and tables.


KEPT_FOLDERS = ("model", "path", "rashomon")


class Ledger:
    """Remembers what was finished, and says what of it is gone or different.

    Parameters
    ----------
    store : RunStore
    """

    def __init__(self, store: RunStore):
        self._store = store
        self._runs: dict[str, tuple] = {}
        self._tables: dict[str, str] = {}

    def __len__(self) -> int:
        """Count the runs and tables that are remembered."""
        return len(self._runs) + len(self._tables)

    def add_run(self, run_id: str) -> None:
        """Remember a finished run as it is now, and its table."""
        self._runs[run_id] = self._state_of_run(run_id)
        table_id = self._store.run(run_id).problem.table_id
        self._tables[table_id] = self._state_of_table(table_id)

    def losses(self) -> list[str]:
        """Name what is gone or different, in a few words each."""
        found = []
        for kind, known, state_of in (
            ("run", self._runs, self._state_of_run),
            ("table", self._tables, self._state_of_table),
        ):
            for name, before in known.items():
                try:
                    if state_of(name) != before:
                        found.append(f"{kind} {name} is different")
                except (OSError, LookupError, ValueError) as error:
                    found.append(f"{kind} {name}: {error}")
        return found

    def _state_of_run(self, run_id: str) -> tuple:
        """Return what a run's row says, and a digest of each file of its model."""
        run, folder = self._store.run(run_id), self._store.folder(run_id)
        self._store.model(run_id)  # that it can still be read
        files = sorted(
            path
            for name in KEPT_FOLDERS
            for path in (folder / name).rglob("*")
            if path.is_file()
        )
        digests = tuple(
            (str(path.relative_to(folder)), _digest(path)) for path in files
        )
        result = (run.metrics, run.summary, run.has_model)
        return run.title, run.state, run.settings, run.problem, result, digests

    def _state_of_table(self, table_id: str) -> str:
        """Return the digest of a table's file, once it was read."""
        self._store.table(table_id)
        return _digest(self._store.home / "tables" / f"{table_id}.parquet")


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


# What befalls a service: processes are killed, its disk fills up, rows are damaged.


OWN_MOUNTS = "TREELAB_SOAK_OWN_MOUNTS"  # set inside of a mount namespace
DISK_MB = 256  # of the disk that fills up
DAMAGED_ROWS = 20

Trouble = Callable[[Service, str], AbstractContextManager[None]]


@contextmanager
def worker_killed(service: Service, run_id: str) -> Iterator[None]:
    """Kill the workers."""
    for process in service.worker_processes():
        with suppress(psutil.NoSuchProcess):
            process.kill()
    yield


@contextmanager
def server_killed(service: Service, run_id: str) -> Iterator[None]:
    """Kill the server, which comes back as under systemd."""
    service.kill_server()
    service.start()
    yield


@contextmanager
def both_killed(service: Service, run_id: str) -> Iterator[None]:
    """Kill server and workers in one moment."""
    with worker_killed(service, run_id), server_killed(service, run_id):
        yield


@contextmanager
def rows_damaged(service: Service, run_id: str) -> Iterator[None]:
    """Put text and bytes in the place of numbers into event rows of a run."""
    damage = "epoch = 'twelve', train_loss = x'00FF', seconds = 'x', stage = x'FE'"
    with writing(service.home / FILE) as db:
        db.execute(
            f"UPDATE events SET {damage} WHERE number IN (SELECT number FROM events"
            " WHERE run_id = ? ORDER BY random() LIMIT ?)",
            (run_id, DAMAGED_ROWS),
        )
    yield


@contextmanager
def disk_full(service: Service, run_id: str) -> Iterator[None]:
    """Fill the data folder's disk to its last byte."""
    ballast = service.home / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        for size in (1_000_000, 1):
            with suppress(OSError):
                while file.write(b"0" * size):
                    pass
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(service: Service, run_id: str) -> Iterator[None]:
    """Let no file of the data folder be opened to write."""
    home, aside = str(service.home), str(service.home.with_name("read-only"))
    os.makedirs(aside, exist_ok=True)
    # A mount over the folder, as one whose files are open cannot be made read-only; for
    # that it is made so elsewhere, where no worker can open a file in between.
    _mount("--bind", home, aside)
    try:
        _mount("-o", "remount,bind,ro", aside)
        _mount("--bind", aside, home)
    finally:
        _unmount(aside)
    try:
        yield
    finally:
        _unmount(home)


KILLS: dict[str, Trouble] = {
    "both killed": both_killed,
    "server killed": server_killed,
    "worker killed": worker_killed,
}
ON_OWN_DISK: dict[str, Trouble] = {"disk full": disk_full, "read-only": read_only}
OTHERS: dict[str, Trouble] = {"event rows damaged": rows_damaged, **ON_OWN_DISK}


def planned(n_kills: int, seed: int) -> list[str]:
    """Return what is to happen, in random order: kills, and others beside them."""
    draw = random.Random(seed)
    kills = [name for _ in range(n_kills) for name in KILLS][:n_kills]
    n_others = max(1, n_kills // 10)
    others = [name for name in OTHERS if name not in ON_OWN_DISK or has_own_mounts()]
    names = kills + others * n_others
    draw.shuffle(names)
    return names


def has_own_mounts() -> bool:
    """Whether this process may mount disks that no other process sees."""
    return OWN_MOUNTS in os.environ


def may_have_own_mounts() -> bool:
    """Whether a process could be started that may; no rights are needed on Linux."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*_UNSHARE, "true"], capture_output=True)
    return tried.returncode == 0


def again_with_own_mounts() -> int:
    """Run this program's command again where it may mount; return its exit code."""
    command = [*_UNSHARE, sys.executable, *sys.orig_argv[1:]]
    return subprocess.call(command, env={**os.environ, OWN_MOUNTS: "1"})


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Give a folder a disk of its own, in memory."""
    _mount("-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=700", "none", str(folder))
    try:
        yield
    finally:
        _unmount(str(folder))


_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def _mount(*arguments: str) -> None:
    """Mount, or raise OSError that says why not."""
    tried = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if tried.returncode:
        raise OSError(f"mount {' '.join(arguments)}: {tried.stderr.strip()}")


def _unmount(folder: str) -> None:
    """Take away what was mounted last, once nothing in it is open."""
    subprocess.run(["umount", "--lazy", folder], check=True)


# The soak: trouble after trouble over one data folder, and what was lost by it.


SLOTS = 1
LATEST_SECONDS = 3.0  # of training, within which the trouble comes
RUN_SECONDS = 240.0  # until a run has to have begun, or ended
DOUBLE_SECONDS = 30.0  # in which a worker that was replaced has ended
ORPHAN_SECONDS = 45.0  # after which no worker may be left without an app
# Small enough to end within ten seconds, each with checkpoints of its own kind.
LEARNERS: dict[str, dict] = {
    "gradtree": {"n_steps": 100, "max_leaf_nodes": 16},
    "grande": {"n_estimators": 512, "max_epochs": 200, "patience": 200},
    "argmin": {"depth": 2, "max_epochs": 200},
    "get": {"n_steps": 2000},
}


@dataclass
class Happening:
    """A trouble, and what came of it.

    Attributes
    ----------
    trouble : str
    learner : str
    progress : float
        Of the run under way when the trouble came, in [0, 1].
    state : str
        Of that run, once the trouble was over.
    resumed : int
        How often it had to be taken up again until it ended.
    seconds : float
    wrong : list of str
        What did not hold.
    """

    trouble: str
    learner: str
    progress: float = 0.0
    state: str = ""
    resumed: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def soak(
    n_kills: int = 50,
    seed: int = 0,
    out: Path | None = None,
    learners: list[str] | None = None,
) -> int:
    """Let troubles befall a service, print what held; return 1 where something did not.

    Disks fill up and turn read-only where the system lets a process mount its own; the
    program then starts itself again with that right, which needs no privilege.

    Parameters
    ----------
    n_kills : int, default=50
    seed : int, default=0
        Of the troubles, their order and their moments.
    out : Path or None, default=None
        JSON file to write.
    learners : list of str or None, default=None
        Keys of ``LEARNERS`` that train; None for all.
    """
    if not has_own_mounts() and may_have_own_mounts():
        return again_with_own_mounts()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as mounts:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        if has_own_mounts():
            mounts.enter_context(small_disk(home))
        place = {"TREELAB_HOME": str(home), "TREELAB_SLOTS": str(SLOTS)}
        with patch.dict(os.environ, place | {"CUDA_VISIBLE_DEVICES": ""}):
            log = Path(folder) / "server.log"
            tester = Soak(home, log, seed, learners or [*LEARNERS])
            try:
                for name in planned(n_kills, seed):
                    tester.befall(name)
            finally:
                orphans = tester.service.end(ORPHAN_SECONDS)
            tester.happened[-1].wrong += orphans
    return _report(tester, out)


class Soak:
    """A service under trouble.

    Parameters
    ----------
    home : Path
        The data folder, empty.
    log : Path
        Where the server prints.
    seed : int
        Of the moments, and of which learner trains.
    learners : list of str
        Keys of ``LEARNERS``, of which one is drawn each time.

    Attributes
    ----------
    service : Service
    happened : list of Happening
    ledger : Ledger
        What was finished so far.
    """

    def __init__(self, home: Path, log: Path, seed: int, learners: list[str]):
        self._learners = learners
        self.happened: list[Happening] = []
        self._draw = random.Random(seed)
        self._store = RunStore(home)
        self.ledger = Ledger(self._store)
        self._problem = builtin_problem(self._store)
        first = self._store.create("cart", {}, self._problem)
        run_one(first, home)
        self._store.set_title(first, "A name that somebody gave")
        self.ledger.add_run(first)
        self.service = Service(home, log)
        self.service.start()

    def befall(self, trouble: str) -> None:
        """Let a trouble happen while a run trains, then hold it to what it promises."""
        learner = self._draw.choice(self._learners)
        happening = Happening(trouble, learner)
        self.happened.append(happening)
        began = time.monotonic()
        run_id = self._store.create(learner, LEARNERS[learner], self._problem)
        self._store.submit(run_id)
        self._wait(run_id, "running", happening)
        time.sleep(self._draw.uniform(0, LATEST_SECONDS))
        happening.progress = self._store.run(run_id).progress
        with (KILLS | OTHERS)[trouble](self.service, run_id):
            happening.wrong += self._answers(run_id)
        self._wait(run_id, "finished", happening)
        happening.state = self._store.run(run_id).state
        while self._store.resume(run_id):  # False once it is done
            happening.resumed += 1
            self._store.submit(run_id)
            self._wait(run_id, "finished", happening)
            if happening.resumed == 3:
                break
        run = self._store.run(run_id)
        if run.state == "done" and run.has_model:
            self.ledger.add_run(run_id)
        else:
            happening.wrong.append(f"{run_id} ended {run.state}: {run.error}")
        happening.wrong += self._answers(run_id)
        happening.wrong += self.ledger.losses()
        happening.wrong += self._doubles()
        happening.seconds = time.monotonic() - began
        print(_line(happening), flush=True)

    def _answers(self, run_id: str) -> list[str]:
        """Return what is wrong with the pages and the command line."""
        address = f"run={run_id}"
        found = [
            self.service.visit("runs"),
            self.service.visit("train", address),
            self.service.visit("tree", address),
            self.service.run_command("runs"),
        ]
        if not self.service.is_healthy():
            found.append("the server does not answer")
        return [words for words in found if words]

    def _wait(self, run_id: str, wanted: str, happening: Happening) -> None:
        """Wait, with a page open, until a run has begun or ended."""
        until = time.monotonic() + RUN_SECONDS
        while time.monotonic() < until:
            run = self._store.run(run_id)
            if run.is_finished or run.state == wanted:
                return
            if words := self.service.visit("runs"):
                happening.wrong.append(words)
            time.sleep(0.3)
        happening.wrong.append(f"{run_id} is not {wanted} after {RUN_SECONDS:.0f} s")

    def _doubles(self) -> list[str]:
        """Name the workers that no slot knows, and that do not end by themselves."""
        until = time.monotonic() + DOUBLE_SECONDS
        while True:
            processes = self.service.worker_processes()
            known = {w.process.pid for w in self._store.worker_registry.workers()}
            strangers = {process.pid for process in processes} - known
            if not strangers or time.monotonic() > until:
                return [f"process {pid} has no slot" for pid in strangers]
            time.sleep(0.5)


def builtin_problem(store: RunStore, name: str = "breast_cancer") -> Problem:
    """Store a built-in table and say what is to be predicted."""
    built = BUILTIN[name]
    frame = built.load()
    table_id = store.add_table(frame, built.title)
    return make_problem(
        frame, built.target, table_id=table_id, table_name=built.title, task=built.task
    )


def _line(happening: Happening) -> str:
    """Return what happened as a line."""
    held = "; ".join(happening.wrong) or "held"
    return (
        f"{happening.trouble:<20} {happening.learner:<9} at {happening.progress:4.0%}"
        f" {happening.state:<12}"
        f" resumed {happening.resumed}, {happening.seconds:4.0f} s: {held}"
    )


def _report(tester: Soak, out: Path | None) -> int:
    """Print the troubles by kind; return 1 where something did not hold, else 0."""
    rows = pd.DataFrame(
        [vars(own) | {"wrong": "; ".join(own.wrong)} for own in tester.happened]
    )
    by_kind = rows.groupby("trouble").agg(
        times=("state", "size"),
        in_training=("progress", lambda column: int((column < 1).sum())),
        resumed=("resumed", lambda column: int((column > 0).sum())),
        held=("wrong", lambda column: int((column == "").sum())),
        seconds=("seconds", "mean"),
    )
    print(f"\n{by_kind.round(1).to_string()}\n")
    n_wrong = int((rows["wrong"] != "").sum())
    left_out = [name for name in ON_OWN_DISK if name not in set(rows["trouble"])]
    if left_out:
        print(f"Left out, as this system lets nobody mount: {', '.join(left_out)}.")
    print(
        f"{len(rows)} troubles, {n_wrong} of which did not hold; {len(tester.ledger)} "
        "finished runs and tables compared after each."
    )
    if out is not None:
        rows.to_json(out, orient="records", indent=1)
    return 1 if n_wrong else 0


def run(chosen: Namespace) -> int:
    """Trouble an app and print what held."""
    learners = chosen.learners.split(",") if chosen.learners else None
    return soak(chosen.kills, chosen.seed, chosen.out, learners)
