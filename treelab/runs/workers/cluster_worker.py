"""The worker of this machine that has a Dask cluster train the runs that wait.

It sends the ids of runs to the cluster's workers. They open the store, call ``run_one``
and write what comes of it themselves; stop, pause, heartbeats and dead runs are what
they are anywhere.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial

from distributed import Client, Future, fire_and_forget
from distributed.client import ClosedClientError

from treelab.runs.jobs.run_one import error_sentence, run_one
from treelab.runs.jobs.sweep import SEARCH
from treelab.runs.store.database import StoreError
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.states import TRAINER_ENDED
from treelab.runs.workers.cluster import (
    SLOT,
    check_cluster,
    cluster_address,
    connect,
    help_search,
    misfits,
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
        # By run: the task, and the address of the worker that is to train it.
        self._sent: dict[str, tuple[Future, str]] = {}
        self._helping: dict[str, tuple[Future, str]] = {}  # by worker: of which sweep
        self._lost: Counter[str] = Counter()  # workers, by run
        self._workers: list[str] = []  # those that can train
        self._known: set[str] = set()  # all of them
        self._misfits: dict[str, str] = {}
        self._next_look = self._next_check = self._next_connect = 0.0

    def _warm_up(self) -> None:
        """Connect to the cluster; where that fails, it is tried again and again."""
        self._ensure_connected()

    def _step(self) -> bool:
        """See how the runs on the cluster are, begin what there is room for."""
        try:
            if self._ensure_connected():
                self._follow_runs()
                self._send_runs()
        except StoreError as error:  # a full disk, perhaps: tried again
            print(f"The run store cannot be used: {error}", file=sys.stderr)
        except NO_ANSWER as error:  # seen by the next step
            print(f"The Dask scheduler did not answer: {error!r}", file=sys.stderr)
        if self._sent:
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
            self._known = set(found)
            self._next_check = time.monotonic() + LOOK_AGAIN_SECONDS
        self._workers = [each for each in found if each not in self._misfits]
        cluster = f"Dask cluster at {self._address}"
        if self._workers:
            words = f"{cluster}, {counted(len(self._workers), 'worker')}"
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
        self._state = "away" if is_away else "busy" if self._sent else "idle"

    def _follow_runs(self) -> None:
        """Forget runs that have ended; send those whose worker died once more."""
        for run_id, (future, address) in list(self._sent.items()):
            try:
                run = self._store.run(run_id)
            except LookupError:  # deleted
                self._forget(run_id)
                continue
            if run.state == "running":
                if future.status == "error":  # its end could not be written
                    self._store.finish(run_id, "interrupted", error=TRAINER_ENDED)
                continue
            if run.state == "queued" and future.status == "error":
                self._fail(run_id, future.exception(timeout=ANSWER_SECONDS))
            elif run.state == "interrupted" and run.error == TRAINER_ENDED:
                self._train_again(run)
            elif run.state == "queued" and not future.done() and address in self._known:
                continue  # it is on its way
            self._forget(run_id)

    def _forget(self, run_id: str) -> None:
        """Leave a run whose task is over, or waits for a worker that is gone."""
        future, address = self._sent.pop(run_id)
        if self._client is not None and address not in self._known:
            self._client.cancel([future], force=True)  # it waits in vain

    def _fail(self, run_id: str, error: BaseException | None) -> None:
        """End a run that could not even begin."""
        if self._store.start(run_id, self._me):
            sentence = str(error)
            if isinstance(error, Exception):
                sentence = error_sentence(error)
            self._store.finish(run_id, "failed", error=sentence)
            log_line(run_id, f"could not begin: {sentence}")

    def _train_again(self, run: Run) -> None:
        """Queue a run again, which goes on from its last checkpoint; or leave it."""
        self._lost[run.id] += 1
        log_line(run.id, "its worker ended in the middle of it")
        wanted = not run.stop_requested and self._lost[run.id] <= MOST_LOST
        if wanted and self._store.resume(run.id):
            self._store.submit(run.id)

    def _send_runs(self) -> None:
        """Send a run to each worker without a task, then sweeps to help."""
        assert self._client is not None
        if not self._workers or self._has_to_end():
            return
        for address, (future, run_id) in list(self._helping.items()):
            if future.done():
                del self._helping[address]
                if future.status == "error":  # the sweep goes on without
                    self._no_help.add(run_id)
        waiting = [each for each in self._store.queued() if each not in self._sent]
        sweeps = [
            each for each in self._store.in_stage(SEARCH) if each not in self._no_help
        ]
        if not waiting and not sweeps:
            return
        at_work: dict = self._client.processing()
        taken = {address for _, address in self._sent.values()} | set(self._helping)
        free = [w for w in self._workers if w not in taken and not at_work.get(w)]
        where = (str(self._store.home), self._store.database)
        submit = partial(self._client.submit, pure=False, retries=0)
        for address, run_id in zip(free, waiting):
            # Another app's may have sent it as well: it is taken once.
            future = submit(run_one, run_id, *where, workers=[address])
            fire_and_forget(future)  # when this process ends, the run goes on
            self._sent[run_id] = (future, address)
            log_line(run_id, f"goes to the cluster's worker {address}")
        for place, address in enumerate(free[len(waiting) :] if sweeps else []):
            run_id = sweeps[place % len(sweeps)]
            future = submit(help_search, run_id, *where, workers=[address])
            self._helping[address] = (future, run_id)

    def _close(self, seconds: float = ANSWER_SECONDS) -> None:
        """Leave the cluster."""
        if self._client is not None:
            with suppress(*NO_ANSWER):
                self._client.close(timeout=seconds)
        self._client = None

    def _disconnect(self) -> None:
        """Leave a scheduler that is gone; it has forgotten what waited there."""
        for tasks in (self._sent, self._helping, self._known):
            tasks.clear()
        self._close(1)
        self._say(
            f"The Dask scheduler at {self._address} went away; runs that its workers "
            "leave can be resumed.",
            is_away=True,
        )
