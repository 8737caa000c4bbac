"""Colours: the light and the dark mode, a tree's classes, values from low to high."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treelab.trees.tree import Tree
from treelab.trees.words import significant

# Okabe and Ito, "Color Universal Design", 2008; black gives way to a grey that is
# legible on both backgrounds.
OKABE_ITO = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00"),
    *("#CC79A7", "#56B4E9", "#F0E442", "#6F6F6F"),
)
OTHER = "#8C9692"  # classes beyond the first eight
# Viridis (van der Walt and Smith, 2015) at ten even steps, as plotly has it.
VIRIDIS = (
    *("#440154", "#482878", "#3e4989", "#31688e", "#26828e"),
    *("#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"),
)

Mode = Literal["light", "dark"]  # the background that a picture is drawn for


@dataclass(frozen=True)
class Palette:
    """The colours of one mode, as hex strings."""

    # Of the page and of what lies on it: sidebar, cards, leaves without a colour.
    background: str
    panel: str
    # Text, and text that matters less; both at least 4.5:1 on background and panel.
    text: str
    muted: str
    # Edges and axes; lines behind a chart.
    line: str
    grid: str
    # The one colour that draws attention: a highlighted path, a marked column.
    accent: str
    # A run that is done, one that failed, one that was stopped.
    good: str
    bad: str
    warn: str
    # Two colours and the grey between them, for differences around zero.
    diverging: tuple[str, str, str]


# Of each, in the light and in the dark mode.
_COLORS: dict[str, Any] = {
    "background": ("#FFFFFF", "#101614"),
    "panel": ("#F6F8F7", "#18211E"),
    "text": ("#17211D", "#E7EDEA"),
    "muted": ("#55625C", "#9DABA5"),
    "line": ("#B9C4BF", "#46534E"),
    "grid": ("#E6EBE9", "#25302C"),
    "accent": ("#1B7F5C", "#4CC79A"),
    "good": ("#1B7F5C", "#4CC79A"),
    "bad": ("#B3261E", "#FF8A80"),
    "warn": ("#8A5A00", "#F0B64A"),
    "diverging": (("#0072B2", "#D9DEDC", "#D55E00"), ("#56B4E9", "#3A4641", "#E08A3C")),
}
_PALETTES = {
    mode: Palette(**{name: both[place] for name, both in _COLORS.items()})
    for place, mode in enumerate(("light", "dark"))
}


def palette(mode: Mode = "light") -> Palette:
    """Return the colours of the light or the dark mode."""
    if mode not in _PALETTES:
        raise ValueError(f"mode must be one of {tuple(_PALETTES)}, got {mode!r}.")
    return _PALETTES[mode]


_ENDS = (0.02, 0.98)  # of rows, beyond which a scale of values ends


@dataclass(frozen=True)
class ValueScale:
    """Values of the first and the last colour, which what lies beyond has, too."""

    low: float
    high: float
    is_cut_below: bool = False  # whether any leaf predicts less, or more
    is_cut_above: bool = False

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> "ValueScale":
        """Return the scale of regression trees, over what is predicted for most rows.

        One leaf of a few rows, far from all others, would leave these one colour.
        """
        leaf = [tree.is_leaf for tree in trees]
        value = [t.value[own, t.main_output] for t, own in zip(trees, leaf)]
        mass = [t.mass[own] / (t.mass[0] or 1) for t, own in zip(trees, leaf)]
        values, weights = np.concatenate(value), np.concatenate(mass)
        weights = weights if weights.any() else np.ones(len(values))
        ends = np.quantile(values, _ENDS, weights=weights, method="inverted_cdf")
        low, high = ends.tolist()
        return cls(low, high, bool(values.min() < low), bool(values.max() > high))

    def words(self) -> tuple[str, str]:
        """Write both ends, such as "≤ 2.0" and "6.5"."""
        low, high = significant(self.low), significant(self.high)
        return "≤ " * self.is_cut_below + low, "≥ " * self.is_cut_above + high


class NodeColors:
    """Colours of a tree's nodes: of their class, or of their value.

    ``palette`` is as in ``class_palette``; ``value_range``, of regression, are the
    values of the first and last colour, None: ``ValueScale.of``. ``colors`` has the hex
    colour of each class, ``own`` the classes that have a colour of their own.
    """

    def __init__(self, tree: Tree, palette, value_range, mode: Mode):
        self._tree = tree
        self.colors: list[str] = []
        self.own: list[int] = []
        self.scale: ValueScale | None = None
        if tree.classes is not None:
            self.colors, self.own = class_palette(tree, palette)
        else:
            fixed = ValueScale(*value_range) if value_range else None
            self.scale = fixed or ValueScale.of([tree])
        self._darkest = 0.0 if mode == "light" else 0.2  # violet is lost on black

    def of(self, node: int) -> tuple[str, float]:
        """Return a node's colour, and how certain its prediction is, 0 to 1."""
        value = self._tree.value[node]
        if self.scale is not None:
            own = float(value[self._tree.main_output])
            return self.color(own), 1.0
        best = int(self._tree.predicted_class[node])
        return self.colors[best], float(np.clip(value[best], 0, 1))

    def color(self, value: float) -> str:
        """Return the colour of a value on the scale."""
        assert self.scale is not None
        return value_color(value, self.scale.low, self.scale.high, self._darkest)

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

    ``palette`` are hex colours in the order of ``tree.classes``, repeated where there
    are fewer, or by label; None: Okabe and Ito's. Returned with the classes that have a
    colour of their own, as ``tree.classes`` orders them.
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
    position *= len(VIRIDIS) - 1
    i = min(int(position), len(VIRIDIS) - 2)
    return mix(VIRIDIS[i + 1], VIRIDIS[i], position - i)


def mix(color: str, background: str, fraction: float) -> str:
    """Return a fraction of one hex colour over another, as an opaque hex colour."""
    over, under = (bytes.fromhex(own[1:]) for own in (color, background))
    parts = (round(fraction * a + (1 - fraction) * b) for a, b in zip(over, under))
    return "#" + "".join(f"{part:02X}" for part in parts)


def _hex(color: str) -> str:
    """Return the colour, or ValueError unless it is hex: it goes into DOT as it is."""
    if not isinstance(color, str) or not re.fullmatch("#[0-9a-fA-F]{6}", color):
        raise ValueError(f"A colour must read like '#0072B2', got {color!r}.")
    return color
