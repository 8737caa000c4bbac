"""A visitor's browser without its screen: one session of the app, spoken by hand."""

import json
import threading
import time
from dataclasses import dataclass, field
from importlib import import_module

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
