"""What a training on the cluster and the app's machine say to each other.

Messages go up through a Dask queue, in order and each once; what is asked of a task
comes down through a Dask variable, which the app's machine renews about once a second.
"""

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client, Queue, Variable
from distributed.client import ClosedClientError

from treelab.runs.workers.cluster.payload import ABORT, Item

# What Dask raises where the scheduler does not answer; a timeout is an OSError.
NO_ANSWER = (OSError, RuntimeError, CancelledError, ClosedClientError)

SEND_SECONDS = 0.3  # between two messages
SILENT_SECONDS = 60.0  # without a word of the app's machine, then it counts as gone
ANSWER_SECONDS = 20.0  # for the scheduler
MOST_WAITING = 200  # messages of all tasks, before this one holds its own back


class Uplink:
    """Sends messages from beside a training, for the length of a ``with`` block.

    Parameters
    ----------
    client : Client
        Of the Dask worker.
    link : dict
        Names of the ``queue`` and the ``word``, and the task's ``token``.
    collect : callable
        Called before each message; returns what is to go with it.
    on_ask : callable
        Called with what is newly asked of the task: "stop", "pause".

    Attributes
    ----------
    is_unwanted : bool
        Whether nobody wants the task any more, or nobody is there to want it.
    """

    def __init__(
        self,
        client: Client,
        link: dict[str, str],
        collect: Callable[[], list[Item]],
        on_ask: Callable[[str], None],
    ):
        self.is_unwanted = False
        self._queue = Queue(link["queue"], client=client)
        self._word = Variable(link["word"], client=client)
        self._token = link["token"]
        self._attempt = secrets.token_hex(4)  # Dask itself may begin a task again
        self._collect, self._on_ask = collect, on_ask
        self._items: list[Item] = []
        self._number = 0
        self._unsent: dict | None = None  # the same when it is sent once more
        self._ending: Item | None = None
        self._asked = ""
        self._beat: Any = None
        self._heard = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="uplink", daemon=True)

    def send(self, kind: str, facts: dict) -> None:
        """Have a message sent with the next ones."""
        with self._lock:
            self._items.append((kind, facts))

    def end(self, facts: dict) -> None:
        """Have a last message sent, after all others, once the block ends."""
        self._ending = ("ended", facts)

    def __enter__(self) -> "Uplink":
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        """Send what is left, and end the thread."""
        self._ended.set()
        self._thread.join()
        until = time.monotonic() + SILENT_SECONDS
        while not self._flush() and time.monotonic() < until:
            time.sleep(SEND_SECONDS)
        if self._ending is not None:
            self._items.append(self._ending)
            self._collect = list
        while not self._flush() and time.monotonic() < until:
            time.sleep(SEND_SECONDS)

    def _run(self) -> None:
        """Send and listen until the block ends."""
        while not self._ended.wait(SEND_SECONDS):
            self._listen()
            if not self.is_unwanted:
                self._flush(most_waiting=MOST_WAITING)

    def _flush(self, most_waiting: int | None = None) -> bool:
        """Send what there is; False where the scheduler takes nothing at the moment."""
        try:
            if most_waiting is not None and self._queue.qsize() > most_waiting:
                return False
            if self._unsent is not None:  # as it was: it may have come and seem not to
                self._queue.put(self._unsent, timeout=ANSWER_SECONDS)
                self._unsent = None
            collected = self._collect()
            with self._lock:
                items, self._items = self._items + collected, []
            if items:
                self._number += 1
                self._unsent = {
                    "token": self._token,
                    "attempt": self._attempt,
                    "number": self._number,
                    "items": items,
                }
                self._queue.put(self._unsent, timeout=ANSWER_SECONDS)
                self._unsent = None
        except NO_ANSWER:
            return False
        return True

    def _listen(self) -> None:
        """Hear what is asked of the task, and whether anybody is still there."""
        now = time.monotonic()
        try:
            word = self._word.get(timeout=ANSWER_SECONDS)
        except NO_ANSWER:
            word = None
        if word is not None and word["beat"] != self._beat:
            self._beat, self._heard = word["beat"], now
        if now - self._heard > SILENT_SECONDS:
            self.is_unwanted = True
        if word is None:
            return
        asked = word["wanted"].get(self._token, ABORT)
        self.is_unwanted |= asked == ABORT
        if asked not in ("", ABORT, self._asked):
            self._asked = asked
            self._on_ask(asked)
