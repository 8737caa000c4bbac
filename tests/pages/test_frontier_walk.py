"""A visitor points at and clicks the frontier in a real Chromium."""

import re
from contextlib import suppress

import pytest

from tests.pages.stores import add_run
from tests.test_browser import address, browser, go, opened, page, settled, sync_api
from treelab.runs.store.run_store import RunStore

__all__ = ["address", "browser", "page"]  # fixtures

# Where the first point of the first run's line on the frontier is in the window.
FIRST_POINT = """chart => {
  const line = chart._fullData.find(line => line.mode === 'lines+markers');
  const {left, top} = chart.getBoundingClientRect();
  const {xaxis, yaxis} = chart._fullLayout;
  return [left + xaxis._offset + xaxis.d2p(line.x[0]),
    top + yaxis._offset + yaxis.d2p(line.y[0])];
}"""


@pytest.mark.browser
@pytest.mark.slow
def test_a_point_of_the_frontier_shows_its_tree_and_by_a_click_all_pages_show_it(
    page, address
):
    store = RunStore()
    pair = [add_run(store, learner, sizes=True) for learner in ("cart", "gradtree")]
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto(f"{address}/compare?first={pair[0]}&second={pair[1]}")
    opened(page, "Which tree is better, and where?")
    chart = page.locator("[class*=still-frontier-of] .js-plotly-plot")
    chart.scroll_into_view_if_needed()
    settled(page)
    point = chart.evaluate(FIRST_POINT)
    card = page.locator(".beside-point")
    node = card.locator("[role=treeitem]").first
    for _ in range(10):  # a chart that is drawn anew hears the next move
        page.mouse.move(point[0] - 9, point[1])
        page.mouse.move(*point, steps=4)
        with suppress(sync_api.TimeoutError):
            node.wait_for(timeout=5000)
            break
    sync_api.expect(node).to_be_visible()
    box = card.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 420
    assert not box["y"] <= point[1] <= box["y"] + box["height"]
    page.mouse.move(point[0], point[1] + 150)
    sync_api.expect(card).to_be_hidden()
    page.mouse.move(*point)
    page.mouse.click(*point)
    page.wait_for_url(re.compile("(?!.*" + pair[1] + ").*run="))
    saved = store.runs()[0]
    assert saved.summary["pruned_from"] in pair
    chip = page.get_by_role("combobox", name="Run", exact=True)
    sync_api.expect(chip).to_have_value(re.compile(f"^{re.escape(saved.short_title)}"))
    page.set_viewport_size({"width": 1400, "height": 900})
    for name, question in (
        ("Tree", "What did it learn, and how small can it be?"),
        ("Explain", "Why this prediction?"),
    ):
        go(page, name, question)
        page.wait_for_url(f"**run={saved.id}*")
