"""A visitor walks through the trees that score alike in a real Chromium."""

import re

import pytest

from tests.pages.stores import add_run
from tests.test_browser import (
    STILL,
    address,
    browser,
    opened,
    page,
    serious,
    set_mode,
    settled,
    shot,
    sync_api,
)
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore

__all__ = ["address", "browser", "page"]  # fixtures


@pytest.mark.browser
@pytest.mark.slow
def test_all_trees_of_a_depth_are_looked_at_filtered_and_one_is_chosen(page, address):
    expect = sync_api.expect
    store = RunStore()
    run = add_run(store, "gradtree")
    page.goto(f"{address}/tree?run={run}&tab=Alternatives")
    opened(page, "What did it learn, and how small can it be?")
    # All trees of depth 2: a run of its own, to which a link leads.
    page.get_by_role("button", name="All trees of a small depth").click()
    page.get_by_role("button", name="Look at all trees of depth 2").click()
    settled(page)
    child = store.runs()[0]
    assert run_one(child.id, store.home) == "done"  # as a worker does
    link = page.get_by_role("button", name=re.compile("See what was found"))
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    settled(page)
    link.click()
    opened(page, "What did it learn, and how small can it be?")
    expect(page.get_by_text(re.compile("no other tree of depth 2"))).to_be_visible()
    found = store.rashomon(child.id)
    assert found.complete.depth == 2
    # A column that no tree may test leaves fewer of them.
    near = found.within(0.01)
    assert len(near) > 1
    choose = page.get_by_role("button", name="Choose this tree")
    expect(choose.first).to_be_visible()
    for mode in ("light", "dark"):
        set_mode(page, mode)
        settled(page)
        page.wait_for_function(STILL)  # what is drawn anew no longer fades
        assert serious(page) == [], mode
        shot(page, f"rashomon-{mode}")
    page.get_by_text("Filters", exact=True).first.click()
    settled(page)
    page.get_by_role("combobox", name="Uses none of").click()
    page.keyboard.type("colour")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    settled(page)
    left = [i for i in near if "colour" not in found.trees[i].columns]
    if left and len(left) < len(near):
        words = f"{len(left)} of {len(near)} trees pass"
        expect(page.get_by_text(re.compile(words))).to_be_visible()
    elif not left:
        expect(page.get_by_text("No tree passes these filters")).to_be_visible()
        page.get_by_role("button", name="Clear all").first.click()
        settled(page)
    # Choosing one makes it a run, which the page shows from here on.
    page.locator("button:not([disabled])", has_text="Choose this tree").first.click()
    settled(page)
    expect(page).not_to_have_url(re.compile(child.id))
    chosen = store.runs()[0]
    assert chosen.summary["chosen_from"] == child.id
    assert "chosen by hand" in chosen.provenance
    page.set_viewport_size({"width": 420, "height": 900})
    settled(page)
    page.wait_for_function("document.documentElement.scrollWidth <= 420")
    shot(page, "rashomon-narrow")
