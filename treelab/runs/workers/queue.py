"""The queue: hands runs to the workers of this machine, and looks after both.

Which run is next is decided by the store, ``RunStates.claim_next`` in
``treelab/runs/store/states.py``: quick learners first, repeats last, and of these the
oldest. Workers ask it whenever they are idle.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import psutil
from filelock import FileLock, Timeout

from treelab.learners.registry import find_spec
from treelab.runs.store.files import FILE_MODE, make_private_folder, open_private
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.states import SILENT_SECONDS
from treelab.runs.store.workers import ProcessId, WorkerInfo
from treelab.runs.workers.cluster import SLOT, check_cluster, cluster_address
from treelab.runs.workers.kernels import N_KERNELS, compiling

# How many workers a machine gets, and what each is for.
#
# - "quick" takes the learners that are trained in a moment, and nothing else, so CART
#   never waits behind a long training. It needs no torch and is small.
# - "cuda:0", "cuda:1", ... one a GPU.
# - "cpu:0", "cpu:1", ... on a machine without a GPU: four, so that every learner of a
#   page's "Train" starts at once and all curves move together. They share the cores;
#   which of them ends first does not change, and nothing takes longer in total. Each
#   takes memory while it trains, so a small machine gets fewer.
# - "cluster" alone, where ``TREELAB_CLUSTER`` names a Dask scheduler: it trains nothing
#   here and has runs trained there.
#
# ``TREELAB_SLOTS`` sets the number of slots of each GPU, or of the CPU; with 0 nothing
# is trained here.
QUICK = "quick"
FIRST_CPU = "cpu:0"  # its worker sees to kernels that are not compiled yet
CPU_SLOTS = 4
BYTES_PER_SLOT = 1.5e9  # of the machine's memory, for a worker and a table
WORKER_COMMAND = (sys.executable, "-m", "treelab", "worker")
WARMING = 2  # processes that load torch at the same time: pages find a free core
FORKS = sys.platform == "linux"  # where a process that has loaded torch may be forked
NICENESS = 5  # pages answer first, training gets what is left
MOST_FAILURES = 3  # workers in a row that fail while they start, then a pause
STARTUP_SECONDS = 10.0  # a worker that ends idle this soon failed while it started
PAUSE_SECONDS = 60.0
MOST_LOG_BYTES = 1_000_000
_ROOT = Path(__file__).parents[3]  # where ``python -m treelab`` is found


@cache
def gpu_names() -> tuple[str, ...]:
    """Names of the GPUs that this process may use, found without loading torch."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    listed = subprocess.run(
        [command, "--query-gpu=name", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:  # a driver without a GPU
        return ()
    names = tuple(line.strip() for line in listed.stdout.splitlines() if line.strip())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return names
    chosen = [part for part in visible.split(",") if part.strip() not in ("", "-1")]
    # By number; one that is named by its UUID may be any.
    places = (int(c) if c.strip().isdecimal() else k for k, c in enumerate(chosen))
    return tuple(names[place] for place in places if place < len(names))


def slots_wanted() -> int | None:
    """Read ``TREELAB_SLOTS``; None when it is not set."""
    text = os.environ.get("TREELAB_SLOTS", "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(
            f"TREELAB_SLOTS must be a whole number of at least 0, got {text!r}."
        )
    return int(text)


def planned_slots() -> list[str]:
    """List the slots of this machine, one for each worker."""
    wanted = slots_wanted()
    if cluster_address():
        return [SLOT]
    if wanted == 0:
        return []
    gpus = len(gpu_names())
    if gpus:
        return [QUICK] + [
            f"cuda:{gpu}" if place == 0 else f"cuda:{gpu}#{place}"
            for place in range(wanted or 1)
            for gpu in range(gpus)
        ]
    room = int(psutil.virtual_memory().total / BYTES_PER_SLOT)
    n_slots = wanted or max(1, min(CPU_SLOTS, room))
    return [QUICK] + [f"cpu:{place}" for place in range(n_slots)]


def slot_device(slot: str) -> str | None:
    """Device of a slot: "cuda:N", or None where the run's own choice stands."""
    return slot.split("#")[0] if slot.startswith("cuda") else None


def threads_per_slot(slot: str) -> int:
    """Threads that a worker computes with: the cores, shared among the CPU slots.

    A fixed number, whatever else is running, so that a seed gives the same tree.
    """
    cores = joblib.cpu_count()
    if not slot.startswith("cpu"):
        return cores
    return max(1, cores // sum(name.startswith("cpu") for name in planned_slots()))


def describe_device() -> str:
    """Name for display what this machine trains on: its GPUs, or the CPU."""
    names = gpu_names()
    if names:
        return names[0] if len(names) == 1 else f"{len(names)} GPUs, {names[0]}"
    cores = joblib.cpu_count()
    return f"CPU, {cores} core{'s' * (cores != 1)}"


class Queue:
    """What stands between "Train" and a worker, for an app or a script.

    Runs wait in the store for the worker processes of this machine, one in each slot;
    they end by themselves when no app is left. Any number of queues, in any number of
    processes, may share a store: a lock sees to it that each slot has one worker. Where
    ``TREELAB_CLUSTER`` holds the address of a Dask scheduler, the one worker of this
    machine has them trained there. The command starts a worker.
    """

    def __init__(self, store: RunStore, command: Sequence[str] = WORKER_COMMAND):
        self.store = store
        self._registry = store.worker_registry
        self._command = tuple(command)
        self._children: list[subprocess.Popen] = []
        self._app_is_registered = False

    def submit(self, run_id: str) -> None:
        """Have a queued run trained as soon as there is room for it.

        ImportError or ValueError if a cluster is named that cannot train; see
        ``check_cluster``.
        """
        check_cluster(self.store)
        self.store.submit(run_id)
        self.ensure_workers()

    def position(self, run_id: str) -> int:
        """Place of a run in the queue, from 1; 0 when it does not wait."""
        waiting = self.store.queued()
        return waiting.index(run_id) + 1 if run_id in waiting else 0

    def expected_start(self, run_id: str) -> float | None:
        """Seconds until a waiting run begins, at the latest; None where unknown.

        Runs that train now tell how long they take; what stands before it in the queue
        does not yet, so only as many runs as there are workers have an answer.
        """
        place = self.position(run_id)
        running = [run for run in self.store.runs() if run.state == "running"]
        n_workers = sum(worker.slot != QUICK for worker in self.workers())
        left = [run.remaining for run in running if not _is_quick(run)]
        known = sorted(seconds for seconds in left if seconds is not None)
        free = n_workers - len(left)
        if not place or place <= free or len(known) < len(left):
            return None
        return known[place - 1 - free] if place - free <= len(known) else None

    def check(self) -> None:
        """Look after runs and workers; pages call it about once a second.

        Runs whose process died become "interrupted", dead workers are replaced.
        """
        self.store.interrupt_dead_runs()
        self.ensure_workers()

    def ensure_workers(self) -> None:
        """Start workers that are missing, without waiting until they are warm.

        Not all at once, so that the first are ready sooner: call it again. None where
        a cluster is named that cannot train.
        """
        if self._cluster_error() or not self._missing():
            return
        if not self._app_is_registered:
            self._registry.register_app(ProcessId.here())
            self._app_is_registered = True
        lock = FileLock(self.store.home / "workers.lock", timeout=0, mode=FILE_MODE)
        with suppress(Timeout), lock:  # a timeout: another process starts them
            warming = {w.process for w in self.workers() if w.state == "starting"}
            missing = self._missing()
            groups = [[slot] for slot in missing]
            if FORKS and missing:  # else another process has started them by now
                groups = [sorted(missing)]
            for slots in groups[: WARMING - len(warming)]:
                self._start_worker({slot: missing[slot] for slot in slots})

    def workers(self) -> list[WorkerInfo]:
        """List the workers that are alive, by slot."""
        return [w for w in self._registry.workers() if not _is_dead(w)]

    def startup_error(self) -> str:
        """Explain in a sentence why no worker trains, empty when all is well."""
        if error := self._cluster_error():
            return error
        for worker in self._registry.workers():
            if worker.state == "away" and not _is_dead(worker):
                return worker.device_name
            if _is_dead(worker) and _failures(worker) >= MOST_FAILURES:
                log = self._log(worker.slot)
                text = log.read_text("utf-8", errors="replace") if log.exists() else ""
                lines = text.split("\n")
                printed = [line.strip() for line in lines if line.strip()]
                return (
                    f"The worker process {worker.slot} ends while it starts: "
                    f"{printed[-1] if printed else 'no message'} More is in {log}."
                )
        return ""

    def shut_down(self, timeout: float = 10.0) -> None:
        """End the workers of this store on this machine, and the runs they train.

        Those that do not react are killed after ``timeout`` seconds.
        """
        living = []
        for worker in self._registry.workers():
            if worker.process.is_local and worker.process.is_alive():
                living.append(psutil.Process(worker.process.pid))
                living[-1].send_signal(signal.SIGTERM)
        for process in psutil.wait_procs(living, timeout)[1]:
            process.kill()
        for child in self._children:
            child.wait()
        self.store.interrupt_dead_runs()

    def _missing(self) -> dict[str, int]:
        """Slots without a living worker, and how often starting one has failed."""
        for child in self._children:
            child.poll()  # lets the system forget those that have ended
        registered = {worker.slot: worker for worker in self._registry.workers()}
        missing = {}
        for slot in planned_slots():
            worker = registered.get(slot)
            if worker is None:
                missing[slot] = 0
            elif _is_dead(worker):
                paused = time.time() - worker.started > PAUSE_SECONDS
                if _failures(worker) < MOST_FAILURES or paused:
                    missing[slot] = _failures(worker)
        return missing

    def _start_worker(self, failures: dict[str, int]) -> None:
        """Start a process for some slots and register it; it forks one for each."""
        slot = next(iter(failures))
        log = self._log(slot)
        make_private_folder(log.parent)
        is_new = not log.exists() or log.stat().st_size > MOST_LOG_BYTES
        # Our own session, so that Ctrl-C in the app's terminal ends no training.
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        named = ["--home", str(self.store.home), "--slot", ",".join(failures)]
        with open_private(log, "wb" if is_new else "ab") as out:
            child = subprocess.Popen(
                [*self._command, *named, "--end-when-unused"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=_ROOT,
                env={
                    "OMP_NUM_THREADS": str(threads_per_slot(slot)),
                    # Threads that wait by spinning stall each other on a busy machine.
                    "OMP_WAIT_POLICY": "PASSIVE",
                    **os.environ,
                },
                **options,
            )
        self._children.append(child)
        for slot in failures:
            self._registry.register(slot, ProcessId.of(child.pid), failures[slot])

    def _log(self, slot: str) -> Path:
        """File with what the workers of a slot print."""
        name = slot.replace(":", "-").replace("#", "-")
        return self.store.home / "logs" / f"worker-{name}.log"

    def device(self) -> str:
        """Name for display what runs are trained on, as warm workers found it."""
        if address := cluster_address():
            known = [worker for worker in self.workers() if worker.slot == SLOT]
            names = [each.device_name for each in known if each.state != "away"]
            return next(filter(None, names), f"Dask cluster at {address}")
        found = [
            worker.device_name
            for worker in self.workers()
            if worker.slot.startswith("cuda") and worker.device_name
        ]
        return found[0] if found else describe_device()

    def readiness(self) -> float | None:
        """Return how ready workers are, 0 to 1; None when they are.

        They load what trains, and compile kernels where this machine has none yet.
        """
        if self.startup_error():
            return None
        warm = {each.slot for each in self.workers() if each.state != "starting"}
        if not warm.issuperset(planned_slots()[:2]):
            return 0.0
        n_compiled = compiling(self.store.home)
        return None if n_compiled is None else (1 + n_compiled) / (1 + N_KERNELS)

    def _cluster_error(self) -> str:
        """Explain why the cluster that is named can train no run, "" where it can."""
        try:
            check_cluster(self.store)
        except (ImportError, ValueError) as error:
            return str(error)
        return ""


def lower_priority(process: psutil.Process) -> None:
    """Let a process compute after those of pages."""
    if sys.platform == "win32":
        process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:  # never raised: without privilege, the system refuses that
        process.nice(max(NICENESS, process.nice()))


def _is_dead(worker: WorkerInfo) -> bool:
    """Whether a worker ended without unregistering, or has hung for long.

    One that only slept, with its laptop, finds itself replaced and ends.
    """
    is_silent = time.time() - worker.heartbeat > SILENT_SECONDS
    return is_silent or (worker.process.is_local and not worker.process.is_alive())


def _failures(worker: WorkerInfo) -> int:
    """Count the workers in a row, up to this dead one, that failed while starting."""
    ended_soon = worker.heartbeat - worker.started < STARTUP_SECONDS
    failed = worker.state == "starting" or (worker.state == "idle" and ended_soon)
    return worker.failures + 1 if failed else 0


def _is_quick(run: Run) -> bool:
    """Whether the quick worker trains it."""
    spec = find_spec(run.learner)
    return spec is not None and spec.is_quick
