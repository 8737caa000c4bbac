"""A worker: a warm process that trains runs, one after the other."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module

import psutil

from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.run_one import PROCESS_ENDED, train
from treelab.runs.store.database import StoreError
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId, heartbeat
from treelab.runs.workers.kernels import start_compiling
from treelab.runs.workers.queue import (
    FIRST_CPU,
    FORKS,
    QUICK,
    lower_priority,
    slot_device,
)

POLL_SECONDS = 0.2  # between two looks for a run
HELP_SECONDS = 1.0  # between two looks for a sweep to help
UNUSED_SECONDS = 15.0  # without an app and without work, then a worker ends
GRACE_SECONDS = 8.0  # for a training to react when the process has to end


def log_line(run_id: str, words: str) -> None:
    """Print what happened to standard error, the worker's log, as one line."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"{now} {run_id} {' '.join(words.split())}", file=sys.stderr, flush=True)


class Worker:
    """Takes runs from the store, trains them here, and records that it is alive.

    It ends on SIGTERM or SIGINT: the run under way becomes "interrupted". It never ends
    in the middle of a run because the app went away. The slots are those of
    ``treelab.runs.workers.queue``; of several, each gets a process of its own, forked
    once what all need is loaded. With ``end_when_unused`` it ends when no app that
    asked for workers is alive and no run waits, so that nothing is left behind a closed
    app.
    """

    def __init__(self, store: RunStore, *slots: str, end_when_unused: bool = False):
        if len(slots) > 1 and not FORKS:
            raise ValueError(
                "A worker fills several slots only on Linux; start one for each --slot."
            )
        self._store = store
        # The one that forks loads all, so it fills no quick slot.
        self._slot, *self._others = sorted(slots, key=lambda slot: slot == QUICK)
        self._end_when_unused = end_when_unused
        self._registry = store.worker_registry
        self._me = ProcessId.here()
        self._children: list[int] = []  # processes of the other slots
        self._state = "starting"
        self._device: str | None = None
        self._device_name = ""
        self._memory: Callable[[], str] = str  # words for what is free; empty at first
        self._training = ""  # the run under way
        self._end_requested: float | None = None  # when, on the monotonic clock
        self._replaced = False
        self._last_needed = time.monotonic()
        self._last_looked = 0.0  # for a sweep that could be helped
        self._no_help: set[str] = set()  # sweeps at which help broke
        self._has_compiled = False  # or another process does

    def work(self) -> None:
        """Train runs until it is time to end.

        ValueError if another worker fills a slot.
        """
        failures = self._register()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request_end)
        for is_quick in (True, False):
            with heartbeat(self._heartbeat):
                self._load(is_quick=is_quick)
            # While no other thread is at work.
            self._fork({s: n for s, n in failures.items() if (s == QUICK) == is_quick})
        with heartbeat(self._heartbeat):
            self._warm_up()
            if self._state == "starting":
                self._state = "idle"
            self._heartbeat()
            while not self._has_to_end():
                if self._step():
                    continue
                self._compile_kernels()
                # Only now, so that a run which waited for the warm-up is trained.
                if self._is_unused():
                    break
                time.sleep(POLL_SECONDS)
            self._close()
        # Not after a failure: the pool counts entries that are left behind.
        self._registry.unregister(self._slot, self._me)

    def _step(self) -> bool:
        """Do some work; False where there was none."""
        return self._train_next() or self._help_sweep()

    def _close(self) -> None:
        """Leave what is under way, as this process ends; here nothing is."""

    def _register(self) -> dict[str, int]:
        """Take the slots, unless living workers have them; return their failures."""
        others = {worker.slot: worker for worker in self._registry.workers()}
        failures = {}
        for slot in (self._slot, *self._others):
            other = others.get(slot)
            if other is not None and not self._end_when_unused:
                process = other.process
                if process.is_local and process != self._me and process.is_alive():
                    raise ValueError(
                        f"The slot {slot!r} has a worker already, process "
                        f"{process.pid}; choose another --slot."
                    )
            # A worker that a pool started finds its own entry; the count goes on.
            failures[slot] = other.failures if other else 0
            self._registry.register(slot, self._me, failures[slot])
        return failures

    def _fork(self, failures: dict[str, int]) -> None:
        """Go on as one process a slot; they share the memory of what is loaded."""
        for slot in [slot for slot in self._others if slot in failures]:
            self._others.remove(slot)
            if (child := os.fork()) == 0:
                self._slot, self._others = slot, []
                self._me, self._children = ProcessId.here(), []
                self._registry.register(slot, self._me, failures[slot])
                return
            self._children.append(child)

    def _load(self, *, is_quick: bool) -> None:
        """Load what the first run of quick learners, or of others, would wait for."""
        if not is_quick:
            if self._slot == QUICK:
                return
            lower_priority(psutil.Process())
            import torch  # noqa: F401
        for spec in LEARNERS.values():
            if spec.is_quick == is_quick:
                import_module(spec.classifier.split(":")[0])

    def _warm_up(self) -> None:
        """Find the device of this slot."""
        if self._slot == QUICK:
            self._device_name = "CPU"
            return
        import torch

        from treelab.training.device import device_name, free_memory, resolve_device

        self._device = slot_device(self._slot)
        note = ""
        if self._device is not None and not torch.cuda.is_available():
            self._device, note = None, " (this torch cannot use the GPU)"
        device = resolve_device(self._device or "auto")
        # A first step takes a GPU a second or two.
        torch.zeros(1, device=device, requires_grad=True).sum().backward()
        self._memory = partial(free_memory, device)
        self._device_name = device_name(device) + note

    def _compile_kernels(self) -> None:
        """Let kernels be compiled, once, while no run waits for this worker."""
        if self._slot == FIRST_CPU and not self._has_compiled:
            self._has_compiled = True
            with suppress(OSError):  # then the first runs compile their own
                start_compiling(self._store.home)

    def _train_next(self) -> bool:
        """Train the next run; False when none waits."""
        run_id = self._store.claim_next(self._me, quick_only=self._slot == QUICK)
        if run_id is None:
            return False
        self._training, self._state = run_id, "busy"
        log_line(run_id, "begins")
        state = train(
            self._store,
            run_id,
            auto_device=self._device,
            should_abort=lambda: self._end_requested is not None,
        )
        log_line(run_id, f"ended {state}")
        self._training, self._state = "", "idle"
        return True

    def _help_sweep(self) -> bool:
        """Try one trial of a sweep in training, as no run waits; False for none."""
        now = time.monotonic()
        if self._slot == QUICK or now - self._last_looked < HELP_SECONDS:
            return False
        self._last_looked = now
        for run_id in self._store.in_stage("search"):
            if run_id not in self._no_help and self._try_trial(run_id):
                self._last_needed, self._last_looked = time.monotonic(), 0.0
                return True
        return False

    def _try_trial(self, run_id: str) -> bool:
        """Try one trial of a sweep; False where there is none to try, or it broke."""
        from treelab.runs.jobs.sweep import help_sweep  # loads Optuna

        self._state = "busy"
        try:
            return help_sweep(
                self._store,
                run_id,
                auto_device=self._device,
                should_abort=lambda: self._end_requested is not None,
            )
        except Exception:  # the sweep goes on without this worker
            traceback.print_exc()
            self._no_help.add(run_id)
            return False
        finally:
            self._state = "idle"

    def _has_to_end(self) -> bool:
        """Whether this process was asked to end, or another fills its slot."""
        return self._end_requested is not None or self._replaced

    def _is_unused(self) -> bool:
        """Whether nobody has needed this worker for a while."""
        unused = time.monotonic() - self._last_needed > UNUSED_SECONDS
        # Asked once more: on a machine that stalls no heartbeat has noted it for long.
        return self._end_when_unused and unused and not self._registry.has_living_app()

    def _device_text(self) -> str:
        """Name the device, and what is free of its memory at this moment."""
        return " · ".join(filter(None, (self._device_name, self._memory())))

    def _heartbeat(self) -> None:
        """Record that this process is alive, about once a second, from a thread."""
        self._children = [
            c for c in self._children if os.waitpid(c, os.WNOHANG)[0] == 0
        ]
        if not self._store.exists():
            os._exit(1)  # the folder was deleted: no run is left to train
        try:
            for slot in (*self._others, self._slot):
                self._replaced = not self._registry.heartbeat(
                    slot, self._me, self._state, self._device_text()
                )
            self._store.heartbeat(self._me)
            self._store.interrupt_dead_runs()  # also while no page is open
            if self._training or self._registry.has_living_app():
                self._last_needed = time.monotonic()
        except StoreError as error:
            print(f"No heartbeat could be written: {error}", file=sys.stderr)
        requested = self._end_requested
        if requested is not None and time.monotonic() - requested > GRACE_SECONDS:
            self._end_at_once()

    def _end_at_once(self) -> None:
        """End the process in the middle of a training that does not react."""
        run_id, error = self._training, PROCESS_ENDED
        # Others may have it by now, where this process was taken for dead.
        if self._store.finish(run_id, "interrupted", error=error, owner=self._me):
            log_line(run_id, "interrupted: it did not react")
        self._registry.unregister(self._slot, self._me)
        os._exit(128 + signal.SIGTERM)

    def _request_end(self, *_) -> None:
        """Note that this process has to end."""
        if self._end_requested is None:
            self._end_requested = time.monotonic()
