"""What a page shows, as its tests read it."""

import json

from streamlit.testing.v1 import AppTest

EXPLORE = ("tree", "explain", "compare")


def dots(app: AppTest) -> list[str]:
    """DOT text of each tree that is drawn."""
    return [chart.proto.spec for chart in app.get("graphviz_chart")]


def viewers(app: AppTest) -> list[dict]:
    """The payload of each tree viewer; the pictures of a chart's points are none."""
    found = [json.loads(view.proto.bytes) for view in components(app)]
    return [view for view in found if "trees" in view]


def components(app: AppTest, *, clocks: bool = False) -> list:
    """The components of a page: what draws, or the clocks that look for changes."""
    return [
        element
        for element in app.get("bidi_component")
        if element.proto.component_name.endswith("treelab_clock") == clocks
    ]


def nodes(view: dict, frame: int | None = None) -> list[dict]:
    """The nodes of a viewer's tree, of the one that is shown first if not said."""
    if frame is None:
        frame = view["frames"].get("chosen") or 0
        frame = frame if view["frame"] is None else view["frame"]
    return view["trees"][frame]["nodes"]


def conditions(view: dict, frame: int | None = None) -> list[str]:
    """The conditions of the splits of a viewer's tree, as ``nodes`` takes it."""
    return [node["condition"] for node in nodes(view, frame) if "condition" in node]


def figures(app: AppTest) -> list[dict]:
    """Each plotly figure that shows something, as plain values."""
    found = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return [figure for figure in found if figure["data"]]


def cards(app: AppTest) -> str:
    """The cards of the runs on Train, as HTML."""
    bodies = [html.proto.body for html in app.get("html")]
    return "".join(body for body in bodies if 'class="run"' in body)


def page_text(app: AppTest) -> str:
    """All words of the page that are not in pictures or controls."""
    kinds = ("title", "header", "markdown", "caption", "info", "html")
    return "\n".join(element.value for kind in kinds for element in words(app, kind))


def words(app: AppTest, kind: str) -> list:
    """Elements of one kind; HTML is known by its proto alone."""
    if kind != "html":
        return list(getattr(app, kind))
    return [_Html(element.proto.body) for element in app.get("html")]


class _Html:
    """An HTML element, with its text as value."""

    def __init__(self, value: str):
        self.value = value
