"""Small pieces of HTML that several pages use; words in them are escaped."""

import html
from collections.abc import Sequence

MOST_COLORS = 12  # of a legend


def dot(color: str, label: str) -> str:
    """Return HTML of a coloured dot and its label."""
    return (
        f'<span class="dot" style="background:{html.escape(color, quote=True)}"></span>'
        f"<span>{html.escape(label)}</span>"
    )


def chip(color: str, label: str) -> str:
    """Return HTML of a framed label with a coloured dot."""
    return f'<span class="chip">{dot(color, label)}</span>'


def color_legend(colors: dict) -> str:
    """Return HTML that names what each colour stands for; "" without colours."""
    items = [dot(color, str(label)) for label, color in colors.items()]
    if len(items) > MOST_COLORS:
        more = html.escape(f"and {len(items) - MOST_COLORS} more")
        items = [*items[:MOST_COLORS], more]
    if not items:
        return ""
    spans = "".join(f'<span class="key">{item}</span>' for item in items)
    return f'<div class="legend">{spans}</div>'


def scale(colors: Sequence[str], least: str, most: str) -> str:
    """Return HTML of a bar of colours, in even steps, and what its ends stand for."""
    steps = html.escape(", ".join(colors), quote=True)
    return (
        f'<div class="scale"><span>{html.escape(least)}</span>'
        f'<i style="background:linear-gradient(90deg, {steps})"></i>'
        f"<span>{html.escape(most)}</span></div>"
    )


def facts_table(facts: dict[str, object]) -> str:
    """Return HTML of short facts in two columns: what, and how many."""
    lines = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd></div>"
        for name, value in facts.items()
    )
    return f'<dl class="facts">{lines}</dl>'


def split_bar(n_rows: dict[str, int]) -> str:
    """Return HTML of one bar in three parts: training, validation and test rows."""
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
