"""The picture of a tree as DOT text, for Graphviz in a browser or on a desk."""

import textwrap
from collections.abc import Iterable

import numpy as np

from treelab.trees.text.dot_colors import (
    class_palette,
    ground,
    mix,
    shares_at,
    value_color,
)
from treelab.trees.text.names import clean, short, with_unit
from treelab.trees.text.nodes import node_text, prediction_text, rows_text, split_text
from treelab.trees.text.numerals import counted, percent, rounded
from treelab.trees.tree import Tree

_BAR = 108  # width of a bar of classes, in points
GAP = "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}"  # between an edge and its word
_THICK, _THIN = 9.0, 1.0  # width of an edge that all rows take, and of the thinnest
_TINT = 0.04  # share of its colour that a doubtful leaf is filled with
_WRAP = 34  # letters a line
_LISTED = 3  # categories, or columns of a weighted sum, in one node


def to_dot(
    tree: Tree,
    *,
    palette=None,
    mode: str = "light",
    highlight: Iterable[int] = (),
    max_depth: int | None = None,
    max_name: int = 24,
    wrap: int = _WRAP,
    value_range: tuple[float, float] | None = None,
    legend: bool = True,
    direction: str = "TB",
) -> str:
    """Return the picture of a tree as DOT text.

    A node shows its question or answer, its rows with their share, and its classes as
    a bar (or its mean with a colour from low to high). Edges are as thick as their
    share of rows. What is cut short on the picture is whole in the tooltip.

    Parameters
    ----------
    tree : Tree
    palette : sequence of str, dict of label to str, or None, default=None
        Hex colours of the classes, in their order or by label; None: Okabe and Ito's.
    mode : {"light", "dark"}, default="light"
        The ground that the picture lies on.
    highlight : iterable of int, default=()
        Nodes of a path, such as ``tree.path(row)``, that is lit with its edges.
    max_depth : int or None, default=None
        Deepest level that is drawn; what hangs below is a stub "12 nodes more".
    max_name : int, default=24
        Letters of a column's or category's name before it is cut.
    wrap : int, default=34
        Letters a line of a node; fewer make narrower boxes of more lines.
    value_range : (low, high) or None, default=None
        Regression: values of the first and last colour; None: those of this tree.
    legend : bool, default=True
        Whether classes and their colours, and the tree's notes, stand below.
    direction : {"TB", "LR"}, default="TB"
        Top-down or from left to right.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If an option is none of the above, or a highlighted node is not in the tree.
    """
    picture = _Picture(tree, palette, mode, highlight, max_name, wrap, value_range)
    if direction not in ("TB", "LR"):
        raise ValueError(f"direction must be 'TB' or 'LR', got {direction!r}.")
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth must be at least 0, got {max_depth}.")
    colors = picture.ground
    lines = [
        "digraph tree {",
        f'graph [rankdir="{direction}", bgcolor="transparent", ordering="out", '
        f'nodesep="0.25", ranksep="0.4", pad="0.1", fontname="{_FONT}", '
        f'fontcolor="{colors.text}", labelloc="b", '
        f'tooltip="{escape(clean(tree.target))}"];',
        f'node [shape="box", style="rounded,filled", fontname="{_FONT}", '
        f'fontsize="12", fontcolor="{colors.text}", margin="0.12,0.06"];',
        f'edge [arrowhead="none", fontname="{_FONT}", fontsize="10", '
        f'fontcolor="{colors.muted}", color="{colors.line}"];',
    ]
    if legend and (below := picture.legend()):
        lines.append(f"label=<{below}>;")
    waiting = [0]
    while waiting:
        node = waiting.pop()
        lines.append(picture.node(node))
        if tree.is_leaf[node]:
            continue
        if max_depth is not None and tree.level[node] >= max_depth:
            lines += picture.stub(node)
            continue
        lines += [picture.edge(node, True), picture.edge(node, False)]
        waiting += [int(tree.right[node]), int(tree.left[node])]
    return "\n".join([*lines, "}"]) + "\n"


_FONT = "Helvetica,Arial,sans-serif"
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
    """Return text for a label or a quoted attribute, harmless whatever it holds.

    As entities, neither quotes nor backslashes are left for DOT to read.
    """
    return text.translate(_ESCAPES)


class _Picture:
    """The parts of one picture: nodes, edges, stubs, legend."""

    def __init__(self, tree, palette, mode, highlight, max_name, wrap, value_range):
        self.tree = tree
        self.ground = ground(mode)
        self.darkest = 0.0 if mode == "light" else 0.2  # violet is lost on black
        self.max_name = max_name
        self.wrap = wrap
        self.lit = {int(node) for node in highlight}
        for node in self.lit:
            tree.check_node(node)
        if tree.classes is not None:
            self.colors, self.own = class_palette(tree, palette)
        else:
            self.low, self.high = value_range or (
                float(tree.value.min()),
                float(tree.value.max()),
            )

    def node(self, node: int) -> str:
        """Return the line that draws a node."""
        tree = self.tree
        leaf = tree.is_leaf[node]
        said = self._answer(node) if leaf else self._question(node)
        color, sure = self._color(node)
        lines = [f"<TR><TD><B>{_wrapped(said, self.wrap)}</B></TD></TR>"]
        if rows := rows_text(tree, node):
            lines.append(f"<TR><TD>{self._small(rows)}</TD></TR>")
        if not leaf and tree.classes is None:
            mean = with_unit(rounded(tree.value[node, 0]), tree.target_unit)
            lines.append(f"<TR><TD>{self._small(f'mean {mean}')}</TD></TR>")
        lines.append(f"<TR><TD>{self._bar(node)}</TD></TR>")
        label = (
            '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">'
            f"{''.join(lines)}</TABLE>"
        )
        fill = (
            mix(color, self.ground.panel, _TINT * (1 + 2 * sure))
            if leaf
            else (self.ground.panel)
        )
        lit = node in self.lit
        edge = self.ground.accent if lit else color if leaf else self.ground.line
        return (
            f'n{node} [id="node-{node}", label=<{label}>, fillcolor="{fill}", '
            f'color="{edge}", penwidth="{3 if lit else 1.5}", '
            f'tooltip="{escape(node_text(tree, node))}"];'
        )

    def edge(self, node: int, left: bool) -> str:
        """Return the line that draws the edge to a child."""
        tree = self.tree
        child = int(tree.left[node] if left else tree.right[node])
        words = "yes" if left else "no"
        if tree.missing_rows is not None and tree.missing_rows[node] > 0:
            words += " or missing" if tree.missing_left[node] == left else ""
        lit = child in self.lit and node in self.lit
        idle = tree.activity is not None and tree.activity[child] <= 0
        share = tree.n_rows[child] / max(int(tree.n_rows[0]), 1)
        style = ', style="dashed"' if idle else ""
        style += ', weight="20"' if lit else ""  # a lit way goes straight
        color = self.ground.accent if lit else self.ground.line
        return (
            f'n{node} -> n{child} [label="{GAP}{words}{GAP}", color="{color}", '
            f'penwidth="{max(_THIN + lit, _THICK * share):.2f}", '
            f'tooltip="{words}: {escape(rows_text(tree, child) or "no rows known")}"'
            f"{style}];"
        )

    def stub(self, node: int) -> list[str]:
        """Return the lines that stand for all nodes below a split."""
        hidden = counted(_below(self.tree, node), "node")
        return [
            f'more{node} [shape="plaintext", style="", label="{hidden} more", '
            f'fontcolor="{self.ground.muted}", fontsize="10"];',
            f'n{node} -> more{node} [style="dotted"];',
        ]

    def legend(self) -> str:
        """Return classes with their colours, and notes, as an HTML-like table."""
        rows = []
        if self.tree.classes is not None:
            chips = [
                self._chip(self.colors[i], clean(self.tree.classes[i]))
                for i in self.own
            ]
            if others := len(self.tree.classes) - len(self.own):
                other = next(i for i in range(len(self.colors)) if i not in self.own)
                name = f"{others} other class" + ("es" if others > 1 else "")
                chips.append(self._chip(self.colors[other], name))
            for first in range(0, len(chips), 4):
                rows.append(f"<TR>{''.join(chips[first : first + 4])}</TR>")
        for note in self.tree.notes:
            rows.append(
                f'<TR><TD COLSPAN="8">{self._small(clean(note), width=80)}</TD></TR>'
            )
        if not rows:
            return ""
        return (
            '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="1">'
            f"{''.join(rows)}</TABLE>"
        )

    def _chip(self, color: str, name: str) -> str:
        """Return a colour and the name of what has it, as two cells."""
        return (
            f'<TD FIXEDSIZE="TRUE" WIDTH="12" HEIGHT="12" BGCOLOR="{color}"></TD>'
            f'<TD ALIGN="LEFT">{self._small(short(name, self.max_name))}</TD>'
        )

    def _question(self, node: int) -> str:
        """Return what a split asks, cut to the picture's size."""
        # The edge says where missing values go.
        return split_text(
            self.tree, node, most=_LISTED, length=self.max_name, missing=False
        )

    def _answer(self, node: int) -> str:
        """Return what a leaf answers, cut to the picture's size."""
        return prediction_text(self.tree, node, most=_LISTED, length=self.max_name)

    def _color(self, node: int) -> tuple[str, float]:
        """Return a node's colour, and how sure it is, 0 to 1."""
        tree = self.tree
        if tree.classes is None:
            value = float(tree.value[node, 0])
            return value_color(value, self.low, self.high, self.darkest), 1.0
        best = int(tree.value[node].argmax())
        return self.colors[best], float(np.clip(tree.value[node, best], 0, 1))

    def _bar(self, node: int) -> str:
        """Return the classes at a node as a bar, or the colour of its mean."""
        if self.tree.classes is None:
            pieces = [(_BAR, self._color(node)[0], "")]
        else:
            shares = shares_at(self.tree, node)
            own = [(shares[i], self.colors[i], self.tree.classes[i]) for i in self.own]
            rest = 1 - sum(share for share, _, _ in own)
            if len(self.own) < len(self.colors):
                other = next(i for i in range(len(self.colors)) if i not in self.own)
                own.append((rest, self.colors[other], "other classes"))
            pieces = [
                (max(1, round(_BAR * share)), color, f"{clean(name)}: {percent(share)}")
                for share, color, name in own
                if share > 0.0005
            ]
        width = sum(width for width, _, _ in pieces)
        cells = "".join(
            f'<TD FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="7" BGCOLOR="{color}"'
            + (f' TITLE="{escape(words)}"' if words else "")
            + "></TD>"
            for width, color, words in pieces
        )
        return (
            '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" '
            f'FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="7"><TR>{cells}</TR></TABLE>'
        )

    def _small(self, text: str, width: int = _WRAP) -> str:
        """Return text that steps back."""
        return (
            f'<FONT POINT-SIZE="10" COLOR="{self.ground.muted}">'
            f"{_wrapped(text, width)}</FONT>"
        )


def _wrapped(text: str, width: int = _WRAP) -> str:
    """Return escaped text on lines of about this many letters."""
    # A label must not be empty: a name may be.
    lines = textwrap.wrap(text, width, break_on_hyphens=False) or ["\u00a0"]
    return "<BR/>".join(escape(line) for line in lines)


def _below(tree: Tree, node: int) -> int:
    """Count the nodes below a node."""
    found, waiting = 0, [node]
    while waiting:
        here = waiting.pop()
        if not tree.is_leaf[here]:
            found += 2
            waiting += [tree.left[here], tree.right[here]]
    return found
