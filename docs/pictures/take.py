"""Take the pictures of the documents from the running app.

    python docs/pictures/take.py            # all of them, into this folder
    python docs/pictures/take.py --to DIR

Starts the app on an empty data folder, trains with default settings, and photographs
the pages as a reader of the tour meets them: light theme, 1280 pixels wide. The moving
picture alone is of more restarts than the default, which end within three looks of the
page. Needs Playwright and an installed Chromium.
"""

import argparse
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH, HEIGHT = 1280, 860
TABS = "[data-testid=stTabs]"
BAR = ".st-key-bar"
PATIENCE = 240_000  # milliseconds that a step may take on a busy machine
MOST_FRAMES = 60
MOVING_RESTARTS = 120  # of the training that moves
FRAME_MS, LAST_MS = 250, 3000
WAITING_MS = 300
QUIET_MS = 500
# Whether the script has not run for a while: a click takes a moment to reach it.
QUIET = """enough => {
  const app = document.querySelector('[data-testid=stApp]');
  const quiet = app?.dataset.testScriptState === 'notRunning';
  if (!quiet || !window.quietSince) window.quietSince = performance.now();
  return performance.now() - window.quietSince >= enough;
}"""
# Pointers, the bar of a running script and the developer's menu are not of the page.
TIDY = (
    "*, *::before, *::after { animation: none !important; caret-color: transparent "
    "!important } [data-testid=stStatusWidget], [data-testid=stToolbar] "
    "{ visibility: hidden }"
)


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Serve the app over an empty data folder; give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ["TREELAB_HOME"] = str(home)
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1"]
    with subprocess.Popen(
        [*command, "--server.headless=true"], cwd=ROOT, stdout=subprocess.DEVNULL
    ) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)
            stop_workers()


def wait_for(url: str, server: subprocess.Popen) -> None:
    """Wait until the server answers, at most a minute."""
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError("The server ended while it started.")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"{url} did not answer within a minute.")


def stop_workers() -> None:
    """End the processes that train."""
    from treelab.runs.store.run_store import RunStore
    from treelab.runs.workers.queue import Queue

    Queue(RunStore()).shut_down()


class Camera:
    """A window on the app, and where its pictures go."""

    def __init__(self, page: Page, address: str, folder: Path):
        self.page, self.address, self.folder = page, address, folder

    def settled(self) -> None:
        """Wait until the page is drawn whole, without a traceback."""
        self.page.evaluate("window.quietSince = null")
        self.page.wait_for_function(QUIET, arg=QUIET_MS, polling=50)
        expect(self.page.get_by_test_id("stException")).to_have_count(0)

    def go(self, name: str) -> None:
        """Turn to a page by the sidebar."""
        links = self.page.get_by_test_id("stSidebarNav")
        links.get_by_role("link", name=name).click()
        self.settled()

    def tab(self, name: str) -> None:
        """Open a tab of the page."""
        self.page.get_by_role("tab", name=name).click()
        self.settled()

    def pick(self, learner: str) -> None:
        """Choose a run in the picker of a page."""
        self.page.locator(".st-key-bar-run input").first.click()
        options = self.page.get_by_role("option", name=re.compile(f"^{learner}"))
        options.first.click()
        self.settled()

    def take(self, name: str, top: str | None = None, height: int = HEIGHT) -> None:
        """Save the window, scrolled so that what ``top`` selects stands at its head."""
        self.page.set_viewport_size({"width": WIDTH, "height": height})
        self.settled()
        if top is not None:
            place = self.page.locator(top).first
            place.evaluate("""one => {
              one.style.scrollMarginTop = '84px';
              one.scrollIntoView({block: 'start'});
            }""")
        self.page.mouse.move(WIDTH - 2, 4)
        self.page.wait_for_timeout(800)
        taken = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        taken.quantize(128).save(self.folder / f"{name}.png", optimize=True)

    def watch(self, name: str, until: str) -> None:
        """Save a moving picture of the curves and the tree, until a selector is met."""
        self.page.locator(".st-key-loss .js-plotly-plot").first.wait_for()
        frames: list[Image.Image] = []
        done = self.page.locator(until)
        tree = self.page.locator(".st-key-live [role=treeitem]")
        while done.count() == 0:
            frames.append(self.frame())
            if tree.count() == 0:  # cross-validation, of which little is seen
                self.page.wait_for_timeout(WAITING_MS)
        self.settled()
        frames.append(self.frame())
        save_moving(frames, self.folder / f"{name}.gif")

    def frame(self) -> Image.Image:
        """Photograph the page without its sidebar, from the curves downwards."""
        curves = self.page.locator(".st-key-loss").first
        curves.evaluate("""one => {
          one.style.scrollMarginTop = '180px';
          one.scrollIntoView({block: 'start'});
        }""")
        clip = {"x": 310, "y": 60, "width": WIDTH - 310, "height": HEIGHT - 130}
        taken = Image.open(io.BytesIO(self.page.screenshot(clip=clip)))
        return taken.convert("RGB")


def save_moving(frames: list[Image.Image], path: Path) -> None:
    """Save frames, evenly thinned and without still ones, as a GIF of one palette."""
    moving = [frames[0]]
    moving += [b for a, b in pairwise(frames) if a.tobytes() != b.tobytes()]
    step = max(1, -(-len(moving) // MOST_FRAMES))
    saved = [*moving[:-1:step], moving[-1]]
    palette = saved[-1].quantize(128, dither=Image.Dither.NONE)
    drawn = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in saved]
    drawn[0].save(
        path,
        save_all=True,
        append_images=drawn[1:],
        duration=[FRAME_MS] * (len(drawn) - 1) + [LAST_MS],
        loop=0,
        optimize=True,
    )


def moving(camera: Camera, n_restarts: int) -> None:
    """Photograph a training on the greedy trap while it goes on; delete its runs."""
    from treelab.data.builtin import BUILTIN
    from treelab.data.problem import make_problem
    from treelab.runs.store.run_store import RunStore
    from treelab.runs.workers.queue import Queue

    store, table = RunStore(), BUILTIN["greedy_trap"]
    frame = table.load()
    table_id = store.add_table(frame, table.title)
    names = {"table_id": table_id, "table_name": table.title}
    problem = make_problem(frame, table.target, units=table.units, **names)
    asked = {"cart": {}, "gradtree": {"n_restarts": n_restarts}}
    runs = [store.create(*own, problem) for own in asked.items()]
    camera.page.goto(f"{camera.address}/train?run={runs[-1]}")
    camera.settled()  # before they train, as a fast machine ends them soon
    for run in runs:
        Queue(store).submit(run)
    camera.watch("training", ".run:has-text('GradTree'):has-text('done')")
    for run in runs:
        store.delete(run)
    camera.page.goto(camera.address)
    camera.settled()


def trap(camera: Camera, n_restarts: int) -> None:
    """Photograph Data, Train and Compare on the table that greedy trees fail on."""
    page = camera.page
    page.get_by_text("Warming up").wait_for(state="hidden")
    camera.take("data")
    moving(camera, n_restarts)
    page.get_by_role("button", name="Train with defaults").click()
    heading = page.get_by_role("heading", name="Train and watch")
    expect(heading).to_be_visible()
    page.locator(".run:has-text('GradTree'):has-text('done')").first.wait_for()
    camera.take("train", BAR)
    camera.go("Compare")
    camera.take("compare", height=1080)
    camera.take("compare-sizes", ".st-key-frontier", 720)


def breast_cancer(camera: Camera) -> None:
    """Photograph how one tree is read, pruned, explained and edited."""
    page = camera.page
    camera.go("Data")
    page.get_by_role("button", name="Open breast cancer").click()
    camera.settled()
    page.get_by_role("button", name="Train with defaults").click()
    done = page.locator(".run:has-text('GradTree'):has-text('done')")
    done.first.wait_for()
    camera.go("Tree")
    camera.pick("GradTree")
    camera.take("tree", height=1000)
    camera.tab("Scores")
    camera.take("pruning", TABS, 800)
    camera.tab("Routes")
    camera.take("routing", TABS, 1000)
    camera.go("Explain")
    camera.take("explain", height=1000)
    camera.go("Tree")
    page.locator(".st-key-edit label").first.click()
    camera.settled()
    nodes = "[class*=st-key-tree-view] [role=treeitem][data-key='0'] .main"
    page.locator(nodes).first.click()
    camera.settled()
    page.get_by_role("button", name="Prune below").click()
    camera.take("edit", BAR, 1000)


def take_all(folder: Path, n_restarts: int) -> None:
    """Take every picture into a folder; so many trees train in the moving one."""
    folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT))
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with (
        tempfile.TemporaryDirectory() as home,
        served(Path(home) / "home") as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        size = {"width": WIDTH, "height": HEIGHT}
        still = {"color_scheme": "light", "reduced_motion": "reduce"}
        page = browser.new_page(viewport=size, **still)
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto(address)
        camera = Camera(page, address, folder)
        expect(page.get_by_role("button", name="Train with defaults")).to_be_visible()
        camera.settled()
        page.add_style_tag(content=TIDY)
        trap(camera, n_restarts)
        breast_cancer(camera)
        browser.close()


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description="Take the pictures of the documents.")
    reader.add_argument("--to", type=Path, default=HERE, help="folder to save in")
    reader.add_argument(
        "--restarts", type=int, default=MOVING_RESTARTS, help="in the moving picture"
    )
    chosen = reader.parse_args()
    take_all(chosen.to, chosen.restarts)
