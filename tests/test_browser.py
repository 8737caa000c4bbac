"""A visitor's first minutes in a real Chromium.

Screenshots of every step are left in ``test-artifacts/browser``.
"""

import re
import shutil
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from tests.pages.stores import add_run
from tests.served_app import FLAGS, ROOT, SLOW, chromium, free_port, served
from treelab.runs.store.run_store import RunStore

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

SHOTS = ROOT / "test-artifacts" / "browser"
# The points of a run's longer curve, as the chart in the page holds them.
POINTS = """name => {
  const chart = document.querySelector('.st-key-loss .js-plotly-plot');
  const lines = (chart?._fullData ?? []).filter(
    line => line.legendgroup === name && line.mode?.startsWith('lines'));
  return Math.max(0, ...lines.map(line => line.x.length));
}"""

# Names and elements of what axe-core finds; nothing else of its report leaves the page.
SERIOUS = """async ([values, within]) => {
  const only = values.length ? { runOnly: { type: 'rule', values } } : {};
  const report = await axe.run(
    within || document, { resultTypes: ['violations'], elementRef: true, ...only });
  const known = ({ id }, { element }) => ['list', 'listitem'].includes(id) &&
    element.closest('[data-testid=stSidebarNavItems]');
  return report.violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(found => [found.id, found.nodes.filter(node => !known(found, node))])
    .filter(([, nodes]) => nodes.length)
    .map(([id, nodes]) => [id, nodes.map(node => node.html.slice(0, 160))]);
}"""
# Whether the script has not run for a while, in milliseconds.
QUIET = """enough => {
  const app = document.querySelector('[data-testid=stApp]');
  const quiet = app?.dataset.testScriptState === 'notRunning';
  if (!quiet || !window.quietSince) window.quietSince = performance.now();
  return performance.now() - window.quietSince >= enough;
}"""
# What fades in or glides; a spinner never ends.
STILL = """() => document.getAnimations().every(({ effect, playState }) =>
  playState !== 'running' || effect.getComputedTiming().endTime === Infinity)"""
# The script writes the color scheme that it draws in into the style of the page.
IN_MODE = "mode => getComputedStyle(document.body).colorScheme === mode"


@pytest.fixture
def workers(alone, monkeypatch):
    """One worker of the app that ``address`` serves, and the quick one, to train."""
    monkeypatch.setenv("TREELAB_SLOTS", "1")


@pytest.fixture
def address(request, tmp_path, monkeypatch):
    """The app, served; its workers end with it.

    Without the fixtures ``alone`` and ``workers`` it is the one that such tests share,
    over a store with the runs of all of them, as a server takes long to start, and
    longer to open its first page. Without ``workers`` nothing trains.
    """
    if "workers" not in request.fixturenames:
        monkeypatch.setenv("TREELAB_SLOTS", "0")
    if "alone" in request.fixturenames:
        port = free_port()
        with served(tmp_path, port, "--server.address=127.0.0.1"):
            yield f"http://127.0.0.1:{port}"
    else:
        home, shared = request.getfixturevalue("shared_server")
        monkeypatch.setenv("TREELAB_HOME", str(home))
        yield shared


@pytest.fixture(scope="module")
def browser():
    """A Chromium for all tests of a file; each has a window of its own."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    """A browser window, while the app is served."""
    with window(browser) as page:
        yield page


@contextmanager
def window(browser):
    """Open a window with a memory of its own, and close it in the end.

    Nothing spins or glides in it: to draw that takes a third of the browser's time.
    """
    SHOTS.mkdir(parents=True, exist_ok=True)
    options = {"viewport": {"width": 1400, "height": 1000}, "reduced_motion": "reduce"}
    with browser.new_context(**options) as context:
        context.set_default_timeout(SLOW)
        sync_api.expect.set_options(timeout=SLOW)
        yield context.new_page()


def opened(page, question: str) -> None:
    """Wait until a page is drawn whole, without a traceback."""
    sync_api.expect(page.get_by_role("heading", name=question)).to_be_visible()
    settled(page)


def settled(page, milliseconds: int = 350) -> None:
    """Wait until the script has run to its end; nothing may have broken.

    A click takes a moment to reach the script, and what it wrote a moment to be drawn.
    """
    page.evaluate("window.quietSince = null")
    page.wait_for_function(QUIET, arg=milliseconds, polling=50)
    assert page.get_by_test_id("stException").count() == 0


def set_mode(page, mode: str) -> None:
    """Change the browser's color scheme, and wait until the page is drawn in it."""
    page.emulate_media(color_scheme=mode)
    page.wait_for_function(IN_MODE, arg=mode)
    settled(page, 100)  # the script has begun


def go(page, name: str, question: str) -> None:
    """Turn to a page by the sidebar."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
    opened(page, question)


def shot(page, name: str) -> None:
    """Keep a picture of the whole window."""
    page.screenshot(path=SHOTS / f"{name}.png")


def card(page, learner: str):
    """The line of a run on Train."""
    return page.locator(".run", has_text=learner).first


def train(page, *learners: str, **settings) -> None:
    """Choose learners on Train, fill settings in, press the button."""
    pills = page.locator(".st-key-learners")
    for pill in pills.get_by_role("button").all():
        is_on = pill.get_attribute("aria-pressed") == "true"
        if is_on != (pill.inner_text().removeprefix("●").strip() in learners):
            pill.click()
            settled(page)
    if settings:
        page.locator(".st-key-settings summary").first.click()
    for key, value in settings.items():
        box = page.locator(f".st-key-setting-{key} input")
        box.fill(str(value))
        box.press("Enter")
        settled(page)
    page.locator(".st-key-train button:visible").click()
    settled(page)


def pick(page, learner: str) -> None:
    """Choose a run in the picker of the Look pages."""
    page.locator(".st-key-bar-run input").first.click()
    page.get_by_role("option", name=re.compile(f"^{learner}")).first.click()
    settled(page)


def nodes(page, within: str = ""):
    """Nodes of the trees that the page draws."""
    found = page.locator(f"{within} [class*=st-key-tree-view] [role=treeitem]")
    found.first.wait_for()
    return found


def node(page, key: str):
    """The node of a tree at this way from its root, "0" left and "1" right."""
    return page.locator(f'[class*=st-key-tree-view] [role=treeitem][data-key="{key}"]')


def watch_tree_grow(page, store: RunStore, address: str) -> None:
    """A tree changes while it trains: the viewer stays, and shows the new one."""
    run = add_run(store, "gradtree", state="running")
    page.goto(f"{address}/train?run={run}")
    opened(page, "Train and watch")
    shown = nodes(page, ".st-key-live").first
    sync_api.expect(shown).to_have_attribute("aria-label", re.compile("10"))
    page.locator(".st-key-live .tl-viewer").evaluate("root => { window.live = root }")
    tree = store.snapshot(run, 7)
    changed = np.where(np.arange(tree.n_nodes) == 0, 22.0, tree.threshold)
    store.add_snapshot(run, 8, replace(tree, threshold=changed, between=None))
    sync_api.expect(shown).to_have_attribute("aria-label", re.compile("22"))
    assert page.evaluate("live.isConnected")


def look_into_the_tree(page) -> None:
    """Click a node, and go back to the tree of the first epoch."""
    expect = sync_api.expect
    node(page, "0").locator(".main").first.click()
    facts = page.locator(".node-facts")
    expect(facts).to_contain_text("impurity")
    expect(page).to_have_url(re.compile("node=r0"))
    of_rows = facts.locator("tr", has_text="rows").first
    rows = of_rows.inner_text()
    page.locator("[class*=st-key-view-] input").first.click()
    page.get_by_role("option", name="Training").click()
    settled(page)
    scrubber = page.get_by_role("slider", name="epoch")
    expect(scrubber).to_have_attribute("aria-valuetext", re.compile("^final tree"))
    expect(of_rows).to_have_text(rows, use_inner_text=True)
    scrubber.press("Home")
    expect(scrubber).to_have_attribute("aria-valuetext", re.compile("^(start|epoch)"))
    settled(page)
    nodes(page).first.wait_for()


def serious(page, *rules: str, within: str = "") -> list:
    """What axe-core calls serious or critical, less what only Streamlit can mend.

    By some rules alone, if any are named, and within what a selector finds, which takes
    a fourth of the time that the whole page does. Streamlit's sidebar puts the links of
    a group into a ``div`` between list and list items.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.Axe().axe_script)
    return page.evaluate(SERIOUS, [rules, within])


@pytest.mark.browser
@pytest.mark.slow
def test_an_earlier_address_leads_on_before_any_page_was_opened(alone, page, address):
    page.goto(f"{address}/sweep")
    opened(page, "Train and watch")
    sync_api.expect(page).to_have_url(re.compile("tab=Tune"))
    assert not page.get_by_role("dialog").count()  # such as "Page not found"


@pytest.mark.browser
@pytest.mark.slow
def test_a_deleted_data_folder_is_said_and_begun_anew(alone, page, address):
    expect = sync_api.expect
    page.goto(f"{address}/runs")
    opened(page, "What have I tried?")
    shutil.rmtree(alone)
    page.goto(f"{address}/runs")
    expect(page.get_by_text("is gone").first).to_be_visible()
    page.get_by_role("button", name="Try again").last.click()
    opened(page, "What have I tried?")
    expect(page.get_by_text("is gone")).to_have_count(0)
    assert (alone / "treelab.sqlite").exists()


@pytest.mark.browser
@pytest.mark.slow
def test_what_would_change_a_prediction_is_tried_by_one_click(page, address):
    run = add_run(RunStore(), "cart")
    page.goto(f"{address}/explain?run={run}&row=1&tab=What+if")
    opened(page, "Why this prediction?")
    before = page.locator(".prediction").inner_text().split("Correct")[0]
    before = before.split("Wrong")[0].strip()
    page.get_by_role("button", name="Try it").first.click()
    answer = page.locator(".prediction").nth(1)  # beside the row's own
    sync_api.expect(answer).to_contain_text(f"Before: {before}")
    assert not answer.inner_text().startswith(before)


def shows_in_bar(page, *values: str) -> None:
    """Wait until the bar on top names a table, a target, and a run if one is given."""
    for name, value in zip(("Table", "Target", "Run"), values):
        box = page.get_by_role("combobox", name=name, exact=True)
        sync_api.expect(box).to_have_value(value)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_newcomers_path(workers, page, address, tmp_path):
    """Train on the trap, compare, prune, explain a row; then again on an own table."""
    expect = sync_api.expect
    page.goto(f"{address}/runs")
    opened(page, "What have I tried?")  # an inner page, brought into the app shell
    go(page, "Data", "What do you want to predict?")
    page.get_by_role("button", name="Train with defaults").click()
    opened(page, "Train and watch")
    expect(card(page, "CART")).to_contain_text("macro F1")
    nodes(page, ".st-key-live").first.wait_for()
    expect(card(page, "GradTree")).to_contain_text("macro F1")
    result = page.locator(".st-key-result")
    expect(result).to_contain_text("on 300 test rows")
    expect(result).to_contain_text("GradTree")
    expect(card(page, "GradTree")).to_contain_text("done")
    shot(page, "path-1-trained")

    result.get_by_role("link", name="Compare").click()
    opened(page, "Which tree is better, and where?")
    expect(page.get_by_text("GradTree is better than CART").first).to_be_visible()
    expect(page.locator("[class*=st-key-tree-view] .tl-viewer")).to_have_count(2)
    shot(page, "path-2-compare")

    go(page, "Tree", "What did it learn, and how small can it be?")
    nodes(page).nth(2).wait_for()
    pick(page, "CART")
    slider = page.get_by_role("slider", name="Leaves")
    leaves = re.compile("^[34] leaves")  # of four there may be no tree
    for _ in range(100):
        if leaves.match(slider.get_attribute("aria-valuetext")):
            break
        slider.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", leaves)
    settled(page)
    expect(page.get_by_test_id("stMetricDelta")).to_contain_text("the retained tree")
    expect(page).to_have_url(re.compile("size="))
    shot(page, "path-3-small")

    go(page, "Explain", "Why this prediction?")
    because = page.locator(".st-key-because")
    expect(because).to_contain_text("Because")
    first = because.inner_text()
    page.get_by_role("button", name="Next", exact=True).click()
    expect(because).not_to_have_text(first, use_inner_text=True)
    expect(because).to_contain_text("Because")
    settled(page)
    shot(page, "path-4-row")

    rng = np.random.default_rng(0)
    size, floor = rng.uniform(20, 90, 150).round(1), rng.integers(0, 5, 150)
    rows = [f"{a},{b},{'dear' if a > 50 else 'cheap'}" for a, b in zip(size, floor)]
    own = tmp_path / "flats.csv"
    own.write_text("\n".join(["size,floor,price", *rows]))
    go(page, "Data", "What do you want to predict?")
    page.get_by_role("button", name="Upload").click()
    page.locator("input[type=file]").first.set_input_files(own)
    expect(page.locator(".tl-table th.target")).to_contain_text("price")
    page.keyboard.press("Escape")
    settled(page)
    shows_in_bar(page, "flats.csv", "price", "")
    for name in ("Tree", "Explain", "Compare"):  # none of the trap's runs is shown
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
        settled(page)
        expect(page.get_by_role("link", name="Train").last).to_be_visible()
        expect(page.locator(".tl-viewer")).to_have_count(0)
    go(page, "Data", "What do you want to predict?")
    page.get_by_role("button", name="Train with defaults").click()
    opened(page, "Train and watch")
    expect(card(page, "GradTree")).to_contain_text("done")
    expect(page.locator(".st-key-result")).to_contain_text("on 30 test rows")
    go(page, "Tree", "What did it learn, and how small can it be?")
    shows_in_bar(page, "flats.csv", "price")
    expect(nodes(page).first).to_have_attribute("aria-label", re.compile("size"))
    shot(page, "path-5-own-table")


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_first_ten_minutes(workers, page, address):
    store = RunStore()
    expect = sync_api.expect

    # A link to an inner page of a fresh server comes into the app shell.
    page.goto(f"{address}/runs")
    opened(page, "What have I tried?")
    go(page, "Data", "What do you want to predict?")

    # 1. Data: the greedy trap is there; a click away breast cancer, with its split.
    expect(page.locator(".tl-table th.target")).to_contain_text("bar")
    shot(page, "1-data-trap")
    page.get_by_role("button", name="Open breast cancer").click()
    expect(page.locator(".tl-table th.target")).to_contain_text("diagnosis")
    expect(page.locator(".tl-table th")).to_have_count(31)
    expect(page.locator(".split .words")).to_contain_text("114 test")
    shot(page, "1-data")
    page.get_by_role("button", name="Train with defaults").click()

    # 2. Train: curves move and survive a reload; a stopped run saves its best.
    opened(page, "Train and watch")
    expect(card(page, "CART")).to_contain_text("macro F1")
    page.wait_for_function(POINTS, arg="GradTree")
    nodes(page, ".st-key-live").first.wait_for()
    shot(page, "2-train")
    expect(card(page, "GradTree")).to_contain_text("done")
    # So large that it still trains when the page is back, on any machine.
    train(page, "GRANDE", **{"grande-n_estimators": 1024, "grande-max_epochs": 2000})
    page.wait_for_function(f"name => ({POINTS})(name) >= 2", arg="GRANDE")
    before = page.evaluate(POINTS, "GRANDE")
    page.reload()
    opened(page, "Train and watch")
    page.wait_for_function(f"name => ({POINTS})(name) >= {before}", arg="GRANDE")
    shot(page, "2-train-reloaded")
    page.get_by_role("button", name="Stop").first.click()
    expect(card(page, "GRANDE")).to_contain_text(re.compile("stopped|done"))
    expect(card(page, "GRANDE")).to_contain_text("macro F1")
    quick = {"get-max_depth": 2, "get-n_starts": 2, "argmin-depth": 3}
    quick |= {"argmin-pruning_strength": "0, 10, 1000", "argmin-max_epochs": 15}
    train(page, "GET", "Argmin tree", **quick)
    for learner in ("GET", "Argmin tree"):
        expect(card(page, learner)).to_contain_text("macro F1")
    expect(page.locator(".st-key-result")).to_contain_text("on 114 test rows")
    shot(page, "2-train-done")

    # 3. Tree: the picture, the score, the rules.
    go(page, "Tree", "What did it learn, and how small can it be?")
    pick(page, "GradTree")
    nodes(page).nth(2).wait_for()
    expect(page.get_by_test_id("stMetric").first).to_contain_text("114 rows")
    expect(page.get_by_text("one per leaf, largest first")).to_be_visible()
    look_into_the_tree(page)
    shot(page, "3-tree")

    # 4. Compare: two trees on the same rows.
    go(page, "Compare", "Which tree is better, and where?")
    nodes(page).first.wait_for()
    expect(page.locator(".tl-viewer")).to_have_count(2)
    shot(page, "4-compare")

    # 5. The size slider: another tree at once, with nothing trained.
    go(page, "Tree", "What did it learn, and how small can it be?")
    pick(page, "Argmin tree")
    n_runs = len(store.runs())
    slider = page.get_by_role("slider", name="λ")
    shown = slider.get_attribute("aria-valuetext")
    slider.press("End")
    settled(page)
    if slider.get_attribute("aria-valuetext") == shown:
        slider.press("Home")
        settled(page)
    assert slider.get_attribute("aria-valuetext") != shown
    assert len(store.runs()) == n_runs
    expect(page.get_by_test_id("stMetricDelta")).to_contain_text("the retained tree")
    shot(page, "5-size")

    # 6. Routes: two classes side by side.
    page.get_by_role("tab", name="Routes").click()
    settled(page)
    expect(page.locator('[class*="heat-0"] .js-plotly-plot')).to_be_visible()
    expect(page.locator('[class*="heat-1"] .js-plotly-plot')).to_be_visible()
    shot(page, "6-routes")

    # 7. Explain: one prediction, and the tree of highest weight in it.
    go(page, "Explain", "Why this prediction?")
    pick(page, "GRANDE")
    expect(page.locator(".prediction").first).to_contain_text(
        re.compile("malig|benign")
    )
    nodes(page).nth(2).wait_for()
    shot(page, "7-explain")

    # 8. Runs: all of them; one is deleted, after a question.
    go(page, "Runs", "What have I tried?")
    expect(page.get_by_text("5 runs.")).to_be_visible()
    shot(page, "8-runs")
    box = page.get_by_test_id("stDataFrame").bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + 52)  # the tick of the first row
    page.locator(".st-key-delete button:visible").click()
    page.locator(".st-key-delete-sure button:visible").click()
    expect(page.get_by_text("4 runs.")).to_be_visible()
    assert len(store.runs()) == 4

    # 9. A live tree changes in its place.
    watch_tree_grow(page, store, address)
    shot(page, "9-live")
