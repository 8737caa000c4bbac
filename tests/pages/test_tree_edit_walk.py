"""A visitor edits a tree in a real Chromium, and trains around what is locked."""

import re

import pytest

from tests.pages.stores import add_run
from tests.test_browser import (
    address,
    browser,
    node,
    opened,
    page,
    serious,
    set_mode,
    settled,
    shot,
    sync_api,
)
from treelab.editing.edits import Forbid, Lock, SetThreshold
from treelab.editing.log import EditLog
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore

QUESTION = "What did it learn, and how small can it be?"

__all__ = ["address", "browser", "page"]  # fixtures


def press(page, name: str) -> None:
    """Press a button of the page, and wait until it is drawn anew."""
    page.get_by_role("button", name=name, exact=True).first.click()
    settled(page)


def drag(page, line, by: float) -> None:
    """Drag a line to the right, with two stops on the way."""
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 3
    page.mouse.move(x, y)
    page.mouse.down()
    for part in (0.4, 0.8, 1):
        page.mouse.move(x + part * by, y)


@pytest.mark.browser
@pytest.mark.slow
def test_the_threshold_is_dragged_on_the_histogram(page, address):
    expect = sync_api.expect
    run = add_run(RunStore(), "cart")
    page.goto(f"{address}/tree?edit=true&run={run}")
    opened(page, QUESTION)
    edits = page.locator("[data-testid=stMarkdown] ol li")
    line = page.get_by_role("slider", name="Threshold")
    words = page.get_by_text("at most the threshold go left")
    score = page.get_by_test_id("stMetricValue").first
    before = line.get_attribute("aria-valuenow"), words.inner_text(), score.inner_text()
    drag(page, line, by=80)
    # The value and the rows follow the pointer; nothing is edited until it is let go.
    dragged = line.get_attribute("aria-valuenow")
    assert float(dragged) > float(before[0])
    assert words.inner_text() != before[1]
    page.wait_for_timeout(500)
    expect(edits).to_have_count(0)
    page.mouse.up()
    expect(edits).to_have_count(1)
    settled(page)
    moved = float(line.get_attribute("aria-valuenow"))
    assert moved == pytest.approx(float(dragged), rel=0.01)
    expect(score).not_to_have_text(before[2])
    field = page.get_by_role("spinbutton", name="Threshold")
    assert float(field.input_value()) == pytest.approx(float(dragged), rel=0.01)
    # Undone, the line is back; a drag that is broken off changes nothing.
    shown = field.input_value()
    press(page, "Undo")
    expect(field).not_to_have_value(shown)
    expect(line).to_have_attribute("aria-valuenow", before[0])
    drag(page, line, by=-40)
    page.keyboard.press("Escape")
    page.mouse.up()
    settled(page)
    expect(line).to_have_attribute("aria-valuenow", before[0])
    # A number that parts no rows is refused, and the line stays.
    field.fill("1000")
    field.press("Enter")
    expect(page.get_by_test_id("stAlert")).to_be_visible()
    expect(line).to_have_attribute("aria-valuenow", before[0])
    # A locked split's line cannot be dragged.
    press(page, "Lock")
    expect(line).to_have_attribute("aria-disabled", "true")


@pytest.mark.browser
@pytest.mark.slow
def test_a_tree_is_edited_locked_and_trained_around(page, address):
    expect = sync_api.expect
    store = RunStore()
    settings = {"n_steps": 20, "n_restarts": 2}
    run = add_run(store, "gradtree", settings=settings)
    page.goto(f"{address}/tree?edit=true&run={run}")
    opened(page, QUESTION)
    edits = page.locator("[data-testid=stMarkdown] ol li")
    # A threshold is moved by the keyboard.
    page.get_by_role("slider", name="Threshold").press("ArrowRight")
    expect(edits).to_have_count(1)
    expect(edits.first).to_contain_text("threshold moved to")
    press(page, "Undo")
    expect(edits.first).to_contain_text("Undone")
    press(page, "Redo")
    expect(edits.first).not_to_contain_text("Undone")
    # The root is locked, a column forbidden at a node that is clicked.
    press(page, "Lock")
    node(page, "0").locator(".main").first.click()
    settled(page)
    expect(page).to_have_url(re.compile("node=r0"))
    expect(page.get_by_text("Node L ·")).to_be_visible()
    press(page, "Forbid everywhere")
    expect(edits).to_have_count(3)
    expect(page.get_by_text("Test scores stay unseen")).to_be_visible()
    for mode in ("light", "dark"):
        set_mode(page, mode)
        assert serious(page) == [], mode
        shot(page, f"edit-{mode}")
    # Another page, and back: the edits are still there.
    sidebar = page.get_by_test_id("stSidebarNav")
    sidebar.get_by_role("link", name="Runs").click()
    opened(page, "What have I tried?")
    sidebar.get_by_role("link", name="Tree").click()
    opened(page, QUESTION)
    expect(edits).to_have_count(3)
    press(page, "Retrain unlocked splits")
    child = store.runs()[0]
    assert run_one(child.id, store.home) == "done"  # as a worker does
    expect(
        page.get_by_text(re.compile("the edits (cost|gained)|no change|no clear"))
    ).to_be_visible()
    expect(page.get_by_text("The session was ended")).to_be_visible()
    log = EditLog.from_json(store.plan(child.id, "edits"))
    assert [type(edit) for edit in log.edits] == [SetThreshold, Lock, Forbid]
    tree = store.model(child.id)
    assert tree.threshold[0] == log.edits[0].threshold
    assert log.edits[2].column not in tree.columns
    page.set_viewport_size({"width": 420, "height": 900})
    settled(page)
    page.wait_for_function("document.documentElement.scrollWidth <= 420")
    shot(page, "edit-narrow")
