"""A thread that does something small again and again beside the training."""

import threading
from collections.abc import Callable

BEAT_SECONDS = 1.0


class Heartbeat:
    """Calls ``beat`` about once a second for the length of a ``with`` block."""

    def __init__(self, beat: Callable[[], None]):
        self._beat = beat
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        """Beat until the block ends."""
        while not self._ended.wait(BEAT_SECONDS):
            self._beat()
