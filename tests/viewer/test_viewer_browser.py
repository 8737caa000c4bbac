"""What the viewer does when it is clicked, typed to, scrubbed, saved and zoomed."""

import re
from itertools import pairwise

import pytest

from tests.viewer.page import BOXES, NODE, keys, settle, show
from tests.viewer.payloads import payload, run_of, tree_nodes

axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = pytest.mark.browser


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
    assert page.locator(f"{NODE.format('1')} .handle").text_content() == "+"
    assert "4 leaves" in page.locator(NODE.format("1")).text_content()
    (x, y, w, _), (x0, y0, w0, _) = boxes["1"], before
    assert abs(y - y0) < 2
    assert abs((x + w / 2) - (x0 + w0 / 2)) < 2
    assert page.evaluate("heard") == []


def test_a_picture_that_is_saved_has_the_title_that_stands_elsewhere(page):
    data = payload(tree_nodes(2), options={"heading": False})
    show(page, data)
    assert not page.locator(".title").is_visible()
    page.get_by_text("Save").click()
    with page.expect_download() as download:
        page.get_by_text("Picture as SVG").click()
    assert download.value.suggested_filename == "gradtree-made-up-table.svg"
    assert data["title"] in download.value.path().read_text("utf-8")


def test_every_edge_is_labelled_and_left_is_yes(page):
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
    data["trees"][0]["nodes"][2]["condition"] = "another column ≤ 7"
    page.evaluate("data => viewer.update(data)", data)
    settle(page)
    assert page.get_attribute(".stage > g", "transform") == place
    assert page.get_attribute(NODE.format("0"), "aria-selected") == "true"
    assert "00" not in keys(page)
    label = page.get_attribute(NODE.format("1"), "aria-label")
    assert "another column ≤ 7" in label


def test_a_click_under_way_outlives_data_that_change(page):
    data = payload(tree_nodes(3))
    show(page, data)
    box = page.locator(NODE.format("0")).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    data["trees"][0]["nodes"][2]["condition"] = "another column ≤ 7"
    page.evaluate("data => viewer.update(data)", data)
    page.mouse.up()
    assert page.evaluate("heard") == ["0"]
    page.locator(f'{NODE.format("1")}[aria-label*="another column ≤ 7"]').wait_for()
    assert page.get_attribute(NODE.format("0"), "aria-selected") == "true"


def test_a_mark_below_the_scrubber_keeps_the_focus(page):
    data = run_of(12)
    data["frames"]["marks"] = [[2, "best"], [5, "smallest"]]
    show(page, data)
    mark = page.get_by_role("button", name="best:")
    mark.press("Enter")
    assert page.evaluate("events.at(-1)") == ["frame", 2]
    data["trees"][0]["nodes"][2]["condition"] = "another column ≤ 7"
    page.evaluate("data => viewer.update(data)", data)
    assert mark.evaluate("own => own === document.activeElement")


def test_a_live_tree_glows_once_where_its_split_changed(page):
    data = payload(tree_nodes(3), options={"live": True, "compact": True})
    show(page, data)
    data["trees"][0]["nodes"][2]["condition"] = "another column ≤ 7"
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


def test_a_size_fills_the_view_and_while_sizes_pass_nodes_keep_theirs(page):
    data = run_of(12, depth=5)
    data["frames"] |= {"kind": "leaves", "chosen": 2}
    show(page, data)

    def width():
        settle(page)
        return page.evaluate(BOXES)[""][2]

    alone, track = width(), page.get_by_role("slider").bounding_box()
    places = [track["x"] + track["width"] * part for part in (0.2, 0.5, 0.8)]
    page.mouse.move(places[0], height := track["y"] + track["height"] / 2)
    page.mouse.down()
    passing = []
    for place in places[1:]:
        page.mouse.move(place, height)
        passing.append(width())
    assert passing[0] == pytest.approx(passing[1])
    assert passing[0] < 0.9 * alone
    page.mouse.move(places[0], height)
    page.mouse.up()
    assert page.evaluate("viewer.frame()") == 2
    assert width() == pytest.approx(alone)


def sizes_of(n_frames: int, chosen: int = 2, depth: int = 5, **options) -> dict:
    """A payload of trees by size."""
    data = run_of(n_frames, depth=depth)
    data["frames"] |= {"kind": "leaves", "chosen": chosen}
    data["options"] |= options
    return data


def test_a_key_leads_to_a_size_without_a_look_at_all_of_them(page):
    show(page, sizes_of(12))
    settle(page)
    page.get_by_role("slider").focus()
    page.evaluate("""() => {
      const layer = document.querySelector(".stage > g");
      const zoom = () =>
        Number(layer.getAttribute("transform").match(/scale.(.*)[)]/)[1]);
      window.zooms = [zoom()];
      new MutationObserver(() => zooms.push(zoom())).observe(layer, {
        attributeFilter: ["transform"],
      });
    }""")
    page.keyboard.press("ArrowLeft")
    settle(page)
    zooms = page.evaluate("zooms")
    assert page.evaluate("events").pop() == ["frame", 1]
    assert min(zooms) >= min(zooms[0], zooms[-1]) - 0.001


def test_sizes_that_pass_keep_theirs_below_a_legend_of_more_lines(page):
    data = sizes_of(12, total=430)
    for tree in data["trees"][8:]:
        tree["nodes"][0]["missing"] = "left"
    page.set_viewport_size({"width": 620, "height": 860})
    show(page, data)
    settle(page)
    height = "document.querySelector('.stage').clientHeight"
    track = page.get_by_role("slider").bounding_box()
    middle = track["y"] + track["height"] / 2
    page.mouse.move(track["x"] + track["width"] * 0.2, middle)
    page.mouse.down()
    found = []
    for part in (0.4, 0.95, 0.5):
        page.mouse.move(track["x"] + track["width"] * part, middle)
        settle(page)
        found.append((page.evaluate(height), page.evaluate(BOXES)[""][3]))
    page.mouse.up()
    assert found[1][0] < found[0][0] == found[2][0]  # the legend takes a line
    assert found[0][1] >= found[1][1] == found[2][1]
    assert found[1][1] > 0.85 * found[0][1]


def test_the_largest_of_many_sizes_is_in_view_while_they_pass(page):
    data = sizes_of(26, depth=3)
    wide = tree_nodes(4, seed=3)
    data["trees"][25]["nodes"] = wide
    show(page, data)
    track = page.get_by_role("slider").bounding_box()
    middle = track["y"] + track["height"] / 2
    page.mouse.move(track["x"] + track["width"] * 0.2, middle)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"], middle)
    settle(page)
    stage = page.locator(".stage").bounding_box()
    boxes = page.evaluate(BOXES).values()
    page.mouse.up()
    assert len(boxes) > 15
    assert min(x for x, *_ in boxes) >= stage["x"]
    assert max(x + w for x, _, w, _ in boxes) <= stage["x"] + stage["width"]


def test_filter_search_and_levels_change_what_is_shown(page):
    nodes = tree_nodes(4, seed=2)
    show(page, payload(nodes))
    all_keys = keys(page)
    page.fill('input[type="search"]', "age")
    splits = [n["key"] for n in nodes if n.get("condition", "").startswith("age")]
    found = page.locator(".found").evaluate_all("all => all.map(e => e.dataset.key)")
    assert set(found) == set(splits)
    page.fill('input[type="search"]', "")
    page.get_by_text("Filter").click()
    page.get_by_label("Predicted class").select_option("=benign")
    settle(page)
    leaves = page.locator('[role="treeitem"]:not([aria-expanded])')
    labels = leaves.evaluate_all("all => all.map(e => e.ariaLabel)")
    assert labels
    assert all("benign" in label or "hidden" in label for label in labels)
    page.get_by_role("button", name="Clear").click()
    settle(page)
    assert keys(page) == all_keys
    page.get_by_role("button", name="One level less").click()
    settle(page)
    assert max(map(len, keys(page))) == 3


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_is_saved(page, kind, tmp_path):
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


def test_the_saved_picture_of_numbers_has_their_scale_of_colours(page, tmp_path):
    scale = {"low": 0.5, "high": 9.5, "above": True}
    show(page, payload(tree_nodes(2, n_classes=0), n_classes=0, scale=scale))
    assert "0.5≥ 9.5 cm" in page.locator(".legend").text_content()
    page.get_by_text("Save").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Picture as SVG").click()
    waiting.value.save_as(tmp_path / "picture")
    text = re.sub("[\u2068\u2069]", "", (tmp_path / "picture").read_text("utf-8"))
    assert "mean height 0.5<" in text
    assert "≥ 9.5 cm<" in text
    assert text.count("rgb(253,231,37)") >= 1


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


@pytest.mark.parametrize(
    "theme", ["light", pytest.param("dark", marks=pytest.mark.slow)]
)
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


def test_colours_follow_the_ground_at_once(page):
    show(page, payload(tree_nodes(2)))
    ask = "getComputedStyle(document.querySelector('.stage')).backgroundColor"
    found = {}
    for scheme in ("light", "dark"):
        page.evaluate("s => { document.body.style.colorScheme = s; }", scheme)
        found[scheme] = page.evaluate(ask)
    page.evaluate("document.body.style.colorScheme = ''")
    assert found == {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 22, 20)"}


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 390])
def test_a_viewer_of_a_fixed_height_keeps_it_whatever_it_says(page, width):
    page.set_viewport_size({"width": width, "height": 860})
    data = run_of(4, depth=3)
    data["options"]["total"] = 560
    for notes in ([], ["A sentence. " * 4], ["Word " * 30] * 9):
        for tree in data["trees"]:
            tree["notes"] = notes
        show(page, data)
        box = page.locator("#tree").bounding_box()
        assert box["height"] == 560
        assert page.locator(".stage").bounding_box()["height"] >= 160
        last = page.locator("#tree > :not([hidden])").last.bounding_box()
        assert last["y"] + last["height"] <= box["y"] + 561
