"""What the tree viewer in the browser is told: trees, rows, colours, as plain values.

The server makes the bars, so what travels does not grow with the table. It stays under
``MOST_BYTES``, for which large trees say less, in this order: histograms have fewer
bars; only splits that many rows pass have one; names are cut and lists are short;
nodes that few rows pass are only counted; frames are left out, evenly.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treelab.figures.colors import class_colors
from treelab.figures.viewer.bins import MOST_BINS, shared_edges
from treelab.figures.viewer.nodes import (
    NAME_LENGTH,
    WORDINGS,
    TreeWriter,
    axis,
    keys,
    plain_number,
)
from treelab.figures.viewer.notes import sum_notes
from treelab.trees.statistics import check_target
from treelab.trees.text.dot_colors import OTHER, shares_at
from treelab.trees.text.names import clean, short
from treelab.trees.text.nodes import row_value_text
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, read

VERSION = 1
MOST_BYTES = 1_000_000
MOST_NODES = 3_000  # of all frames together
FEWEST_FRAMES = 8  # that stay; of their trees, only what many rows pass is written
MOST_WORDS = 0.7  # share of the bytes that may go into nodes without histograms
MOST_CLASSES = 8  # with a colour of their own; of more, the last stands for the rest
TARGET_BARS = 12
FIRST_WAY, SECOND_WAY = "var(--way-one)", "var(--way-two)"
BARS = (MOST_BINS, 12, 8)  # of a histogram, as room allows
_TOGETHER = 64  # histograms that are measured at once
_EDGE_BYTES = 16  # at the most, of a bar's edge, or name, and its punctuation


@dataclass(frozen=True)
class Frames:
    """What the trees of one picture stand for, one a frame.

    Attributes
    ----------
    kind : {"epoch", "lambda"}
    name : str
        What the scrubber is called.
    values : sequence of float
        Epoch or pruning strength of each frame, ascending.
    labels : sequence of str
        What is written beside the scrubber.
    chosen : int
        The frame that is shown first.
    scores : sequence of float or None, default=None
        How good each frame's tree is.
    score_label : str
        Which score on which rows: "macro F1 · validation".
    """

    kind: str
    name: str
    values: Sequence[float]
    labels: Sequence[str]
    chosen: int
    scores: Sequence[float] | None = None
    score_label: str = ""

    def take(self, places: Sequence[int]) -> "Frames":
        """Return the frames at some places; the chosen one must be among them."""
        return Frames(
            self.kind,
            self.name,
            [self.values[i] for i in places],
            [self.labels[i] for i in places],
            list(places).index(self.chosen),
            None if self.scores is None else [self.scores[i] for i in places],
            self.score_label,
        )


@dataclass(frozen=True)
class Way:
    """A row that is followed through a tree.

    Attributes
    ----------
    label : str
        What the row is called.
    color : str
        Colour of its way, as CSS writes it: FIRST_WAY or SECOND_WAY keep apart from
        each other on either ground.
    keys : list of str
        Keys of the nodes it passes, root first.
    parts : dict of str to str
        What the row holds where each of these nodes asks: "petal width is 0.2 cm".
    """

    label: str
    color: str
    keys: list[str] = field(default_factory=list)
    parts: dict[str, str] = field(default_factory=dict)


def tree_payload(
    trees: Tree | Sequence[Tree],
    X=None,
    y=None,
    *,
    title: str = "",
    part: str = "train",
    rows_label: str = "training rows",
    colors: Mapping | None = None,
    frames: Frames | None = None,
    notes: Iterable[str] = (),
) -> dict:
    """Return all that the viewer draws and that stays while one looks around.

    Parameters
    ----------
    trees : Tree or sequence of Tree
        One tree, or one a frame, all of the same features and classes.
    X : DataFrame of shape (n_rows, n_columns) or None, default=None
        The rows that the picture counts, of the user's table. Without them the tree's
        own counts are shown, and no histograms.
    y : array-like of shape (n_rows,) or None, default=None
        Their labels, or values of the target.
    title : str, default=""
    part : str, default="train"
        Which part of the rows these are.
    rows_label : str, default="training rows"
        What the rows are called.
    colors : mapping of label to hex colour, or None, default=None
        The most frequent class first; None: by frequency in ``y``.
    frames : Frames or None, default=None
        What each tree stands for, where there are several.
    notes : iterable of str, default=()
        Sentences shown with the tree, besides its own.

    Returns
    -------
    dict
        Of plain values; ``json.dumps`` of it with ``settings`` is what the viewer
        reads. Null values of nodes are left out.

    Raises
    ------
    ValueError
        If there is no tree, trees and frames differ in number, or ``X`` and ``y`` do
        not fit the trees.
    """
    shown = [trees] if isinstance(trees, Tree) else list(trees)
    n_frames = 1 if frames is None else len(frames.values)
    if not shown or len(shown) != n_frames:
        raise ValueError(f"{len(shown)} trees do not make {n_frames} frames.")
    if frames is not None:
        shown, frames = _thinned(shown, frames)
    tree = shown[0]
    values = check_target(tree, 0, ()) if X is None else check_target(tree, len(y), y)
    entries, fold = class_entries(tree, values, colors)
    edges = None
    if tree.classes is None:
        everything = values if len(values) else tree.value[tree.is_leaf, 0]
        edges = shared_edges(everything, TARGET_BARS)
    columns: dict = {}
    writers = [TreeWriter(each, X, y, fold, edges, columns) for each in shown]
    nodes = _written_nodes(writers)
    n_rows = int(writers[0].tree.n_rows[0])
    notes = [*notes, *sum_notes(shown, X)]
    payload = {
        "version": VERSION,
        "title": clean(title),
        "task": tree.task,
        "target": {
            "name": short(tree.target, NAME_LENGTH),
            "unit": clean(tree.target_unit),
        },
        "classes": entries,
        "scale": value_scale(shown),
        "rows": {"part": part, "label": rows_label, "total": n_rows},
        "axis": axis(shown),
        "frames": _frames_entry(frames),
        "trees": [
            {
                "nodes": own,
                "notes": [clean(n) for n in dict.fromkeys([*each.notes, *notes])],
            }
            for each, own in zip(shown, nodes)
        ],
    }
    room = 0.98 * MOST_BYTES - len(to_json(payload).encode())
    _add_histograms(writers, nodes, room, 0 if frames is None else frames.chosen)
    return payload


def settings(
    *,
    ways: Iterable[Way] = (),
    flow: dict | None = None,
    select: dict | None = None,
    **options,
) -> dict:
    """Return what changes while one looks at the same trees.

    Parameters
    ----------
    ways : iterable of Way
        At most two rows that are followed.
    flow : dict or None
        ``class`` and ``counts`` by key, where a class's flow is shown.
    select : dict or None
        ``key`` and ``stamp``: a node that is selected from outside; the viewer obeys
        once for each stamp.
    **options
        direction, depth, height (pixels of the picture) or total (of everything),
        live, controls, compact; see the viewer's script.
    """
    return {
        "paths": [vars(way) for way in ways],
        "flow": flow,
        "select": select,
        "options": options,
    }


def to_json(payload: dict | list) -> str:
    """Write a payload as compact JSON; numbers that JSON cannot hold are refused."""
    return json.dumps(
        payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )


def way_of(tree: Tree, row, label: str, color: str) -> Way:
    """Follow one row through a tree.

    Parameters
    ----------
    tree : Tree
    row : DataFrame of one row
    label : str
        What the row is called, such as "row 812".
    color : str
        As a Way's.
    """
    path, key, matrix = tree.path(row), keys(tree), read(tree, row)
    parts = {}
    for node in path[:-1]:
        said = row_value_text(tree, node, matrix, row)
        what = "the sum"
        if tree.feature[node] != OBLIQUE:
            what = short(tree.features[tree.feature[node]].column, NAME_LENGTH)
        parts[key[node]] = f"{what} is {said}"
    return Way(clean(label), color, [key[node] for node in path], parts)


def class_entries(tree: Tree, codes: np.ndarray, colors: Mapping | None):
    """Return the viewer's legend, and each class's place in it.

    Parameters
    ----------
    tree : Tree
    codes : int array of shape (n_rows,)
        Class of each row.
    colors : mapping of label to hex colour, or None

    Returns
    -------
    entries : list of dict
        ``label`` and ``color``, the most frequent first; the rarest of more than
        eight together, marked ``other``. Empty for regression.
    fold : int array of shape (n_classes,) or None
    """
    if tree.classes is None:
        return [], None
    if colors is None:
        seen = np.bincount(codes, minlength=len(tree.classes))
        if not len(codes):
            seen = shares_at(tree, 0)
        ranked = [tree.classes[i] for i in np.argsort(-seen, kind="stable")]
        colors = dict(zip(ranked, class_colors(len(ranked))))
    rank = {label: i for i, label in enumerate(colors)}
    n_own = len(rank) if len(rank) <= MOST_CLASSES else MOST_CLASSES - 1
    labels = list(colors)[:n_own]
    entries = [
        {"label": short(label, NAME_LENGTH), "color": colors[label]} for label in labels
    ]
    if len(rank) > n_own:
        rest = len(rank) - n_own
        entries.append({"label": f"{rest} others", "color": OTHER, "other": True})
    return entries, np.array([min(rank[label], n_own) for label in tree.classes])


def value_scale(trees: Sequence[Tree]) -> dict | None:
    """Lowest and highest answer of all leaves; None for classes."""
    if trees[0].classes is not None:
        return None
    leaves = np.concatenate([tree.value[tree.is_leaf, 0] for tree in trees])
    return {"low": plain_number(leaves.min()), "high": plain_number(leaves.max())}


def _written_nodes(writers: Sequence[TreeWriter]) -> list[list[dict]]:
    """Write the nodes of all trees; briefly where they would take too much room."""
    most = MOST_NODES // len(writers)
    for wording in WORDINGS:
        nodes = [writer.nodes(most, wording) for writer in writers]
        if len(to_json(nodes).encode()) <= MOST_WORDS * MOST_BYTES:
            break
    return nodes


def _add_histograms(writers, nodes, room: float, chosen: int) -> None:
    """Give histograms to as many splits as the room, in bytes, allows.

    The chosen frame comes first, then the splits that the most rows pass.
    """
    splits = [
        (frame != chosen, -entry["rows"], frame, place)
        for frame, own in enumerate(nodes)
        for place, entry in enumerate(own)
        if "question" in entry and entry["rows"]
    ]
    splits.sort()
    n_codes = writers[0].n_codes
    # What a bar takes at the most: its edge, and a number a class with a comma.
    whole = sum(_EDGE_BYTES + n_codes * len(f"{-rows},") for _, rows, _, _ in splits)
    n_bars = next((n for n in BARS if n * whole <= room), BARS[-1])
    for first in range(0, len(splits), _TOGETHER):
        found = []
        for _, _, frame, place in splits[first : first + _TOGETHER]:
            entry = nodes[frame][place]
            found.append((entry, writers[frame].histogram(entry["id"], n_bars)))
        size = len(to_json([histogram for _, histogram in found]).encode())
        if size <= room:
            room -= size
            for entry, histogram in found:
                entry |= histogram
            continue
        for entry, histogram in found:  # the last ones that there is room for
            room -= len(to_json(histogram).encode())
            if room < 0:
                return
            entry |= histogram
        return


def _thinned(trees: list[Tree], frames: Frames):
    """Leave out frames, evenly, where all trees together have too many nodes."""
    places = list(range(len(trees)))
    while sum(trees[i].n_nodes for i in places) > MOST_NODES:
        fewer = [i for n, i in enumerate(places) if n % 2 == 0 or i == frames.chosen]
        fewer = sorted({*fewer, places[-1]})
        if len(fewer) < FEWEST_FRAMES:
            break
        places = fewer
    return [trees[i] for i in places], frames.take(places)


def _frames_entry(frames: Frames | None) -> dict:
    """The frames as plain values."""
    if frames is None:
        return {"kind": None}
    scores = frames.scores
    return {
        "kind": frames.kind,
        "name": frames.name,
        "values": [plain_number(value) for value in frames.values],
        "labels": list(frames.labels),
        "scores": None if scores is None else [plain_number(s) for s in scores],
        "score_label": frames.score_label,
        "chosen": int(frames.chosen),
    }
