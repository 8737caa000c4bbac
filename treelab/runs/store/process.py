"""The identity of a process, by which another one finds out whether it is alive."""

import os
import socket
from dataclasses import dataclass

import psutil

CLOCK_SECONDS = 5.0  # by which a corrected clock may move a start time


@dataclass(frozen=True)
class ProcessId:
    """A process on some machine; ``started`` differs from a later one of its number.

    Attributes
    ----------
    host : str
        Name of the machine.
    pid : int
    started : float
        Seconds since 1970, as the operating system counts them.
    """

    host: str
    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        """Identify a living process of this machine."""
        return cls(socket.gethostname(), pid, psutil.Process(pid).create_time())

    @classmethod
    def here(cls) -> "ProcessId":
        """Identify the calling process."""
        return cls.of(os.getpid())

    @classmethod
    def parse(cls, text: str) -> "ProcessId":
        """Read what ``str`` wrote."""
        host, pid, started = text.rsplit("/", 2)
        return cls(host, int(pid), float(started))

    def __str__(self) -> str:
        """Write what ``parse`` reads."""
        return f"{self.host}/{self.pid}/{self.started!r}"

    @property
    def is_local(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return self.host == socket.gethostname()

    def is_alive(self) -> bool:
        """Whether it still runs; only for processes of this machine."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < CLOCK_SECONDS
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False
