"""What every page begins with: the app around it, its title, its colours."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import plotly.graph_objects as go
import streamlit as st

from pages.state.choices import write_address
from pages.widgets.bar import show_bar
from pages.widgets.words import plain
from treelab.figures.explanations import importance_figure
from treelab.figures.style import Mode, Palette, mix, palette, text_on

# The way into the app shell, for a visitor who opened an inner page past it.
#
# Until ``app.py`` has run once in a fresh server, Streamlit takes the folder ``pages``
# for an app of its older kind, and a link to an inner page runs that page alone: no
# navigation, no style. The page then sends the visitor through ``app.py`` and back.


def require_app_shell() -> None:
    """Go through ``app.py`` first where this session has not."""
    if "in_app_shell" in st.session_state:
        return
    name = str(st.context.url).rstrip("/").rpartition("/")[2]
    wanted = (f"pages/{name}.py", st.query_params.to_dict())
    st.session_state["wanted_page"] = wanted
    st.switch_page("app.py")


def enter_app_shell() -> None:
    """Note that ``app.py`` has run, and go on to the page that was wanted."""
    st.session_state["in_app_shell"] = True
    if wanted := st.session_state.pop("wanted_page", None):
        page, params = wanted
        st.switch_page(page, query_params=params)


def lead_on(page: str, **given: str) -> None:
    """Go on from an address of an earlier version to what stands there now."""
    require_app_shell()
    params = st.query_params.to_dict() | given
    st.switch_page(f"pages/{page}.py", query_params=params)


_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}


def page_title(question: str, caption: str = "") -> None:
    """Open a page, first of all: the bar, which follows the address, and a title."""
    require_app_shell()
    show_bar()
    st.title(question, anchor=False)
    if caption:
        st.caption(caption)


def page_tabs(*names: str):
    """Return a page's tabs; the address names the one that is open.

    Only what is ``open`` need be drawn: a click on another tab runs the page again.
    """
    # Not bound to the address: a parameter that several pages' tabs are bound to can
    # be given by no link from one of them to another.
    named, known = st.query_params.get("tab"), st.session_state.get("tab")
    is_new = known not in names or named != st.session_state.get("tab-address")
    if is_new and named in names:
        st.session_state["tab"] = known = named
    elif known not in names:  # that of the page before
        st.session_state["tab"] = known = names[0]
    write_address("tab", known if known != names[0] else None)
    return st.tabs(names, key="tab", on_change="rerun")


def show_tabs(parts: Mapping[str, Callable[[], object]]) -> None:
    """Show a page's tabs, each drawn by a function; only the open one is called."""
    for tab, show in zip(page_tabs(*parts), parts.values()):
        if tab.open:
            with tab:
                show()


_ICONS = {
    "compare": "compare",
    "data": "table",
    "explain": "help",
    "runs": "history",
    "train": "show_chart",
    "tree": "account_tree",
}


def page_link(page: str, label: str, *, disabled: bool = False, **params: str) -> None:
    """Lead to a page, with what its address then names."""
    st.page_link(
        f"pages/{page}.py",
        label=label,
        icon=f":material/{_ICONS[page]}:",
        query_params=params,
        disabled=disabled,
    )


def end_page(words: str, page: str, label: str, icon: str = "info") -> NoReturn:
    """Say why nothing is shown, lead to the page that helps, and end this one."""
    st.info(plain(words), icon=f":material/{icon}:")
    page_link(page, label)
    st.stop()


def show_figure(
    figure: go.Figure, key: str, *, alt: str | None = None, on_select="ignore"
):
    """Draw a plotly figure without a flicker when it changes.

    With ``on_select="rerun"``, or a function to be called at a click, it returns what
    the visitor clicked.
    """
    with st.container(key=f"still-{key}"):  # see the style sheet
        return st.plotly_chart(
            figure, theme=None, key=key, config=_CONFIG, alt=alt, on_select=on_select
        )


def show_bars(key: str, words: str, *bars, **given) -> None:
    """Say what bars show, one a column, and draw them; see ``importance_figure``."""
    st.markdown(words)
    show_figure(importance_figure(*bars, mode=mode(), **given), key=key, alt=words)


ASSETS = Path(__file__).parents[2] / "assets"

_observer = st.components.v2.component(
    "treelab_background", js=(ASSETS / "background.js").read_text("utf-8")
)


def mode() -> Mode:
    """Return the visitor's theme, light until the browser has reported it."""
    return "dark" if st.context.theme.type == "dark" else "light"


def load_style() -> None:
    """Give the page our style sheet, and the colours of both themes as its variables.

    Colours follow the visitor's theme at once, as the browser chooses between those of
    the two backgrounds. What Python draws follows by a rerun, which a theme that
    changes while the page is open triggers.
    """
    light, dark = _variables(palette("light")), _variables(palette("dark"))
    lines = "".join(
        f"--tl-{name}:light-dark({color},{dark[name]});"
        for name, color in light.items()
    )
    # Streamlit gives its own part of the page a colour scheme; dialogs lie beside it.
    st.html(f"<style>:root{{{lines}}}body{{color-scheme:{mode()}}}</style>")
    st.html(ASSETS / "style.css")
    with st.sidebar:  # where nothing stands below it that could move
        _observer(key="background", on_background_change=_rerun)


def _rerun() -> None:
    """The run of the script that follows knows the background."""


def _variables(colors: Palette) -> dict[str, str]:
    """Return the style sheet's colours on one background."""
    named = ("background", "panel", "text", "muted", "grid", "accent", "bad")
    return {name: getattr(colors, name) for name in named} | {
        "on-accent": text_on(colors.accent),
        "mark": mix(colors.accent, colors.background, 0.1),
        "chosen": mix(colors.accent, colors.text, 0.75),
    }
