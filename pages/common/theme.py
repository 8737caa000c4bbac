"""The look that every page shares: mode, figures, dots and headings."""

import html
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from pages.common.widgets.app_shell import require_frame
from treelab.figures.style.colors import Mode, Palette, mix, palette, text_on

ASSETS = Path(__file__).parents[2] / "assets"
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}


def mode() -> Mode:
    """Return the mode that the visitor sees, light until the browser reports it."""
    return "dark" if st.context.theme.type == "dark" else "light"


# Streamlit calls this again, with the same parent, when its theme changes.
_WATCH_JS = """const seen = new WeakMap();
export default function ({ parentElement, setStateValue }) {
  let probe = parentElement.querySelector("i");
  if (!probe) {
    probe = document.createElement("i");
    probe.style.cssText = "color: var(--st-background-color); transition: color 1ms";
    parentElement.append(probe);
  }
  const look = () => {
    const background = getComputedStyle(probe).color;
    if (seen.has(parentElement) && seen.get(parentElement) !== background) {
      setStateValue("background", background);
    }
    seen.set(parentElement, background);
  };
  probe.ontransitionend = look;
  look();
}"""
_watch = st.components.v2.component("treelab_background", js=_WATCH_JS)


def load_style() -> None:
    """Give the page our style sheet, and the colours of both modes as its variables.

    Colours follow the visitor's theme at once, as the browser chooses between those of
    the two modes. What Python draws follows by a rerun, which a theme that changes
    while the page is open brings about.
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
        _watch(key="background", on_background_change=_run_again)


def _run_again() -> None:
    """Do nothing; the rerun that follows knows the mode."""


def _variables(colors: Palette) -> dict[str, str]:
    """Return the style sheet's colours in one mode."""
    return {
        "background": colors.background,
        "panel": colors.panel,
        "text": colors.text,
        "muted": colors.muted,
        "grid": colors.grid,
        "accent": colors.accent,
        "bad": colors.bad,
        "on-accent": text_on(colors.accent),
        "mark": mix(colors.accent, colors.background, 0.1),
        "chosen": mix(colors.accent, colors.text, 0.75),
    }


def page_title(question: str, shows: str) -> None:
    """Open a page: its question, and a grey line that says what it shows."""
    require_frame()
    st.title(question, anchor=False)
    st.caption(shows)


def show_figure(
    figure: go.Figure, key: str, *, alt: str | None = None, on_select: str = "ignore"
):
    """Draw a plotly figure in the visitor's mode, without a blink when it changes.

    With ``on_select="rerun"`` it returns what the visitor clicked.
    """
    with st.container(key=f"still-{key}"):  # see the style sheet
        return st.plotly_chart(
            figure, theme=None, key=key, config=_CONFIG, alt=alt, on_select=on_select
        )


def dot(color: str, label: str) -> str:
    """Return HTML of a coloured dot and its word; the word is escaped."""
    return (
        f'<span class="dot" style="background:{html.escape(color, quote=True)}"></span>'
        f"<span>{html.escape(label)}</span>"
    )


def color_key(colors: dict, most: int = 8) -> str:
    """Return HTML that names what each colour stands for."""
    if not colors:
        words = "The stronger the colour of a leaf, the higher its answer."
        return f'<div class="legend quiet">{words}</div>'
    items = [dot(color, str(label)) for label, color in colors.items()]
    if len(items) > most:
        items = [*items[: most - 1], f"and {len(items) - most + 1} more"]
    return (
        '<div class="legend">'
        + "".join(f'<span class="key">{item}</span>' for item in items)
        + "</div>"
    )


def split_bar(n_rows: dict[str, int]) -> str:
    """Return HTML of one bar in three parts: rows to train, to validate, to test."""
    names = {"train": "training", "valid": "validation", "test": "test"}
    parts = "".join(
        f'<span class="{name}" style="flex-grow:{n}"></span>'
        for name, n in n_rows.items()
    )
    words = "".join(
        f"<span><b>{n:,}</b> {names[name]}</span>" for name, n in n_rows.items()
    )
    return (
        f'<div class="split"><div class="bar">{parts}</div>'
        f'<div class="words">{words}</div></div>'
    )
