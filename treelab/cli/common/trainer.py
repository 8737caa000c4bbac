"""Who trains the runs of a command: this process, or the Dask cluster that is named."""

import math
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

from treelab.cli.common.progress_bar import ProgressBar
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.states import TRAINER_ENDED
from treelab.runs.workers.cluster import Caller, check_cluster, cluster_address
from treelab.runs.workers.queue import Queue
from treelab.training.events import Progress

LOOK_SECONDS = 0.3
SENT_AGAIN_SECONDS = 5.0  # after its worker died, a run is sent to another by then


class Trainer:
    """Trains runs with a progress bar; Ctrl-C stops them and saves the best so far.

    Where ``TREELAB_CLUSTER`` names a cluster, it says on standard error that it trains
    there, and all runs go there at once.

    Parameters
    ----------
    store : RunStore

    Raises
    ------
    ImportError, ValueError, OSError
        If the cluster cannot be used: before a run is made.
    """

    def __init__(self, store: RunStore):
        self._store = store
        self._on_cluster = bool(cluster_address())
        if self._on_cluster:
            check_cluster(store)
            with Caller(cluster_address(), store) as caller:
                print(f"Training on {caller.words}.", file=sys.stderr)

    def train(self, run_ids: Iterable[str]) -> Run | None:
        """Train runs; return the first that did not end "done", None for none.

        Parameters
        ----------
        run_ids : iterable of str
            Here one is taken after the other, and none after one that was stopped.
        """
        if self._on_cluster:
            return self._train_there(list(run_ids))
        for run_id in run_ids:
            with ProgressBar() as bar:
                run_one(run_id, self._store.home, callbacks=[bar])
            run = self._store.run(run_id)
            if run.state != "done":
                return run
        return None

    def _train_there(self, run_ids: list[str]) -> Run | None:
        """Queue the runs, and wait for all of them."""
        queue = Queue(self._store)
        for run_id in run_ids:
            queue.submit(run_id)
        trouble, is_stopped = "", False
        with ProgressBar() as bar:
            while True:
                queue.check()
                runs = self._runs(run_ids)
                waiting = [run for run in runs if not _has_ended(run)]
                if bar(_progress(runs)) and not is_stopped:
                    is_stopped = True
                    for run in waiting:
                        self._store.request_stop(run.id)
                if not waiting:
                    return next((run for run in runs if run.state != "done"), None)
                before, trouble = trouble, queue.startup_error()
                if trouble and trouble != before:
                    print(trouble, file=sys.stderr)
                time.sleep(LOOK_SECONDS)

    def _runs(self, run_ids: list[str]) -> list[Run]:
        """Return the runs as they are now, without those that were deleted."""
        found = []
        for run_id in run_ids:
            with suppress(LookupError):
                found.append(self._store.run(run_id))
        return found


def _has_ended(run: Run) -> bool:
    """Whether a run has ended, and is not about to be sent to another worker."""
    lost = run.state == "interrupted" and run.error == TRAINER_ENDED
    ago = time.time() - (run.finished or 0.0)
    return run.is_finished and not (lost and ago < SENT_AGAIN_SECONDS)


def _progress(runs: list[Run]) -> Progress:
    """Return how far runs are together, in epochs of those that have begun."""
    running = [run for run in runs if run.state == "running"]
    stage = running[0].stage if running else ""
    if len(runs) > 1:
        stage = f"{sum(run.is_finished for run in runs)} of {len(runs)} runs"
    return Progress(
        epoch=sum(run.epoch for run in runs),
        max_epochs=sum(run.max_epochs for run in runs),
        train_loss=math.nan,
        valid_loss=math.nan,
        seconds=0.0,
        stage=stage,
    )
