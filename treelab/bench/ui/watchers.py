"""Many who watch one run, and many who start runs at once: what it costs the server."""

import os
import tempfile
import threading
import time
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import psutil

from treelab.bench.machine import machine
from treelab.bench.soak.service import Service
from treelab.bench.soak.soak import builtin_problem
from treelab.bench.ui.visitor import Session
from treelab.data.problem import Problem
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.users import Visitor, VisitorStore

SLOTS = 1
MOST_CORES, MOST_GROWTH = 1.0, 50.0  # of the server; growth in megabytes
# Of the run that is watched: half an hour of epochs, each with a point of its curve.
LONG = {"n_estimators": 8192, "max_epochs": 10_000, "patience": 10_000}
DRAWN_SECONDS = 120.0
SETTLING_SECONDS = 10.0  # until caches hold what every watcher needs
LEARNER = "argmin"
SHORT = {"max_epochs": 100, "depth": 2}  # of those that users start
END_SECONDS = 600.0


def run_watchers(n_watchers: int, n_polls: int, n_starters: int) -> int:
    """Measure the server, print what it took; return 1 where it took too much.

    The server, one worker and the sessions share this machine. Of the server the
    processor time of its own process counts.

    Parameters
    ----------
    n_watchers : int
        Sessions that watch one run on Train.
    n_polls : int
        How often each asks for its curves again, once a second.
    n_starters : int
        Sessions that press Train in one moment; then as many users who start two runs
        each.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        place = {"TREELAB_HOME": str(home), "TREELAB_SLOTS": str(SLOTS)}
        with patch.dict(os.environ, place | {"CUDA_VISIBLE_DEVICES": ""}):
            store = RunStore(home)
            problem = builtin_problem(store)
            service = Service(home, Path(folder) / "server.log")
            service.start()
            try:
                print(f"{machine()}, {SLOTS} worker\n")
                wrong = _watch(service, store, problem, n_watchers, n_polls)
                if n_starters:
                    wrong += _start(service, store, problem, n_starters)
                    wrong += _start_as_users(store, problem, n_starters)
            finally:
                wrong_end = service.end(30)
    for words in [*wrong, *wrong_end]:
        print(f"Did not hold: {words}")
    return 1 if wrong or wrong_end else 0


def _watch(
    service: Service, store: RunStore, problem: Problem, n_watchers: int, n_polls: int
) -> list[str]:
    """Let sessions watch a run, print what that took; return what was too much."""
    run_id = _long_run(store, problem)
    sessions = [
        Session(service.port, "train", f"run={run_id}") for _ in range(n_watchers)
    ]
    for session in sessions:
        session.start()
    wrong = []
    if not all(session.is_drawn.wait(DRAWN_SECONDS) for session in sessions):
        wrong.append(f"not every page was drawn within {DRAWN_SECONDS:.0f} s")
    _wait_until(lambda: store.run(run_id).state == "running")
    time.sleep(SETTLING_SECONDS)
    before = _Reading(service, sessions)
    while time.monotonic() - before.at < n_polls:
        time.sleep(1)
    after = _Reading(service, sessions)
    if store.run(run_id).is_finished:
        wrong.append("the run that was watched ended")
    for session in sessions:
        session.end()
    store.request_stop(run_id)
    _wait_until(lambda: store.run(run_id).is_finished)
    times = sorted(
        poll.seconds for s in sessions for poll in s.polls if poll.asked > before.at
    )
    seconds = after.at - before.at
    cores = (after.processor - before.processor) / seconds
    growth = (after.megabytes - before.megabytes) if times else 0.0
    n_missed = after.n_missed - before.n_missed
    middle, late = (times[int(share * len(times))] for share in (0.5, 0.95))
    print(
        f"{n_watchers} sessions watched one run for {seconds:.0f} s: the server took "
        f"{cores:.2f} of a core, grew by {growth:.1f} MB to {after.megabytes:.0f} MB, "
        f"answered {len(times):,} polls ({len(times) / seconds:.1f} a second), half of "
        f"them within {middle:.2f} s, 95% within {late:.2f} s, {n_missed:,} came due "
        f"while one was under way; it sent {after.received - before.received:.0f} MB."
    )
    if cores >= MOST_CORES:
        wrong.append(f"the server took {cores:.2f} of a core")
    if growth > MOST_GROWTH:
        wrong.append(f"the server grew by {growth:.1f} MB")
    return wrong + [words for session in sessions for words in session.wrong]


class _Reading:
    """What the server's process has taken so far, and its sessions received."""

    def __init__(self, service: Service, sessions: list[Session]):
        process = psutil.Process(service.pid)
        times = process.cpu_times()
        self.at = time.monotonic()
        self.processor = times.user + times.system
        self.megabytes = process.memory_info().rss / 1e6
        self.n_missed = sum(session.missed for session in sessions)
        self.received = sum(session.n_bytes for session in sessions) / 1e6


def _start(
    service: Service, store: RunStore, problem: Problem, n_starters: int
) -> list[str]:
    """Let sessions press Train in one moment; return what did not end in order."""
    known = {run.id for run in store.runs()}
    named = store.runs()[0].id
    query = f"run={named}&learners={LEARNER}"
    sessions = [Session(service.port, "train", query) for _ in range(n_starters)]
    for session in sessions:
        session.start()
    for session in sessions:
        session.is_drawn.wait(DRAWN_SECONDS)
    pressed = time.time()
    for session in sessions:
        session.press("Train")
    _wait_until(lambda: len(store.runs()) >= len(known) + n_starters)
    runs = _ended(store, known)
    for session in sessions:
        session.end()
    wrong = [words for session in sessions for words in session.wrong]
    _print_order(f"{n_starters} sessions pressed Train at once", runs, pressed)
    in_order = [run.created for run in sorted(runs, key=_started)]
    if in_order != sorted(in_order):
        wrong.append("runs of sessions did not begin in the order they were started")
    return wrong + _failures(runs, n_starters)


def _start_as_users(store: RunStore, problem: Problem, n_users: int) -> list[str]:
    """Let users start two runs each at once; return whose turn was not kept."""
    known = {run.id for run in store.runs()}
    # The worker is busy, so that all of them wait before the first is taken.
    first = _long_run(store, problem)
    _wait_until(lambda: store.run(first).state == "running")

    def start_two(user: str) -> None:
        """Start two runs, one after the other, as a user."""
        own = VisitorStore(store.home, Visitor(user))
        for _ in range(2):
            own.submit(own.create(LEARNER, SHORT, problem, device="cpu"))

    began = time.time()
    threads = [
        threading.Thread(target=start_two, args=(f"user{place}@example.org",))
        for place in range(n_users)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.request_stop(first)
    runs = [run for run in _ended(store, known) if run.id != first]
    _print_order(f"{n_users} users started 2 runs each at once", runs, began)
    turns = [run.user for run in sorted(runs, key=_started)]
    wrong = _failures(runs, 2 * n_users)
    if len(set(turns[:n_users])) != n_users:
        wrong.append("a user's second run began before another user's first")
    return wrong


def _long_run(store: RunStore, problem: Problem) -> str:
    """Start a run that trains until it is stopped."""
    run_id = store.create("grande", LONG, problem, device="cpu")
    store.submit(run_id)
    return run_id


def _ended(store: RunStore, known: set[str]) -> list[Run]:
    """Return the runs that are new, once all have ended."""

    def new() -> list[Run]:
        return [run for run in store.runs() if run.id not in known]

    _wait_until(lambda: all(run.is_finished for run in new()))
    return new()


def _failures(runs: list[Run], n_expected: int) -> list[str]:
    """Name the runs that are missing or did not end as they should."""
    wrong = [f"{run.id} ended {run.state}" for run in runs if run.state != "done"]
    if len(runs) != n_expected:
        wrong.append(f"{len(runs)} of {n_expected} runs were started")
    return wrong


def _started(run: Run) -> float:
    """When a run began."""
    return run.started or 0.0


def _print_order(title: str, runs: list[Run], since: float) -> None:
    """Print when each run began and ended."""
    table = pd.DataFrame(
        {
            "user": [run.user or "-" for run in runs],
            "created": [run.created - since for run in runs],
            "began": [_started(run) - since for run in runs],
            "ended": [(run.finished or 0.0) - since for run in runs],
            "state": [run.state for run in runs],
        }
    )
    print(f"\n{title}; seconds since then:\n")
    print(table.sort_values("began").round(1).to_string(index=False))


def _wait_until(is_so, seconds: float = END_SECONDS) -> None:
    """Wait for something to become true, for a while."""
    until = time.monotonic() + seconds
    while not is_so() and time.monotonic() < until:
        time.sleep(0.2)
