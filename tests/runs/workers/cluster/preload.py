"""Loaded by the tests' Dask workers: the slow tree, and a log of what they must not do.

Whatever path they open, list or connect to below the app's store becomes a line.
"""

import os
import sys

FORBIDDEN = os.environ["TEST_FORBIDDEN"]
LOG = os.environ["TEST_LOG"]


def _watch(event: str, arguments: tuple) -> None:
    """Note each path of the app's store that this process touches."""
    if event.startswith(("open", "os.", "sqlite3", "shutil")) and any(
        FORBIDDEN in str(argument) for argument in arguments
    ):
        with open(LOG, "a") as log:
            log.write(f"{event} {arguments}\n")


def dask_setup(worker) -> None:
    """Called by Dask when the worker starts."""
    from tests.runs.workers.slow_tree import register

    register()
    sys.addaudithook(_watch)
