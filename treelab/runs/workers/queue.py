"""Hands runs to those who train them, and looks after them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.process import ProcessId
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.states import SILENT_SECONDS
from treelab.runs.store.worker_registry import WorkerInfo
from treelab.runs.workers.dask_cluster import cluster_address, cluster_executor
from treelab.runs.workers.slots import describe_device, planned_slots, threads_a_slot

WORKER_COMMAND = (sys.executable, "-m", "treelab", "worker")
MOST_FAILURES = 3  # workers in a row that do not get to work, then a pause
SOON_SECONDS = 10.0  # a worker that ends idle this soon did not get to work
PAUSE_SECONDS = 60.0
MOST_LOG_BYTES = 1_000_000
_ROOT = Path(__file__).parents[3]  # where ``python -m treelab`` is found


class Queue:
    """The way from "Train" to a worker, for an app or a script.

    Runs go to worker processes of this machine, one a slot, which this class starts,
    replaces when they die, and leaves to end by themselves when no app is left. Any
    number of queues, in any number of processes, may share a store: a lock sees to it
    that each slot has one worker. Where ``TREELAB_CLUSTER`` holds the address of a
    Dask scheduler, runs go there instead.

    Parameters
    ----------
    store : RunStore
    command : sequence of str
        What starts a worker.
    """

    def __init__(self, store: RunStore, *, command: Sequence[str] = WORKER_COMMAND):
        self._store = store
        self._command = tuple(command)
        self._children: list[subprocess.Popen] = []
        self._entered = False

    def submit(self, run_id: str) -> None:
        """Have a queued run trained as soon as there is room for it.

        Raises
        ------
        ImportError, OSError
            If a cluster is named and Dask is not installed, or it does not answer.
        """
        if cluster_address():
            self._cluster.submit(run_one, run_id, str(self._store.home))
            return
        self._store.submit(run_id)
        self.ensure_workers()

    def position(self, run_id: str) -> int:
        """Place of a run in the line, from 1; 0 when it does not wait."""
        waiting = self._store.queued()
        return waiting.index(run_id) + 1 if run_id in waiting else 0

    def check(self) -> list[str]:
        """Look after runs and workers; pages call it about once a second.

        Runs whose process died become "interrupted", dead workers are replaced.

        Returns
        -------
        list of str
            The runs found dead by this call.
        """
        found = self._store.reap()
        self.ensure_workers()
        return found

    def ensure_workers(self) -> None:
        """Start the workers that are missing; returns at once, they get warm alone."""
        if cluster_address() or not self._missing():
            return
        if not self._entered:
            self._store.crew.enter_app(ProcessId.here())
            self._entered = True
        lock = FileLock(self._store.home / "workers.lock", timeout=0)
        with suppress(Timeout), lock:  # a timeout: another process starts them
            for slot, failures in self._missing().items():
                self._start_worker(slot, failures)

    def workers(self) -> list[WorkerInfo]:
        """List the workers that are alive, by slot."""
        return [w for w in self._store.crew.workers() if not _is_dead(w)]

    def device(self) -> str:
        """Say for people where runs are trained, as the workers found it if warm."""
        if cluster_address():
            return f"Dask cluster at {cluster_address()}"
        found = [
            worker.device_name
            for worker in self.workers()
            if worker.slot.startswith("cuda") and worker.device_name
        ]
        return found[0] if found else describe_device()

    def trouble(self) -> str:
        """Say why no worker gets ready, empty when all is well."""
        for worker in self._store.crew.workers():
            if _is_dead(worker) and _failures(worker) >= MOST_FAILURES:
                log = self._log(worker.slot)
                lines = log.read_text("utf-8", errors="replace").split("\n")
                said = [line for line in lines if line.strip()] or ["no word"]
                return (
                    f"The process that trains ({worker.slot}) ends while it starts: "
                    f"{said[-1].strip()} More is in {log}."
                )
        return ""

    def shut_down(self, timeout: float = 10.0) -> None:
        """End the workers of this store on this machine, and the runs they train.

        Parameters
        ----------
        timeout : float, default=10.0
            Seconds until those that do not listen are killed.
        """
        living = []
        for worker in self._store.crew.workers():
            if worker.process.is_local and worker.process.is_alive():
                living.append(psutil.Process(worker.process.pid))
                living[-1].send_signal(signal.SIGTERM)
        for process in psutil.wait_procs(living, timeout)[1]:
            process.kill()
        for child in self._children:
            child.wait()
        self._store.reap()

    @cached_property
    def _cluster(self):
        """The cluster's executor, connected once."""
        return cluster_executor(cluster_address())

    def _missing(self) -> dict[str, int]:
        """Slots without a living worker, and how often starting one has failed."""
        for child in self._children:
            child.poll()  # lets the system forget those that have ended
        written = {worker.slot: worker for worker in self._store.crew.workers()}
        missing = {}
        for slot in planned_slots():
            worker = written.get(slot)
            if worker is None:
                missing[slot] = 0
            elif _is_dead(worker):
                rested = time.time() - worker.started > PAUSE_SECONDS
                if _failures(worker) < MOST_FAILURES or rested:
                    missing[slot] = _failures(worker)
        return missing

    def _start_worker(self, slot: str, failures: int) -> None:
        """Start a worker and write it down."""
        log = self._log(slot)
        log.parent.mkdir(exist_ok=True)
        fresh = not log.exists() or log.stat().st_size > MOST_LOG_BYTES
        # Our own session, so that Ctrl-C in the app's terminal ends no training.
        options = {"start_new_session": True}
        if os.name == "nt":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        home = str(self._store.home)
        with log.open("wb" if fresh else "ab") as out:
            child = subprocess.Popen(
                [*self._command, "--home", home, "--slot", slot, "--leave-when-unused"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=_ROOT,
                env={
                    "OMP_NUM_THREADS": str(threads_a_slot(slot)),
                    # Threads that wait by spinning stall each other on a busy machine.
                    "OMP_WAIT_POLICY": "PASSIVE",
                    **os.environ,
                },
                **options,
            )
        self._children.append(child)
        self._store.crew.enter(slot, ProcessId.of(child.pid), failures)

    def _log(self, slot: str) -> Path:
        """File that keeps what the workers of a slot print."""
        name = slot.replace(":", "-").replace("#", "-")
        return self._store.home / "logs" / f"worker-{name}.log"


def _is_dead(worker: WorkerInfo) -> bool:
    """Whether a worker ended without striking itself out, or hangs for long.

    One that only slept, with its laptop, finds itself replaced and leaves.
    """
    silent = time.time() - worker.heartbeat > SILENT_SECONDS
    return silent or (worker.process.is_local and not worker.process.is_alive())


def _failures(worker: WorkerInfo) -> int:
    """Workers in a row, up to this dead one, that did not get to work."""
    soon = worker.heartbeat - worker.started < SOON_SECONDS
    failed = worker.state == "starting" or (worker.state == "idle" and soon)
    return worker.failures + 1 if failed else 0
