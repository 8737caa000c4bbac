"""The viewer in a real Chromium, on a page without a server."""

import os
import re
import shutil
from itertools import pairwise

import pytest

from tests.figures.small_trees import number_tree, stump_and_more
from tests.figures.test_viewer import random_case
from tests.viewer.page import serve, show
from tests.viewer.payloads import AWKWARD, payload, run_of, tree_nodes
from treelab.figures.viewer import settings, tree_payload

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = pytest.mark.browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NODE = '[role="treeitem"][data-key="{}"]'
# How the picture lies: every box drawn, by key.
BOXES = """() => Object.fromEntries(
  [...document.querySelectorAll('[role="treeitem"]')].map(item => {
    const box = item.querySelector('.frame, .block') ?? item.querySelector('rect');
    const {x, y, width, height} = box.getBoundingClientRect();
    return [item.dataset.key, [x, y, width, height]];
  }))"""
STILL = """() => {
  const now = document.querySelector('.stage').innerHTML;
  const same = now === window.last_;
  window.last_ = now;
  return same;
}"""
# Asked at every frame; a selector is looked for in ever longer pauses.
TIP = "document.querySelector('.tip:not([hidden])')"


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("No Chromium or Chrome is installed.")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(browser):
    """One page with the viewer's modules for all tests, and the errors it reports."""
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    serve(page)
    return page, errors


@pytest.fixture
def page(opened):
    """The page, as if just opened; an error in its script fails the test."""
    page, errors = opened
    page.set_viewport_size({"width": 1200, "height": 860})
    page.mouse.move(0, 0)
    page.evaluate("heard.length = 0; events.length = 0; scrollTo(0, 0)")
    yield page
    assert errors == []


def oblique_tree():
    """A small regression tree of weighted sums, with formulas at its leaves."""
    return random_case(3, n_classes=0, oblique=1.0, linear=True)


def keys(page) -> set[str]:
    """Keys of the nodes that are drawn."""
    return set(page.evaluate(BOXES))


def settle(page) -> None:
    """Wait until nothing glides any more."""
    page.wait_for_timeout(60)
    page.wait_for_function(STILL, polling=120)


def overlaps(boxes: dict) -> list[tuple[str, str]]:
    """Pairs of drawn nodes that lie over each other."""
    items = sorted(boxes.items(), key=lambda item: item[1][0])
    found = []
    for n, (key, (x, y, w, h)) in enumerate(items):
        for other, (x2, y2, _, h2) in items[n + 1 :]:
            if x2 >= x + w:
                break
            if y < y2 + h2 and y2 < y + h:
                found.append((key, other))
    return found


def test_a_click_selects_and_escape_clears(page):
    show(page, payload(tree_nodes(3)))
    page.click(NODE.format("01"))
    assert page.get_attribute(NODE.format("01"), "aria-selected") == "true"
    page.keyboard.press("Escape")
    assert page.locator('[aria-selected="true"]').count() == 0
    assert page.evaluate("heard") == ["01", None]


def test_arrows_walk_enter_selects_and_space_folds(page):
    show(page, payload(tree_nodes(3)))
    page.focus(NODE.format(""))
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    page.wait_for_function("document.activeElement.dataset.key === '0'")
    page.keyboard.press("Enter")
    assert page.evaluate("heard") == ["0"]
    assert page.locator('[role="treeitem"][tabindex="0"]').count() == 1
    page.keyboard.press("Space")
    settle(page)
    assert keys(page) == {"", "0", "1", "10", "11", "100", "101", "110", "111"}
    assert page.get_attribute(NODE.format("0"), "aria-expanded") == "false"
    assert page.evaluate("document.activeElement.dataset.key") == "0"
    page.keyboard.press("Space")
    settle(page)
    assert len(keys(page)) == 15


def test_the_handle_folds_and_the_node_keeps_its_place(page):
    show(page, payload(tree_nodes(3)))
    before = page.evaluate(BOXES)["1"]
    page.hover(NODE.format("1"))
    page.click(f"{NODE.format('1')} .handle")
    settle(page)
    boxes = page.evaluate(BOXES)
    assert not {"10", "11"} & set(boxes)
    assert page.locator(f"{NODE.format('1')} .handle").text_content() == "+6"
    (x, y, w, _), (x0, y0, w0, _) = boxes["1"], before
    assert abs(y - y0) < 2
    assert abs((x + w / 2) - (x0 + w0 / 2)) < 2
    assert page.evaluate("heard") == []


def test_every_edge_says_which_answer_it_follows_and_left_is_yes(page):
    show(page, payload(tree_nodes(3)))
    words = page.locator(".plate").all_text_contents()
    assert sorted(words) == ["no"] * 7 + ["yes"] * 7
    boxes = page.evaluate(BOXES)
    for key in ("", "0", "1"):
        assert boxes[key + "0"][0] < boxes[key + "1"][0]


def test_data_that_change_keep_zoom_place_folds_and_selection(page):
    data = payload(tree_nodes(3))
    show(page, data)
    page.click(NODE.format("0"))
    page.keyboard.press("Space")
    page.mouse.move(900, 600)
    page.mouse.down()
    page.mouse.move(850, 560, steps=3)
    page.mouse.up()
    settle(page)
    place = page.get_attribute(".stage > g", "transform")
    data["trees"][0]["nodes"][2]["question"] = "another column ≤ 7"
    page.evaluate("data => viewer.update(data)", data)
    settle(page)
    assert page.get_attribute(".stage > g", "transform") == place
    assert page.get_attribute(NODE.format("0"), "aria-selected") == "true"
    assert "00" not in keys(page)
    label = page.get_attribute(NODE.format("1"), "aria-label")
    assert "another column ≤ 7" in label


def test_a_live_tree_glows_once_where_its_split_changed(page):
    data = payload(tree_nodes(3), options={"live": True, "compact": True})
    show(page, data)
    data["trees"][0]["nodes"][2]["question"] = "another column ≤ 7"
    page.evaluate("data => viewer.update(data)", data)
    glowing = "all => all.map(e => e.dataset.key)"
    assert page.locator(".glow").evaluate_all(glowing) == ["1"]
    page.evaluate("data => viewer.update(data)", data)
    assert page.locator(".glow").count() == 0


def test_the_scrubber_moves_through_the_frames_without_a_jump(page):
    data = run_of(12)
    show(page, data)
    root = page.evaluate(BOXES)[""]
    scrubber = page.get_by_role("slider", name="epoch")
    assert scrubber.get_attribute("aria-valuetext").startswith("epoch 10 · 0.83")
    scrubber.focus()
    page.keyboard.press("Home")
    settle(page)
    assert keys(page) == {node["key"] for node in data["trees"][0]["nodes"]}
    moved = page.evaluate(BOXES)[""]
    assert abs(moved[0] + moved[2] / 2 - root[0] - root[2] / 2) < 2
    assert abs(moved[1] - root[1]) < 2
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.locator(".changed").evaluate_all("all => all.map(e => e.dataset.key)")
    assert page.evaluate("events").pop() == ["frame", 1]
    scrubber.focus()
    for key in ("End", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.wait_for_function("events.at(-1)[1] === 11")
    assert keys(page) == {node["key"] for node in data["trees"][11]["nodes"]}


def test_filter_search_and_levels_change_what_is_shown(page):
    nodes = tree_nodes(4, seed=2)
    show(page, payload(nodes))
    all_keys = keys(page)
    page.fill('input[type="search"]', "age")
    splits = [n["key"] for n in nodes if n.get("question", "").startswith("age")]
    found = page.locator(".found").evaluate_all("all => all.map(e => e.dataset.key)")
    assert set(found) == set(splits)
    page.fill('input[type="search"]', "")
    page.get_by_text("Filter").click()
    page.get_by_label("Answer of the leaf").select_option("=benign")
    settle(page)
    leaves = page.locator('[role="treeitem"]:not([aria-expanded])')
    labels = leaves.evaluate_all("all => all.map(e => e.ariaLabel)")
    assert labels
    assert all("benign" in label or "left out" in label for label in labels)
    page.get_by_role("button", name="Clear").click()
    settle(page)
    assert keys(page) == all_keys
    page.get_by_role("button", name="One level less").click()
    settle(page)
    assert max(map(len, keys(page))) == 3


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_is_taken_home(page, kind, tmp_path):
    show(page, payload(tree_nodes(2), title="GradTree · <b> & more"))
    page.get_by_text("Save").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Picture as {kind.upper()}").click()
    assert waiting.value.suggested_filename == f"gradtree-b-more.{kind}"
    path = tmp_path / "picture"
    waiting.value.save_as(path)
    if kind == "png":
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert len(path.read_bytes()) > 20_000
        return
    text = path.read_text("utf-8")
    assert "GradTree · &lt;b&gt; &amp; more" in re.sub("[\u2068\u2069]", "", text)
    assert "var(" not in text
    assert "url(" not in text
    assert not re.search(r'\b(class|style|role)="', text)
    alone = page.context.browser.new_page()
    alone.set_content(text)
    assert alone.locator("svg svg text", has_text="yes").count() == 3
    alone.close()


@pytest.mark.parametrize(
    ("depth", "limit", "least"), [(7, 99, 200), (10, None, 15), (10, 99, 1500)]
)
def test_large_trees_are_drawn_without_overlap(page, depth, limit, least):
    nodes = tree_nodes(depth, seed=4, rows=2_000_000)
    show(page, payload(nodes, options={"depth": limit}))
    boxes = page.evaluate(BOXES)
    assert len(boxes) >= least
    assert overlaps(boxes) == []
    stage = page.locator(".stage").bounding_box()
    for x, y, w, h in boxes.values():
        assert stage["x"] <= x and x + w <= stage["x"] + stage["width"]  # noqa: PT018
        assert stage["y"] <= y and y + h <= stage["y"] + stage["height"]  # noqa: PT018
    size = page.locator(f"{NODE.format('')} text").first.bounding_box()["height"]
    assert size >= 9


@pytest.mark.parametrize("width", [700, 390])
def test_a_narrow_picture_is_legible_and_stays_inside(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    show(page, payload(tree_nodes(5, seed=1)))
    assert overlaps(page.evaluate(BOXES)) == []
    heights = page.locator('[role="treeitem"] .main').evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 9
    overflow = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(overflow) <= 0


def test_awkward_names_are_words_and_nothing_else(page):
    data = payload(tree_nodes(4, seed=4, names=AWKWARD), names=AWKWARD)
    data["classes"][0]["label"] = AWKWARD[0]
    data["title"] = AWKWARD[5]
    for node in data["trees"][0]["nodes"]:
        node["answer"] = AWKWARD[0] if node["answer"] == "malignant" else "benign"
    show(page, data)
    page.focus(NODE.format(""))
    page.keyboard.press("ArrowDown")
    page.wait_for_function(TIP)
    question = data["trees"][0]["nodes"][1]["question"]
    assert question in page.locator(".tip .asks").text_content()
    assert page.locator("#tree img, #tree script, #tree .tip b b").count() == 0
    assert page.evaluate("window.broken") is None
    assert page.locator(".title").text_content() == AWKWARD[5]


@pytest.mark.parametrize("make", [stump_and_more, number_tree, oblique_tree])
def test_what_python_writes_is_drawn_at_every_size(page, make):
    """The made-up payloads of the other tests are as Python's, but not Python's."""
    tree, X, y = make()
    data = tree_payload(tree, X, y) | settings(controls=True)
    for width in (1200, 700, 390):
        page.set_viewport_size({"width": width, "height": 800})
        show(page, data)
        drawn = keys(page)  # a deep tree opens folded where the picture is narrow
        assert {"", "0", "1"} <= drawn
        for key in sorted(drawn)[:6]:  # to the leftmost leaf
            page.focus(NODE.format(key))
            page.wait_for_function(TIP)
            assert page.locator(".tip").text_content()


def test_a_side_of_few_categories_is_named_all_the_same(page):
    nodes = tree_nodes(1)
    names = ["Other-service", "Sales", "Craft", "Farm", "Care", "Law", "Clerk", "Tech"]
    counts = [[9, 4]] * len(names)
    left = [True] + [False] * 7
    nodes[0]["hist"] = {"categories": names, "left": left, "counts": counts}
    show(page, payload(nodes))
    texts = page.locator(f"{NODE.format('')} text").all_text_contents()
    words = [re.sub("[\u2068\u2069]", "", text) for text in texts]
    assert "Other-service" in words
    assert "Sales +6" in words


def test_two_followed_rows_are_drawn_and_the_node_where_they_part(page):
    nodes = tree_nodes(3)
    ways = [["", "0", "01", "010"], ["", "0", "00", "001"]]
    paths = [
        {"label": f"row {i}", "color": color, "keys": way, "parts": {"": f"age is {i}"}}
        for i, (way, color) in enumerate(zip(ways, ["#D55E00", "#0072B2"]))
    ]
    show(page, payload(nodes, paths=paths))
    on = page.locator(".way").evaluate_all("all => all.map(e => e.dataset.key)")
    assert set(on) == set(ways[0]) | set(ways[1])
    assert page.locator(".ways path").count() == 2 * 3
    assert "here the two part" in page.locator(NODE.format("0")).text_content()
    assert "age is 1" in page.locator(NODE.format("")).text_content()
    assert page.locator(".legend").get_by_text("row 1").count() == 1


def test_a_way_too_small_for_words_leaves_no_edge_of_another_size(page):
    nodes = tree_nodes(7, seed=4)
    way = {"label": "row 1", "color": "#D55E00", "keys": ["", "0", "00", "000", "0000"]}
    show(page, payload(nodes, paths=[way]))
    assert page.locator(".plate").count() > 0
    for _ in range(12):
        page.get_by_role("button", name="Zoom out").click()
    settle(page)
    assert page.locator(".block").count() > 0
    assert page.locator(".plate").count() == 0
    assert page.locator(".ways path").count() == 4


@pytest.mark.parametrize("width", [1200, 390])
def test_a_way_that_is_followed_comes_into_view(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    nodes = tree_nodes(7, seed=4)
    data = payload(nodes, options={"height": 540})
    show(page, data)
    leaf = max((node["key"] for node in nodes), key=lambda key: (len(key), key[::-1]))
    way = [leaf[:n] for n in range(len(leaf) + 1)]
    data["paths"] = [{"label": "row 1", "color": "#D55E00", "keys": way}]
    page.evaluate("data => viewer.update(data)", data)
    settle(page)
    boxes, stage = page.evaluate(BOXES), page.locator(".stage").bounding_box()
    for key in way:
        x, y, w, h = boxes[key]
        assert stage["x"] <= x and x + w <= stage["x"] + stage["width"]  # noqa: PT018
        assert stage["y"] <= y and y + h <= stage["y"] + stage["height"]  # noqa: PT018


def test_the_wheel_is_the_page_s_until_the_picture_is_held(page):
    show(page, payload(tree_nodes(3)))
    transform = ".stage > g"
    before = page.get_attribute(transform, "transform")
    page.mouse.move(300, 600)
    page.mouse.wheel(0, -200)
    page.wait_for_selector(".hint.shown")
    assert page.get_attribute(transform, "transform") == before
    page.mouse.click(300, 600)
    page.mouse.wheel(0, -200)
    page.wait_for_function(
        "before => document.querySelector('.stage > g')"
        ".getAttribute('transform') !== before",
        arg=before,
    )


def test_reduced_motion_puts_nodes_in_place_at_once(page):
    page.emulate_media(reduced_motion="reduce")
    show(page, payload(tree_nodes(3)))
    page.focus(NODE.format("0"))
    page.keyboard.press("Space")
    frames = page.evaluate(
        "async () => { const boxes = []; for (let i = 0; i < 4; i += 1) {"
        " await new Promise(requestAnimationFrame);"
        " boxes.push(document.querySelector('.stage').innerHTML); } return boxes; }"
    )
    page.emulate_media(reduced_motion="no-preference")
    assert all(a == b for a, b in pairwise(frames))


def test_two_fingers_zoom_about_the_one_that_stays(page):
    show(page, payload(tree_nodes(3)))
    zoom, place = page.evaluate(
        """async () => {
          const stage = document.querySelector('.stage');
          const box = stage.getBoundingClientRect();
          const act = (name, pointerId, x, y) => stage.dispatchEvent(new PointerEvent(
            name, {pointerId, clientX: box.x + x, clientY: box.y + y, bubbles: true}));
          const read = () => {
            const [x, y, k] = stage.firstChild.getAttribute('transform')
              .match(/-?[\\d.]+/g).map(Number);
            return {x, y, k};
          };
          const before = read();
          act('pointerdown', 1, 300, 300);
          act('pointerdown', 2, 500, 300);
          act('pointermove', 2, 700, 300);
          await new Promise(requestAnimationFrame);
          const after = read();
          act('pointerup', 1, 300, 300);
          act('pointerup', 2, 700, 300);
          // What lay under the still finger still does.
          const under = (at) => (300 - at.x) / at.k;
          return [after.k / before.k, under(after) - under(before)];
        }"""
    )
    assert zoom == pytest.approx(2, abs=0.05)
    assert place == pytest.approx(0, abs=3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_violation(page, theme):
    data = run_of(4, depth=2)
    data["theme"] = theme
    ground = "#101614" if theme == "dark" else "#ffffff"
    page.evaluate("color => { document.body.style.background = color; }", ground)
    show(page, data)
    page.click(NODE.format("0"))
    page.get_by_text("Filter").click()
    found = axe.Axe().run(page, context="#tree").response["violations"]
    page.evaluate("document.body.style.background = ''")
    serious = [
        (violation["id"], [node["html"][:120] for node in violation["nodes"]])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []
