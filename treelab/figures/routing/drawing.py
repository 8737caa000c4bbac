"""What the pictures of rows in a tree share: places, nodes, words below them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.layout import n_drawn_leaves, tree_layout
from treelab.figures.style.colors import Mode, Palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html
from treelab.trees.text.names import short
from treelab.trees.tree import Tree

WIDTH, SMALL_WIDTH = 420, 290  # pixels across a figure, one of two or of three
EDGE_WIDTHS = (1.0, 2.0, 3.5, 5.5, 8.0)  # pixels, from no rows to all of them
_LARGEST, _SMALLEST = 38, 9  # pixels across a node
_NARROW = 310  # pixels across on a telephone, where nodes must not meet either
_BESIDE = 18  # pixels left and right of a tree
_ROOM_FOR_TEXT = 27  # pixels that "100%" takes in a node
_ROOM_FOR_WORDS = 50  # pixels a leaf of a picture that has words below its nodes
_MOST_ENDS = 32  # leaves that are drawn at first
_LETTER = 5.8  # pixels that a letter of size 12 takes
_OVER = 2  # letters that a line may have beyond its room, before a word is cut


def levels_to_draw(tree: Tree) -> int:
    """Find how many levels of splits a picture can show; at least one if there is."""
    for depth in range(tree.depth, 1, -1):
        if n_drawn_leaves(tree, depth) <= _MOST_ENDS:
            return depth
    return min(tree.depth, 1)


def two_lines(words: str, letters: int) -> list[str]:
    """Break words into at most two lines of about so many letters each.

    A line that is too long loses its middle: a condition retains its threshold, and
    names of classes that begin alike stay apart.
    """
    most, parts = letters + _OVER, words.split()
    if len(words) <= most or len(parts) < 2:
        return [short(words, most)]
    breaks = [(" ".join(parts[:i]), " ".join(parts[i:])) for i in range(1, len(parts))]
    # The last of those that lose least: a comparison stands on the second line.
    best = min(breaks[::-1], key=lambda two: sum(max(0, len(x) - most) for x in two))
    return [short(line, most) for line in best]


@dataclass(frozen=True)
class TreeDrawing:
    """Where the nodes of a tree stand that are drawn, down to a level.

    Attributes
    ----------
    tree : Tree
        With ``n`` nodes.
    depth : int
        Deepest level that is drawn.
    width : int
        Pixels across that the figure will at least have.
    """

    tree: Tree
    depth: int
    width: int = WIDTH

    @property
    def n_ends(self) -> int:
        """Number of leaves of the picture."""
        return n_drawn_leaves(self.tree, self.depth)

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Across and down, each float (n,); see ``tree_layout``."""
        return tree_layout(self.tree, self.depth)

    @cached_property
    def shown(self) -> np.ndarray:
        """The nodes that are drawn."""
        return np.flatnonzero(self.tree.level <= self.depth)

    @cached_property
    def _room(self) -> np.ndarray:
        """Distance between the two closest nodes of each node's level, (n_nodes,)."""
        x = self.places[0]
        gap = np.full(self.tree.n_nodes, np.inf)
        for level in range(self.tree.depth + 1):
            here = np.flatnonzero((self.tree.level == level) & np.isfinite(x))
            if len(here) > 1:
                gap[here] = np.diff(np.sort(x[here])).min()
        return gap

    @cached_property
    def node_sizes(self) -> np.ndarray:
        """Pixels across each node: as large as its neighbours leave room."""
        across = min(self.width, _NARROW) - 2 * _BESIDE
        room = self._room * across / max(self.n_ends, 1)
        return np.clip(0.96 * room, _SMALLEST, _LARGEST)

    @property
    def named(self) -> bool:
        """Whether there is room for words below the nodes."""
        return self.n_ends * _ROOM_FOR_WORDS <= self.width

    @cached_property
    def _letters(self) -> np.ndarray:
        """Letters that fit on a line under each node, between neighbours and edges."""
        x, leaf = self.places[0], (self.width - 2 * _BESIDE) / max(self.n_ends, 2)
        # One of those that a line may have over is in the gap.
        room = self._room * leaf / _LETTER - 1
        to_edge = (np.minimum(x, self.n_ends - 1 - x) + 0.5) * leaf + _BESIDE
        return np.clip(np.fmin(room, 2 * to_edge / _LETTER - _OVER), 7, 30).astype(int)

    def add_edges(
        self,
        figure: go.Figure,
        edges: Sequence[tuple[int, int]],
        *,
        width: float,
        color: str,
    ) -> None:
        """Draw lines of one width and colour, each from a node to one below it."""
        x, y = self.places
        figure.add_scatter(
            x=np.concatenate([[x[a], x[b], np.nan] for a, b in edges]),
            y=np.concatenate([[y[a], y[b], np.nan] for a, b in edges]),
            mode="lines",
            line={"width": width, "color": color},
            hoverinfo="skip",
            showlegend=False,
        )

    def add_nodes(
        self,
        figure: go.Figure,
        *,
        texts: Sequence[str],
        text_colors: Sequence[str],
        hovertext: Sequence[str],
        marker: dict,
    ) -> None:
        """Draw the nodes shown, each with its text where it is large enough.

        ``marker`` has their colours; the node's number is their ``customdata``.
        """
        x, y = self.places
        size = self.node_sizes[self.shown]
        is_leaf = self.tree.is_leaf[self.shown]
        figure.add_scatter(
            x=x[self.shown],
            y=y[self.shown],
            mode="markers+text",
            marker={
                "size": size,
                "symbol": np.where(is_leaf, "square", "circle"),
                "opacity": 1,
                **marker,
            },
            text=[
                text if room >= _ROOM_FOR_TEXT else ""
                for text, room in zip(texts, size)
            ],
            textfont={"size": 12, "color": list(text_colors)},
            customdata=self.shown,
            hovertext=list(hovertext),
            hoverinfo="text",
            cliponaxis=False,  # a large node at the edge is whole
            name="nodes",
            showlegend=False,
        )

    def add_names(
        self, figure: go.Figure, table: pd.DataFrame, colors: Palette
    ) -> None:
        """Write each split's condition and each leaf's prediction below its node."""
        x, y = self.places
        for node in self.shown if self.named else []:
            words = table.condition[node] or table.prediction[node]
            lines = two_lines(words, int(self._letters[node]))
            figure.add_annotation(
                x=x[node],
                y=y[node],
                text="<br>".join(escape_html(line) for line in lines),
                showarrow=False,
                yanchor="top",
                yshift=-(self.node_sizes[node] / 2 + 1),
                font={"size": 12, "color": colors.text},
                bgcolor=colors.background,
                borderpad=1,
            )

    def set_layout(self, figure: go.Figure, *, below: int, mode: Mode) -> None:
        """Set the figure's size and look, with so many pixels below the tree."""
        level, last = (92, 0.7) if self.named else (66, 0.45)
        figure.update_layout(
            template=template(mode),
            height=46 + below + level * (self.depth + 1),
            xaxis={"visible": False, "range": [-0.5, self.n_ends - 0.5]},
            yaxis={"visible": False, "range": [-self.depth - last, 0.35]},
            margin={"l": _BESIDE, "r": _BESIDE, "t": 0, "b": below},
        )
