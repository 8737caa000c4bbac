"""Parts of a page that follow the run store, drawn again when they have changed."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.cached.store import look_after_queue
from pages.widgets.page import ASSETS
from pages.widgets.words import guarded
from treelab.runs.store.run import Run

LIST_SECONDS = 2.0  # between two looks at a list of runs
HIDDEN_SECONDS = 30  # between two looks while the browser's tab is not seen

_mount = st.components.v2.component(
    "treelab_clock", js=(ASSETS / "clock.js").read_text("utf-8")
)


class Watcher:
    """Parts of a page, and a clock at which it is looked whether they have changed.

    Each part is a fragment with a version. A look asks for the versions and draws the
    parts whose version is another one; the others stay as they are in the browser.
    The browser counts the time: a look follows on the answer to the one before, and
    while its tab is hidden they are ``HIDDEN_SECONDS`` apart. Streamlit leaves a page
    empty where it answers, after the visitor has turned to that page, a look from the
    page before: then the browser asks for the whole page.

    The name is unique on the page. ``seconds`` lie between two looks; None where there
    is nothing to wait for. Before each look runs and workers are looked after; where it
    ``is_over``, the whole page is drawn again.
    """

    def __init__(self, name: str, seconds: float | None, *, is_over=lambda: False):
        self._name, self._seconds, self._is_over = name, seconds, is_over
        self._clock_key = f"clock-{name}"  # the fragment with the clock, and its place
        self._versions: dict[str, Callable[[], Hashable]] = {}
        self._drawn: dict[str, Hashable] = {}
        self._error: OSError | None = None
        self._beat = 0

    def part(
        self, name: str, version: Callable[[], Hashable], draw: Callable[[], None]
    ) -> None:
        """Draw a part of the page, here; its version changes with what it shows."""
        key = f"{self._name}-{name}"
        self._versions[key] = version

        def draw_part() -> None:
            """Note the version first: what comes while it is drawn is drawn next."""
            self._drawn[key] = version()
            draw()

        with st.container(key=f"part-{key}"):
            st.fragment(guarded(draw_part, key), key=key)()

    def changed(self) -> list[str]:
        """Name the parts that are to be drawn again."""
        versions = {key: version() for key, version in self._versions.items()}
        return [key for key, own in versions.items() if own != self._drawn.get(key)]

    def look(self) -> None:
        """Draw what has changed; a callback of widgets, and of the clock."""
        try:
            look_after_queue()
            is_over, changed, self._error = self._is_over(), self.changed(), None
        except OSError as error:  # shown by the clock, which goes on
            is_over, changed, self._error = False, [], error
        if is_over:
            st.rerun()
        if changed and self._seconds is not None:
            changed.append(self._clock_key)  # else drawn for its own sake
        if changed and not _draws_more():  # what changed waits for the next look
            # A look that was on its way while the page was drawn anew, without them.
            with suppress(StreamlitAPIException):
                st.rerun(changed)

    def start(self) -> None:
        """Start the clock, after the last part."""
        if self._seconds is not None:
            with st.container(key=self._clock_key):
                st.fragment(guarded(self._clock), key=self._clock_key)()

    def _clock(self) -> None:
        """Mount the clock; say why the last look found nothing."""
        self._beat += 1
        _mount(
            key=f"{self._clock_key}-beat",
            data={
                "beat": self._beat,
                "seconds": self._seconds,
                "hidden_seconds": HIDDEN_SECONDS,
            },
            on_look_change=self.look,
            on_empty_change=st.rerun,
        )
        if self._error is not None:
            raise self._error


def _draws_more() -> bool:
    """Whether this run of the script has more to draw than the fragment with the clock.

    What a visitor pressed at the time of a look comes in one run with it. A rerun of
    parts takes that run's place: the press would be heard, and not shown.
    """
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and len(context.fragment_ids_this_run or ()) != 1


def follow_runs(
    name: str, find: Callable[[], Sequence[Run]], draw: Callable[[], None]
) -> None:
    """Draw a list of runs, again when one comes or changes its state."""
    is_waiting = any(not run.is_finished for run in find())
    watcher = Watcher(name, LIST_SECONDS if is_waiting else None)
    watcher.part("list", lambda: tuple((run.id, run.state) for run in find()), draw)
    watcher.start()
