"""A page without a server that mounts the viewer from its own modules."""

import json
import re
from pathlib import Path

VIEWER = Path(__file__).parents[2] / "assets" / "viewer"
ADDRESS = "http://viewer.test/"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tree</title>
<link rel="stylesheet" href="viewer.css">
<style>body { margin: 16px; background: GROUND; }</style></head><body>
<main><h1 style="font: 600 16px sans-serif; color: INK">A tree</h1>
<div id="tree"></div></main>
<script type="module">
import { mount } from "./viewer.js";
window.heard = []; window.events = [];
window.open_ = (data) => {
  window.viewer?.destroy();
  window.viewer = mount(document.getElementById("tree"), {
    data, onSelect: (key) => heard.push(key), onEvent: (...event) => events.push(event),
  });
};
window.ready = true;
</script></body></html>"""
NODE = '[role="treeitem"][data-key="{}"]'
# How the picture lies: every box drawn, by key.
BOXES = """() => Object.fromEntries(
  [...document.querySelectorAll('[role="treeitem"]')].map(item => {
    const box = item.querySelector('.frame, .block') ?? item.querySelector('rect');
    const {x, y, width, height} = box.getBoundingClientRect();
    return [item.dataset.key, [x, y, width, height]];
  }))"""
# Words of cards that pass their edge.
CLIPPED = """() => [...document.querySelectorAll('[role="treeitem"]')].flatMap(item => {
  const frame = item.querySelector('.frame')?.getBoundingClientRect();
  if (!frame) return [];
  return [...item.querySelectorAll('.card text')].filter(text => {
    const box = text.getBoundingClientRect();
    const inside = box.left >= frame.left && box.right <= frame.right;
    return !inside || box.bottom > frame.bottom;
  }).map(text => `${item.dataset.key}: ${text.textContent}`);
})"""
# Asked at every frame, of which a busy machine draws few: whether several were alike.
STILL = """() => {
  const now = document.querySelector('.stage').innerHTML;
  window.alike_ = now === window.last_ ? window.alike_ + 1 : 0;
  window.last_ = now;
  return window.alike_ >= 6;
}"""
# Asked at every frame; a selector is looked for in ever longer pauses.
TIP = "document.querySelector('.tip:not([hidden])')"


def serve(page, theme: str = "light") -> None:
    """Answer requests of a Playwright page from the viewer's folder, and open it."""

    ground, ink = ("#101614", "#e7edea") if theme == "dark" else ("#ffffff", "#17211d")
    text = PAGE.replace("GROUND", ground).replace("INK", ink)

    def respond(route):
        name = route.request.url.removeprefix(ADDRESS)
        if name == "":
            route.fulfill(body=text, content_type="text/html")
        elif (VIEWER / name).is_file():
            kind = "text/css" if name.endswith(".css") else "text/javascript"
            route.fulfill(body=(VIEWER / name).read_text("utf-8"), content_type=kind)
        else:
            route.fulfill(status=404, body="")

    page.route(f"{ADDRESS}**", respond)
    page.goto(ADDRESS)
    page.wait_for_function("window.ready")


def show(page, data: dict) -> None:
    """Mount the viewer anew over these data and wait until it is drawn."""
    page.evaluate("text => open_(JSON.parse(text))", json.dumps(data))
    page.wait_for_selector('#tree [role="treeitem"]')


def keys(page) -> set[str]:
    """Keys of the nodes that are drawn."""
    return set(page.evaluate(BOXES))


def settle(page) -> None:
    """Wait until nothing glides any more."""
    page.evaluate("window.alike_ = 0")
    page.wait_for_function(STILL)


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


def unmarked(text: str) -> str:
    """A text without the marks that keep its writing direction."""
    return re.sub("[\u2068\u2069]", "", text)
