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
  const parentElement = document.getElementById("mounted");
  const data = new TextEncoder().encode(text);
  window.unmount_ = component_({ data, parentElement, setStateValue() {} });
}"""
ADD_PARENT = """() => {
  const parent = document.createElement("div");
  parent.id = "mounted";
  document.getElementById("tree").replaceChildren(parent);
}"""


@pytest.fixture
def parent(page):
    """Where Streamlit mounts, with nothing in it but what the component draws."""
    page.evaluate("window.viewer?.destroy(); window.viewer = undefined")
    page.evaluate(LOAD, viewer_script() + COMPONENT.read_text("utf-8"))
    page.evaluate(ADD_PARENT)
    yield page.locator("#mounted")
    page.evaluate("mounted.remove(); unmount_()")


def test_a_viewer_stays_when_a_call_is_ended_that_a_newer_one_overtook(page, parent):
    """Streamlit does so with its element in place, before or after the newer call."""
    text = json.dumps(payload(tree_nodes(2), options={"total": 400, "compact": True}))
    page.evaluate(MOUNT, text)
    root = parent.locator('[role="treeitem"]').first
    root.focus()
    for order in (["unmount_()", MOUNT], [MOUNT, "text => unmount_()"]):
        for call in order:
            page.evaluate(call, text)
        assert root.evaluate("own => own === own.getRootNode().activeElement")
        assert parent.locator("> div").count() == 1
        assert parent.bounding_box()["height"] == 400


def test_a_viewer_ends_with_its_parent(page, parent):
    text = json.dumps(payload(tree_nodes(2), options={"total": 400, "compact": True}))
    page.evaluate(MOUNT, text)
    parent.locator('[role="treeitem"]').first.wait_for()
    page.evaluate("window.left_ = mounted; mounted.remove(); unmount_()")
    assert page.evaluate("left_.querySelector('[role=treeitem]')") is None
    page.evaluate(ADD_PARENT)
    page.evaluate(MOUNT, text)
    parent.locator('[role="treeitem"]').first.wait_for()


def test_new_data_are_drawn_in_the_same_place_without_a_new_root(page, parent):
    for depth in (2, 3):
        data = payload(tree_nodes(depth), options={"total": 400, "compact": True})
        page.evaluate(MOUNT, json.dumps(data))
        parent.locator(f'[role="treeitem"] >> nth={2**depth}').wait_for()
        assert parent.locator("> div").count() == 1
