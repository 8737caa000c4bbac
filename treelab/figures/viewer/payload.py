"""What the tree viewer is given: nodes, rows, frames, as plain data."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, isfinite, log10
from typing import Any

import numpy as np
import pandas as pd

from treelab.figures.style import class_colors, even_edges
from treelab.trees.colors import OTHER, ValueScale, class_fractions
from treelab.trees.dates import days_text
from treelab.trees.feature import Feature, as_table, feature_matrix
from treelab.trees.leaf_codes import RowsAt
from treelab.trees.text import (
    CategoryCondition,
    bound_text,
    cell_text,
    has_scores,
    left_categories,
    number_text,
    output_texts,
    path_values,
    prediction_text,
    predicts_times,
    rare_apart,
    score_numbers,
    shown_threshold,
    split_condition,
    split_text,
    term_name,
    value_word,
    written_terms,
)
from treelab.trees.tree import (
    OBLIQUE,
    Tree,
    check_target,
    leaf_of,
    read_features,
    weighted_sums,
    with_leaves,
)
from treelab.trees.words import (
    clean,
    counted,
    percent,
    rounded,
    short,
    short_names,
    short_time,
    with_unit,
)

# Names of nodes that stay while a tree changes: the path from the root.


def keys(tree: Tree) -> list[str]:
    """Return each node's path from the root: "0" is left, "1" right, the root "".

    A node that stays where it is keeps its key while the tree around it changes.
    """
    found = [""] * tree.n_nodes
    for node in tree.depth_first[1:].tolist():  # a parent's key is known before
        parent = tree.parent[node]
        found[node] = f"{found[parent]}{int(tree.right[parent] == node)}"
    return found


def node_at(tree: Tree, key: str) -> int | None:
    """Return the node that a key leads to; None where the tree has none there."""
    node = 0
    for side in key:
        if side not in "01" or tree.left[node] < 0:
            return None
        node = int(tree.left[node] if side == "0" else tree.right[node])
    return node


# How names and numbers are written for the viewer, and how fully.


NAME_LENGTH = 80  # letters of a name in the legend or on an axis


@dataclass(frozen=True)
class Wording:
    """How fully a node is written."""

    length: int  # letters of a feature's or category's name before it is cut
    listed: int  # categories in a condition
    left: int  # categories that are named as going left
    terms: int  # features of a weighted sum


# From the fullest to the briefest: what a larger tree has room for.
WORDINGS = (
    Wording(NAME_LENGTH, 20, 40, 12),
    Wording(32, 12, 20, 8),
    Wording(24, 6, 12, 5),
)


def brief_name(feature: Feature, length: int, number: str = "") -> str:
    """Return a feature's name on a card; † stands for the score of a category.

    A note lists the scores; see ``sum_notes``, and for their numbers ``score_numbers``.
    """
    if has_scores(feature):
        return f"{short(feature.column, length)}†{number}"
    return term_name(feature, length)


def plain_number(value: float | None) -> float | None:
    """Return a number of six significant digits that JSON can hold; None for others."""
    if value is None or not isfinite(value):
        return None
    return float(f"{float(value):.6g}")


# Histograms of the rows at a node, small enough to travel to a browser.
#
# A split's threshold is always an edge between two bars, so that each bar lies wholly
# on one side of it, however few bars there are.


MOST_BINS = 24
MOST_CATEGORIES = 12
_NAME_LENGTH = 40  # letters of a category's name
_TAIL = 0.005  # share of the rows at each end that may be gathered in the last bar
_LONG_TAIL = 1.5  # how much shorter an axis must become for that


def number_bins(
    x: np.ndarray,
    code: np.ndarray,
    n_codes: int,
    threshold: float | None,
    most: int = MOST_BINS,
) -> dict | None:
    """Count numbers, none missing, by bin and class code; None without a finite one.

    There are at most ``most`` bars. The threshold becomes an edge of one, unless it is
    infinite; a row on it counts as below. Few different values have a bar each. Found
    are ``edges`` (k + 1), ``counts`` (k lists of n_codes) and ``open``, whether the
    first and the last bar hold what lies beyond their edges as well.
    """
    finite = np.isfinite(x)
    x, code = x[finite], code[finite]
    if not len(x):
        return None
    if threshold is not None and not isfinite(threshold):
        threshold = None
    ordered = np.sort(x)
    values = ordered[np.concatenate([[True], ordered[1:] > ordered[:-1]])]
    if len(values) <= most:
        edges = _edges_of_values(values, threshold)
    else:
        edges = _even_edges(ordered, threshold, most)
    return bars_between(edges, x, code, n_codes)


def category_bars(
    names: Sequence[str],
    left: np.ndarray,
    category: np.ndarray,
    code: np.ndarray,
    n_codes: int,
) -> dict | None:
    """Count categories by class code, those that go left first; None without rows.

    Found are ``categories`` (names of the bars), ``left`` (their sides) and ``counts``
    (k lists of n_codes), the most frequent first on each side; of more than
    ``MOST_CATEGORIES`` the rarer ones of each side together. Of each category there are
    its name, and whether it goes left; of each row its category and code, (n_rows,).
    """
    if not len(category):
        return None
    table = np.bincount(category * n_codes + code, minlength=len(names) * n_codes)
    table = table.reshape(len(names), n_codes)
    total = table.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0]
    n_own = MOST_CATEGORIES - 2
    shown = order if len(order) <= MOST_CATEGORIES else order[:n_own]
    rest = order[len(shown) :]
    bars: list[tuple] = []
    known = short_names(tuple(names), _NAME_LENGTH)
    for side in (True, False):
        here, more = (own[left[own] == side] for own in (shown, rest))
        bars += [(known[names[c]], side, table[c].tolist()) for c in here]
        if len(more):
            total = table[more].sum(axis=0).tolist()
            bars.append((counted(len(more), "more", "more"), side, total))
    return dict(zip(("categories", "left", "counts"), map(list, zip(*bars))))


def shared_edges(x: np.ndarray, n_bars: int) -> np.ndarray:
    """Return edges of ``n_bars`` even bars that hold almost all of ``x``."""
    return even_edges(*_range(np.sort(x)), n_bars)


def bars_between(
    edges: np.ndarray, x: np.ndarray, code: np.ndarray, n_codes: int
) -> dict:
    """Count numbers by bar and class; the ends hold what lies beyond, too.

    Bars are closed on the right, as a split is: x <= threshold goes left.
    """
    n_bars = len(edges) - 1
    bar = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, n_bars - 1)
    counts = np.bincount(bar * n_codes + code, minlength=n_bars * n_codes)
    return {
        "edges": rounded_edges(edges),
        "counts": counts.reshape(n_bars, n_codes).tolist(),
        "open": [bool((x < edges[0]).any()), bool((x > edges[-1]).any())],
    }


def rounded_edges(edges: np.ndarray) -> list[float]:
    """Round edges so that they differ, however far from zero they lie."""
    span = float(edges[-1] - edges[0])
    if not (isfinite(span) and span > 0):
        return edges.tolist()
    decimals = 5 - floor(log10(span))
    if abs(decimals) > 300:
        return edges.tolist()
    few_digits = np.round(edges, decimals)
    return (few_digits if np.all(np.diff(few_digits) > 0) else edges).tolist()


def _edges_of_values(values: np.ndarray, threshold: float | None) -> np.ndarray:
    """Edges midway between neighbouring values; the threshold takes its gap."""
    gaps = np.diff(values)
    if len(gaps) == 0:
        gaps = np.array([abs(float(values[0])) * 0.1 or 1.0])
    edges = np.empty(len(values) + 1)
    middle = values[:-1] + np.diff(values) / 2
    edges[1:-1] = np.where(middle < values[1:], middle, values[:-1])
    edges[0] = min(values[0] - gaps[0] / 2, np.nextafter(values[0], -np.inf))
    edges[-1] = values[-1] + gaps[-1] / 2
    if threshold is None:
        return edges
    below = int(np.searchsorted(values, threshold, side="right"))  # values that go left
    if threshold < edges[0]:
        return np.concatenate([[threshold], edges])
    if threshold > edges[-1]:
        return np.concatenate([edges, [threshold]])
    edges[below] = threshold
    return edges


def _even_edges(x: np.ndarray, threshold: float | None, most: int) -> np.ndarray:
    """Edges of even bars; those left and right of the threshold differ a little."""
    low, high = _range(x)
    # Rice's rule: twice the cube root of the number of rows.
    n_bars = int(np.clip(np.ceil(2 * len(x) ** (1 / 3)), min(6, most), most))
    if threshold is None:
        return np.linspace(low, high, n_bars + 1)
    # A side with rows has a bar, even where they all lie on the threshold's value or
    # beyond the shortened axis.
    step = (high - low) / n_bars
    low = min(low, threshold - step if x[0] <= threshold <= low else threshold)
    high = max(high, threshold + step if high <= threshold < x[-1] else threshold)
    n_left = round(n_bars * (threshold - low) / (high - low))
    n_left = min(max(n_left, int(threshold > low)), n_bars - int(threshold < high))
    left = np.linspace(low, threshold, n_left + 1)
    right = np.linspace(threshold, high, n_bars - n_left + 1)
    return np.unique(np.concatenate([left, right]))


def _range(x: np.ndarray) -> tuple[float, float]:
    """Ends of an axis of ordered numbers: of all, or without long, thin tails."""
    low, high = float(x[0]), float(x[-1])
    inner_low, inner_high = (_quantile(x, share) for share in (_TAIL, 1 - _TAIL))
    if 0 < inner_high - inner_low < (high - low) / _LONG_TAIL:
        return inner_low, inner_high
    return low, high


def _quantile(x: np.ndarray, share: float) -> float:
    """Return numpy's quantile of ordered numbers, without its checks."""
    place = share * (len(x) - 1)
    first = floor(place)
    low, high = float(x[first]), float(x[min(first + 1, len(x) - 1)])
    return low + (high - low) * (place - first)


# The decision path of a row in the viewer.


# Colours as CSS writes them, apart from each other on either background.
FIRST_PATH, SECOND_PATH = "var(--path-one)", "var(--path-two)"


@dataclass(frozen=True)
class RowPath:
    """The decision path of a row that is followed through a tree."""

    label: str  # what the row is called
    color: str  # colour of its path, as CSS writes it: FIRST_PATH or SECOND_PATH
    # Keys of the nodes it passes, root first.
    keys: list[str] = field(default_factory=list)
    # The row's value at each of these splits: "petal width is 0.2 cm".
    values: dict[str, str] = field(default_factory=dict)


def row_path(
    tree: Tree, row: pd.DataFrame, label: str, color: str = FIRST_PATH
) -> RowPath:
    """Follow one row, called by the label, through a tree; its path has the colour."""
    path, key, values = tree.path(row), keys(tree), {}
    for node, value in zip(path, path_values(tree, row)):
        name = "the sum"
        if tree.feature[node] != OBLIQUE:
            name = short(tree.features[tree.feature[node]].column, NAME_LENGTH)
        values[key[node]] = f"{name} is {value}"
    return RowPath(clean(label), color, [key[node] for node in path], values)


# The viewer's legend: colours of the classes, or the scale of the predictions.


MOST_CLASSES = 8  # with a colour of their own; of more, the last stands for the rest


def class_entries(
    tree: Tree, codes: np.ndarray, colors: Mapping | None
) -> tuple[list[dict], np.ndarray | None]:
    """Return the viewer's legend, and each class's place in it, (n_classes,).

    The legend has ``label`` and ``color``, the most frequent first; the rarest of more
    than eight together, marked ``other``. Empty, and None, for regression. ``codes``
    (n_rows,) are the classes of some rows; colours are hex, by label.
    """
    if tree.classes is None:
        return [], None
    if colors is None:
        seen = np.bincount(codes, minlength=len(tree.classes))
        if not len(codes):
            seen = class_fractions(tree, 0)
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
    """Return the ends of the scale of values, and which are cut; None for classes."""
    if trees[0].classes is not None:
        return None
    scale = ValueScale.of(trees)
    cut = {"below": scale.is_cut_below, "above": scale.is_cut_above}
    ends = {"low": plain_number(scale.low), "high": plain_number(scale.high)}
    return ends | {side: True for side, is_cut in cut.items() if is_cut}


def output_entries(trees: Sequence[Tree]) -> list[dict]:
    """Return name, lowest and highest prediction of several outputs; [] for one.

    Quantiles of one target have one scale.
    """
    values = np.concatenate([tree.value[tree.is_leaf] for tree in trees])
    low, high = values.min(axis=0), values.max(axis=0)
    if trees[0].levels:
        low[:], high[:] = low.min(), high.max()
    ends = zip(trees[0].outputs, low.tolist(), high.tolist())
    return [{"name": short(n, NAME_LENGTH), "low": a, "high": b} for n, a, b in ends]


# Sentences below the picture of a tree, made from its rows.


MOST_COLUMNS = 8  # that a sentence names
MOST_NOTED_CATEGORIES = 12  # of a column, with their scores
CATEGORY_LENGTH = 30  # letters


def sum_notes(trees, X) -> list[str]:
    """Return what one must know to add up the sums of some trees by hand.

    Such as "† counts by its category: sex Female 0.11, Male 0.31." and "In a sum, a
    missing value counts as: age 38; bmi 24.1." Empty where sums need neither. All trees
    have the same features. Of missing values, only what one of the rows that are shown
    misses is worth a word.
    """
    features = trees[0].features
    read_by = [
        (tree.weights != 0).any(axis=0) for tree in trees if tree.weights is not None
    ]
    if not read_by:
        return []
    used = np.flatnonzero(np.any(read_by, axis=0))
    numbers = score_numbers(features)
    scored = [_scores(features[j], numbers[j]) for j in used if has_scores(features[j])]
    filled = []
    matrix = np.zeros((0, len(features)))
    if X is not None:
        matrix = feature_matrix(features, X, used)
    for j in (j for j in used if np.isnan(matrix[:, j]).any()):
        own = features[j]
        value = with_unit(rounded(own.fill), own.unit)
        value = cell_text(own, own.fill) if own.is_date or own.is_clock else value
        filled.append(f"{brief_name(own, NAME_LENGTH, numbers[j])} {value}")
    return [
        *_listed("† counts by its category: ", scored),
        *_listed("In a sum, a missing value counts as: ", filled),
    ]


def _scores(feature, number: str) -> str:
    """Write the scores of a column's categories, the lowest first."""
    order = np.argsort(feature.scores, kind="stable")
    known = short_names(feature.categories, CATEGORY_LENGTH)
    shown = [
        f"“{known[feature.categories[i]]}” {rounded(feature.scores[i])}"
        for i in order[:MOST_NOTED_CATEGORIES]
    ]
    if len(order) > MOST_NOTED_CATEGORIES:
        shown.append(f"{len(order) - MOST_NOTED_CATEGORIES} more")
    name = brief_name(feature, NAME_LENGTH, number)
    return f"{name if number else name[:-1]} {', '.join(shown)}"


def _listed(start: str, words: list[str]) -> list[str]:
    """Return a sentence that lists something of each column; none without any."""
    words = list(dict.fromkeys(words))  # features of one column may be called alike
    shown = words[:MOST_COLUMNS]
    if len(words) > MOST_COLUMNS:
        shown.append(counted(len(words) - MOST_COLUMNS, "more column"))
    return [f"{start}{'; '.join(shown)}."] if words else []


# The nodes of one tree as the viewer in the browser reads them.


class TreeWriter:
    """One tree and the rows that are shown in it.

    Rows are (X, y, weight); X is None: the tree has the numbers that were stored with
    it. ``fold`` (n_classes,) are the places in the viewer's legend of the classes of
    the tree; ``target_edges`` those of the bars that count the target of a regression.
    ``columns`` are codes and names of category columns read so far, shared by the trees
    of one picture.
    """

    def __init__(self, tree: Tree, rows: tuple, fold, target_edges, columns: dict):
        self.tree = tree
        X, y, weight = rows
        if X is None:
            self.matrix, y = np.empty((0, len(tree.features))), ()
        else:
            self.X = as_table(tree.features, X)
            self.matrix = read_features(tree, X)
        self.leaf = leaf_of(tree, self.matrix)
        self.y = check_target(tree, len(self.leaf), y)
        if X is not None:
            self.tree = with_leaves(tree, self.matrix, self.leaf, self.y, weight)
        if self.y.ndim == 2:  # what stands for all where one target alone is drawn
            self.y = self.y[:, tree.main_output]
        self.rows_at = RowsAt(self.tree, self.leaf)
        self.fold = fold
        self.n_codes = 1 if fold is None else int(fold.max()) + 1
        # What bars are counted by: the class's place in the legend, or nothing.
        plain = np.zeros(len(self.leaf), dtype=np.int64)
        self.code = plain if fold is None else fold[self.y]
        self.target_edges = target_edges
        self._columns = columns

    def nodes(self, most: int, wording: Wording = WORDINGS[0]) -> list[dict]:
        """Write the nodes, parents first, without the histograms of splits.

        Of a tree of more than ``most`` those that the most rows pass. Where a split's
        children are left out, ``hidden`` counts what hangs below.
        """
        is_written = self._is_written(most)
        shown = [int(n) for n in self.rows_at.nodes if is_written[n]]
        place = {node: i for i, node in enumerate(shown)}
        key = keys(self.tree)
        written = []
        for node in shown:
            parent = int(self.tree.parent[node])
            entry = {"key": key[node], "id": node, "parent": place.get(parent, -1)}
            entry |= self._facts(node, wording)
            if self.tree.is_leaf[node]:
                entry |= self._leaf(node, wording)
            else:
                entry |= self._split(node, wording)
                if not is_written[self.tree.left[node]]:
                    entry["hidden"] = self.rows_at.below(node)
            written.append({k: v for k, v in entry.items() if v is not None})
        return written

    def _is_written(self, most: int) -> np.ndarray:
        """Whether each node is written, bool (n_nodes,)."""
        tree = self.tree
        is_written = np.ones(tree.n_nodes, dtype=bool)
        if tree.n_nodes <= most:
            return is_written
        # No child has more rows than its parent, and of equals the parent comes first:
        # the parent of each split that is left in this list is in it, too.
        order = self.rows_at.nodes
        order = order[~tree.is_leaf[order]]
        order = order[np.argsort(-tree.n_rows[order], kind="stable")]
        is_written[:] = False
        is_written[0] = True
        for children in (tree.left, tree.right):
            is_written[children[order[: (most - 1) // 2]]] = True
        return is_written

    def histogram(self, node: int, n_bars: int) -> dict:
        """Return what a split's histogram adds to its node; {} where it has no rows."""
        tree, rows = self.tree, self.rows_at[node]
        if not len(rows):
            return {}
        j, threshold = int(tree.feature[node]), float(tree.threshold[node])
        if j == OBLIQUE:
            x = weighted_sums(tree, self.matrix[rows], np.array([node]))[0]
        else:
            x = self.matrix[rows, j]
            known = ~np.isnan(x)
            rows, x = rows[known], x[known]
            if tree.features[j].kind == "category":
                hist = self._category_bars(node, rows)
                return {"hist": hist} if hist else {}
        hist = number_bins(x, self.code[rows], self.n_codes, threshold, n_bars)
        if hist is None:
            return {}
        if j != OBLIQUE and tree.features[j].is_date:
            ends = hist["edges"][0], hist["edges"][-1]
            hist["ends"] = [days_text(end) for end in ends]
        elif j != OBLIQUE and tree.features[j].is_clock:
            hist["ends"] = [short_time(hist["edges"][end]) for end in (0, -1)]
        if not isfinite(threshold):
            return {"hist": hist}
        # The very number that stands among the edges.
        shown = min(hist["edges"], key=lambda edge: abs(edge - threshold))
        return {"hist": hist, "threshold": shown}

    def _facts(self, node: int, wording: Wording) -> dict:
        """What any node has: its rows, their impurity and their targets."""
        tree = self.tree
        n_rows, total = int(tree.n_rows[node]), int(tree.n_rows[0])
        weight, activity = (
            None if own is None else plain_number(own[node])
            for own in (tree.weight, tree.activity)
        )
        facts: dict[str, Any] = {
            "rows": n_rows,
            "weight": weight,
            "share": plain_number(n_rows / total if total else 0.0),
            "impurity": plain_number(tree.impurity[node]) if n_rows else None,
            "gain": plain_number(split_gain(tree, node)),
            "activity": activity,
        }
        if tree.classes is None:
            facts["mean"] = plain_number(tree.value[node, tree.main_output])
            if tree.outputs:
                facts["outputs"] = [
                    [plain_number(own), text]
                    for own, text in zip(tree.value[node], output_texts(tree, node))
                ]
            level = tree.interval_fraction
            if level is not None and not self._is_linear(node):
                ends = tree.value[node, [0, -1]]
                if tree.interval is not None:
                    ends = tree.ends(np.array([node]), tree.value[[node], 0])[0]
                facts["interval"] = [percent(level), *map(plain_number, ends.tolist())]
            if n_rows and (tree.levels or not tree.outputs):
                facts["std"] = plain_number(np.sqrt(tree.impurity[node]))
            if len(rows := self.rows_at[node]):
                own = self.y[rows], self.code[rows]
                facts["target_hist"] = bars_between(self.target_edges, *own, 1)
            return facts
        best = int(tree.predicted_class[node])
        chance = tree.value[node]
        counts = chance
        if n_rows and tree.class_counts is not None:
            counts = tree.class_counts[node]
        folded = np.bincount(self.fold, counts, minlength=self.n_codes)
        facts["shares"] = [*map(plain_number, folded / max(folded.sum(), 1e-300))]
        labels = tuple(map(str, tree.classes))
        name = short_names(labels, wording.length)
        facts["class"] = int(self.fold[best])  # its place in the legend
        facts["prediction"] = name[labels[best]]
        facts["confidence"] = plain_number(chance[best])
        most = int(chance.argmax())
        if chance[most] > chance[best]:
            facts["likeliest"] = [name[labels[most]], plain_number(chance[most])]
        return facts

    def _leaf(self, node: int, wording: Wording) -> dict:
        """A leaf's prediction, where that is no class."""
        tree = self.tree
        if tree.classes is not None:
            return {}
        text = prediction_text(tree, node, most=wording.terms, length=wording.length)
        return {"formula" if self._is_linear(node) else "prediction": text}

    def _is_linear(self, node: int) -> bool:
        """Whether a node predicts by a linear model."""
        weights = self.tree.leaf_weights
        return weights is not None and bool(weights[node].any())

    def _split(self, node: int, wording: Wording) -> dict:
        """A split's condition, and what decides at it."""
        tree = self.tree
        j, threshold = int(tree.feature[node]), float(tree.threshold[node])
        most = wording.terms if j == OBLIQUE else wording.listed
        text = split_text(tree, node, most=most, length=wording.length, missing=False)
        entry: dict[str, Any] = {"condition": text}
        if tree.classes is None:
            entry["prediction"] = number_text(tree, node)
        if j == OBLIQUE:
            entry["weights"] = self._weights(node, wording)
            entry["threshold"] = plain_number(threshold)
            entry["bound"] = bound_text(tree, node)
            return entry
        entry["column"] = j
        missing = int(np.isnan(self.matrix[self.rows_at[node], j]).sum())
        ever = tree.missing_rows is not None and tree.missing_rows[node] > 0
        if missing or ever:
            entry["missing"] = "left" if tree.missing_left[node] else "right"
            entry["missing_rows"] = missing
        if tree.features[j].kind == "category":
            entry["left_categories"] = self._left(node, wording)
        else:
            entry["threshold"] = threshold if isfinite(threshold) else None
            if tree.features[j].is_date and isfinite(threshold):
                entry["bound"] = shown_threshold(tree, node)
        return entry

    def _weights(self, node: int, wording: Wording) -> list[list]:
        """The terms of an oblique split: each feature's name, weight, share and size.

        The size is the weight without its sign, as it is written.
        """
        tree = self.tree
        assert tree.weights is not None  # as of every tree with an oblique split
        terms = written_terms(tree.features, tree.weights[node])
        shown = terms[: wording.terms]
        entries: list[list] = [
            [
                brief_name(term.feature, wording.length, term.number),
                plain_number(term.weight),
                plain_number(term.fraction),
                term.size,
            ]
            for term in shown
        ]
        if rest := len(terms) - len(shown):
            remaining = max(0.0, 1 - sum(term.fraction for term in shown))
            entries.append(
                [counted(rest, "other feature"), None, plain_number(remaining)]
            )
        return entries

    def _left(self, node: int, wording: Wording) -> list[str]:
        """The categories that go left; a long list ends in how many more there are."""
        feature = self.tree.features[self.tree.feature[node]]
        own, rare = rare_apart(feature, left_categories(self.tree, node))
        known = short_names(feature.categories, wording.length)
        names = [*(known[name] for name in own), *rare]
        shown = names[: wording.left]
        more = len(names) - len(shown)
        return [*shown, f"{more} more"] if more else shown

    def _category_bars(self, node: int, rows: np.ndarray) -> dict | None:
        """Bars of a category column at some rows, none of which misses it."""
        feature = self.tree.features[self.tree.feature[node]]
        codes, names = self._category_codes(feature)
        side = split_condition(self.tree, node)
        assert isinstance(side, CategoryCondition)
        known = set(feature.categories)
        left = np.array(
            [name in side.allowed if name in known else side.new for name in names]
        )
        return category_bars(names, left, codes[rows], self.code[rows], self.n_codes)

    def _category_codes(self, feature: Feature) -> tuple[np.ndarray, list[str]]:
        """A column's categories: the code of each row, and the name of each code."""
        column = feature.column
        if column not in self._columns:
            codes, values = pd.factorize(feature.read(self.X[column]))
            self._columns[column] = codes, list(values)
        return self._columns[column]


def split_gain(tree: Tree, node: int) -> float | None:
    """Return how far a split lowers the impurity of its rows; None for a leaf.

    In units of the impurity: of the node, less that of its children weighted by their
    rows. None, too, where no row passes or impurities are not known.
    """
    children = tree.left[node], tree.right[node]
    if children[0] < 0 or tree.n_rows[node] == 0:
        return None
    known = [child for child in children if tree.n_rows[child]]
    below = sum(tree.mass[child] * tree.impurity[child] for child in known)
    return float(tree.impurity[node] - below / tree.mass[node])


def tested_features(trees: Sequence[Tree]) -> dict[str, dict]:
    """Name the features that splits test, by their index."""
    features = trees[0].features
    used = np.unique(np.concatenate([tree.feature for tree in trees]))
    return {
        str(j): {
            "name": short(features[j].column, NAME_LENGTH),
            "unit": clean(features[j].unit),
            "kind": features[j].kind,
        }
        for j in used
        if j >= 0
    }


# Several trees in one picture, a frame each: epochs or steps of a pruning path.


MOST_NODES = 3_000  # of all frames together
FEWEST_FRAMES = 8  # that stay; of their trees, only what many rows pass is written


@dataclass(frozen=True)
class Frames:
    """What the trees of one picture stand for, one a frame."""

    kind: str  # "epoch", "lambda", "leaves" or "alpha"
    name: str  # the scrubber's name
    # Epoch, pruning strength or number of leaves of each frame, in order.
    values: Sequence[float]
    labels: Sequence[str]  # what is written beside the scrubber
    chosen: int  # the frame that is shown first
    scores: Sequence[float] | None = None  # score of each frame's tree
    score_label: str = ""  # which score on which rows: "macro F1 · validation"
    # Frames that the scrubber marks, each with the words for it.
    marks: Sequence[tuple[int, str]] = ()
    # Of these frames among those that they were taken from.
    places: Sequence[int] = ()

    def take(self, places: Sequence[int]) -> "Frames":
        """Return the frames at some places; those that stay must be among them."""
        places = list(places)
        return replace(
            self,
            values=[self.values[i] for i in places],
            labels=[self.labels[i] for i in places],
            chosen=places.index(self.chosen),
            scores=None if self.scores is None else [self.scores[i] for i in places],
            marks=[(places.index(i), words) for i, words in self.marks],
            places=places,
        )

    def to_dict(self) -> dict:
        """Return the frames as plain values, without their trees."""
        scores = self.scores
        return vars(self) | {
            "values": [plain_number(value) for value in self.values],
            "labels": list(self.labels),
            "scores": None if scores is None else [plain_number(s) for s in scores],
            "chosen": int(self.chosen),
            "marks": [[int(i), words] for i, words in self.marks],
            "places": list(self.places),
        }


def thinned(trees: Sequence[Tree], frames: Frames) -> tuple[list[Tree], Frames]:
    """Leave out frames where all trees together have too many nodes.

    Of epochs every other one; of sizes every other one of the larger half, where a leaf
    more or less is seen least.
    """
    places = list(range(len(trees)))
    stay = {0, len(trees) - 1, frames.chosen, *(i for i, _ in frames.marks)}
    while sum(trees[i].n_nodes for i in places) > MOST_NODES:
        large = places
        if frames.kind != "epoch":
            large = sorted(places, key=lambda i: trees[i].n_nodes)[len(places) // 2 :]
        fewer = sorted({*places} - ({*sorted(large)[1::2]} - stay))
        if len(fewer) < FEWEST_FRAMES or len(fewer) == len(places):
            break
        places = fewer
    return [trees[i] for i in places], frames.take(places)


# The payload of the tree viewer in the browser: trees, rows, colours as plain values.
#
# The server makes the histograms, so the payload does not grow with the table. It stays
# under ``MOST_BYTES``, for which large trees are written more briefly, in this order:
# histograms have fewer bars; only splits that many rows pass have one; names are cut
# and lists are short; nodes that few rows pass are only counted; frames are left out,
# evenly.


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
_EDGE_BYTES = 16  # at the most, of a bar's edge, or name, and its punctuation


def tree_payload(
    trees: Tree | Sequence[Tree],
    X=None,
    y=None,
    weight=None,
    *,
    title: str = "",
    split: str = "train",
    colors: Mapping | None = None,
    frames: Frames | None = None,
) -> dict:
    """Return all that the viewer draws and that stays while nothing else is shown.

    Plain values; ``json.dumps`` of it with ``view_settings`` is what the viewer reads.
    Null values of nodes are left out.

    Several trees, one a frame, have the same features and classes, and ``frames`` say
    what each stands for. The picture counts the rows of ``X`` with their labels, or
    values of the target; without them the tree's own counts are shown, and no
    histograms. ``split`` is which rows of the table these are, "train", "valid", "test"
    or "train+valid"; colours are hex, by class, the most frequent first, by default by
    frequency in ``y``. ValueError if there is no tree, trees and frames differ in
    number, or ``X`` and ``y`` do not fit the trees.
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
        place = tree.main_output
        everything = values[:, place] if values.ndim == 2 else values
        if not len(everything):
            everything = tree.value[tree.is_leaf, place]
        edges = shared_edges(everything, TARGET_BARS)
    columns: dict = {}
    writers = [TreeWriter(each, (X, y, weight), fold, edges, columns) for each in shown]
    nodes = _written_nodes(writers)
    n_rows = int(writers[0].tree.n_rows[0])
    notes = sum_notes(shown, X)
    payload = {
        "version": VERSION,
        "title": clean(title),
        "task": tree.task,
        "target": {
            "name": short(tree.target, NAME_LENGTH),
            "unit": "" if predicts_times(tree) else clean(tree.target_unit),
            "value": value_word(tree),
            **({"times": True} if predicts_times(tree) else {}),
        },
        "classes": entries,
        "scale": value_scale(shown),
        "outputs": output_entries(shown),
        "main": tree.main_output,
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
    frame: int | None = None,
    marked: Sequence[str] | None = None,
    **options,
) -> dict:
    """Return what changes while the same trees are shown.

    At most two rows are followed on their paths. ``flow`` has the ``class`` whose rows
    colour nodes and edges, which else are coloured by prediction. ``select`` has
    ``key`` and ``version`` of a node that is selected from outside; the viewer selects
    it once for each version. The ``scale``, as of ``value_scale``, is that of several
    pictures whose colours compare, instead of the payload's own. ``frame`` is shown
    first and the one that rows are followed in, by default the chosen one. ``marked``
    are the keys of the splits that another tree beside this one does not have.

    Options: direction, depth, height (pixels of the picture) or total (of everything),
    live, controls, compact, heading (whether the title stands above the picture),
    leaves_apart (whether leaves of one class are drawn one by one).
    """
    settings = {
        "paths": [vars(path) for path in paths],
        "flow": flow,
        "select": select,
        "frame": frame,
        "options": options,
    }
    given = {"scale": scale, "marked": marked}
    return settings | {name: own for name, own in given.items() if own is not None}


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
    for _, _, frame, place in splits:
        entry = nodes[frame][place]
        histogram = writers[frame].histogram(entry["id"], n_bars)
        room -= len(to_json(histogram).encode())
        if room < 0:
            return
        entry |= histogram


# Many trees of one run as small pictures, of which one at a time is drawn.


MOST_LEAVES = 8  # that are drawn of a tree; of more, those below most rows
_WORDING = Wording(length=20, listed=3, left=1, terms=3)
# What only the tips of nodes say, which a small picture does not have.
_LEFT_OUT = ("impurity", "gain", "column", "left_categories", "threshold", "std")


def small_trees(
    trees: Sequence[Tree], *, split: str = "train", colors: Mapping | None = None
) -> dict:
    """Return a payload with all trees, each cut where few rows go.

    They have the same features and classes, and there is one at least. Unlike
    ``tree_payload``, whose ``split`` and colours these are, it has no frames: who draws
    it takes one of ``trees``.
    """
    first = replace(trees[0], notes=())
    payload = tree_payload(first, split=split, colors=colors)
    _, fold = class_entries(first, check_target(first, 0, ()), colors)
    writers = [TreeWriter(tree, (None, None, None), fold, None, {}) for tree in trees]
    written = [writer.nodes(2 * MOST_LEAVES - 1, _WORDING) for writer in writers]
    for node in (node for nodes in written for node in nodes):
        for name in _LEFT_OUT:
            node.pop(name, None)
    payload["trees"] = [{"nodes": nodes, "notes": []} for nodes in written]
    return payload | {"axis": {}, "scale": value_scale(trees)}
