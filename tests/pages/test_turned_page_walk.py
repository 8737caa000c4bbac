"""A page that follows a run is left, in a browser that hears late from the server."""

import time

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.pages.stores import add_run
from tests.test_browser import address, opened, page, settled, sync_api
from treelab.runs.store.run_store import RunStore

__all__ = ["address", "page"]  # fixtures

# Turns the page when a look was just answered: the next is a second away.
TURN = """link => {
  const app = document.querySelector("[data-testid=stApp]");
  let hasRun = false;
  new MutationObserver((_, observer) => {
    if (app.dataset.testScriptState === "running") hasRun = true;
    else if (hasRun) {
      observer.disconnect();
      link.click();
    }
  }).observe(app, { attributes: true });
}"""


class Line:
    """The connection of a browser with the server, whose answers can be held back.

    Parameters
    ----------
    page : playwright page
        Not yet connected.
    """

    def __init__(self, page):
        self._waits_for_page = self._is_holding = False
        self._held = []
        self.asked = []  # when: first for a page, then looks while answers are held back
        page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, browser) -> None:
        self._browser, self._server = browser, browser.connect_to_server()
        browser.on_message(self._ask)
        self._server.on_message(self._answer)

    def _ask(self, message) -> None:
        if self._waits_for_page:
            of_page = not BackMsg.FromString(message).rerun_script.fragment_id
            self._is_holding = self._is_holding or of_page
        if self._is_holding:
            self.asked.append(time.monotonic())
        self._server.send(message)

    def _answer(self, message) -> None:
        if self._is_holding:
            self._held.append(message)
        else:
            self._browser.send(message)

    def hold_next_page(self) -> None:
        """Let the browser wait for all that the server says from its next page on."""
        self._waits_for_page = True

    def let_go(self) -> None:
        """Send what was held back."""
        self._waits_for_page = self._is_holding = False
        for message in self._held:
            self._browser.send(message)


@pytest.mark.browser
@pytest.mark.slow
def test_a_page_that_was_turned_to_is_not_left_empty(page, address):
    """However late the browser hears that it is drawn, and looks at runs meanwhile."""
    run = add_run(RunStore(), "gradtree", state="running")
    line = Line(page)
    page.goto(f"{address}/train?run={run}")
    opened(page, "How do the trees learn?")
    line.hold_next_page()
    link = page.get_by_test_id("stSidebarNav").get_by_role("link", name="Tree")
    link.evaluate(TURN)
    for _ in range(200):
        page.wait_for_timeout(200)
        if len(line.asked) > 1:
            break
    turned, first_look = line.asked[:2]
    assert first_look - turned > 1.5  # seconds; on Train looks are 1 apart
    line.let_go()
    page.wait_for_timeout(5000)
    settled(page)
    heading = page.get_by_role("heading", name="What did it learn?")
    sync_api.expect(heading).to_be_visible(timeout=100)
