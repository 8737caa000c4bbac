"""A run that trains on the cluster, as the app's machine sees it."""

from __future__ import annotations

import traceback
from collections.abc import Iterable

from treelab.runs.jobs.run_one import PROCESS_ENDED, error_sentence
from treelab.runs.store.private import open_private
from treelab.runs.store.process import ProcessId
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.cluster.payload import ABORT, Item, run_payload, table_content
from treelab.runs.workers.cluster.received import Received
from treelab.runs.workers.cluster.remote_jobs import train_remote
from treelab.runs.workers.cluster.tasks import ClusterTask, ClusterTasks
from treelab.runs.workers.log_line import log_line

MOST_LOST = 2  # workers that may end under a run before it waits for a person
MOST_UNBEGUN = 5  # times that a run may be lost on its way there
SCHEDULER_GONE = (
    "The Dask scheduler went away in the middle of the run. Resume it to go on from "
    "its last checkpoint."
)


class RemoteRun:
    """A run of which this process is the owner, trained by a task on the cluster.

    Parameters
    ----------
    store : RunStore
    run_id : str
        Of a run in training.
    tasks : ClusterTasks
    names : dict of str to str
        Of the workers that may train it, by address; changed as they come and go.

    Attributes
    ----------
    is_over : bool
        Whether the run has ended in the store.
    """

    def __init__(
        self, store: RunStore, run_id: str, tasks: ClusterTasks, names: dict[str, str]
    ):
        self.run_id, self.is_over = run_id, False
        self._store, self._tasks, self._names = store, tasks, names
        self._task: ClusterTask | None = None
        self._received: Received | None = None
        self._n_lost = self._n_unbegun = 0
        self._error = ""  # of this machine, while it wrote what came
        self._stopped_before = False  # the training: that stop was for the search

    @property
    def is_searching(self) -> bool:
        """Whether it searches settings, with tasks for trials and none for itself."""
        return False

    @property
    def place(self) -> str:
        """Name the worker of the cluster that trains it, "" for none."""
        return "" if self._task is None else self._place(self._task)

    def begin(self) -> None:
        """Send the run to the cluster."""
        self._train({})

    def owns(self, task: ClusterTask) -> bool:
        """Whether a task is this run's."""
        return task is self._task

    def step(self, n_free: int) -> None:
        """Ask of the task what was asked of the run.

        Parameters
        ----------
        n_free : int
            Workers without a task.
        """
        if self._task is None or self._task.ask == ABORT:
            return
        run = self._run()
        if run is None or run.state != "running":
            self._task.ask = ABORT
        elif run.stop_requested and not self._stopped_before:
            self._task.ask = "pause" if run.pause_requested else "stop"

    def receive(self, task: ClusterTask, items: Iterable[Item]) -> None:
        """Write what the task sent."""
        if self._run() is None or self._received is None or self._error:
            return
        try:
            for item in items:
                self._received.write(item)
        except (OSError, ValueError) as error:
            self._error = error_sentence(error)
            task.ask = ABORT

    def settle(self, task: ClusterTask) -> None:
        """End the run, as its task has ended; or train it again where that was lost."""
        self._conclude(task)
        # Only now: where the store could not be written, it is concluded once more.
        self._tasks.drop(task)
        if self._task is task:
            self._task = None

    def end(self, error: str = PROCESS_ENDED) -> None:
        """End the run in the store where its task has not ended, and leave that."""
        if self._task is not None:
            self._tasks.drop(self._task)
        self._finish("interrupted", error=error)

    def abort(self) -> None:
        """Ask the tasks to end, with a checkpoint."""
        if self._task is not None:
            self._task.ask = ABORT

    def _conclude(self, task: ClusterTask) -> None:
        """Write what comes of the run, now that its task has ended."""
        run, ending, failure = self._run(), task.ending, task.failure
        if run is None:
            self._finish("interrupted")
        elif self._error:
            self._finish("failed", error=self._error)
        elif ending is not None and not self._is_broken_off(task, ending):
            state, summary = ending["state"], ending["summary"]
            if state == "done" and self._stopped_before:
                state = "stopped"
            if "device" in summary:
                summary = {**summary, "device": f"{summary['device']} of {task.host}"}
            self._finish(
                state, metrics=ending["metrics"], summary=summary, error=ending["error"]
            )
        elif failure is not None:
            self._fail(failure)
        elif task.ask == ABORT:
            self._finish("interrupted", error=PROCESS_ENDED)
        else:
            self._train_again(run, task)

    def _train(self, replaced: dict[str, bytes]) -> None:
        """Send the run, with some files in the place of its folder's."""
        try:
            run = self._store.run(self.run_id)
            payload = run_payload(self._store, run, replaced)
            self._received = Received(self._store, run.id)
            table_id = run.problem.table_id
            self._task = self._tasks.submit(
                train_remote,
                payload,
                table_id,
                lambda: table_content(self._store, table_id),
                workers=self._names,
            )
        except (LookupError, ValueError, OSError) as error:
            self._fail(error)

    def _train_again(self, run: Run, task: ClusterTask) -> None:
        """Send the run once more, from its last checkpoint, or leave it to a person."""
        if not task.address and self._n_unbegun < MOST_UNBEGUN:
            self._n_unbegun += 1
            self.begin()
            return
        self._n_lost += 1
        if run.pause_requested:
            self._finish("paused")
            return
        worker = f"The cluster's worker {self._place(task)}".strip()
        sentence = (
            f"{worker} ended in the middle of the run. Resume it to go on from its "
            "last checkpoint; a worker that ends again may have too little memory."
        )
        log_line(self.run_id, f"{worker} ended in the middle of the run")
        wants_stop = run.stop_requested and not self._stopped_before
        self._store.finish(self.run_id, "interrupted", error=sentence)
        if wants_stop or self._n_lost > MOST_LOST:
            self.is_over = True
        elif self._store.resume(self.run_id) and self._store.start(
            self.run_id, ProcessId.here()
        ):
            self.begin()
        else:  # deleted meanwhile
            self.is_over = True

    def _fail(self, error: BaseException) -> None:
        """End the run with what it failed of; the traceback goes to its log."""
        folder = self._store.folder(self.run_id)
        if folder.is_dir():
            with open_private(folder / "log.txt", "a", "utf-8") as log:
                log.write("".join(traceback.format_exception(error)))
        sentence = error_sentence(error) if isinstance(error, Exception) else str(error)
        self._finish("failed", error=sentence)

    def _finish(self, state: str, **facts) -> None:
        """End the run in the store."""
        self._store.finish(self.run_id, state, **facts)
        log_line(self.run_id, f"ended {state} {facts.get('error', '')}")
        self.is_over = True

    def _run(self) -> Run | None:
        """Return the run, None once it was deleted."""
        try:
            return self._store.run(self.run_id)
        except LookupError:
            return None

    def _place(self, task: ClusterTask) -> str:
        """Name the worker that has a task."""
        if not task.address:
            return ""
        return f"{self._names.get(task.address, task.address)} on {task.host}"

    @staticmethod
    def _is_broken_off(task: ClusterTask, ending: dict) -> bool:
        """Whether a training ended because it believed itself unwanted."""
        return ending["state"] == "interrupted" and task.ask != ABORT
