"""What single cards of the picture say: sums, leaves, folded branches."""

import re

import pytest

from tests.viewer.page import (
    BOXES,
    CLIPPED,
    NODE,
    TIP,
    keys,
    overlaps,
    settle,
    show,
    unmarked,
)
from tests.viewer.payloads import NAMES, class_labels, payload, run_of, tree_nodes

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize(
    ("width", "depth"),
    [(1200, 2), pytest.param(1200, 5, marks=pytest.mark.slow), (390, 3)],
)
def test_a_weighted_sum_names_its_three_largest_terms_and_counts_the_rest(
    page, width, depth
):
    page.set_viewport_size({"width": width, "height": 800})
    nodes = tree_nodes(depth, n_classes=0, oblique=True, seed=2)
    show(page, payload(nodes, n_classes=0, options={"height": 760}))
    shown = keys(page)
    sums = [n for n in nodes if n["key"] + "0" in shown]
    assert sums
    for node in sums:
        card = page.locator(f"{NODE.format(node['key'])} .card")
        named, rest = node["weights"][:3], node["weights"][3:]
        terms = card.locator(".term").all_text_contents()
        for (name, weight, _, size), term in zip(named, map(unmarked, terms)):
            written, _, cut = term.removeprefix("−").removeprefix("+").partition("×")
            assert written.strip() == size
            assert term.startswith("−") == (weight < 0)
            start, _, end = cut.partition("…")
            assert name.startswith(start)
            assert name.endswith(end)
        assert len(terms) == len(named)
        assert card.locator(".plus, .minus").count() == len(named)
        left = sum(share for _, _, share, _ in rest)
        words = card.locator("text").all_text_contents()
        (counted,) = [text for text in words if text.startswith(f"+ {len(rest)} ")]
        assert abs(int(re.search(r"(\d+)%", counted)[1]) - 100 * left) <= 1
        assert card.locator(".bound").text_content() == f"sum ≤ {node['bound']}"
    assert page.evaluate(CLIPPED) == []
    assert overlaps(page.evaluate(BOXES)) == []


def test_every_term_of_a_sum_is_listed_beside_its_card(page):
    nodes = tree_nodes(1, oblique=True, seed=2)
    show(page, payload(nodes))
    page.keyboard.press("Shift")
    page.focus(NODE.format(""))
    page.wait_for_function(TIP)
    terms = map(unmarked, page.locator(".tip .term").all_text_contents())
    assert [re.sub("^[−+] ", "", term) for term in terms] == [
        f"{size}×{name}" for name, _, _, size in nodes[0]["weights"]
    ]


LONG = (
    "fractal dimension of the worst of three cells that were measured",
    "a very long name of a column that nobody would ever want to read in full",
)


@pytest.mark.parametrize("width", [1440, 420])
@pytest.mark.parametrize("n_others", [1, 20, 12_345])
def test_no_text_of_a_sum_passes_the_edge_of_its_card(page, width, n_others):
    page.set_viewport_size({"width": width, "height": 800})
    nodes = tree_nodes(3, oblique=True, names=LONG + NAMES[:4], seed=3)
    for node in nodes:
        if "weights" in node:
            node["weights"][0][3] = node["bound"] = "0.0000917"
            node["weights"].append([f"{n_others:,} other features", None, 0.5])
    show(page, payload(nodes))
    for _ in range(4):
        assert page.evaluate(CLIPPED) == []
        page.get_by_label("Zoom in").click()
        settle(page)


@pytest.mark.parametrize("target", ["Survived", "default payment next month"])
@pytest.mark.parametrize(("width", "depth"), [(1200, 2), (1200, 3), (700, 2)])
def test_a_leaf_of_a_class_called_yes_or_no_names_its_class(page, target, width, depth):
    page.set_viewport_size({"width": width, "height": 800})
    nodes = tree_nodes(depth, seed=1)
    rename = {"malignant": "yes", "benign": "no"}
    for node in nodes:
        node["prediction"] = rename[node["prediction"]]
    data = payload(nodes)
    data["target"]["name"] = target
    for entry in data["classes"]:
        entry["label"] = rename[entry["label"]]
    show(page, data)
    shown = keys(page)
    leaves = [n for n in nodes if n["key"] in shown and "condition" not in n]
    assert leaves
    for node in leaves:
        texts = page.locator(f"{NODE.format(node['key'])} .main").all_text_contents()
        name, _, label = unmarked(texts[0]).partition(": ")
        assert label == node["prediction"]
        assert target.startswith(name.removesuffix("…"))
    assert page.evaluate(CLIPPED) == []
    legend = page.locator(".legend").text_content()
    assert f"{target}: yes" in legend


@pytest.mark.parametrize(("width", "depth"), [(1200, 2), (1200, 4), (390, 2)])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_a_leaf_begins_with_its_prediction(page, width, depth, n_classes):
    page.set_viewport_size({"width": width, "height": 800})
    nodes = tree_nodes(depth, n_classes=n_classes, seed=1)
    show(page, payload(nodes, n_classes=n_classes))
    leaves = [n for n in nodes if "condition" not in n and n["key"] in keys(page)]
    for node in leaves:
        texts = page.locator(f"{NODE.format(node['key'])} .main").all_text_contents()
        assert unmarked(texts[0]) == node["prediction"]
    assert page.evaluate(CLIPPED) == []


ALL_OF_ONE_CLASS = {"00": ("malignant", 2), "1": ("benign", 4)}


def predict(node: dict, label: str) -> None:
    """Let a node predict a class."""
    node |= {"prediction": label, "class": class_labels(2).index(label)}


def with_like_leaves() -> dict:
    """A tree of depth 3 in which two branches predict one class each."""
    nodes = tree_nodes(3, seed=1)
    for node in nodes:
        for key, (label, _) in ALL_OF_ONE_CLASS.items():
            if node["key"].startswith(key):
                predict(node, label)
    for key, label in (("010", "benign"), ("011", "malignant")):
        predict(next(n for n in nodes if n["key"] == key), label)
    return payload(nodes, options={"leaves_apart": None})


@pytest.mark.parametrize("width", [1200, 390])
def test_leaves_of_one_class_are_one_leaf_until_they_are_asked_for(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    show(page, with_like_leaves())
    assert keys(page) == {"", "0", "1", "00", "01", "010", "011"}
    for key, (label, n_leaves) in ALL_OF_ONE_CLASS.items():
        card = page.locator(NODE.format(key))
        assert label in unmarked(card.locator(".main").first.text_content())
        assert card.locator(".handle").text_content() == f"{n_leaves} leaves"
    assert "drawn as one" in page.locator(".legend").text_content()
    page.locator(f"{NODE.format('00')} .handle").click()
    settle(page)
    assert {"000", "001"} <= keys(page)
    page.get_by_label("Filter").click()
    page.get_by_label("Same-class leaves apart").check()
    settle(page)
    assert len(keys(page)) == 15
    assert "drawn as one" not in page.locator(".legend").text_content()
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("name", ["All", "One level more"])
def test_who_asks_for_the_deepest_level_sees_all_leaves(page, name):
    data = with_like_leaves()
    for node in data["trees"][0]["nodes"]:
        if node["key"].startswith("01"):
            predict(node, "benign")
    show(page, data)
    assert page.locator(".levels").text_content() == "2 of 3"
    page.get_by_role("button", name=name).click()
    settle(page)
    assert page.locator(".levels").text_content() == "3 of 3"
    assert len(keys(page)) == 15


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("depth", [None, 1])
def test_the_handles_of_closed_branches_are_in_the_picture(page, width, depth):
    page.set_viewport_size({"width": width, "height": 800})
    data = with_like_leaves()
    data["options"]["depth"] = depth
    show(page, data)
    for _ in range(2):
        settle(page)
        stage = page.locator(".stage").bounding_box()
        handles = [each.bounding_box() for each in page.locator(".handle.closed").all()]
        assert handles
        for box in handles:
            assert box["x"] + box["width"] <= stage["x"] + stage["width"]
            assert box["y"] + box["height"] <= stage["y"] + stage["height"]
        page.get_by_role("button", name="Rotate the tree").click()


COVERED = """() => {
  const frames = [...document.querySelectorAll('.card .frame')];
  const cards = frames.map(frame => frame.getBoundingClientRect());
  return [...document.querySelectorAll('.plate')].filter(plate => {
    const {left, right, top, bottom} = plate.getBoundingClientRect();
    return cards.some(card => left < card.right && card.left < right &&
      top < card.bottom && card.top < bottom);
  }).map(plate => plate.textContent);
}"""


@pytest.mark.parametrize("seed", range(3))
def test_no_card_covers_the_word_of_an_edge(page, seed):
    show(page, payload(tree_nodes(4, seed=seed, missing=True)))
    for _ in range(2):
        settle(page)
        assert page.locator(".plate").count() > 8
        assert page.evaluate(COVERED) == []
        page.get_by_role("button", name="Rotate the tree").click()


def test_a_node_inside_leaves_of_one_class_is_shown_where_it_is_selected(page):
    show(page, with_like_leaves())
    page.evaluate("viewer.select('101')")
    settle(page)
    assert {"10", "100", "101"} <= keys(page)
    assert page.get_attribute(NODE.format("101"), "aria-selected") == "true"


@pytest.mark.parametrize("n_classes", [2, 0])
@pytest.mark.parametrize("width", [1200, 390])
def test_a_folded_branch_does_not_look_like_a_leaf(page, width, n_classes):
    page.set_viewport_size({"width": width, "height": 800})
    nodes = tree_nodes(5, n_classes=n_classes, seed=1)
    show(page, payload(nodes, n_classes=n_classes, options={"depth": 2}))
    by_key = {node["key"]: node for node in nodes}
    folded = page.locator('[role="treeitem"][aria-expanded="false"]')
    assert folded.count() == 4
    for item in folded.all():
        key = item.get_attribute("data-key")
        below = [k for k in by_key if k.startswith(key)]
        n_leaves = sum("condition" not in by_key[k] for k in below)
        assert item.locator(".main").first.text_content() == f"{n_leaves} leaves"
        assert item.locator(".under").count() == 2
        assert f"{n_leaves} leaves, folded" in item.get_attribute("aria-label")
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("epoch", "changed since the epoch before"),
        ("lambda", "the strength before"),
        ("leaves", "the size before"),
    ],
)
def test_the_dashed_outline_of_a_split_that_changed_is_in_the_legend(page, kind, words):
    data = run_of(6)
    data["frames"]["kind"] = kind
    show(page, data)
    assert words in page.locator(".legend").text_content()
    show(page, payload(tree_nodes(2)))
    assert "dashed outline" not in page.locator(".legend").text_content()
