"""Labels of a drawn tree as Graphviz's HTML-like tables: nodes, class bars, legend."""

import textwrap
from dataclasses import dataclass

from treelab.trees.text.dot_colors import NodeColors, ThemeColors, class_fractions
from treelab.trees.text.names import clean, short
from treelab.trees.text.nodes import number_text, prediction_text, rows_text, split_text
from treelab.trees.text.numerals import percent
from treelab.trees.tree import Tree

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
