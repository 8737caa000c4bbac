"""A tree as DOT, Graphviz's language; its labels are HTML-like tables."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from treelab.trees.colors import (
    Mode,
    NodeColors,
    Palette,
    ValueScale,
    class_fractions,
    mix,
)
from treelab.trees.colors import palette as palette_of
from treelab.trees.text import (
    node_text,
    number_text,
    prediction_text,
    rows_text,
    split_text,
    value_word,
)
from treelab.trees.tree import Tree, check_single, sum_up
from treelab.trees.words import clean, counted, percent, short, with_unit

_GAP = "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}"  # between an edge and its word
_FONT = "Helvetica,Arial,sans-serif"
_THICK, _THIN = 9.0, 1.0  # width of an edge that all rows take, and of the thinnest
_DARK_LINE = "#5A6963"  # lighter than that of charts: edges are what a tree is
_TINT = 0.04  # opacity of the colour of an uncertain leaf
_BAR = 108  # width of a bar of classes, in points
_LISTED = 3  # categories, or columns of a weighted sum, in one node
_CHIPS_A_LINE = 4  # classes a line of the legend
_NOTE_WRAP = 80  # letters a line of a note
_SMALL_WRAP = 34  # letters a line of what steps back in a node
_ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&#34;",
        "'": "&#39;",
        # Even as an entity a backslash begins an escape such as \\N, in tooltips when
        # read a second time: two of them, and a word joiner between them and the N.
        "\\": "&#92;&#92;&#8288;",
    }
)


def escape(text: str) -> str:
    """Return text for a label or a quoted attribute; no quote or backslash is left."""
    return text.translate(_ESCAPES)


@dataclass(frozen=True)
class _Picture:
    """Lines of DOT and their labels; ``lit`` nodes are highlighted."""

    tree: Tree
    colors: NodeColors
    theme: Palette
    max_name: int
    wrap: int
    lit: frozenset[int]

    def label(self, node: int) -> str:
        """Return a node's condition or prediction, its rows, and its bar."""
        tree = self.tree
        most = {"most": _LISTED, "length": self.max_name}
        if tree.is_leaf[node]:
            text = prediction_text(tree, node, **most)
        else:  # the edge shows where missing values go
            text = split_text(tree, node, missing=False, **most)
        lines = [f"<B>{_wrapped(text, self.wrap)}</B>"]
        if rows := rows_text(tree, node):
            lines.append(self._small(rows))
        if not tree.is_leaf[node] and tree.classes is None:
            words = "" if tree.levels else f"{value_word(tree)} "
            lines.append(self._small(clean(words + number_text(tree, node))))
        lines.append(self._bar(node))
        return _table([f"<TD>{line}</TD>" for line in lines], spacing=0)

    def legend(self) -> str:
        """Return the colours of classes, or of values, and the tree's notes."""
        rows = [] if self.colors.scale is None else [self._scale(self.colors.scale)]
        chips = []
        for color, name in self.colors.classes_with_color():
            words = self._small(short(name, self.max_name))
            chips.append(f'{_patch(color)}<TD ALIGN="LEFT">{words}</TD>')
        for first in range(0, len(chips), _CHIPS_A_LINE):
            rows.append("".join(chips[first : first + _CHIPS_A_LINE]))
        for note in self.tree.notes:
            rows.append(f'<TD COLSPAN="8">{self._small(clean(note), _NOTE_WRAP)}</TD>')
        return _table(rows, spacing=4) if rows else ""

    def _scale(self, scale: ValueScale) -> str:
        """Return the lowest and the highest value of the colours, and these between."""
        low, high = scale.words()
        values = np.linspace(scale.low, scale.high, 6).tolist()
        cells = "".join(_patch(self.colors.color(value)) for value in values)
        tree = self.tree
        name = tree.outputs[tree.main_output] if tree.outputs else ""
        name = short(name or f"{value_word(tree)} {tree.target}", self.max_name)
        return (
            f"<TD>{self._small(clean(f'{name} {low}'))}</TD>{cells}"
            f'<TD ALIGN="LEFT">{self._small(clean(with_unit(high, tree.target_unit)))}'
            "</TD>"
        )

    def _bar(self, node: int) -> str:
        """Return the classes at a node as a bar, or the colour of its mean."""
        colors, classes = self.colors, self.tree.classes
        if classes is None:
            pieces = [(_BAR, colors.of(node)[0], "")]
        else:
            fractions = class_fractions(self.tree, node)
            own = [(fractions[i], colors.colors[i], classes[i]) for i in colors.own]
            if (other := colors.other_color) is not None:
                rest = 1 - fractions[[*colors.own]].sum()
                own.append((rest, other, "other classes"))
            pieces = [
                (max(1, round(_BAR * part)), color, f"{clean(name)}: {percent(part)}")
                for part, color, name in own
                if part > 0.0005
            ]
        width = sum(width for width, _, _ in pieces)
        cells = "".join(_patch(color, own, 7, words) for own, color, words in pieces)
        return (
            '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" '
            f'FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="7"><TR>{cells}</TR></TABLE>'
        )

    def _small(self, text: str, wrap: int = _SMALL_WRAP) -> str:
        """Return text that steps back."""
        return (
            f'<FONT POINT-SIZE="10" COLOR="{self.theme.muted}">'
            f"{_wrapped(text, wrap)}</FONT>"
        )

    def node(self, node: int) -> str:
        """Return the line that draws a node."""
        fill, border = self.theme.panel, self.theme.line
        if self.tree.is_leaf[node]:
            border, certainty = self.colors.of(node)
            fill = mix(border, self.theme.panel, _TINT * (1 + 2 * certainty))
        lit = node in self.lit
        return (
            f'n{node} [id="node-{node}", label=<{self.label(node)}>, '
            f'fillcolor="{fill}", color="{self.theme.accent if lit else border}", '
            f'penwidth="{3 if lit else 1.5}", '
            f'tooltip="{escape(node_text(self.tree, node))}"];'
        )

    def edge(self, node: int, left: bool) -> str:
        """Return the line that draws the edge to a child."""
        tree = self.tree
        child = int(tree.left[node] if left else tree.right[node])
        words = "yes" if left else "no"
        if tree.missing_rows is not None and tree.missing_rows[node] > 0:
            words += " or missing" if tree.missing_left[node] == left else ""
        lit = child in self.lit and node in self.lit
        inactive = tree.activity is not None and tree.activity[child] <= 0
        share = tree.n_rows[child] / max(int(tree.n_rows[0]), 1)
        style = ', style="dashed"' if inactive else ""
        style += ', weight="20"' if lit else ""  # a lit path goes straight
        color = self.theme.accent if lit else self.theme.line
        return (
            f'n{node} -> n{child} [label="{_GAP}{words}{_GAP}", color="{color}", '
            f'penwidth="{max(_THIN + lit, _THICK * share):.2f}", '
            f'tooltip="{words}: {escape(rows_text(tree, child) or "no rows known")}"'
            f"{style}];"
        )

    def stub(self, node: int) -> list[str]:
        """Return the lines that stand for all nodes below a split."""
        n_below = int(sum_up(self.tree, np.ones(self.tree.n_nodes))[node]) - 1
        hidden = counted(n_below, "node")
        return [
            f'more{node} [shape="plaintext", style="", label="{hidden} more", '
            f'fontcolor="{self.theme.muted}", fontsize="10"];',
            f'n{node} -> more{node} [style="dotted"];',
        ]


def _table(rows: list[str], spacing: int) -> str:
    """Return rows of cells as a table without lines."""
    return (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="{spacing}" CELLPADDING="1">'
        f"{''.join(f'<TR>{row}</TR>' for row in rows)}</TABLE>"
    )


def _patch(color: str, width: int = 12, height: int = 12, title: str = "") -> str:
    """Return a cell of one colour."""
    title = f' TITLE="{escape(title)}"' if title else ""
    size = f'WIDTH="{width}" HEIGHT="{height}"'
    return f'<TD FIXEDSIZE="TRUE" {size} BGCOLOR="{color}"{title}></TD>'


def _wrapped(text: str, wrap: int) -> str:
    """Return escaped text on lines of about this many letters."""
    # A label must not be empty: a name may be.
    lines = textwrap.wrap(text, wrap, break_on_hyphens=False) or ["\u00a0"]
    return "<BR/>".join(escape(line) for line in lines)


def to_dot(
    tree: Tree,
    *,
    direction: str = "TB",
    max_depth: int | None = None,
    max_name: int = 24,
    wrap: int = 34,
    palette=None,
    mode: Mode = "light",
    highlight: Iterable[int] = (),
    value_range: tuple[float, float] | None = None,
    legend: bool = True,
) -> str:
    """Return the picture of a tree as DOT text.

    A node shows its condition or prediction, its rows with their share, and its
    classes as a bar (or its mean with a colour from low to high). Edges are as thick
    as their share of rows. What is shortened on the picture is complete in the tooltip.

    Parameters
    ----------
    tree : Tree
    direction : {"TB", "LR"}, default="TB"
        Top-down, or from left to right.
    max_depth : int or None, default=None
        Deepest level that is drawn; what hangs below is a stub "12 nodes more".
    max_name, wrap : int
        Letters of a column's or category's name, and of a line of a node.
    palette : sequence of str, dict of label to str, or None, default=None
        Hex colours of the classes, in their order or by label; None: Okabe and Ito's.
    mode : {"light", "dark"}, default="light"
        The background of the picture.
    highlight : iterable of int, default=()
        Nodes of a decision path, such as ``tree.path(row)``, that is lit with its
        edges.
    value_range : (low, high) or None, default=None
        Regression: values of the first and last colour; None: those between which
        the leaves of most rows lie.
    legend : bool, default=True
        Whether classes or values and their colours, and the tree's notes, stand below.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If an option is none of the above, or a highlighted node is not in the tree.
    """
    check_single(tree)
    if direction not in ("TB", "LR"):
        raise ValueError(f"direction must be 'TB' or 'LR', got {direction!r}.")
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth must be at least 0, got {max_depth}.")
    theme = palette_of(mode)
    if mode == "dark":
        theme = replace(theme, line=_DARK_LINE)
    colors = NodeColors(tree, palette, value_range, mode)
    lit = frozenset(map(int, highlight))
    for node in lit:
        tree.check_node(node)
    picture = _Picture(tree, colors, theme, max_name, wrap, lit)
    lines = _header(tree, theme, direction)
    if legend and (below := picture.legend()):
        lines.append(f"label=<{below}>;")
    deepest = tree.depth if max_depth is None else max_depth
    for node in tree.depth_first[tree.level[tree.depth_first] <= deepest].tolist():
        lines.append(picture.node(node))
        if tree.is_leaf[node]:
            continue
        if tree.level[node] < deepest:
            lines += [picture.edge(node, True), picture.edge(node, False)]
        else:
            lines += picture.stub(node)
    return "\n".join([*lines, "}"]) + "\n"


def _header(tree: Tree, theme: Palette, direction: str) -> list[str]:
    """Return the lines that open the graph and set what all nodes and edges share."""
    return [
        "digraph tree {",
        f'graph [rankdir="{direction}", bgcolor="transparent", ordering="out", '
        f'nodesep="0.25", ranksep="0.4", pad="0.1", fontname="{_FONT}", '
        f'fontcolor="{theme.text}", labelloc="b", '
        f'tooltip="{escape(clean(tree.target))}"];',
        f'node [shape="box", style="rounded,filled", fontname="{_FONT}", '
        f'fontsize="12", fontcolor="{theme.text}", margin="0.12,0.06"];',
        f'edge [arrowhead="none", fontname="{_FONT}", fontsize="10", '
        f'fontcolor="{theme.muted}", color="{theme.line}"];',
    ]
