"""The clock that asks a page to look at the run store, as Streamlit mounts it."""

from pathlib import Path

import pytest

from tests.viewer.test_component import LOAD

pytestmark = pytest.mark.browser

SOURCE = Path(__file__).parents[2] / "assets" / "clock.js"
TAKE = """beat => {
  window.own_ ??= document.body.appendChild(document.createElement("div"));
  const parentElement = own_;
  window.looks_ ??= [];
  const data = { beat, seconds: 0.1, hidden_seconds: 0.1 };
  const setTriggerValue = (name, value) => looks_.push(value);
  return component_({ data, parentElement, setTriggerValue });
}"""


def test_a_clock_goes_on_when_a_call_is_ended_that_a_newer_one_overtook(page):
    """Streamlit does so with its element in place."""
    page.evaluate(LOAD, SOURCE.read_text("utf-8"))
    page.evaluate(
        f"const take = {TAKE}; const end = take(1); window.end_ = take(2); end()"
    )
    page.wait_for_function("looks_.includes(2)", timeout=10_000)
    page.evaluate("own_.remove(); end_()")
    page.evaluate("looks_.length = 0")
    page.wait_for_timeout(500)
    assert page.evaluate("looks_") == []
