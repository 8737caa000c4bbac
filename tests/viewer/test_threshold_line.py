"""The threshold that is dragged along a node's rows, as Streamlit mounts it."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.viewer.test_component import LOAD
from treelab.figures.editing import one_group, threshold_rows, threshold_stops

pytestmark = pytest.mark.browser

ASSETS = Path(__file__).parents[2] / "assets"
SOURCE, STYLE = (ASSETS / f"threshold-line.{end}" for end in ("js", "css"))
ADD_PARENT = """style => {
  const parent = document.createElement("div");
  parent.id = "line";
  document.getElementById("tree").replaceChildren(parent);
  parent.before(Object.assign(document.createElement("style"), { textContent: style }));
  window.sent_ = [];
}"""
TAKE = """text => {
  const parentElement = document.getElementById("line");
  const data = new TextEncoder().encode(text);
  const setTriggerValue = (name, value) => sent_.push(value);
  window.end_ = component_({ data, parentElement, setTriggerValue });
}"""
VALUES = np.arange(10.0)  # stops at 0.5, 1.5 and so on


@pytest.fixture
def line(page):
    """The line over ten values, which stands at 4.5."""
    page.evaluate("window.viewer?.destroy(); window.viewer = undefined")
    page.evaluate(LOAD, SOURCE.read_text("utf-8"))
    page.evaluate(ADD_PARENT, STYLE.read_text("utf-8"))
    take(page, 4.5)
    handle = page.get_by_role("slider", name="Threshold")
    handle.focus()
    yield handle
    page.evaluate("document.getElementById('tree').replaceChildren()")


def take(page, at: float, moves: int = 0, x=VALUES, color="#333333", **given) -> None:
    """Give the line new data: where it stands now, and how many moves were heard."""
    groups = [(name, rows, color) for name, rows, _ in one_group(len(x))]
    data = threshold_rows(x, groups, threshold_stops(x, x, at), at)
    words = {"title": "size", "alt": "Rows", "missing": "", "fades": False}
    data |= words | {"fixed": False, "moves": moves} | given
    page.evaluate(TAKE, json.dumps(data))


def sent(page) -> list[float]:
    """What the line has reported."""
    return page.evaluate("sent_")


def test_a_press_outlives_data_that_leave_the_stops_alike(page, line):
    page.keyboard.down("ArrowRight")
    take(page, 4.5, color="#cccccc")
    page.keyboard.up("ArrowRight")
    assert sent(page) == [5.5]
    assert line.get_attribute("aria-valuenow") == "5.5"


def test_a_drag_outlives_data_that_leave_the_stops_alike(page, line):
    wide, box = page.locator("#line svg").bounding_box()["width"], line.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + wide / 9, y)
    take(page, 4.5, color="#cccccc")
    page.mouse.move(x + 2 * wide / 9, y)
    page.mouse.up()
    assert sent(page) == [6.5]


def test_a_press_outlives_the_answer_to_the_one_before(page, line):
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.down("ArrowRight")
    for moves, at in ((1, 5.5), (2, 6.5)):
        take(page, at, moves)
        assert line.get_attribute("aria-valuenow") == "7.5"
    page.keyboard.up("ArrowRight")
    take(page, 7.5, 3)
    assert sent(page) == [5.5, 6.5, 7.5]
    page.keyboard.press("ArrowLeft")
    assert sent(page)[3:] == [6.5]


def test_a_threshold_between_other_values_is_the_same_stop(page, line):
    take(page, 4.2)  # parts the rows as 4.5 does
    assert line.get_attribute("aria-valuenow") == "4.2"
    page.keyboard.down("ArrowLeft")
    take(page, 4.2, color="#cccccc")
    page.keyboard.up("ArrowLeft")
    assert sent(page) == [3.5]


def test_the_line_goes_back_after_a_move_that_is_refused(page, line):
    page.keyboard.press("ArrowRight")
    take(page, 4.5, moves=1)
    assert line.get_attribute("aria-valuenow") == "4.5"
    page.keyboard.press("ArrowRight")
    page.keyboard.down("ArrowRight")  # its place is that of the refused one
    take(page, 4.5, moves=2)
    page.keyboard.up("ArrowRight")
    assert line.get_attribute("aria-valuenow") == "4.5"
    assert sent(page) == [5.5, 5.5]


@pytest.mark.parametrize(
    "given",
    [{"at": 2.5}, {"x": VALUES[:8]}, {"title": "weight"}, {"fixed": True}],
    ids=["elsewhere", "other rows", "another column", "locked"],
)
def test_a_press_is_not_taken_for_one_on_what_came_instead(page, line, given):
    page.keyboard.down("ArrowRight")
    take(page, **{"at": 4.5} | given)
    page.keyboard.up("ArrowRight")
    assert sent(page) == []
    assert line.get_attribute("aria-valuenow") == str(given.get("at", 4.5))


def test_the_line_keeps_the_focus_when_newer_data_overtook_a_call(page, line):
    """Streamlit ends such a call with its element in place."""
    page.evaluate("window.end_?.()")
    take(page, 4.5, color="#cccccc")
    page.keyboard.press("ArrowRight")
    assert sent(page) == [5.5]
