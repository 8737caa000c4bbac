"""A warm process that trains the runs of one slot, one after the other."""

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module

import psutil
from filelock import FileLock, Timeout

from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.heartbeat import Heartbeat
from treelab.runs.jobs.run_one import train
from treelab.runs.store.process import ProcessId
from treelab.runs.store.run import QUICK_LEARNERS
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.worker_registry import Crew
from treelab.runs.workers.slots import QUICK, slot_device

LOOK_SECONDS = 0.2  # between two looks for a run
UNUSED_SECONDS = 15.0  # without an app and without work, then a worker leaves
GRACE_SECONDS = 8.0  # for a training to hear that the process has to end
WARMING_LANES = 2  # workers that load torch at the same time
WARMING_SECONDS = 60.0  # at most, for the worker before this one to get warm
NICENESS = 5  # pages answer first, training gets what is left


class Worker:
    """Takes runs from the store, trains them here, and tells that it is alive.

    It ends on SIGTERM or SIGINT: the run under way becomes "interrupted". It never
    ends in the middle of a run because the app went away.

    Parameters
    ----------
    store : RunStore
    slot : str
        See ``treelab.runs.workers.slots``.
    leave_when_unused : bool, default=False
        End when no app that asked for workers is alive and no run waits, so that
        nothing is left behind a closed app. Else stay until told to end.
    """

    def __init__(self, store: RunStore, slot: str, *, leave_when_unused: bool = False):
        self._store = store
        self._slot = slot
        self._leave_when_unused = leave_when_unused
        self._crew: Crew = store.crew
        self._me = ProcessId.here()
        self._state = "starting"
        self._device: str | None = None
        self._device_name = ""
        self._memory: Callable[[], str] = str  # says what is free; nothing at first
        self._run_id: str | None = None
        self._told_to_end: float | None = None  # when, on the monotonic clock
        self._replaced = False
        self._wanted = time.monotonic()  # when an app was last seen

    def work(self) -> None:
        """Train runs until it is time to leave.

        Raises
        ------
        ValueError
            If another worker fills the slot.
        """
        self._enter()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)
        with Heartbeat(self._beat):
            self._warm_up()
            self._state = "idle"
            self._beat()
            while not self._is_over():
                if not self._train_next():
                    time.sleep(LOOK_SECONDS)
        self._crew.leave(self._slot, self._me)  # not after a failure: queues count it

    def _enter(self) -> None:
        """Take the slot, unless a living worker has it."""
        others = {worker.slot: worker for worker in self._crew.workers()}
        other = others.get(self._slot)
        if other is not None and not self._leave_when_unused:
            process = other.process
            if process.is_local and process != self._me and process.is_alive():
                raise ValueError(
                    f"The slot {self._slot!r} has a worker already, process "
                    f"{process.pid}; choose another --slot."
                )
        # A worker that a queue started finds its own entry; the count goes on.
        self._crew.enter(self._slot, self._me, other.failures if other else 0)

    def _warm_up(self) -> None:
        """Load what the first run would else wait for."""
        if self._slot == QUICK:
            _import_learners(quick=True)
            self._device_name = "CPU"
            return
        psutil.Process().nice(
            NICENESS if os.name == "posix" else psutil.BELOW_NORMAL_PRIORITY_CLASS
        )
        # Not all at once: the first are ready sooner, and pages find a free core.
        lane = int(self._slot[-1]) % WARMING_LANES if self._slot[-1].isdigit() else 0
        lock = FileLock(self._store.home / f"warming-{lane}.lock")
        with suppress(Timeout):  # after so long it warms up beside the other
            lock.acquire(timeout=WARMING_SECONDS)
        try:
            self._load_torch()
        finally:
            lock.release()

    def _load_torch(self) -> None:
        """Load torch and the learners, and find the device of this slot."""
        import torch

        from treelab.learners.common.device import (
            device_name,
            free_memory,
            resolve_device,
        )

        self._device = slot_device(self._slot)
        note = ""
        if self._device is not None and not torch.cuda.is_available():
            self._device, note = None, " (this torch cannot use the GPU)"
        device = resolve_device(self._device or "auto")
        # A first step of a first optimizer loads modules for a second or two.
        weight = torch.zeros(1, device=device, requires_grad=True)
        weight.sum().backward()
        torch.optim.Adam([weight]).step()
        _import_learners(quick=False)
        self._memory = partial(free_memory, device)
        self._device_name = device_name(device) + note

    def _train_next(self) -> bool:
        """Train the next run; False when none waits."""
        self._run_id = self._store.claim(self._me, quick_only=self._slot == QUICK)
        if self._run_id is None:
            return False
        self._state = "busy"
        train(
            self._store,
            self._run_id,
            auto_device=self._device,
            broken_off=lambda: self._told_to_end is not None,
        )
        self._run_id, self._state = None, "idle"
        return True

    def _is_over(self) -> bool:
        """Whether it is time to leave."""
        if self._told_to_end is not None or self._replaced:
            return True
        unused = time.monotonic() - self._wanted > UNUSED_SECONDS
        return self._leave_when_unused and unused

    def _device_words(self) -> str:
        """The device's name, and what is free of its memory at this moment."""
        return " · ".join(filter(None, (self._device_name, self._memory())))

    def _beat(self) -> None:
        """Tell that this process lives, about once a second, from a thread."""
        if not self._store.exists():
            os._exit(1)  # the folder was deleted: there is nobody left to tell
        try:
            self._replaced = not self._crew.beat(
                self._slot, self._me, self._state, self._device_words()
            )
            self._store.beat(self._me)
            if self._run_id is not None or self._crew.is_wanted():
                self._wanted = time.monotonic()
        except sqlite3.OperationalError as error:
            print(f"No heartbeat could be written: {error}", file=sys.stderr)
        told = self._told_to_end
        if told is not None and time.monotonic() - told > GRACE_SECONDS:
            self._end_at_once()

    def _end_at_once(self) -> None:
        """Leave a training that does not listen."""
        if self._run_id is not None:
            error = "The process that trained it was told to end."
            self._store.finish(self._run_id, "interrupted", error=error)
        self._crew.leave(self._slot, self._me)
        os._exit(128 + signal.SIGTERM)

    def _hear(self, *_) -> None:
        """Note that somebody wants this process to end."""
        if self._told_to_end is None:
            self._told_to_end = time.monotonic()


def _import_learners(*, quick: bool) -> None:
    """Load the modules of the quick learners, or of all."""
    for key, spec in LEARNERS.items():
        if key in QUICK_LEARNERS or not quick:
            import_module(spec.classifier.split(":")[0])
