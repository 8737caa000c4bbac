"""Workers by slot, the apps that need them, and which process is alive."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from treelab.runs.store.database import change, fetch, writing
from treelab.runs.store.server import Server

CLOCK_SECONDS = 5.0  # by which a corrected clock may move a start time


@dataclass(frozen=True)
class ProcessId:
    """A process on some machine; ``started`` differs from a later one of its number."""

    host: str  # name of the machine
    pid: int
    started: float  # seconds since 1970, as the operating system counts them

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        """Identify a living process of this machine."""
        return cls(socket.gethostname(), pid, psutil.Process(pid).create_time())

    @classmethod
    def here(cls) -> "ProcessId":
        """Identify the calling process."""
        return cls.of(os.getpid())

    @classmethod
    def parse(cls, text: str) -> "ProcessId":
        """Read what ``str`` wrote."""
        host, pid, started = text.rsplit("/", 2)
        return cls(host, int(pid), float(started))

    def __str__(self) -> str:
        """Write what ``parse`` reads."""
        return f"{self.host}/{self.pid}/{self.started!r}"

    @property
    def is_local(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return self.host == socket.gethostname()

    def is_alive(self) -> bool:
        """Whether it still runs; only for processes of this machine."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < CLOCK_SECONDS
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True)
class WorkerInfo:
    """A registered worker process."""

    # "quick", "cpu:N", "cuda:N" or "cluster"; see ``treelab.runs.workers.queue``.
    slot: str
    process: ProcessId
    state: str  # "starting", "idle", "busy", or "away" where a cluster cannot train
    # The device it found, for display; empty until it is warm. Of one that is away, a
    # sentence that says why.
    device_name: str
    # Seconds since 1970.
    started: float
    heartbeat: float
    # Workers of this slot in a row, before this one, that ended while starting.
    failures: int


class WorkerRegistry:
    """The workers and apps that are registered in the run store's database.

    A PostgreSQL database may serve several machines: each sees its own workers, whose
    slots are stored with its name.
    """

    def __init__(self, database: Path | Server):
        self._database = database
        is_shared = isinstance(database, Server)
        self._ending = f"@{socket.gethostname()}" if is_shared else ""

    def workers(self) -> list[WorkerInfo]:
        """List the registered workers, dead or alive, by slot."""
        rows = fetch(
            self._database,
            "SELECT slot, process, state, device_name, started, heartbeat, failures"
            " FROM workers ORDER BY slot",
        )
        return [
            WorkerInfo(
                **row
                | {
                    "slot": row["slot"].removesuffix(self._ending),
                    "process": ProcessId.parse(row["process"]),
                }
            )
            for row in rows
            if row["slot"].endswith(self._ending)
        ]

    def register(self, slot: str, process: ProcessId, failures: int = 0) -> None:
        """Register the worker that now fills a slot, as "starting"."""
        now = time.time()
        change(
            self._database,
            "INSERT INTO workers (slot, process, state, started, heartbeat, failures)"
            " VALUES (?, ?, 'starting', ?, ?, ?)"
            " ON CONFLICT (slot) DO UPDATE SET process = excluded.process,"
            " state = excluded.state, device_name = '', started = excluded.started,"
            " heartbeat = excluded.heartbeat, failures = excluded.failures",
            (slot + self._ending, str(process), now, now, failures),
        )

    def heartbeat(
        self, slot: str, process: ProcessId, state: str, device_name: str = ""
    ) -> bool:
        """Renew a worker's entry; False when another worker has the slot by now."""
        n_renewed = change(
            self._database,
            "UPDATE workers SET heartbeat = ?, state = ?, device_name = ?"
            " WHERE slot = ? AND process = ?",
            (time.time(), state, device_name, slot + self._ending, str(process)),
        )
        return n_renewed == 1

    def unregister(self, slot: str, process: ProcessId) -> None:
        """Remove the entry of a worker that ends as it should."""
        change(
            self._database,
            "DELETE FROM workers WHERE slot = ? AND process = ?",
            (slot + self._ending, str(process)),
        )

    def register_app(self, process: ProcessId) -> None:
        """Register a process that needs workers, and remove dead ones."""
        with writing(self._database) as db:
            db.execute(
                "INSERT INTO apps VALUES (?) ON CONFLICT DO NOTHING", (str(process),)
            )
            for row in db.execute("SELECT process FROM apps").fetchall():
                other = ProcessId.parse(row["process"])
                if other.is_local and not other.is_alive():
                    db.execute("DELETE FROM apps WHERE process = ?", (row["process"],))

    def has_living_app(self) -> bool:
        """Whether a registered app of this machine is alive."""
        rows = fetch(self._database, "SELECT process FROM apps")
        apps = [ProcessId.parse(row["process"]) for row in rows]
        return any(app.is_local and app.is_alive() for app in apps)


HEARTBEAT_SECONDS = 1.0


@contextmanager
def heartbeat(
    record: Callable[[], None], seconds: float = HEARTBEAT_SECONDS
) -> Iterator[None]:
    """Call ``record`` every few seconds for the length of a ``with`` block."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(seconds):
            record()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
