"""A tree as DOT, the language of Graphviz: colours, labels, the graph."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treelab.trees.text import (
    node_text,
    number_text,
    prediction_text,
    rows_text,
    split_text,
)
from treelab.trees.tree import Tree
from treelab.trees.words import clean, counted, percent, short

# Colours of a drawn tree: two themes, the classes, and values from low to high.


# Okabe and Ito, "Color Universal Design", 2008; black gives way to a grey that is
# legible on both backgrounds.
OKABE_ITO = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#6F6F6F",
)
OTHER = "#8C9692"  # classes beyond the first eight
# Viridis (van der Walt and Smith, 2015) at nine even steps.
_VIRIDIS = (
    "#440154",
    "#472D7B",
    "#3B528B",
    "#2C728E",
    "#21918C",
    "#28AE80",
    "#5EC962",
    "#ADDC30",
    "#FDE725",
)


@dataclass(frozen=True)
class ThemeColors:
    """Colours, hex, of what is drawn on a light or a dark page."""

    panel: str
    text: str
    muted: str
    line: str
    accent: str


THEMES = {
    "light": ThemeColors("#F6F8F7", "#17211D", "#55625C", "#B9C4BF", "#1B7F5C"),
    "dark": ThemeColors("#18211E", "#E7EDEA", "#9DABA5", "#5A6963", "#4CC79A"),
}


def theme_colors(mode: str) -> ThemeColors:
    """Return the colours of the light or the dark theme."""
    if mode not in THEMES:
        raise ValueError(f"mode must be one of {tuple(THEMES)}, got {mode!r}.")
    return THEMES[mode]


class NodeColors:
    """Colours of a tree's nodes: of their class, or of their value.

    Parameters
    ----------
    tree : Tree
    palette : sequence of str, dict of label to str, or None
        Hex colours of the classes; see ``class_palette``.
    value_range : (low, high) or None
        Regression: values of the first and last colour; None: those of this tree.
    mode : {"light", "dark"}

    Attributes
    ----------
    colors : list of str
        Hex colour of each class.
    own : list of int
        Classes that have a colour of their own.
    """

    def __init__(self, tree: Tree, palette, value_range, mode: str):
        self._tree = tree
        self.colors: list[str] = []
        self.own: list[int] = []
        if tree.classes is not None:
            self.colors, self.own = class_palette(tree, palette)
        low, high = value_range or (float(tree.value.min()), float(tree.value.max()))
        self._low, self._high = low, high
        self._darkest = 0.0 if mode == "light" else 0.2  # violet is lost on black

    def of(self, node: int) -> tuple[str, float]:
        """Return a node's colour, and how certain its prediction is, 0 to 1."""
        value = self._tree.value[node]
        if self._tree.classes is None:
            color = value_color(float(value[0]), self._low, self._high, self._darkest)
            return color, 1.0
        best = int(self._tree.predicted_class[node])
        return self.colors[best], float(np.clip(value[best], 0, 1))

    @property
    def other_color(self) -> str | None:
        """Colour that the classes without one of their own share; None without any."""
        return next((c for i, c in enumerate(self.colors) if i not in self.own), None)

    def classes_with_color(self) -> list[tuple[str, str]]:
        """List colours and class names of a legend; the other classes as one."""
        classes = self._tree.classes or ()
        listed = [(self.colors[i], str(classes[i])) for i in self.own]
        if (other := self.other_color) is not None:
            n_others = len(classes) - len(self.own)
            name = f"{n_others} other class" + ("es" if n_others > 1 else "")
            listed.append((other, name))
        return listed


def class_palette(tree: Tree, palette) -> tuple[list[str], list[int]]:
    """Give each class a colour; only the eight most frequent have one of their own.

    Parameters
    ----------
    tree : Tree
    palette : sequence of str, dict of label to str, or None
        Hex colours in the order of ``tree.classes``, repeated where there are fewer,
        or by label; None: Okabe and Ito's.

    Returns
    -------
    colors : list of str
        Hex colour of each class.
    own : list of int
        Classes that have a colour of their own, as ``tree.classes`` orders them.
    """
    palette = OKABE_ITO if palette is None else palette
    classes = tree.classes or ()
    n = len(classes)
    if isinstance(palette, Mapping):
        colors = [_hex(palette.get(label, OTHER)) for label in classes]
    elif isinstance(palette, Sequence) and len(palette):
        colors = [_hex(palette[i % len(palette)]) for i in range(n)]
    else:
        raise ValueError(f"palette must hold hex colours, got {palette!r}.")
    if n <= len(OKABE_ITO):
        return colors, list(range(n))
    fractions = class_fractions(tree, 0)
    own = sorted(np.argsort(-fractions, kind="stable")[: len(OKABE_ITO)].tolist())
    return [c if i in own else OTHER for i, c in enumerate(colors)], own


def class_fractions(tree: Tree, node: int) -> np.ndarray:
    """Return the class fractions, (n_classes,), of a node's rows, or of its value."""
    if tree.class_counts is not None and tree.class_counts[node].sum() > 0:
        return tree.class_counts[node] / tree.class_counts[node].sum()
    return tree.value[node]


def value_color(value: float, low: float, high: float, darkest: float = 0.0) -> str:
    """Return viridis' colour of a value between ``low`` and ``high``.

    The scale starts at the fraction ``darkest`` of viridis.
    """
    position = (value - low) / (high - low) if high > low else 0.5
    position = darkest + (1 - darkest) * min(max(position, 0.0), 1.0)
    position *= len(_VIRIDIS) - 1
    i = min(int(position), len(_VIRIDIS) - 2)
    return mix(_VIRIDIS[i + 1], _VIRIDIS[i], position - i)


def mix(color: str, other: str, share: float) -> str:
    """Return a hex colour that is ``share`` of one and the rest of another."""
    pairs = zip(_channels(color), _channels(other))
    mixed = [round(a * share + b * (1 - share)) for a, b in pairs]
    return "#{:02X}{:02X}{:02X}".format(*mixed)


def _channels(color: str) -> tuple[int, int, int]:
    """Return red, green and blue, 0 to 255, of a hex colour."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue


def _hex(color: str) -> str:
    """Return the colour, or ValueError unless it is hex: it goes into DOT as it is."""
    digits = color[1:] if isinstance(color, str) and color[:1] == "#" else ""
    if len(digits) != 6 or any(d not in "0123456789abcdefABCDEF" for d in digits):
        raise ValueError(f"A colour must read like '#0072B2', got {color!r}.")
    return color


# Labels of a drawn tree as Graphviz's HTML-like tables: nodes, class bars, legend.


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
    """Return text for a label or a quoted attribute, harmless whatever it holds.

    As entities, neither quotes nor backslashes are left for DOT to read.
    """
    return text.translate(_ESCAPES)


@dataclass(frozen=True)
class DotLabels:
    """The labels of one picture; see ``DotLayout`` for ``max_name`` and ``wrap``."""

    tree: Tree
    colors: NodeColors
    theme: ThemeColors
    max_name: int
    wrap: int

    def node(self, node: int) -> str:
        """Return a node's condition or prediction, its rows, and its bar."""
        tree = self.tree
        text = self._prediction(node) if tree.is_leaf[node] else self._condition(node)
        lines = [f"<B>{_wrapped(text, self.wrap)}</B>"]
        if rows := rows_text(tree, node):
            lines.append(self._small(rows))
        if not tree.is_leaf[node] and tree.classes is None:
            mean = number_text(tree, node)
            lines.append(self._small(f"mean {mean}"))
        lines.append(self._bar(node))
        cells = "".join(f"<TR><TD>{line}</TD></TR>" for line in lines)
        return (
            '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">'
            f"{cells}</TABLE>"
        )

    def legend(self) -> str:
        """Return classes with their colours, and the tree's notes; "" without any."""
        chips = [
            self._chip(color, name) for color, name in self.colors.classes_with_color()
        ]
        rows = [
            f"<TR>{''.join(chips[first : first + _CHIPS_A_LINE])}</TR>"
            for first in range(0, len(chips), _CHIPS_A_LINE)
        ]
        rows += [
            f'<TR><TD COLSPAN="8">{self._small(clean(note), _NOTE_WRAP)}</TD></TR>'
            for note in self.tree.notes
        ]
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

    def _condition(self, node: int) -> str:
        """Return the condition of a split, shortened to the picture's size."""
        # The edge shows where missing values go.
        return split_text(
            self.tree, node, most=_LISTED, length=self.max_name, missing=False
        )

    def _prediction(self, node: int) -> str:
        """Return the prediction of a leaf, shortened to the picture's size."""
        return prediction_text(self.tree, node, most=_LISTED, length=self.max_name)

    def _bar(self, node: int) -> str:
        """Return the classes at a node as a bar, or the colour of its mean."""
        if self.tree.classes is None:
            pieces = [(_BAR, self.colors.of(node)[0], "")]
        else:
            pieces = [
                (
                    max(1, round(_BAR * fraction)),
                    color,
                    f"{clean(name)}: {percent(fraction)}",
                )
                for fraction, color, name in self._fractions(node)
                if fraction > 0.0005
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

    def _fractions(self, node: int) -> list[tuple[float, str, object]]:
        """List each class at a node: fraction, colour, name; the others as one."""
        colors, fractions = self.colors, class_fractions(self.tree, node)
        classes = self.tree.classes or ()
        own = [(fractions[i], colors.colors[i], classes[i]) for i in colors.own]
        if (other := colors.other_color) is not None:
            own.append((1 - sum(f for f, _, _ in own), other, "other classes"))
        return own

    def _small(self, text: str, wrap: int = _SMALL_WRAP) -> str:
        """Return text that steps back."""
        return (
            f'<FONT POINT-SIZE="10" COLOR="{self.theme.muted}">'
            f"{_wrapped(text, wrap)}</FONT>"
        )


def _wrapped(text: str, wrap: int) -> str:
    """Return escaped text on lines of about this many letters."""
    # A label must not be empty: a name may be.
    lines = textwrap.wrap(text, wrap, break_on_hyphens=False) or ["\u00a0"]
    return "<BR/>".join(escape(line) for line in lines)


# The picture of a tree as DOT text, for Graphviz in a browser or on a desk.


GAP = "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}"  # between an edge and its word
_FONT = "Helvetica,Arial,sans-serif"
_THICK, _THIN = 9.0, 1.0  # width of an edge that all rows take, and of the thinnest
_TINT = 0.04  # opacity of the colour of an uncertain leaf
DIRECTIONS = ("TB", "LR")


@dataclass(frozen=True)
class DotLayout:
    """How much of a tree is drawn, and in which shape.

    Parameters
    ----------
    direction : {"TB", "LR"}, default="TB"
        Top-down or from left to right.
    max_depth : int or None, default=None
        Deepest level that is drawn; what hangs below is a stub "12 nodes more".
    max_name : int, default=24
        Letters of a column's or category's name before it is shortened.
    wrap : int, default=34
        Letters a line of a node; fewer make narrower boxes of more lines.

    Raises
    ------
    ValueError
        If the direction is none of these, or the depth is negative.
    """

    direction: str = "TB"
    max_depth: int | None = None
    max_name: int = 24
    wrap: int = 34

    def __post_init__(self):
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction must be 'TB' or 'LR', got {self.direction!r}.")
        if self.max_depth is not None and self.max_depth < 0:
            raise ValueError(f"max_depth must be at least 0, got {self.max_depth}.")


def to_dot(
    tree: Tree,
    *,
    layout: DotLayout | None = None,
    palette=None,
    mode: str = "light",
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
    layout : DotLayout or None, default=None
        None: the whole tree, top-down.
    palette : sequence of str, dict of label to str, or None, default=None
        Hex colours of the classes, in their order or by label; None: Okabe and Ito's.
    mode : {"light", "dark"}, default="light"
        The background of the picture.
    highlight : iterable of int, default=()
        Nodes of a decision path, such as ``tree.path(row)``, that is lit with its
        edges.
    value_range : (low, high) or None, default=None
        Regression: values of the first and last colour; None: those of this tree.
    legend : bool, default=True
        Whether classes and their colours, and the tree's notes, stand below.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If an option is none of the above, or a highlighted node is not in the tree.
    """
    layout = layout or DotLayout()
    theme = theme_colors(mode)
    colors = NodeColors(tree, palette, value_range, mode)
    labels = DotLabels(tree, colors, theme, layout.max_name, layout.wrap)
    picture = _Picture(tree, colors, labels, theme, frozenset(map(int, highlight)))
    lines = _header(tree, theme, layout.direction)
    if legend and (below := labels.legend()):
        lines.append(f"label=<{below}>;")
    waiting = [0]
    while waiting:
        node = waiting.pop()
        lines.append(picture.node(node))
        if tree.is_leaf[node]:
            continue
        if layout.max_depth is not None and tree.level[node] >= layout.max_depth:
            lines += picture.stub(node)
            continue
        lines += [picture.edge(node, True), picture.edge(node, False)]
        waiting += [int(tree.right[node]), int(tree.left[node])]
    return "\n".join([*lines, "}"]) + "\n"


def _header(tree: Tree, theme: ThemeColors, direction: str) -> list[str]:
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


@dataclass(frozen=True)
class _Picture:
    """Lines of DOT: nodes, edges and stubs; ``lit`` are the highlighted nodes."""

    tree: Tree
    colors: NodeColors
    labels: DotLabels
    theme: ThemeColors
    lit: frozenset[int]

    def __post_init__(self):
        for node in self.lit:
            self.tree.check_node(node)

    def node(self, node: int) -> str:
        """Return the line that draws a node."""
        leaf = self.tree.is_leaf[node]
        fill, border = self.theme.panel, self.theme.line
        if leaf:
            border, certainty = self.colors.of(node)
            fill = mix(border, self.theme.panel, _TINT * (1 + 2 * certainty))
        lit = node in self.lit
        return (
            f'n{node} [id="node-{node}", label=<{self.labels.node(node)}>, '
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
            f'n{node} -> n{child} [label="{GAP}{words}{GAP}", color="{color}", '
            f'penwidth="{max(_THIN + lit, _THICK * share):.2f}", '
            f'tooltip="{words}: {escape(rows_text(tree, child) or "no rows known")}"'
            f"{style}];"
        )

    def stub(self, node: int) -> list[str]:
        """Return the lines that stand for all nodes below a split."""
        hidden = counted(_count_below(self.tree, node), "node")
        return [
            f'more{node} [shape="plaintext", style="", label="{hidden} more", '
            f'fontcolor="{self.theme.muted}", fontsize="10"];',
            f'n{node} -> more{node} [style="dotted"];',
        ]


def _count_below(tree: Tree, node: int) -> int:
    """Count the nodes below a node."""
    found, waiting = 0, [node]
    while waiting:
        here = waiting.pop()
        if not tree.is_leaf[here]:
            found += 2
            waiting += [int(tree.left[here]), int(tree.right[here])]
    return found
