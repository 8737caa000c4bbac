"""Score against number of leaves as an SVG that stands in a page without a script."""

import html
from collections.abc import Sequence

import numpy as np
import pandas as pd

from treelab.evaluation.frontier import HELD_OUT, FrontierLine
from treelab.figures.frontier import DrawnLine
from treelab.trees.words import counted, rounded, significant

WIDTH, HEIGHT = 760, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 48  # margins in pixels
_DASHES = ("", "6 3", "2 3", "8 3 2 3")  # colour is never alone


def frontier_svg(lines: Sequence[DrawnLine], column: str, title: str) -> str:
    """Draw each run's score by its number of leaves, and ring the tree it retained.

    At least one has a line. The column is "held_out" or "test", the title that of its
    axis.
    """
    tables = [own.line.table for own in lines if own.line is not None]
    points = pd.concat(table[table[column].notna()] for table in tables)
    scores = [*points[column], *(own.score for own in lines if own.line is None)]
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    room = 0.08 * (high - low) or 0.05
    low, high = low - room, high + room
    right = float(np.log2(max(points["leaves"].max(), 2)))

    def x_at(n_leaves) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * float(np.log2(n_leaves)) / right

    def y_at(score) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - float(score)) / (high - low)

    def line(own: DrawnLine, name: str, style: str) -> str:
        """Draw one run."""
        style = f'fill="none" {style}'
        if own.line is None:
            words = f"{name}, all trees together: {significant(own.score)}"
            path = f"M{_LEFT} {y_at(own.score):.1f}H{WIDTH - _RIGHT}"
            return f'<path d="{path}" {style}><title>{words}</title></path>'
        known = own.line.table[own.line.table[column].notna()]
        joints, marks = [], ""
        for place, size, score in zip(known.index, known["leaves"], known[column]):
            x, y = f"{x_at(size):.1f}", f"{y_at(score):.1f}"
            joints.append(f"{x} {y}")
            leaves = counted(int(size), "leaf", "leaves")
            words = f"<title>{name}, {leaves}: {significant(score)}</title>"
            circle = f'<circle cx="{x}" cy="{y}"'
            marks += f'{circle} r="4" fill="{own.color}">{words}</circle>'
            if place == own.line.chosen:
                marks += f'{circle} r="9" class="ring"/>'
        return f'<path d="M{"L".join(joints)}" {style}/>{marks}' if joints else ""

    drawn, legend = _axes(x_at, y_at, _ticks(low, high), right, title), ""
    for own, dash in zip(lines, _DASHES * len(lines)):
        name = html.escape(own.name)
        style = f'stroke="{own.color}" stroke-width="2"'
        style += f' stroke-dasharray="{dash}"' if dash else ""
        drawn += line(own, name, style)
        legend += (
            '<span><svg width="28" height="8" aria-hidden="true"><line x1="0" y1="4" '
            f'x2="28" y2="4" {style}/></svg> {name}</span>'
        )
    label = html.escape(f"{title} by number of leaves")
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" '
        f'class="frontier">{drawn}</svg><figcaption>{legend}</figcaption></figure>'
    )


def _ticks(low: float, high: float) -> np.ndarray:
    """Return a few round numbers between the ends."""
    most = (high - low) / 3 * (1 + 1e-9)
    power = 10.0 ** np.floor(np.log10(most))
    step = max(m * power for m in (1, 2, 5) if m * power <= most)
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step


def _axes(x_at, y_at, scores: np.ndarray, right: float, title: str) -> str:
    """Draw the axes with their ticks and titles."""
    drawn = ""
    for score in scores:
        y = y_at(score)
        drawn += (
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'class="grid"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{rounded(float(score))}</text>"
        )
    for level in range(0, int(right) + 1, max(1, round(right / 8))):
        drawn += (
            f'<text x="{x_at(2**level):.1f}" y="{HEIGHT - _BOTTOM + 18}" '
            f'text-anchor="middle">{2**level:,}</text>'
        )
    middle = (HEIGHT - _BOTTOM + _TOP) / 2
    return (
        f'{drawn}<text x="{(WIDTH + _LEFT) / 2}" y="{HEIGHT - 6}" '
        'text-anchor="middle">leaves</text>'
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(title)}</text>"
    )


def frontier_column(lines: Sequence[FrontierLine]) -> str | None:
    """Return which score all lines have: that on held-out rows, else on test rows."""
    for column in (HELD_OUT, "test"):
        if lines and all(line.table[column].notna().any() for line in lines):
            return column
    return None
