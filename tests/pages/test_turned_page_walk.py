"""A page that follows a run, where the browser or the server hears late."""

import re

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.pages.stores import add_run
from tests.test_browser import address, browser, opened, page, settled, sync_api
from treelab.runs.store.run_store import RunStore

__all__ = ["address", "browser", "page"]  # fixtures


class Line:
    """The connection of a browser with the server, on which words can be held back.

    Parameters
    ----------
    page : playwright page
        Not yet connected.
    """

    def __init__(self, page):
        self._is_held = self._is_kept = False
        self._held, self._kept = [], []
        self.asked = []  # while answers are held back: the fragments' ids
        page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, browser) -> None:
        self._browser, self._server = browser, browser.connect_to_server()
        browser.on_message(self._ask)
        self._server.on_message(self._answer)

    def _ask(self, message) -> None:
        if self._is_held:
            fragment = BackMsg.FromString(message).rerun_script.fragment_id
            self.asked.append(fragment)
        if self._is_kept:
            self._kept.append(message)
        else:
            self._server.send(message)

    def _answer(self, message) -> None:
        if self._is_held:
            self._held.append(message)
        else:
            self._browser.send(message)

    def hold(self) -> None:
        """Let the browser wait for what the server says."""
        self._is_held = True

    def keep(self) -> None:
        """Let the server wait for what the browser asks."""
        self._is_kept = True

    def n_kept(self) -> int:
        """How much the browser asked that waits."""
        return len(self._kept)

    def ask(self, *order: int) -> None:
        """Ask what was kept, all at once, in this order."""
        self._is_kept = False
        for place in order:
            self._server.send(self._kept[place])
        self._kept.clear()

    def let_go(self) -> None:
        """Send what was held back."""
        self._is_held = False
        self.asked.clear()
        for message in self._held:
            self._browser.send(message)
        self._held.clear()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("is_late", [False, True])
def test_a_page_that_was_turned_to_is_not_left_empty(page, address, is_late):
    """However late the browser hears of it, no look is asked for till then.

    Nor where the clocks' own code comes after the visitor pressed the link.
    """
    run = add_run(RunStore(), "gradtree", state="running")
    line = Line(page)
    late = []
    if is_late:
        page.route(
            re.compile("/BidiComponent[^/]*js$"), lambda route: late.append(route)
        )
    page.goto(f"{address}/train?run={run}")
    opened(page, "Train and watch")
    line.hold()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Tree").click()
    assert bool(late) == is_late
    for route in late:
        route.continue_()
    page.wait_for_timeout(6000)  # on Train looks are 1 second apart
    asked = line.asked[line.asked.index("") :]  # a page is no fragment
    assert asked == [""]
    line.let_go()
    page.wait_for_timeout(5000)
    settled(page)
    heading = page.get_by_role(
        "heading", name="What did it learn, and how small can it be?"
    )
    sync_api.expect(heading).to_be_visible(timeout=100)


@pytest.mark.browser
@pytest.mark.slow
def test_an_edit_beside_a_look_that_finds_something_new_is_shown(page, address):
    """Both wait for the page to be drawn, and come in one run of the script."""
    store = RunStore()
    training, run = add_run(store, "gradtree", state="running"), add_run(store, "cart")
    line = Line(page)
    page.goto(f"{address}/tree?edit=true&run={run}")
    opened(page, "What did it learn, and how small can it be?")
    threshold = page.get_by_role("slider", name="Threshold")
    store.finish(training, "stopped")
    line.keep()
    while line.n_kept() < 1:  # the look of the sidebar
        page.wait_for_timeout(50)
    for n_kept in (2, 3):
        threshold.press("ArrowRight")
        while line.n_kept() < n_kept:
            page.wait_for_timeout(50)
    shown = threshold.get_attribute("aria-valuetext").partition(",")[0]
    line.ask(1, 0, 2)  # while the first edit is drawn, the look and the second wait
    edits = page.locator("[data-testid=stMarkdown] ol li")
    moved = re.compile(f"threshold moved to {re.escape(shown)}\\b")
    sync_api.expect(edits.last).to_have_text(moved, timeout=30_000)
