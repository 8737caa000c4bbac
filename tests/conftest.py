"""Settings of a test run, made before anything imports torch."""

import gc
import os
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes to draw or to test is the machine's affair.
settings.register_profile(
    "treelab", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("treelab")

# SQLite waits for the disk at each commit, and so do thousands of tests: their files
# go to memory, where the machine has some for that and nobody names another place.
MEMORY = Path("/dev/shm")  # Linux alone
ENOUGH_BYTES = 6e9
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES:
    os.environ.setdefault("TMPDIR", str(MEMORY))
    tempfile.tempdir = None  # asked before, and remembered

# Two test processes with as many threads each as there are cores wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


# Thousands of tests and the libraries under them are made once and stay: a garbage
# collection that looks through them all finds nothing, each time for longer.
@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect garbage of what the tests make, once they are found."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# Of two processes neither waits for the other where the longest files come first.
LONGEST_FIRST = ("tests/learners", "tests/ops", "tests/pages")
# numba compiles their kernels, in a clone that is new: one process does it for both.
COMPILING = ("tests/learners/", "tests/ops/")


@pytest.hookimpl(trylast=True)  # of those that are left
def pytest_collection_modifyitems(config, items) -> None:
    """Put the files that take longest first; deal slow ones among processes."""

    def place(item) -> int:
        starts = [item.nodeid.startswith(own) for own in LONGEST_FIRST]
        return starts.index(True) if any(starts) else len(starts)

    items.sort(key=place)
    n_processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if config.option.markexpr == "slow" and n_processes > 1:
        items[:] = _dealt(items, n_processes)


def _dealt(items: list, n_processes: int) -> list:
    """Order tests: of equal parts one only computes, and all end with short ones.

    Files of few slow tests have the long ones, which wait for workers and pages.
    """
    size = Counter(item.path for item in items)
    ordered = sorted(items, key=lambda item: size[item.path])
    place = {path: i for i, path in enumerate(dict.fromkeys(i.path for i in ordered))}
    n_long = len(items) - len(items) // n_processes
    while n_long > 0 and ordered[n_long - 1].path == ordered[n_long].path:
        n_long -= 1  # a file's tests stay in their order
    long, short = ordered[:n_long], ordered[n_long:]
    return short + sorted(long, key=lambda item: place[item.path] % (n_processes - 1))


@pytest.fixture(scope="module", autouse=True)
def folds_drawn_once():
    """Folds are drawn once, as of a large table, which is faster.

    A file in which a claim hangs on the draws has a fixture of this name that lets
    folds be drawn as ever.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treelab.learners.common.folds.REPEATED_ROWS", 20)
        yield


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    """The data folder and the address of the app that tests in a browser share."""
    from tests.served_app import free_port, served

    folder, port = tmp_path_factory.mktemp("shared"), free_port()
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TREELAB_HOME", str(folder / "home"))
            patch.setenv("TREELAB_SLOTS", "0")
            stack.enter_context(served(folder, port, "--server.address=127.0.0.1"))
        yield folder / "home", f"http://127.0.0.1:{port}"


@pytest.fixture
def alone(tmp_path, monkeypatch) -> Path:
    """The data folder of a test whose server nobody opened before; empty."""
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Give a process whole files, and one process all that compiles."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            compiles = nodeid.startswith(COMPILING)
            return "kernels" if compiles else super()._split_scope(nodeid)

    return Scheduling(config, log)
