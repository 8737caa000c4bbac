"""How soon the tree viewer shows a large tree, and how smoothly it moves."""

import shutil
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from treelab.bench import machine
from treelab.figures.viewer.page import viewer_page
from treelab.figures.viewer.payload import Frames, to_json, tree_payload
from treelab.learners.cart.estimators import CartRegressor
from treelab.trees.pruning import cost_complexity_path

DEPTHS = (7, 10)  # 255 and 2,047 nodes
MOST_LEAVES = 100  # of the trees that the size slider moves through
N_SWEEPS = 5  # along the slider; the least time of a frame counts
N_ROWS = 50_000
WIDTH, HEIGHT = 1440, 1000
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = ["--no-sandbox", "--disable-gpu"]
# From the last byte of the page, data and all, to the frame after the first node.
_FIRST_PICTURE = """() => new Promise(resolve => {
  const ready = performance.getEntriesByType('navigation')[0].responseEnd;
  const look = () => document.querySelector('[role="treeitem"]')
    ? requestAnimationFrame(now => resolve(now - ready)) : requestAnimationFrame(look);
  look();
})"""
_COUNT_FRAMES = """() => {
  window.frames_ = [];
  const count = now => { window.frames_.push(now); requestAnimationFrame(count); };
  requestAnimationFrame(count);
}"""
# From each move of the slider to the frame after it was painted.
_SLIDE = """async () => {
  const range = document.querySelector('.time input'), found = [];
  for (let at = 0; at <= Number(range.max); at += 1) {
    const start = performance.now();
    range.value = at;
    range.dispatchEvent(new Event('input'));
    await new Promise(resolve => requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = resolve;
      painted.port2.postMessage(0);
    }));
    found.push(performance.now() - start);
  }
  return found;
}"""


def grown_tree(depth: int, seed: int = 0):
    """Return a complete tree, and the synthetic rows (X, y) that it was grown on."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        rng.uniform(size=(N_ROWS, 8)), columns=[f"sensor {i}" for i in range(8)]
    )
    y = pd.Series(X.to_numpy() @ 0.6 ** np.arange(8), name="load")
    return CartRegressor(max_depth=depth, tune=False).fit(X, y).tree_, X, y


def run_viewer(depths=DEPTHS, n_moves: int = 90) -> pd.DataFrame:
    """Measure in headless Chromium, print a table and return it.

    Parameters
    ----------
    depths : sequence of int
        Of the trees.
    n_moves : int, default=90
        Mouse moves while a tree is dragged.

    Returns
    -------
    DataFrame
        A row a tree: ``nodes``; ``payload_kb``; ``first_picture_ms``, from the page's
        last byte; ``open_all_ms``, until every level is drawn; ``frames_a_second`` and
        ``longest_frame_ms`` while it is dragged.

    Raises
    ------
    FileNotFoundError, ImportError
        Where a Chromium or playwright is missing.
    """
    rows = []
    with open_chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for depth in depths:
            tree, X, y = grown_tree(depth)
            payload = tree_payload(tree, X, y, title="grown")
            path = Path(folder) / f"depth{depth}.html"
            path.write_text(viewer_page(payload), encoding="utf-8")
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            rows.append(
                {
                    "nodes": tree.n_nodes,
                    "payload_kb": len(to_json(payload).encode()) / 1000,
                }
                | _measure(page, path.as_uri(), n_moves)
            )
            page.close()
        slide = _slide(browser, Path(folder) / "path.html")
    table = pd.DataFrame(rows)
    print(
        f"\nSize slider, {len(slide)} trees of up to {MOST_LEAVES} leaves: "
        f"{np.median(slide):.0f} ms a frame, {slide.max():.0f} ms the longest."
    )
    print(f"\nTree viewer, {N_ROWS:,} rows, headless Chromium, {machine()}\n")
    print(table.round(1).to_string(index=False))
    return table


@contextmanager
def open_chromium() -> Iterator:
    """Open headless Chromium by playwright, and close it.

    Raises
    ------
    FileNotFoundError, ImportError
        Where a Chromium or playwright is missing.
    """
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if chromium is None:
        raise FileNotFoundError("No Chromium or Chrome is installed.")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise ImportError(
            "playwright is missing; pip install -r requirements-dev.txt brings it."
        ) from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        yield browser
        browser.close()


def _measure(page, address: str, n_moves: int) -> dict[str, float]:
    """Open a page, open all levels, drag the picture to and fro."""
    page.goto(address, wait_until="commit")
    first = page.evaluate(_FIRST_PICTURE)
    page.get_by_role("button", name="All", exact=True).click()
    opened = page.evaluate(
        """async () => {
          const start = performance.now();
          let before = -1;
          for (;;) {
            await new Promise(requestAnimationFrame);
            const now = document.querySelectorAll('[role="treeitem"]').length;
            if (now === before) return performance.now() - start;
            before = now;
          }
        }"""
    )
    page.wait_for_timeout(1000)  # the glide ends
    box = page.locator(".stage").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_COUNT_FRAMES)
    for i in range(n_moves):
        page.mouse.move(x + 200 * np.sin(i / 10), y + 100 * np.sin(i / 7))
    frames = np.diff(page.evaluate("window.frames_"))
    page.mouse.up()
    return {
        "first_picture_ms": first,
        "open_all_ms": opened,
        "frames_a_second": 1000 / frames.mean(),
        "longest_frame_ms": frames.max(),
    }


def _slide(browser, file: Path) -> np.ndarray:
    """Return the milliseconds of each frame while the size slider is dragged."""
    tree, X, y = grown_tree(DEPTHS[0])
    path = cost_complexity_path(tree)
    steps = np.flatnonzero(path.n_leaves <= MOST_LEAVES)[::-1]
    leaves = path.n_leaves[steps].tolist()
    labels = [f"{n} leaves" for n in leaves]
    frames = Frames("leaves", "Leaves", leaves, labels, len(steps) - 1)
    payload = tree_payload([path[step] for step in steps], X, y, frames=frames)
    file.write_text(viewer_page(payload), encoding="utf-8")
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto(file.as_uri())
    # While the slider is held sizes pass; a key would lead to one to stay at.
    slider = page.locator(".time input").bounding_box()
    page.mouse.move(slider["x"] + 9, slider["y"] + slider["height"] / 2)
    page.mouse.down()
    sweeps = [page.evaluate(_SLIDE) for _ in range(N_SWEEPS)]
    page.close()
    return np.min(sweeps, axis=0)


def run(_: Namespace) -> int:
    """Measure the viewer in a browser and print."""
    run_viewer()
    return 0
