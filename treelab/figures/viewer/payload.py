"""The payload of the tree viewer in the browser: trees, rows, colours as plain values.

The server makes the histograms, so the payload does not grow with the table. It stays
under ``MOST_BYTES``, for which large trees are written more briefly, in this order:
histograms have fewer bars; only splits that many rows pass have one; names are cut and
lists are short; nodes that few rows pass are only counted; frames are left out, evenly.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from treelab.figures.viewer.bins import MOST_BINS, shared_edges
from treelab.figures.viewer.frames import MOST_NODES, Frames, thinned
from treelab.figures.viewer.legend import class_entries, value_scale
from treelab.figures.viewer.notes import sum_notes
from treelab.figures.viewer.rows import RowPath
from treelab.figures.viewer.tree_writer import TreeWriter, tested_features
from treelab.figures.viewer.wording import NAME_LENGTH, WORDINGS
from treelab.trees.statistics import check_target
from treelab.trees.text.names import clean, short
from treelab.trees.tree import Tree

VERSION = 2
ROWS_LABELS = {
    "train": "training rows",
    "train+valid": "training and validation rows",
    "valid": "validation rows",
    "test": "test rows",
}
MOST_BYTES = 1_000_000
MOST_WORDS = 0.7  # share of the bytes that may go into nodes without histograms
TARGET_BARS = 12
BARS = (MOST_BINS, 12, 8)  # of a histogram, as room allows
_TOGETHER = 64  # histograms that are measured at once
_EDGE_BYTES = 16  # at the most, of a bar's edge, or name, and its punctuation


def tree_payload(
    trees: Tree | Sequence[Tree],
    X=None,
    y=None,
    *,
    title: str = "",
    split: str = "train",
    colors: Mapping | None = None,
    frames: Frames | None = None,
    notes: Iterable[str] = (),
) -> dict:
    """Return all that the viewer draws and that stays while nothing else is shown.

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
    split : {"train", "valid", "test", "train+valid"}, default="train"
        Which rows of the table these are.
    colors : mapping of label to hex colour, or None, default=None
        The most frequent class first; None: by frequency in ``y``.
    frames : Frames or None, default=None
        What each tree stands for, where there are several.
    notes : iterable of str, default=()
        Sentences shown with the tree, besides its own.

    Returns
    -------
    dict
        Of plain values; ``json.dumps`` of it with ``view_settings`` is what the viewer
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
        shown, frames = thinned(shown, frames)
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
        "rows": {"split": split, "label": ROWS_LABELS[split], "total": n_rows},
        "axis": tested_features(shown),
        "frames": {"kind": None} if frames is None else frames.to_dict(),
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


def view_settings(
    *,
    paths: Iterable[RowPath] = (),
    flow: dict | None = None,
    select: dict | None = None,
    scale: dict | None = None,
    **options,
) -> dict:
    """Return what changes while the same trees are shown.

    Parameters
    ----------
    paths : iterable of RowPath
        At most two rows that are followed.
    flow : dict or None
        Where a class's flow is shown; see ``class_flow``.
    select : dict or None
        ``key`` and ``version``: a node that is selected from outside; the viewer
        selects it once for each version.
    scale : dict or None
        As of ``value_scale``: that of several pictures whose colours compare, instead
        of the payload's own.
    **options
        direction, depth, height (pixels of the picture) or total (of everything),
        live, controls, compact, heading (whether the title stands above the picture),
        leaves_apart (whether leaves of one class are drawn one by one).
    """
    settings = {
        "paths": [vars(path) for path in paths],
        "flow": flow,
        "select": select,
        "options": options,
    }
    return settings if scale is None else settings | {"scale": scale}


def to_json(payload: dict | list) -> str:
    """Write a payload as compact JSON; numbers that JSON cannot hold are refused."""
    return json.dumps(
        payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )


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
        if "condition" in entry and entry["rows"]
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
