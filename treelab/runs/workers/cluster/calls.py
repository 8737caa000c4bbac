"""Functions called on the cluster for a program that waits for them, as ``bench``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from treelab.runs.workers.cluster.connection import connect, misfits, worker_names
from treelab.trees.text.numerals import counted

# Fits share a process's threads badly, and numba's may not meet.
_ONE_AT_A_TIME = threading.Lock()


class Caller:
    """Calls functions on the workers of a cluster, many at once.

    Parameters
    ----------
    address : str
        Of the Dask scheduler.

    Raises
    ------
    ImportError
        If Dask's ``distributed`` is not installed.
    OSError
        If no scheduler answers, or none of its workers can train.

    Attributes
    ----------
    words : str
        Names the cluster.
    """

    def __init__(self, address: str):
        self._client = connect(address)
        wrong = misfits(self._client)
        names = worker_names(self._client)
        self._workers = [worker for worker in names if worker not in wrong]
        if not self._workers:
            self.close()
            why = f"can train: {next(iter(wrong.values()))}." if wrong else "is there."
            raise OSError(
                f"The Dask cluster at {address} has no worker: none {why} Start one: "
                f"dask worker {address} --nthreads 1."
            )
        number = counted(len(self._workers), "worker")
        self.words = f"the Dask cluster at {address}, {number}"

    def __enter__(self) -> Caller:
        """Return this caller, for the length of a ``with`` block."""
        return self

    def __exit__(self, *_) -> None:
        """Leave the cluster."""
        self.close()

    def calls(
        self, function: Callable, shared: Sequence, each: Sequence[Sequence]
    ) -> Iterator[tuple[int, Any]]:
        """Call a function, and yield what it returns as the calls end.

        Dask calls it once more where a worker is lost.

        Parameters
        ----------
        function : callable
            Called as ``function(*own, *shared)``.
        shared : sequence
            Arguments of all calls, sent to each worker once.
        each : sequence of sequence
            A call's own arguments.

        Yields
        ------
        (int, object)
            Place of the call, and what it returned; the exception where Dask gave up.
        """
        from distributed import as_completed

        sent = self._client.scatter(
            list(shared), workers=self._workers, broadcast=True, hash=False
        )
        futures = {
            self._client.submit(
                _call, function, own, *sent, workers=self._workers, pure=False
            ): place
            for place, own in enumerate(each)
        }
        for future in as_completed(futures, loop=self._client.loop):
            error = future.exception()
            yield futures[future], future.result() if error is None else error

    def close(self) -> None:
        """Leave the cluster."""
        with suppress(OSError):
            self._client.close()


def _call(function: Callable, own: Sequence, *shared: Any) -> Any:
    """Call a function on a worker, when no other is called there."""
    with _ONE_AT_A_TIME:
        return function(*own, *shared)
