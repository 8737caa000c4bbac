"""How soon the next row stands on Explain, and Compare after Tree; Explain's height."""

import os
import tempfile
from argparse import Namespace
from pathlib import Path
from unittest.mock import patch

import pandas as pd

from benchmarks.service import Service
from benchmarks.viewer import open_chromium
from treelab.bench import machine
from treelab.data.builtin import BUILTIN
from treelab.data.problem import make_problem
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore

WIDTH, HEIGHT = 1440, 900
N_ROWS = 6  # that are turned to, after the first
SETTINGS: dict[str, dict] = {
    "cart": {},
    "grande": {"n_estimators": 256, "max_epochs": 20},
    "get": {"n_steps": 100},
}
MOST_SECONDS = {"grande": 0.6}  # that a next row should take; other learners 0.3
N_TURNS = 4  # from Tree to Compare; should take 0.8 s
QUIET = 600  # milliseconds without a change, after which a page has settled
_OBSERVE = """() => {
  window.changed_ = 0;
  new MutationObserver(() => { window.changed_ = performance.now(); }).observe(
    document.body, {subtree: true, childList: true, attributes: true,
                    characterData: true});
}"""
# From a click to the last change of the page before a quiet while.
_SETTLE = """async ([selector, quiet]) => {
  const start = performance.now();
  window.changed_ = start;
  if (selector) document.querySelector(selector).click();
  for (;;) {
    await new Promise(done => setTimeout(done, 25));
    const app = document.querySelector('[data-testid="stApp"]');
    const is_running = app.dataset.testScriptState === 'running';
    if (!is_running && performance.now() - window.changed_ > quiet)
      return window.changed_ - start;
  }
}"""
_PARTS = {"compare": "verdict", "tree": "beside"}  # of a page, and of no other
_TOP = "() => document.querySelector('.stTabs').getBoundingClientRect().top"
_HEIGHT = """() => Math.max(...[...document.querySelectorAll('.stMainBlockContainer')]
  .map(block => block.getBoundingClientRect().height))"""


def run_next_row(home: Path | None = None) -> pd.DataFrame:
    """Measure in headless Chromium, print a table and return it.

    Parameters
    ----------
    home : Path or None, default=None
        Folder of a run store whose newest run of each learner is shown; None: runs are
        trained on the greedy trap in a temporary one.

    Returns
    -------
    DataFrame
        A row a run: seconds until the ``first`` row and the ``next`` ones (median, and
        the slowest) have settled; by how many pixels the tabs, below the prediction,
        ``moved``; the page's ``height`` in pixels; seconds until Compare has settled
        when it is turned to from Tree, for the ``first turn`` and the next (``turn``,
        median), of two runs at least.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(home or folder)
        with patch.dict(os.environ, {"TREELAB_HOME": str(place), "TREELAB_SLOTS": "0"}):
            runs = _newest(place) if home else _trained(place)
            service = Service(place, Path(folder) / "server.log")
            service.start()
            try:
                with open_chromium() as browser:
                    rows = [
                        _measure(browser, service.port, run)
                        | _measure_turns(browser, service.port, run)
                        for run in runs
                    ]
            finally:
                service.end(20)
    table = pd.DataFrame(rows)
    print(f"\nExplain's next row, Compare after Tree, headless Chromium, {machine()}\n")
    print(table.round(2).to_string(index=False))
    return table


def _newest(home: Path) -> list:
    """Return the newest finished run of each learner and table."""
    found: dict = {}
    for run in RunStore(home).runs():
        if run.state == "done":
            found.setdefault((run.learner, run.problem.table_name), run)
    return list(found.values())


def _trained(home: Path) -> list:
    """Train a run of each learner on the greedy trap."""
    store, own = RunStore(home), BUILTIN["greedy_trap"]
    frame = own.load()
    table_id = store.add_table(frame, own.title)
    problem = make_problem(
        frame, own.target, table_id=table_id, table_name=own.title, units=own.units
    )
    runs = []
    for learner, settings in SETTINGS.items():
        run = store.create(learner, settings, problem, device="cpu")
        run_one(run, home)
        runs.append(store.run(run))
    return runs


def _measure(browser, port: int, run) -> dict:
    """Open a run's first row, turn to the next ones."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.set_default_timeout(120_000)
    page.goto(f"http://127.0.0.1:{port}/explain?run={run.id}")
    page.locator(".st-key-row-next button").wait_for()
    page.evaluate(_OBSERVE)
    first = page.evaluate(_SETTLE, ["", 2 * QUIET])
    tops, seconds = [page.evaluate(_TOP)], []
    for _ in range(N_ROWS):
        click = [".st-key-row-next button", QUIET]
        seconds.append(page.evaluate(_SETTLE, click) / 1000)
        tops.append(page.evaluate(_TOP))
    height = page.evaluate(_HEIGHT)
    page.close()
    return {
        "learner": run.learner,
        "table": run.problem.table_name,
        "first": first / 1000,
        "next": sorted(seconds)[len(seconds) // 2],
        "slowest": max(seconds),
        "wanted": MOST_SECONDS.get(run.learner, 0.3),
        "moved": max(tops) - min(tops),
        "height": round(height),
    }


def _measure_turns(browser, port: int, run) -> dict:
    """Turn from a run's tree to Compare, and back."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.set_default_timeout(120_000)
    page.goto(f"http://127.0.0.1:{port}/tree?run={run.id}")
    page.locator("[role=treeitem]").first.wait_for()
    page.evaluate(_OBSERVE)
    page.evaluate(_SETTLE, ["", 2 * QUIET])
    seconds = []
    for _ in range(N_TURNS):
        for name in ("compare", "tree"):
            link = f"[data-testid=stSidebarNavLink][href*='/{name}']"
            took = page.evaluate(_SETTLE, [link, QUIET]) / 1000
            page.locator(f".st-key-{_PARTS[name]}").wait_for()  # else it is no turn
            seconds += [took] * (name == "compare")
    page.close()
    return {
        "first turn": seconds[0],
        "turn": sorted(seconds[1:])[len(seconds) // 2 - 1],
    }


def run(chosen: Namespace) -> int:
    """Measure the next row and print."""
    run_next_row(chosen.home)
    return 0
