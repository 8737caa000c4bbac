"""The tasks that this machine has on the cluster, and what passes between the two."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, Queue, Variable

from treelab.runs.workers.cluster.payload import ABORT, Item, Payload
from treelab.runs.workers.cluster.uplink import ANSWER_SECONDS, NO_ANSWER

MOST_TABLES = 4  # kept on the cluster although no task needs them now


@dataclass(eq=False)
class ClusterTask:
    """A training or a trial on the cluster.

    Attributes
    ----------
    token : str
        Names it in messages.
    table_id : str
    ask : str
        What is asked of it: "", "stop", "pause" or "abort".
    address : str
        The Dask worker that has begun it, "" before.
    host : str
        That worker's machine.
    ending : dict or None
        What it sent last, None before.
    is_lost : bool
        Whether its worker is gone, or Dask has begun it once more somewhere.
    """

    token: str
    table_id: str
    future: Future | None = None
    ask: str = ""
    address: str = ""
    host: str = ""
    ending: dict | None = None
    is_lost: bool = False
    attempt: str = ""
    number: int = 0

    @property
    def failure(self) -> BaseException | None:
        """What the task itself raised; None where its worker was lost, or nothing."""
        if self.future is None or self.future.status != "error":
            return None
        error = self.future.exception(timeout=ANSWER_SECONDS)
        is_killed = type(error).__name__ in ("KilledWorker", "CancelledError")
        return None if is_killed else error

    @property
    def is_over(self) -> bool:
        """Whether Dask has ended it.

        Dask cancels a task as well where a worker dies that had the only copy of its
        table. One that has begun has read the table, and goes on.
        """
        if self.future is None:
            return False
        gone = not self.address and self.future.status in ("cancelled", "lost")
        return gone or self.future.status in ("finished", "error")

    def take(self, message: dict) -> list[Item]:
        """Return what is new in a message of this task."""
        if not self.attempt:
            self.attempt = message["attempt"]
        if message["attempt"] != self.attempt:
            self.is_lost = True
            return []
        if message["number"] <= self.number:
            return []
        self.number = message["number"]
        for kind, facts in message["items"]:
            if kind == "begun":
                self.address, self.host = facts["worker"], facts["host"]
            elif kind == "ended":
                self.ending = facts
        return list(message["items"])


class ClusterTasks:
    """Submits tasks, hears from them and tells them what is asked of them.

    Parameters
    ----------
    client : Client
    """

    def __init__(self, client: Client):
        self._client = client
        name = f"treelab-{secrets.token_hex(8)}"
        self._names = {"queue": f"{name}-queue", "word": f"{name}-word"}
        self._queue = Queue(self._names["queue"], client=client)
        self._word = Variable(self._names["word"], client=client)
        self._tasks: dict[str, ClusterTask] = {}
        self._tables: dict[str, Future] = {}
        self._beat = 0

    def __len__(self) -> int:
        """Return how many tasks are on the cluster."""
        return len(self._tasks)

    def __iter__(self) -> Iterator[ClusterTask]:
        """Iterate over the tasks."""
        return iter(list(self._tasks.values()))

    def submit(
        self,
        job: Callable[..., None],
        payload: Payload,
        table_id: str,
        table: Callable[[], bytes],
        *more: Any,
        workers: Iterable[str],
    ) -> ClusterTask:
        """Have a job done by a worker of the cluster.

        Parameters
        ----------
        job : callable
            Called there with the payload, the table, the link for its ``Uplink``, and
            ``more``.
        payload : dict
        table_id : str
        table : callable
            Reads the table; called where the cluster does not have it.
        *more : object
        workers : iterable of str
            Addresses of the Dask workers that may do it.
        """
        token = secrets.token_hex(8)
        task = self._tasks[token] = ClusterTask(token, table_id)
        self.speak()  # before it begins: one that is not named there is not wanted
        named = list(workers)
        task.future = self._client.submit(
            job,
            payload,
            self._scattered(table_id, table, named),
            self._names | {"token": token},
            *more,
            key=f"treelab-{job.__name__}-{token}",
            workers=named,
            pure=False,
            retries=0,
        )
        return task

    def speak(self) -> None:
        """Say which tasks are wanted and what is asked of them, and that we live."""
        self._beat += 1
        wanted = {task.token: task.ask for task in self}
        self._word.set({"beat": self._beat, "wanted": wanted})

    def messages(self) -> list[tuple[ClusterTask, list[Item]]]:
        """Return what came from tasks since the last call, in order."""
        found = []
        for message in self._queue.get(batch=True):
            if (task := self._tasks.get(message["token"])) is not None:
                found.append((task, task.take(message)))
        return found

    def ended(self, workers: Iterable[str]) -> list[ClusterTask]:
        """List the tasks at which nobody is any more, by what Dask knows of them.

        Parameters
        ----------
        workers : iterable of str
            Addresses of the Dask workers that are there.
        """
        known = set(workers)
        for task in self:
            task.is_lost |= bool(task.address) and task.address not in known
        return [task for task in self if task.is_lost or task.is_over]

    def drop(self, task: ClusterTask) -> None:
        """Forget a task; what it still sends is not read."""
        self._tasks.pop(task.token, None)
        if task.future is not None:
            with suppress(*NO_ANSWER):  # then it knows nothing of the task, either
                task.future.cancel()

    def close(self) -> None:
        """Leave the cluster; tasks that are left end by themselves."""
        for task in self:
            task.ask = ABORT
            self.drop(task)
        self._tables.clear()
        with suppress(*NO_ANSWER):
            self._queue.close()
            self._client.close(timeout=ANSWER_SECONDS)

    def _scattered(
        self, table_id: str, table: Callable[[], bytes], workers: list[str]
    ) -> Future:
        """Return a table on the cluster, sent there once, to each of the workers."""
        future = self._tables.pop(table_id, None)
        if future is None or future.status != "finished":
            name = f"treelab-table-{table_id}"
            sent = self._client.scatter(
                {name: table()}, workers=workers, broadcast=True, hash=False
            )
            future = sent[name]
        self._tables[table_id] = future  # the newest last
        needed = {task.table_id for task in self}
        unused = [known for known in self._tables if known not in needed]
        for old in unused[:-MOST_TABLES]:
            del self._tables[old]
        return future
