"""What the viewer draws: trees of any size, awkward names, paths that are followed."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.figures.small_trees import number_tree, stump_and_more
from tests.figures.viewer.test_payload import random_case
from tests.viewer.page import BOXES, NODE, TIP, keys, overlaps, settle, show
from tests.viewer.payloads import AWKWARD, payload, tree_nodes
from treelab.figures.viewer.payload import tree_payload, view_settings

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def oblique_tree():
    """A small regression tree of weighted sums, with formulas at its leaves."""
    return random_case(3, n_classes=0, oblique=1.0, linear=True)


@pytest.mark.parametrize(
    ("depth", "limit", "least"),
    [
        (7, 99, 200),
        pytest.param(10, None, 15, marks=pytest.mark.slow),
        pytest.param(10, 99, 1500, marks=pytest.mark.slow),
    ],
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


@pytest.mark.slow
def test_an_edge_that_comes_back_into_sight_is_drawn_as_before(page):
    show(page, payload(tree_nodes(7, seed=4, rows=100_000), options={"depth": 99}))
    for name in ("Zoom in", "Zoom in", "Zoom in", "Zoom out", "Zoom out", "Zoom in"):
        page.get_by_label(name).click()
        settle(page)
        edges = page.locator(".edges path")
        assert edges.count() > 0
        plain = edges.evaluate_all(
            "all => all.filter(e => getComputedStyle(e).fill !== 'none').length"
        )
        assert plain == 0


def test_a_path_that_is_no_longer_followed_leaves_the_picture_as_it_was(page):
    data = payload(tree_nodes(7, seed=4, rows=100_000))
    show(page, data)
    settle(page)
    before = page.evaluate(BOXES)
    deepest = max((n["key"] for n in data["trees"][0]["nodes"]), key=len)
    path_keys = [deepest[:i] for i in range(len(deepest) + 1)]
    path = {"label": "row 1", "color": "#D55E00", "keys": path_keys, "values": {}}
    for paths in ([path], []):
        page.evaluate(
            "text => viewer.update(JSON.parse(text))",
            json.dumps({**data, "paths": paths}),
        )
        settle(page)
        assert (deepest in keys(page)) == bool(paths)
    after = page.evaluate(BOXES)
    assert after.keys() == before.keys()
    assert all(after[key] == pytest.approx(before[key], abs=1) for key in before)


def test_awkward_names_are_words_and_nothing_else(page):
    data = payload(tree_nodes(4, seed=4, names=AWKWARD), names=AWKWARD)
    data["classes"][0]["label"] = AWKWARD[0]
    data["title"] = AWKWARD[5]
    for node in data["trees"][0]["nodes"]:
        node["prediction"] = (
            AWKWARD[0] if node["prediction"] == "malignant" else "benign"
        )
    show(page, data)
    page.focus(NODE.format(""))
    page.keyboard.press("ArrowDown")
    page.wait_for_function(TIP)
    condition = data["trees"][0]["nodes"][1]["condition"]
    assert condition in page.locator(".tip .condition").text_content()
    assert page.locator("#tree img, #tree script, #tree .tip b b").count() == 0
    assert page.evaluate("window.broken") is None
    assert page.locator(".title").text_content() == AWKWARD[5]


@pytest.mark.parametrize(
    "make",
    [
        number_tree,
        pytest.param(stump_and_more, marks=pytest.mark.slow),
        pytest.param(oblique_tree, marks=pytest.mark.slow),
    ],
)
def test_what_python_writes_is_drawn_at_every_size(page, make):
    """The made-up payloads of the other tests are as Python's, but not Python's."""
    tree, X, y = make()
    data = tree_payload(tree, X, y) | view_settings(controls=True)
    for width in (1200, 700, 390):
        page.set_viewport_size({"width": width, "height": 800})
        show(page, data)
        drawn = keys(page)  # a deep tree opens folded where the picture is narrow
        assert {"", "0", "1"} <= drawn
        for key in sorted(drawn)[:6]:  # to the leftmost leaf
            page.keyboard.press("Shift")  # focus shows where the keyboard is used
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
    followed = [["", "0", "01", "010"], ["", "0", "00", "001"]]
    paths = [
        {
            "label": f"row {i}",
            "color": color,
            "keys": path,
            "values": {"": f"age is {i}"},
        }
        for i, (path, color) in enumerate(zip(followed, ["#D55E00", "#0072B2"]))
    ]
    show(page, payload(nodes, paths=paths))
    on = page.locator(".on-path").evaluate_all("all => all.map(e => e.dataset.key)")
    assert set(on) == set(followed[0]) | set(followed[1])
    assert page.locator(".paths path").count() == 2 * 3
    assert "the paths part here" in page.locator(NODE.format("0")).text_content()
    assert "age is 1" in page.locator(NODE.format("")).text_content()
    assert page.locator(".legend").get_by_text("row 1").count() == 1


def test_a_path_too_small_for_words_leaves_no_edge_of_another_size(page):
    nodes = tree_nodes(7, seed=4)
    path = {
        "label": "row 1",
        "color": "#D55E00",
        "keys": ["", "0", "00", "000", "0000"],
    }
    show(page, payload(nodes, paths=[path]))
    assert page.locator(".plate").count() > 0
    for _ in range(12):
        page.get_by_role("button", name="Zoom out").click()
    settle(page)
    assert page.locator(".block").count() > 0
    assert page.locator(".plate").count() == 0
    assert page.locator(".paths path").count() == 4


@pytest.mark.parametrize("width", [1200, 390])
def test_a_path_that_is_followed_comes_into_view(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    nodes = tree_nodes(7, seed=4)
    data = payload(nodes, options={"height": 540})
    show(page, data)
    leaf = max((node["key"] for node in nodes), key=lambda key: (len(key), key[::-1]))
    path = [leaf[:n] for n in range(len(leaf) + 1)]
    data["paths"] = [{"label": "row 1", "color": "#D55E00", "keys": path}]
    page.evaluate("data => viewer.update(data)", data)
    settle(page)
    boxes, stage = page.evaluate(BOXES), page.locator(".stage").bounding_box()
    for key in path:
        x, y, w, h = boxes[key]
        assert stage["x"] <= x and x + w <= stage["x"] + stage["width"]  # noqa: PT018
        assert stage["y"] <= y and y + h <= stage["y"] + stage["height"]  # noqa: PT018


def test_every_leaf_has_a_bar_for_each_of_several_outputs(page):
    tree, X, y = number_tree()
    value = np.stack([tree.value[:, 0], 1000 * tree.value[:, 0]], axis=1)
    both = np.stack([y, 1000 * y], axis=1)
    several = replace(tree, value=value, outputs=("light", "<b>heavy</b>"))
    show(page, tree_payload(several, X, both))
    assert page.locator(".outputs .output").count() == 2 * tree.n_leaves
    words = page.locator(".outputs").first.inner_html()
    assert "light" in words
    assert "&lt;b&gt;heavy&lt;/b&gt;" in words
