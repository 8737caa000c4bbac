"""Pictures of where rows go in a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.evaluation.routing import LARGE, LITTLE, LeafPurity, RouteSimilarity
from treelab.figures.layout import n_drawn_leaves, tree_layout
from treelab.figures.matrix import cell_numbers, matrix_cells
from treelab.figures.style import Mode, escape_html, mix, palette, template, text_on
from treelab.trees.colors import VIRIDIS, Palette
from treelab.trees.tree import Tree
from treelab.trees.words import percent, short

# What the pictures of rows in a tree share: places, nodes, words below them.


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
    """Where the nodes of a tree stand that are drawn, down to a level."""

    tree: Tree  # with ``n`` nodes
    depth: int  # deepest level that is drawn
    width: int = WIDTH  # pixels across that the figure will at least have

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
        self, figure: go.Figure, step: np.ndarray, side: np.ndarray, colors: Palette
    ) -> None:
        """Draw a line to each node from its parent.

        ``step`` (n,) is its width's place in ``EDGE_WIDTHS``; ``side`` (n,) is -1 or 1
        where it has an end of the diverging colours, else 0.
        """
        child = self.shown[1:]
        looks = sorted(set(zip(step[child].tolist(), side[child].tolist())))
        for width, end in looks:
            below = child[(step[child] == width) & (side[child] == end)]
            ends = np.stack([self.tree.parent[below], below], axis=1)
            x, y = (np.insert(own[ends], 2, np.nan, axis=1) for own in self.places)
            color = colors.diverging[int(end) + 1] if end else colors.line
            figure.add_scatter(
                x=x.ravel(),
                y=y.ravel(),
                mode="lines",
                line={"width": EDGE_WIDTHS[int(width)], "color": color},
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

    def set_layout(self, figure: go.Figure, mode: Mode) -> None:
        """Set the figure's size and look."""
        level, last = (92, 0.7) if self.named else (66, 0.45)
        figure.update_layout(
            template=template(mode),
            height=50 + level * (self.depth + 1),
            xaxis={"visible": False, "range": [-0.5, self.n_ends - 0.5]},
            yaxis={"visible": False, "range": [-self.depth - last, 0.35]},
            margin={"l": _BESIDE, "r": _BESIDE, "t": 0, "b": 4},
        )


# A heat tree: each node as bright as the fraction of some rows that pass it.


def heat_tree_figure(
    tree: Tree,
    table: pd.DataFrame,
    *,
    rows_name: str,
    max_depth: int | None = None,
    width: int = WIDTH,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the tree with each node as bright as its fraction of the rows.

    Not of the rows at its level: where few come so deep, a handful would glow. Every
    node, down to level ``max_depth``, is a point whose ``customdata`` is its number.

    The table is what ``routing_table`` made of the tree and some rows, whose name is
    for the hover text: "'malignant' test rows". The figure will be at least ``width``
    pixels across.
    """
    colors = palette(mode)
    depth = tree.depth if max_depth is None else min(max_depth, tree.depth)
    drawing = TreeDrawing(tree, depth, width)
    fraction = table["fraction"].to_numpy()
    figure = go.Figure()
    step = np.ceil(fraction * (len(EDGE_WIDTHS) - 1))
    drawing.add_edges(figure, step, np.zeros(len(step)), colors)
    here = fraction[drawing.shown]
    drawing.add_nodes(
        figure,
        texts=[f"{value:.0%}" for value in here],
        text_colors=[_readable(value) for value in here],
        hovertext=[_hover(rows_name, table.iloc[node]) for node in drawing.shown],
        marker={
            "color": here,
            "colorscale": [
                [i / (len(VIRIDIS) - 1), color] for i, color in enumerate(VIRIDIS)
            ],
            "cmin": 0,
            "cmax": 1,
            "line": {"width": 1, "color": colors.muted},
            "showscale": False,  # one scale stands beside the trees of all classes
        },
    )
    drawing.add_names(figure, table, colors)
    drawing.set_layout(figure, mode)
    return figure


def _readable(fraction: float) -> str:
    """Colour of a number that stands on viridis at ``fraction``."""
    return text_on(VIRIDIS[round(fraction * (len(VIRIDIS) - 1))])


def _hover(rows_name: str, row: pd.Series) -> str:
    """Lines of the box that a node shows under the pointer."""
    here = f"{percent(row.level_fraction)} of those that reach level {row.level}"
    return f"{_hover_of_rows([rows_name], row)}<br>{here}"


def _hover_of_rows(names: Sequence[str], *rows: pd.Series) -> str:
    """What a node is, and how many of the rows of each of these names pass it."""
    first = rows[0]
    text = f"prediction {first.prediction}" if first.prediction else first.condition
    lines = [
        f"{row['rows']:,} of the {escape_html(name)} ({percent(row.fraction)})"
        for row, name in zip(rows, names)
    ]
    return "<br>".join([f"<b>{escape_html(text)}</b>", *lines])


# Two groups of rows in one tree: at each node, how much more of the one pass it.


MARK = "*"  # behind the number of a node that is marked


def difference_figure(
    tree: Tree,
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    names: Sequence[str],
    marked: np.ndarray | None = None,
    most: float = 1.0,
    max_depth: int | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw at each node the fraction of the first rows less that of the second.

    Every node, down to level ``max_depth``, is a point whose ``customdata`` is its
    number; nodes and edges have the palette's diverging colours: more of the second
    rows, as much, more of the first. They are strongest at a difference of ``most``.

    Both tables are what ``routing_table`` made of the tree and of the rows of a group,
    which the hover text calls by their names. Nodes that are ``marked``, bool (n,),
    have a ring and a star.
    """
    colors = palette(mode)
    depth = tree.depth if max_depth is None else min(max_depth, tree.depth)
    drawing = TreeDrawing(tree, depth, WIDTH)
    difference = first["fraction"].to_numpy() - second["fraction"].to_numpy()
    ring = np.zeros(tree.n_nodes, bool) if marked is None else marked
    figure = go.Figure()
    size = np.minimum(np.abs(difference / most), 1.0)
    step = np.round(size * (len(EDGE_WIDTHS) - 1))
    drawing.add_edges(figure, step, np.sign(difference) * (step > 0), colors)
    shown = drawing.shown
    fills = [_color(value / most, colors) for value in difference[shown]]
    drawing.add_nodes(
        figure,
        texts=[_points(difference[node]) + MARK * int(ring[node]) for node in shown],
        text_colors=[text_on(fill) for fill in fills],
        hovertext=[
            _hover_of_rows(names, first.iloc[node], second.iloc[node]) for node in shown
        ],
        marker={
            "color": fills,
            "line": {
                "width": np.where(ring[shown], 3, 1),
                "color": np.where(ring[shown], colors.text, colors.muted),
            },
        },
    )
    drawing.add_names(figure, first, colors)
    drawing.set_layout(figure, mode)
    return figure


def _color(value: float, colors: Palette) -> str:
    """Colour of a difference in [-1, 1]: grey at 0."""
    low, middle, high = colors.diverging
    return mix(high if value > 0 else low, middle, min(abs(value), 1.0))


def _points(difference: float) -> str:
    """Write a difference of fractions in percentage points."""
    text = f"{100 * difference:+.0f}".replace("-", "−")
    return "0" if text in ("+0", "−0") else text


# How far the rows of each month are from those that a tree was fitted to.


_HEIGHT = 260  # pixels


def months_figure(found: pd.DataFrame, *, mode: Mode = "light") -> go.Figure:
    """Draw the stability index of each month, those marked that differ.

    ``found`` is what ``shift_by_month`` returns.
    """
    colors = palette(mode)
    figure = go.Figure()
    figure.add_bar(
        x=found["month"],
        y=found["psi"],
        marker_color=[
            colors.accent if differs else colors.line for differs in found["differs"]
        ],
        text=["*" if differs else "" for differs in found["differs"]],
        textposition="outside",
        textfont={"size": 16},
        customdata=found["rows"],
        hovertemplate="%{x}: PSI %{y:.3f}, %{customdata:,} rows<extra></extra>",
        cliponaxis=False,
        showlegend=False,
    )
    figure.add_scatter(
        x=found["month"],
        y=found["psi_by_chance"],
        name="expected by chance",
        mode="lines+markers",
        line={"color": colors.text, "dash": "dot", "width": 1.5},
        marker={"size": 5},
        hoverinfo="skip",
    )
    most = max(found["psi"].max(), found["psi_by_chance"].max())
    for bound, word in ((LITTLE, "little below"), (LARGE, "large above")):
        if bound <= 1.2 * most:
            figure.add_hline(
                y=bound,
                line={"color": colors.grid, "width": 1},
                annotation_text=word,
                annotation_position="right",
            )
    return figure.update_layout(
        template=template(mode),
        height=_HEIGHT,
        margin={"t": 40, "r": 90},
        xaxis={"title": "month", "type": "category"},
        yaxis={"title": "PSI", "rangemode": "tozero", "range": [0, 1.2 * most]},
    )


# The leaves of a tree as bars: how many rows of each class end there.


MOST_LEAVES = 30  # that are drawn, those of most rows
_BAR = 26  # pixels a leaf


def purity_figure(
    found: LeafPurity, colors: Mapping[str, str], *, mode: Mode = "light"
) -> go.Figure:
    """Draw a bar for each leaf, left to right from the top, in the classes' colours."""
    most = found.leaves["rows"].nlargest(MOST_LEAVES).index
    leaves = found.leaves.loc[found.leaves.index.isin(most)]
    rows = found.rows.loc[leaves.index]
    places = [f"leaf {node}" for node in leaves.index]
    figure = go.Figure()
    for name in rows:
        figure.add_bar(
            x=rows[name],
            y=places,
            orientation="h",
            name=escape_html(name),
            marker_color=colors.get(str(name), palette(mode).muted),
            customdata=leaves["rows"],
            hovertemplate=f"%{{y}}: %{{x:,}} of %{{customdata:,}} rows are "
            f"{escape_html(name)}<extra></extra>",
        )
    figure.layout.annotations = [
        {
            "x": n_rows,
            "y": place,
            "text": f"{purity:.0%}",
            "showarrow": False,
            "xanchor": "left",
            "font": {"color": palette(mode).text, "size": 13},
        }
        for place, n_rows, purity in zip(places, leaves["rows"], leaves["purity"])
    ]
    return figure.update_layout(
        template=template(mode),
        height=70 + _BAR * len(leaves),
        margin={"t": 8, "r": 48},
        barmode="stack",
        showlegend=False,
        xaxis={"title": "rows", "showgrid": False, "separatethousands": True},
        yaxis={"autorange": "reversed", "showgrid": False},
    )


# How alike the routes of classes are: a matrix, and the hierarchy beside it.


_MOST_NUMBERS = 12  # classes up to which each cell has its number
_MOST_LARGE = 4  # classes up to which it is as large as other text
_NAME = 16  # letters of a class's name
_CELL = 44  # pixels


def similarity_figure(found: RouteSimilarity, *, mode: Mode = "light") -> go.Figure:
    """Draw how alike the routes of each two classes are, those alike together.

    A matrix; to its right the dendrogram, whose joints lie at the mean similarity of
    the classes they join.
    """
    colors = palette(mode)
    n = len(found.names)
    order = found.order
    names = [escape_html(short(found.names[i], _NAME)) for i in order]
    whole = np.array([escape_html(found.names[i]) for i in order], dtype=object)
    figure = make_subplots(
        cols=2, column_widths=[0.8, 0.2], shared_yaxes=True, horizontal_spacing=0.02
    )
    similarity = found.similarity[np.ix_(order, order)]
    hover = "%{customdata[1]} and %{customdata[0]}: %{z:.2f}<extra></extra>"
    both = np.dstack(np.meshgrid(whole, whole))
    cells = matrix_cells(similarity, colors, customdata=both, hovertemplate=hover)
    figure.add_trace(cells, row=1, col=1)
    if n <= _MOST_NUMBERS:
        texts = [[f"{value:.2f}" for value in row] for row in similarity]
        size = 13 if n <= _MOST_LARGE else 11
        figure.layout.annotations = cell_numbers(texts, similarity, colors, size=size)
    _add_dendrogram(figure, found, colors.muted)
    ticks = {"tickvals": np.arange(n), "showgrid": False, "showline": False}
    figure.update_xaxes(
        {**ticks, "ticktext": names, "tickangle": -40, "range": [-0.5, n - 0.5]}, col=1
    )
    figure.update_xaxes(
        range=[1.02, -0.02],
        tickvals=[1, 0.5, 0],
        ticktext=["1", "0.5", "0"],
        title="similarity",
        showline=False,
        col=2,
    )
    figure.update_yaxes(showgrid=False, showline=False, range=[n - 0.5, -0.5])
    figure.update_yaxes(tickvals=np.arange(n), ticktext=names, col=1)
    return figure.update_layout(
        template=template(mode),
        height=150 + max(12, min(_CELL, 900 // n)) * n,
        margin={"t": 8, "b": 8},
        showlegend=False,
    )


def _add_dendrogram(figure: go.Figure, found: RouteSimilarity, color: str) -> None:
    """Draw the hierarchy: each joint a bracket around the classes it joins."""
    y, x = found.brackets()
    gap = np.full((len(x), 1), np.nan)
    figure.add_scatter(
        x=np.hstack([x, gap]).ravel(),
        y=np.hstack([y, gap]).ravel(),
        mode="lines",
        line={"color": color, "width": 2},
        hoverinfo="skip",
        row=1,
        col=2,
    )
