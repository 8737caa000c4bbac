"""Light or dark: the background that the visitor sees, and the colours on it."""

from pathlib import Path

import streamlit as st

from treelab.figures.style import Mode, Palette, mix, palette, text_on

ASSETS = Path(__file__).parents[2] / "assets"

# Streamlit calls this again, with the same parent, when its theme changes.
_OBSERVER_JS = """const seen = new WeakMap();
export default function ({ parentElement, setStateValue }) {
  let probe = parentElement.querySelector("i");
  if (!probe) {
    probe = document.createElement("i");
    probe.style.cssText = "color: var(--st-background-color); transition: color 1ms";
    parentElement.append(probe);
  }
  const observe = () => {
    const background = getComputedStyle(probe).color;
    if (seen.has(parentElement) && seen.get(parentElement) !== background) {
      setStateValue("background", background);
    }
    seen.set(parentElement, background);
  };
  probe.ontransitionend = observe;
  observe();
}"""
_observer = st.components.v2.component("treelab_background", js=_OBSERVER_JS)


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
