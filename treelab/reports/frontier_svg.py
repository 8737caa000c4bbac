"""Score against number of leaves as an SVG that stands in a page without a script."""

import html
from collections.abc import Sequence

import numpy as np

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
    known = [table[table[column].notna()] for table in tables]
    leaves = np.concatenate([table["leaves"] for table in known])
    values = np.concatenate([table[column] for table in known])
    values = np.append(values, [own.score for own in lines if own.line is None])
    low, high = _ends(values)
    right = float(np.log2(max(leaves.max(), 2)))

    def x_at(n_leaves) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * float(np.log2(n_leaves)) / right

    def y_at(score) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - float(score)) / (high - low)

    parts = _axes(x_at, y_at, low, high, right, title)
    legend = []
    for own, dash in zip(lines, _DASHES * len(lines)):
        name = html.escape(own.name)
        parts += _drawn(own, name, column, dash, x_at, y_at)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        legend.append(
            f'<span><svg width="28" height="8" aria-hidden="true"><line x1="0" y1="4" '
            f'x2="28" y2="4" stroke="{own.color}" stroke-width="2"{dashed}/></svg> '
            f"{name}</span>"
        )
    label = html.escape(f"{title} by number of leaves")
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" '
        f'class="frontier">{"".join(parts)}</svg>'
        f"<figcaption>{''.join(legend)}</figcaption></figure>"
    )


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Return the ends of the axis of scores."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.08 * (high - low) or 0.05
    return low - room, high + room


def _ticks(low: float, high: float) -> np.ndarray:
    """Return a few round numbers between the ends."""
    power = 10.0 ** np.floor(np.log10((high - low) / 3))
    step = max(m * power for m in (1, 2, 5) if m * power <= (high - low) / 3)
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step


def _axes(x_at, y_at, low, high, right, title) -> list[str]:
    """Draw the axes with their ticks and titles."""
    parts = []
    for score in _ticks(low, high):
        y = y_at(score)
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'class="grid"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{rounded(float(score))}</text>"
        )
    step = max(1, round(right / 8))
    for level in range(0, int(right) + 1, step):
        parts.append(
            f'<text x="{x_at(2**level):.1f}" y="{HEIGHT - _BOTTOM + 18}" '
            f'text-anchor="middle">{2**level:,}</text>'
        )
    middle = (HEIGHT - _BOTTOM + _TOP) / 2
    parts.append(
        f'<text x="{(WIDTH + _LEFT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        "leaves</text>"
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(title)}</text>"
    )
    return parts


def _drawn(own: DrawnLine, name: str, column: str, dash: str, x_at, y_at) -> list[str]:
    """Draw one run."""
    style = f'fill="none" stroke="{own.color}" stroke-width="2"'
    if dash:
        style += f' stroke-dasharray="{dash}"'
    if own.line is None:
        y = y_at(own.score)
        return [
            f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" {style}>'
            f"<title>{name}, all trees together: {significant(own.score)}</title>"
            "</path>"
        ]
    table = own.line.table[own.line.table[column].notna()]
    places = list(zip(table.index, table["leaves"], table[column]))
    if not places:
        return []
    points = [f"{x_at(size):.1f} {y_at(score):.1f}" for _, size, score in places]
    parts = [f'<path d="M{"L".join(points)}" {style}/>']
    for place, size, score in places:
        circle = f'<circle cx="{x_at(size):.1f}" cy="{y_at(score):.1f}"'
        words = f"{name}, {counted(int(size), 'leaf', 'leaves')}: {significant(score)}"
        title = f"<title>{words}</title></circle>"
        parts.append(f'{circle} r="4" fill="{own.color}">{title}')
        if place == own.line.chosen:
            parts.append(f'{circle} r="9" class="ring"/>')
    return parts


def frontier_column(lines: Sequence[FrontierLine]) -> str | None:
    """Return which score all lines have: that on held-out rows, else on test rows."""
    for column in (HELD_OUT, "test"):
        if lines and all(line.table[column].notna().any() for line in lines):
            return column
    return None
