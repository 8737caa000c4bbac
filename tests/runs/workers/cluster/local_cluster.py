"""A Dask scheduler and workers, each a process in a folder of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.served_app import ROOT, free_port

MODULES = "distributed.cli.dask_"
PLAIN = ["--no-dashboard"]


class LocalCluster:
    """Processes that know nothing of the app's store but what is sent to them."""

    def __init__(self, folder: Path):
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self._folder = folder
        self.scheduler = self._start("scheduler", "scheduler")
        self.workers: dict[str, subprocess.Popen] = {}

    def ensure_worker(self, name: str) -> None:
        """Start a worker of one thread, unless it lives."""
        if name not in self.workers or self.workers[name].poll() is not None:
            self.workers[name] = self._start("worker", name)

    def kill(self, name: str) -> None:
        """Kill a worker as a power cut does."""
        self.workers[name].kill()
        self.workers[name].wait()

    def close(self) -> None:
        """End all of it."""
        for process in (*self.workers.values(), self.scheduler):
            process.kill()
            process.wait()

    def _start(self, kind: str, name: str) -> subprocess.Popen:
        """Start a process in a folder of its own."""
        own = self._folder / name
        own.mkdir(parents=True, exist_ok=True)
        host, port = self.address.removeprefix("tcp://").split(":")
        named = ["--host", host, "--port", port]
        if kind == "worker":
            preload = Path(__file__).with_name("preload.py")
            named = [self.address, "--name", name, "--nthreads", "1", "--no-nanny"]
            named += ["--local-directory", str(own), "--preload", str(preload)]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(own),
            "TREELAB_HOME": str(own / "home"),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        with (own / "log.txt").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", MODULES + kind, *named, *PLAIN],
                cwd=own,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )


def wait(condition, what: str, seconds: float = 200):
    """Wait until a condition holds, and return what it answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if answer := condition():
            return answer
        time.sleep(0.1)
    raise TimeoutError(f"not within {seconds} s: {what}")
