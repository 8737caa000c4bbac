"""A thread that records, beside a training, that its process is alive."""

import threading
from collections.abc import Callable

HEARTBEAT_SECONDS = 1.0


class Heartbeat:
    """Calls ``record`` every few seconds for the length of a ``with`` block."""

    def __init__(self, record: Callable[[], None], seconds: float = HEARTBEAT_SECONDS):
        self._record, self._seconds = record, seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        """Call until the block ends."""
        while not self._ended.wait(self._seconds):
            self._record()
