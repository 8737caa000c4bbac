"""The worker of this machine that has a Dask cluster train the runs that wait.

It sees to it that the cluster's workers take runs from the store, see ``work_once``,
and train them; stop, pause, heartbeats and dead runs are what they are anywhere.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from distributed import Client, Future, fire_and_forget
from distributed.client import ClosedClientError

from treelab.runs.jobs.run_one import error_sentence
from treelab.runs.jobs.sweep import SEARCH
from treelab.runs.store.database import StoreError
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.runs.workers.cluster import (
    SLOT,
    check_cluster,
    cluster_address,
    connect,
    misfits,
    work_once,
    worker_addresses,
)
from treelab.runs.workers.worker import Worker, log_line
from treelab.trees.words import counted

LOOK_SECONDS = 1.0  # between two looks at which workers the cluster has
LOOK_AGAIN_SECONDS = 10.0  # at workers that cannot train
CONNECT_AGAIN_SECONDS = 5.0
ANSWER_SECONDS = 20.0  # for the scheduler
MOST_LOST = 2  # workers that may end under a run before it waits for a person
# What Dask raises where the scheduler does not answer; a timeout is an OSError.
NO_ANSWER = (OSError, RuntimeError, CancelledError, ClosedClientError)


class ClusterWorker(Worker):
    """Has runs trained on the cluster that ``TREELAB_CLUSTER`` names; see ``Worker``.

    When it ends, the runs on the cluster go on. ImportError or ValueError: see
    ``check_cluster``.
    """

    def __init__(self, store: RunStore, *, end_when_unused: bool = False):
        check_cluster(store)
        self._address = cluster_address()
        if not self._address:
            raise ValueError(
                "--slot cluster needs the address of a Dask scheduler in "
                "TREELAB_CLUSTER, such as tcp://10.0.0.1:8786."
            )
        super().__init__(store, SLOT, end_when_unused=end_when_unused)
        self._client: Client | None = None
        self._tasks: dict[str, Future] = {}  # by the worker's address
        self._lost: Counter[str] = Counter()  # workers, by run
        self._known: set[str] = set()  # addresses of the cluster's workers
        self._fit: dict[str, ProcessId] = {}  # by address, those that can train
        self._owners: set[ProcessId] = set()  # these, and those that were
        self._misfits: dict[str, str] = {}
        self._next_look = self._next_check = self._next_connect = 0.0

    def _load(self, *, is_quick: bool) -> None:
        """Load nothing: others train."""

    def _warm_up(self) -> None:
        """Connect to the cluster; where that fails, it is tried again and again."""
        self._ensure_connected()

    def _step(self) -> bool:
        """See how the cluster is, and have its workers do what there is to do."""
        try:
            if self._ensure_connected():
                self._end_tasks()
                self._queue_lost_runs()
                self._begin_tasks()
        except StoreError as error:  # a full disk, perhaps: tried again
            print(f"The run store cannot be used: {error}", file=sys.stderr)
        except NO_ANSWER as error:  # seen by the next step
            print(f"The Dask scheduler did not answer: {error!r}", file=sys.stderr)
        if self._tasks:
            self._last_needed = time.monotonic()
        return False  # wait a moment

    def _ensure_connected(self) -> bool:
        """Connect where there is no connection; return whether there is one."""
        now = time.monotonic()
        if self._client is not None and self._client.status != "running":
            self._disconnect()
        if self._client is None:
            if now < self._next_connect:
                return False
            try:
                self._client = connect(self._address)
            except OSError as error:
                self._next_connect = time.monotonic() + CONNECT_AGAIN_SECONDS
                self._say(str(error), is_away=True)
                return False
        if now >= self._next_look:
            self._look(self._client)
            self._next_look = time.monotonic() + LOOK_SECONDS
        return True

    def _look(self, client: Client) -> None:
        """See which workers the cluster has, and which of them can train."""
        found = worker_addresses(client)
        now = time.monotonic()
        if set(found) != self._known or (self._misfits and now > self._next_check):
            self._misfits = misfits(client, self._store) if found else {}
            fit = [each for each in found if each not in self._misfits]
            asked: Any = {}
            if fit:  # else all would be asked
                asked = client.run(ProcessId.here, workers=fit, on_error="return")
            self._fit = {}
            for address, answer in asked.items():
                if isinstance(answer, ProcessId):
                    self._fit[address] = answer
                else:
                    self._misfits[address] = f"it does not answer: {answer!r}"
            self._owners |= {*self._fit.values()}
            self._known = set(found)
            self._next_check = time.monotonic() + LOOK_AGAIN_SECONDS
        cluster = f"Dask cluster at {self._address}"
        if self._fit:
            words = f"{cluster}, {counted(len(self._fit), 'worker')}"
            if self._misfits:
                words += f" ({len(self._misfits)} cannot train: {self._why()})"
            self._say(words)
        elif found:
            self._say(
                f"No worker of the {cluster} can train: {self._why()}.", is_away=True
            )
        else:
            self._say(
                f"The {cluster} has no worker. Start one: dask worker {self._address} "
                "--nthreads 1.",
                is_away=True,
            )

    def _why(self) -> str:
        """Say why the first worker that cannot train cannot."""
        address, sentence = next(iter(self._misfits.items()))
        return f"{address}, {sentence}"

    def _say(self, words: str, *, is_away: bool = False) -> None:
        """Have pages show how the cluster is."""
        self._device_name = words
        self._state = "away" if is_away else "busy" if self._tasks else "idle"

    def _end_tasks(self) -> None:
        """Leave tasks that are over, and those that wait for a worker that is gone."""
        assert self._client is not None
        for address, future in list(self._tasks.items()):
            is_over = future.done()
            if not is_over and address in self._known:
                continue
            del self._tasks[address]
            if not is_over:
                self._client.cancel([future], force=True)  # it waits in vain
            elif future.status == "error":
                error = future.exception(timeout=ANSWER_SECONDS)
                words = error_sentence(error) if isinstance(error, Exception) else error
                self._misfits[address] = f"it breaks off: {words}"
                self._next_check = time.monotonic() + LOOK_AGAIN_SECONDS
                self._fit.pop(address, None)
            elif future.status == "finished":
                self._no_help |= future.result(timeout=ANSWER_SECONDS)

    def _queue_lost_runs(self) -> None:
        """Queue runs again whose worker is gone; they go on from their checkpoint."""
        self._store.interrupt_dead_runs(self._owners - {*self._fit.values()})
        for run_id in self._store.lost_runs(self._owners):
            self._lost[run_id] += 1
            log_line(run_id, "its worker ended in the middle of it")
            wanted = not self._store.run(run_id).stop_requested
            if not (wanted and self._lost[run_id] <= MOST_LOST):
                self._store.give_up(run_id)
            elif self._store.resume(run_id):
                self._store.submit(run_id)

    def _begin_tasks(self) -> None:
        """Have each worker without a task take a run, or help a sweep."""
        assert self._client is not None
        if not self._fit or self._has_to_end():
            return
        n_wanted = len(self._store.queued())
        if not n_wanted and {*self._store.in_stage(SEARCH)} - self._no_help:
            n_wanted = len(self._fit)
        if not n_wanted:
            return
        at_work: dict = self._client.processing()
        free = [w for w in self._fit if w not in self._tasks and not at_work.get(w)]
        where = (str(self._store.home), self._store.database, frozenset(self._no_help))
        for address in free[:n_wanted]:
            future = self._client.submit(
                work_once, *where, workers=[address], pure=False, retries=0
            )
            fire_and_forget(future)  # when this process ends, the run goes on
            self._tasks[address] = future

    def _close(self, seconds: float = ANSWER_SECONDS) -> None:
        """Leave the cluster."""
        if self._client is not None:
            with suppress(*NO_ANSWER):
                self._client.close(timeout=seconds)
        self._client = None

    def _disconnect(self) -> None:
        """Leave a scheduler that is gone; it has forgotten what waited there."""
        for known in (self._tasks, self._fit, self._owners, self._known):
            known.clear()
        self._close(1)
        self._say(
            f"The Dask scheduler at {self._address} went away; runs that its workers "
            "leave can be resumed.",
            is_away=True,
        )
