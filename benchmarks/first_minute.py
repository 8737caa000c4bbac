"""How soon a newcomer sees something: from the app's start to a trained tree."""

import os
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import psutil

from benchmarks.service import Service
from benchmarks.viewer import HEIGHT, WIDTH, open_chromium
from treelab.bench import machine
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.queue import Queue

BUTTON = "Train with defaults"
MOST_SECONDS = 600.0
PAGE, COLD, READY = 3.0, 8.0, 3.0  # seconds: the page, and the first point after it
# Most points of a line on the chart; those of the legend hold none.
_POINTS = """() => {
  const chart = document.querySelector('.st-key-loss .js-plotly-plot');
  const lines = (chart?._fullData ?? []).filter(line => line.legendgroup);
  return Math.max(0, ...lines.map(line =>
    line.x.filter(x => x !== null).length * (line.mode !== 'markers')));
}"""
_CARDS = "[class*=st-key-card-]"


def run_first_minute() -> int:
    """Measure in a browser, print a table; return 1 where it took too long.

    An app is started over an empty data folder; the button on the first page is pressed
    as soon as it is there, on the greedy trap. Once all has ended and workers are
    ready, it is pressed again, for breast cancer.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with patch.dict(os.environ, {"TREELAB_HOME": str(home)}):
            service = Service(home, Path(folder) / "server.log")
            try:
                rows = _measure(service)
            finally:
                service.end(20)
                if home.exists():
                    Queue(RunStore(home)).shut_down()
    table = pd.DataFrame(rows)
    print(f"{machine()}\n")
    print(table.round(1).to_string(index=False, na_rep=""))
    cold, ready = table["first point, s"]
    return int(table["page, s"].iloc[0] > PAGE or cold > COLD or ready > READY)


def _measure(service: Service) -> list[dict]:
    """Press the button right after the start, and once more when workers are ready."""
    began = time.monotonic()
    service.start()
    with open_chromium() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(MOST_SECONDS * 1000)
        started, began = time.monotonic() - began, time.monotonic()
        page.goto(f"http://127.0.0.1:{service.port}")
        page.get_by_role("button", name=BUTTON).wait_for()
        opened = {"server, s": started, "page, s": time.monotonic() - began}
        used = psutil.Process(service.pid).cpu_times()
        opened["processor, s"] = used.user + used.system  # whatever else runs here
        first = {"pressed": "at once", **opened, **_press(page)}
        page.get_by_text("Warming up").wait_for(state="hidden")
        page.get_by_role("link", name="Data", exact=True).click()
        page.get_by_role("button", name="Open breast cancer").click()
        page.get_by_text("diagnosis", exact=True).first.wait_for()
        page.wait_for_timeout(3000)
        return [first, {"pressed": "when ready", **_press(page)}]


def _press(page) -> dict:
    """Press the button; seconds until a point, a curve, a tree, and the end."""
    page.get_by_role("button", name=BUTTON).click()
    began = time.monotonic()
    found: dict[str, float] = {}
    skeleton = page.locator("[data-testid=stSkeletonElement]")
    tree = page.locator(".st-key-live [class*=st-key-tree-view] [role=treeitem]")
    page.locator("h1", has_text="Train and watch").wait_for()
    while len(found) < 6:
        if (now := time.monotonic() - began) > MOST_SECONDS:
            raise TimeoutError(f"After {now:.0f} s there was only {found}.")
        n_points = page.evaluate(_POINTS)
        states = page.locator(_CARDS).all_inner_texts()
        done = [text for text in states if "done" in text.split("\n")]
        for name, has_come in {
            "skeleton, s": skeleton.count() >= 1 or n_points >= 1,
            "first point, s": n_points >= 1,
            "first curve, s": n_points >= 2,
            "first tree, s": tree.count() >= 1,
            "one done, s": len(done) >= 1,
            "all, s": len(done) >= 2,
        }.items():
            if has_come:
                found.setdefault(name, time.monotonic() - began)
        time.sleep(0.05)
    return found


def run(_: Namespace) -> int:
    """Measure the first minute and print."""
    return run_first_minute()
