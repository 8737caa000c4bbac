"""The queue: hands runs to the workers that train them, and looks after both.

Which run is next is decided by the store, ``RunStates.claim_next`` in
``treelab/runs/store/states.py``: quick learners first, repeats last, and of these the
oldest. Workers ask it whenever they are idle.
"""

from treelab.learners.registry import find_spec
from treelab.runs.store.run import Run
from treelab.runs.workers.cluster import SLOT, check_cluster, cluster_address
from treelab.runs.workers.kernels import N_KERNELS, compiling
from treelab.runs.workers.worker_pool import (
    QUICK,
    WorkerPool,
    describe_device,
    planned_slots,
)


class Queue(WorkerPool):
    """What stands between "Train" and a worker, for an app or a script.

    Runs wait in the store for the worker processes of this machine. Any number of
    queues, in any number of processes, may share a store. Where ``TREELAB_CLUSTER``
    holds the address of a Dask scheduler, the one worker of this machine has them
    trained there.

    Parameters
    ----------
    store : RunStore
    command : sequence of str
        The command that starts a worker.
    """

    def submit(self, run_id: str) -> None:
        """Have a queued run trained as soon as there is room for it.

        Raises
        ------
        ImportError, ValueError
            If a cluster is named that cannot train; see ``check_cluster``.
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

    def check(self) -> list[str]:
        """Look after runs and workers; pages call it about once a second.

        Runs whose process died become "interrupted", dead workers are replaced.

        Returns
        -------
        list of str
            The runs found dead by this call.
        """
        interrupted = self.store.interrupt_dead_runs()
        self.ensure_workers()
        return interrupted

    def ensure_workers(self) -> None:
        """Start the workers that are missing, unless a cluster is named that cannot."""
        if not self._cluster_error():
            super().ensure_workers()

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

    def startup_error(self) -> str:
        """Explain in a sentence why no worker trains, empty when all is well."""
        return self._cluster_error() or super().startup_error()

    def _cluster_error(self) -> str:
        """Explain why the cluster that is named can train no run, "" where it can."""
        try:
            check_cluster(self.store)
        except (ImportError, ValueError) as error:
            return str(error)
        return ""

    def shut_down(self, timeout: float = 10.0) -> None:
        """End the workers of this store on this machine, and the runs they train.

        Parameters
        ----------
        timeout : float, default=10.0
            Seconds until those that do not react are killed.
        """
        super().shut_down(timeout)
        self.store.interrupt_dead_runs()


def _is_quick(run: Run) -> bool:
    """Whether the quick worker trains it."""
    spec = find_spec(run.learner)
    return spec is not None and spec.is_quick
