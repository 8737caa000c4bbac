"""A page that follows a run, in a browser whose tab is hidden and seen again."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.pages.stores import add_run, report
from tests.test_browser import address, browser, nodes, opened, page, settled, sync_api
from treelab.runs.store.run_store import RunStore

__all__ = ["address", "browser", "page"]  # fixtures

HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
# Streamlit's state of the app, held until it is let go: what else sets it has no say.
HOLD_DRAWING = """() => {
  const app = document.querySelector("[data-testid=stApp]");
  const name = "data-test-script-state";
  const hold = () => {
    if (app.getAttribute(name) !== "running") app.setAttribute(name, "running");
  };
  window.held = new MutationObserver(hold);
  window.held.observe(app, { attributeFilter: [name] });
  hold();
}"""
LET_GO = """() => {
  window.held.disconnect();
  const app = document.querySelector("[data-testid=stApp]");
  app.dataset.testScriptState = "notRunning";
}"""
UNDER_WAY = 3000  # milliseconds in which a look that was already asked for is answered
MARK = "root => { window.chart = root; root.dataset.mark = 'old' }"


def add_tree(store: RunStore, run: str, epoch: int, threshold: float) -> None:
    """Save a tree of a run in training whose root has another threshold."""
    tree = store.snapshot(run, 7)
    moved = np.where(np.arange(tree.n_nodes) == 0, threshold, tree.threshold)
    store.add_snapshot(run, epoch, replace(tree, threshold=moved, between=None))


@pytest.mark.browser
@pytest.mark.slow
def test_a_hidden_tab_asks_seldom_and_what_did_not_change_stays(page, address):
    store = RunStore()
    run = add_run(store, "gradtree", state="running")
    report(store, run)
    page.goto(f"{address}/train?run={run}")
    opened(page, "Train and watch")
    root = nodes(page, ".st-key-live").first
    has = sync_api.expect(root).to_have_attribute
    page.locator(".st-key-live .js-plotly-plot").evaluate(MARK)
    settled(page)
    add_tree(store, run, 8, 22)
    has("aria-label", re.compile("22"))
    # No look while Streamlit draws a page: it may be another one, just opened.
    page.evaluate(HOLD_DRAWING)
    page.wait_for_timeout(UNDER_WAY)
    add_tree(store, run, 9, 33)
    page.wait_for_timeout(4000)
    has("aria-label", re.compile("22"))
    page.evaluate(LET_GO)
    has("aria-label", re.compile("33"), timeout=15_000)
    page.evaluate(HIDE, True)
    page.wait_for_timeout(UNDER_WAY)
    add_tree(store, run, 10, 44)
    page.wait_for_timeout(4000)
    has("aria-label", re.compile("33"))
    page.evaluate(HIDE, False)
    has("aria-label", re.compile("44"), timeout=15_000)  # hidden: 30 s
    # Its points are the same: neither drawn anew nor mounted anew.
    assert page.evaluate("chart.isConnected && chart.dataset.mark === 'old'")
