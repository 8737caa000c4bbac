"""The server while many sessions watch one run."""

import json
import os
import tempfile
import threading
import time
from argparse import Namespace
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import psutil

from benchmarks.service import Service
from benchmarks.soak import builtin_problem
from treelab.bench import machine
from treelab.data.problem import Problem
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.users import Visitor, VisitorStore
from treelab.runs.workers.queue import Queue

# A visitor's browser without its screen: one session of the app, spoken by hand.


ENDS = (0, 3)  # of a script: a page that is drawn, a fragment
HEARTBEAT = 0.25  # seconds after which a session looks at its clock again


@dataclass
class Poll:
    """A look of one of a session's clocks: when, and until what changed was drawn."""

    asked: float  # seconds, on the monotonic clock
    seconds: float


@dataclass
class _Clock:
    """A clock of the page, as ``assets/clock.js`` is one: when it is due to look."""

    fragment: str
    seconds: float
    due: float


@dataclass
class Session(threading.Thread):
    """A page of the app, open in a session of its own, that does what a browser does.

    It asks for the page, has its clocks look whether something changed, one at a time,
    and presses buttons. It draws nothing, so all the time is the server's.

    Parameters
    ----------
    port : int
    page, query : str
        As in the page's address.

    Attributes
    ----------
    polls : list of Poll
    missed : int
        Polls that came due while the one before had no answer.
    wrong : list of str
        Tracebacks shown, or why the connection ended.
    n_bytes : int
        Received.
    """

    port: int
    page: str
    query: str = ""
    polls: list[Poll] = field(default_factory=list)
    missed: int = 0
    wrong: list[str] = field(default_factory=list)
    n_bytes: int = 0

    def __post_init__(self):
        """Prepare the thread, and import here what threads must not import at once.

        By name: the library itself knows no Streamlit, only this measurement does.
        """
        super().__init__(daemon=True)
        self._forward = import_module("streamlit.proto.ForwardMsg_pb2").ForwardMsg
        self._back = import_module("streamlit.proto.BackMsg_pb2").BackMsg
        self._connect = import_module("websockets.sync.client").connect
        self.is_drawn = threading.Event()
        self._ended = threading.Event()
        self._wanted: list[str] = []  # labels of buttons to press
        self._buttons: dict[str, str] = {}  # id by label
        self._clocks: dict[str, _Clock] = {}  # by their trigger's id
        self._asked: tuple[str, float] | None = None  # under way

    def __hash__(self) -> int:
        """Tell sessions apart as threads do."""
        return id(self)

    def press(self, label: str) -> None:
        """Press a button of the page, by its label, once it is there."""
        self._wanted.append(label)

    def end(self) -> None:
        """Close the page."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Speak with the server until the page is closed."""
        address = f"ws://127.0.0.1:{self.port}/_stcore/stream"
        try:
            with self._connect(
                address, subprotocols=["streamlit"], max_size=None
            ) as socket:
                self._ask(socket)
                while not self._ended.is_set():
                    try:
                        content = socket.recv(timeout=self._patience())
                    except TimeoutError:
                        content = b""
                    if content:
                        self.n_bytes += len(content)
                        message = self._forward()
                        message.ParseFromString(content)
                        self._take(message)
                    self._go_on(socket)
        except (OSError, EOFError) as error:
            self.wrong.append(f"{type(error).__name__}: {error}")

    def _patience(self) -> float:
        """Seconds until something is due, no more than a moment."""
        if self._asked is not None or not self._clocks:
            return HEARTBEAT
        due = min(clock.due for clock in self._clocks.values())
        return min(max(due - time.monotonic(), 0.001), HEARTBEAT)

    def _take(self, message) -> None:
        """Note what a message of the server says."""
        kind = message.WhichOneof("type")
        if kind == "delta":
            element = message.delta.new_element
            if element.WhichOneof("type") == "exception":
                self.wrong.append(element.exception.message)
            if element.WhichOneof("type") == "button":
                self._buttons[element.button.label] = element.button.id
            if element.WhichOneof("type") == "bidi_component":
                self._take_clock(element.bidi_component, message.delta.fragment_id)
        elif kind == "new_session":
            if not message.metadata.run.fragment_ids:
                self._clocks.clear()  # the whole page is drawn anew
        elif kind == "script_finished" and message.script_finished in ENDS:
            self._note_end()

    def _take_clock(self, component, fragment: str) -> None:
        """Set a clock of the page anew; other components are none."""
        if component.component_name.endswith("treelab_clock"):
            seconds = json.loads(component.json)["seconds"]
            due = time.monotonic() + seconds
            self._clocks[f"$$STREAMLIT_INTERNAL_KEY_{component.id}__events"] = _Clock(
                fragment, seconds, due
            )

    def _note_end(self) -> None:
        """Note that what was asked for last is drawn."""
        if self._asked is None:
            return
        clock, asked = self._asked
        self._asked = None
        if clock:
            self.polls.append(Poll(asked, time.monotonic() - asked))
        else:
            self.is_drawn.set()

    def _go_on(self, socket) -> None:
        """Press a button, or ask for the fragment that is due."""
        for label in [own for own in self._wanted if own in self._buttons]:
            self._wanted.remove(label)
            self.is_drawn.clear()
            self._ask(socket, pressed=self._buttons[label])
            return
        now = time.monotonic()
        for trigger, clock in self._clocks.items():
            if now < clock.due:
                continue
            if self._asked is not None:
                self.missed += 1
            else:
                self._ask(socket, clock=trigger)
            clock.due = now + clock.seconds

    def _ask(self, socket, clock: str = "", pressed: str = "") -> None:
        """Ask for the whole page, or have one of its clocks look."""
        back = self._back()
        asked = back.rerun_script
        asked.query_string, asked.page_name = self.query, self.page
        url = f"http://127.0.0.1:{self.port}/{self.page}?{self.query}"
        asked.context_info.url = url
        if clock:
            asked.fragment_id = self._clocks[clock].fragment
            state = asked.widget_states.widgets.add()
            state.id = clock
            state.json_trigger_value = json.dumps([{"event": "look", "value": 1}])
        if pressed:
            state = asked.widget_states.widgets.add()
            state.id, state.trigger_value = pressed, True
        self._asked = clock, time.monotonic()
        socket.send(back.SerializeToString())


# Many who watch one run, and many who start runs at once: what it costs the server.


SLOTS = 1
MOST_CORES, MOST_GROWTH = 1.0, 50.0  # of the server; growth in megabytes
# Of the run that is watched: half an hour of epochs, each with a point of its curve.
LONG = {"n_estimators": 8192, "max_epochs": 10_000, "patience": 10_000}
SOON_SAVED = {"n_estimators": 512}  # of the one that keeps the worker busy
DRAWN_SECONDS = 120.0
SETTLING_SECONDS = 10.0  # until caches hold what every watcher needs
LEARNER = "argmin"
SMALL = "wine"  # the table that users start runs on, one of which trains for seconds
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
            problem, small = builtin_problem(store), builtin_problem(store, SMALL)
            service = Service(home, Path(folder) / "server.log")
            service.start()
            try:
                print(f"{machine()}, {SLOTS} worker\n")
                wrong = _watch(service, store, problem, n_watchers, n_polls)
                if n_starters:
                    wrong += _start(service, store, n_starters)
                    wrong += _start_as_users(store, small, n_starters)
            finally:
                Queue(store).shut_down()  # sooner than workers end without an app
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


def _start(service: Service, store: RunStore, n_starters: int) -> list[str]:
    """Let sessions press Train in one moment; return what did not end in order."""
    known = {run.id for run in store.runs()}
    query = f"table={SMALL}&learners={LEARNER}"
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
    first = _long_run(store, problem, **SOON_SAVED)
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


def _long_run(store: RunStore, problem: Problem, **settings: int) -> str:
    """Start a run that trains until it is stopped."""
    run_id = store.create("grande", LONG | settings, problem, device="cpu")
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


def run(chosen: Namespace) -> int:
    """Measure the server under many sessions and print."""
    return run_watchers(chosen.watchers, chosen.polls, chosen.starters)
