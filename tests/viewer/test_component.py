"""The viewer as Streamlit mounts it: a function that it calls again and again."""

import json
from pathlib import Path

import pytest

from tests.viewer.payloads import payload, tree_nodes
from treelab.figures.viewer.page import viewer_script

pytestmark = pytest.mark.browser

COMPONENT = Path(__file__).parents[2] / "assets" / "viewer-component.js"
LOAD = """async source => {
  const file = new Blob([source], { type: "text/javascript" });
  window.component_ = (await import(URL.createObjectURL(file))).default;
}"""
# Streamlit clips what a component draws below the height it was given.
MOUNT = """text => {
  const parentElement = document.getElementById("tree");
  const data = new TextEncoder().encode(text);
  window.unmount_ = component_({ data, parentElement, setStateValue() {} });
}"""


@pytest.fixture
def parent(page):
    """Where Streamlit mounts, with nothing in it but what the component draws."""
    page.evaluate("window.viewer?.destroy(); window.viewer = undefined")
    page.evaluate(LOAD, viewer_script() + COMPONENT.read_text("utf-8"))
    yield page.locator("#tree")
    page.evaluate("unmount_()")


def test_a_tree_that_is_mounted_again_stands_where_it_stood(page, parent):
    text = json.dumps(payload(tree_nodes(2), options={"total": 400, "compact": True}))
    tops = []
    for again in (False, True, True):
        if again:
            page.evaluate("unmount_()")
        page.evaluate(MOUNT, text)
        parent.locator('[role="treeitem"]').first.wait_for()
        tops.append(parent.locator(".stage").bounding_box()["y"])
        assert parent.locator("> div").count() == 1
    assert len(set(tops)) == 1
    assert parent.bounding_box()["height"] == 400


def test_new_data_are_drawn_in_the_same_place_without_a_new_root(page, parent):
    for depth in (2, 3):
        data = payload(tree_nodes(depth), options={"total": 400, "compact": True})
        page.evaluate(MOUNT, json.dumps(data))
        parent.locator(f'[role="treeitem"] >> nth={2**depth}').wait_for()
        assert parent.locator("> div").count() == 1
