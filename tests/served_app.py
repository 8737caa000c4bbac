"""The app behind a server of its own, and the browser that tests open it with."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.queue import Queue

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SLOW = 120_000  # milliseconds that a step may take on a busy machine


def chromium() -> str:
    """Path of an installed Chromium; without one a test skips, or fails in CI."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("No Chromium or Chrome is installed.")
    return path


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def served(
    folder: Path,
    port: int,
    *options: str,
    opener: Sequence[str] = ("-m", "streamlit", "run", "app.py"),
    cwd: Path = ROOT,
) -> Iterator[None]:
    """Serve the app over ``TREELAB_HOME``; its workers end with it.

    What the server prints goes to a file of the folder; a traceback there fails the
    test. ``opener`` is how Python opens the app, from the folder ``cwd``.
    """
    log, home = folder / "server.log", os.environ.get("TREELAB_HOME")
    command = [sys.executable, *opener]
    command += [f"--server.port={port}", "--server.headless=true", *options]
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, cwd=cwd, env=os.environ, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_served(f"http://localhost:{port}/_stcore/health", server)
            yield
        finally:
            server.terminate()
            server.wait(20)
            Queue(RunStore(home)).shut_down()
    printed = log.read_text(errors="replace")
    assert "Traceback" not in printed, printed[-8000:]


def _wait_until_served(url: str, server: subprocess.Popen) -> None:
    """Wait until the server answers; fail at once when it ends instead."""
    for _ in range(600):
        assert server.poll() is None, "The server ended while it started."
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"{url} did not answer within a minute.")
