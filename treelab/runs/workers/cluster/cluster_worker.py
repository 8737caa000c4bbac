"""The worker of this machine that has runs trained on a Dask cluster.

It claims runs as a worker does that trains them itself, and it alone writes the store
for them. So stop, pause, interrupted runs and their retry are what they are elsewhere.
"""

from __future__ import annotations

import sys
import time
import traceback
from contextlib import suppress

from distributed import Client

from treelab.runs.store.database import StoreError
from treelab.runs.store.private import open_private
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.cluster.connection import (
    PLACE,
    SLOT,
    connect,
    misfits,
    worker_names,
)
from treelab.runs.workers.cluster.remote_run import SCHEDULER_GONE, RemoteRun
from treelab.runs.workers.cluster.remote_sweep import RemoteSweep
from treelab.runs.workers.cluster.tasks import ClusterTasks
from treelab.runs.workers.cluster.uplink import NO_ANSWER
from treelab.runs.workers.log_line import log_line
from treelab.runs.workers.worker import GRACE_SECONDS, POLL_SECONDS, Worker
from treelab.trees.text.numerals import counted

LOOK_SECONDS = 1.0  # between two looks at which workers the cluster has
CONNECT_AGAIN_SECONDS = 5.0


class ClusterWorker(Worker):
    """Claims runs and has them trained on a cluster; see ``Worker``.

    Parameters
    ----------
    store : RunStore
    address : str
        Of the Dask scheduler.
    end_when_unused : bool, default=False
        See ``Worker``.
    """

    def __init__(self, store: RunStore, address: str, *, end_when_unused: bool = False):
        super().__init__(store, SLOT, end_when_unused=end_when_unused)
        self._address = address
        self._client: Client | None = None
        self._tasks: ClusterTasks | None = None
        self._remote: list[RemoteRun] = []
        self._names: dict[str, str] = {}  # of the Dask workers that can train
        self._known: set[str] = set()  # addresses of all of them
        self._misfits: dict[str, str] = {}
        self._next_look = self._next_connect = 0.0

    def _warm_up(self) -> None:
        """Connect to the cluster; where that fails, it is tried again and again."""
        self._ensure_connected()

    def _step(self) -> bool:
        """Take what came, end what has ended, begin what there is room for."""
        try:
            if self._ensure_connected():
                self._exchange()
                self._begin_runs()
        except StoreError as error:  # a full disk, perhaps: tried again
            print(f"The run store cannot be used: {error}", file=sys.stderr)
        except NO_ANSWER as error:  # seen by the next step
            print(f"The Dask scheduler did not answer: {error!r}", file=sys.stderr)
        return False  # wait a moment

    def _ensure_connected(self) -> bool:
        """Connect where there is no connection; whether there is one with workers."""
        now = time.monotonic()
        if self._client is not None and self._client.status != "running":
            self._disconnect()
        if self._client is None:
            if now < self._next_connect:
                return False
            try:
                self._client = connect(self._address)
                self._tasks = ClusterTasks(self._client)
            except (OSError, ImportError) as error:
                self._client = None
                self._next_connect = time.monotonic() + CONNECT_AGAIN_SECONDS
                self._say(str(error), is_away=True)
                return False
        if now >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + LOOK_SECONDS
        return True

    def _look(self) -> None:
        """See which workers the cluster has, and which of them can train."""
        assert self._client is not None
        names = worker_names(self._client)
        if set(names) != self._known:
            self._misfits = misfits(self._client) if names else {}
            self._known = set(names)
        for address in [own for own in self._names if own not in names]:
            del self._names[address]
        fit = {own: name for own, name in names.items() if own not in self._misfits}
        self._names.update(fit)
        cluster = f"Dask cluster at {self._address}"
        if self._names:
            words = f"{cluster}, {counted(len(self._names), 'worker')}"
            if self._misfits:
                words += f" ({len(self._misfits)} cannot train: {self._why()})"
            self._say(words)
        elif names:
            self._say(
                f"No worker of the {cluster} can train: {self._why()}. Install the "
                "same on all machines.",
                is_away=True,
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
        self._state = "away" if is_away else "busy" if self._remote else "idle"

    def _exchange(self) -> None:
        """Hear from the tasks, tell them what is asked, end what has ended."""
        assert self._tasks is not None
        # Before the messages are read: what ended has sent all of its own.
        ended = self._tasks.ended(self._known)
        for task, items in self._tasks.messages():
            for run in self._remote:
                if run.owns(task):
                    run.receive(task, items)
                    if any(kind == "begun" for kind, _ in items):
                        self._note_place(run)
        ended += [task for task in self._tasks if task.ending and task not in ended]
        for task in ended:
            owner = next((run for run in self._remote if run.owns(task)), None)
            if owner is None:  # its run has ended before it
                self._tasks.drop(task)
            else:
                owner.settle(task)
                self._note_place(owner)  # of a lost worker: it is nowhere yet
        for run in self._remote:
            if not run.is_over:
                run.step(len(self._names) - len(self._tasks))
        self._remote = [run for run in self._remote if not run.is_over]
        self._training = [run.run_id for run in self._remote]
        self._tasks.speak()

    def _begin_runs(self) -> None:
        """Claim runs and send them to the cluster, as many as it has room for."""
        assert self._tasks is not None
        while len(self._tasks) < len(self._names) and not self._has_to_end():
            waiting = self._store.queued()
            if not waiting:
                return
            n_searching = sum(run.is_searching for run in self._remote)
            if n_searching >= len(self._names) and self._is_sweep(waiting[0]):
                return  # its trials would only wait for those of others
            run_id = self._store.claim_next(self._me)
            if run_id is None:
                return
            kind = RemoteSweep if self._is_sweep(run_id) else RemoteRun
            run = kind(self._store, run_id, self._tasks, self._names)
            self._remote.append(run)
            self._training.append(run_id)
            run.begin()
            log_line(run_id, "goes to the cluster")
            self._note_place(run)
            if run.is_searching and not run.is_over:
                run.step(len(self._names) - len(self._tasks))

    def _is_sweep(self, run_id: str) -> bool:
        """Whether a run is a sweep."""
        try:
            return self._store.sweep(run_id) is not None
        except LookupError:
            return False

    def _note_place(self, run: RemoteRun) -> None:
        """Write where a run trains into its folder, for pages."""
        folder = self._store.folder(run.run_id)
        if folder.is_dir():
            with open_private(folder / PLACE, "w", "utf-8") as file:
                file.write(run.place)

    def _close(self) -> None:
        """End the runs; those that can, save a checkpoint first."""
        for run in self._remote:
            run.abort()
        until = time.monotonic() + 0.75 * GRACE_SECONDS
        while self._remote and time.monotonic() < until and self._tasks is not None:
            try:
                self._exchange()
            except NO_ANSWER:  # of the store, or of the scheduler
                traceback.print_exc()
                break
            time.sleep(POLL_SECONDS)
        for run in self._remote:
            run.end()
        self._remote, self._training = [], []
        if self._tasks is not None:
            self._tasks.close()

    def _disconnect(self) -> None:
        """End the runs of a scheduler that is gone: it has forgotten them."""
        for run in self._remote:
            run.end(SCHEDULER_GONE)
        self._remote, self._training, self._known = [], [], set()
        self._names.clear()
        client, self._client, self._tasks = self._client, None, None
        if client is not None:
            with suppress(*NO_ANSWER):
                client.close(timeout=1)
        self._say(
            f"The Dask scheduler at {self._address} went away; its runs wait to be "
            "resumed.",
            is_away=True,
        )
