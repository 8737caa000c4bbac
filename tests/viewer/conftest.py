"""The viewer in a real Chromium, on a page without a server."""

import pytest

from tests.served_app import FLAGS, chromium
from tests.viewer.page import serve


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        if not draws(browser):  # seen once, on a busy machine
            browser.close()
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def draws(browser) -> bool:
    """Whether frames come: without them nothing moves, and no click is made."""
    errors = pytest.importorskip("playwright.sync_api").TimeoutError
    page = browser.new_page()
    try:
        page.wait_for_function("true", timeout=20_000)  # asks once a frame
    except errors:
        return False
    finally:
        page.close()
    return True


@pytest.fixture(scope="module")
def opened(browser):
    """One page with the viewer's modules for all tests, and the errors it reports."""
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    serve(page)
    return page, errors


@pytest.fixture
def page(opened):
    """The page, as if just opened; an error in its script fails the test."""
    page, errors = opened
    page.set_viewport_size({"width": 1200, "height": 860})
    page.mouse.move(0, 0)
    # After a click of the test before, Chromium would not show the next focus.
    page.keyboard.press("Escape")
    page.evaluate("heard.length = 0; events.length = 0; scrollTo(0, 0)")
    yield page
    assert errors == []
