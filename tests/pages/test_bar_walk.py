"""The bar in a real Chromium: another table, and the browser's way back."""

import re

import pytest

from tests.pages.stores import add_run
from tests.test_browser import address, browser, go, opened, page, settled, sync_api
from treelab.runs.store.run_store import RunStore

__all__ = ["address", "browser", "page"]  # fixtures


@pytest.mark.browser
@pytest.mark.slow
def test_all_pages_follow_the_bar_and_back_leads_back(page, address):
    for learner in ("cart", "gradtree"):
        add_run(RunStore(), learner)
    page.set_viewport_size({"width": 900, "height": 900})
    page.goto(f"{address}/tree")
    opened(page, "What did it learn, and how small can it be?")
    own = page.url
    names = ("Table", "Target", "Run")
    boxes = [page.get_by_role("combobox", name=name, exact=True) for name in names]
    tops = [box.bounding_box()["y"] for box in boxes]
    assert max(tops) - min(tops) < 10  # in one line
    page.get_by_role("combobox", name="Table", exact=True).click()
    page.get_by_role("option", name="Wine", exact=True).click()
    settled(page)
    for name, question in (
        ("Compare", "Which tree is better, and where?"),
        ("Explain", "Why this prediction?"),
    ):
        go(page, name, question)
        sync_api.expect(page.get_by_text("Nothing is trained on Wine")).to_be_visible()
        sync_api.expect(page).to_have_url(re.compile("table=wine"))
    bar = page.locator(".st-key-bar").bounding_box()
    assert bar["x"] + bar["width"] <= 900
    while page.url != own:
        before = page.url
        page.go_back()
        settled(page)
        assert page.url != before
    run = page.get_by_role("combobox", name="Run", exact=True)
    sync_api.expect(run).to_have_value(re.compile("GradTree"))
