"""The nodes of one tree as the viewer in the browser reads them."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from treelab.figures.oblique import moves_and_shares
from treelab.figures.viewer.bins import (
    category_bars,
    counts_between,
    number_bins,
    rounded_edges,
)
from treelab.trees.feature import as_table
from treelab.trees.rows_at import RowsAt
from treelab.trees.statistics import check_target, with_leaves
from treelab.trees.text.conditions import add
from treelab.trees.text.names import clean, short, with_unit
from treelab.trees.text.nodes import left_categories, prediction_text, split_text
from treelab.trees.text.numerals import counted, rounded
from treelab.trees.text.sums import has_scores, term_name
from treelab.trees.walk import OBLIQUE, filled, leaf_of, read

NAME_LENGTH = 80  # letters of a name in the legend or on an axis


@dataclass(frozen=True)
class Wording:
    """How much a node says.

    Attributes
    ----------
    length : int
        Letters of a column's or category's name before it is cut.
    listed : int
        Categories in a question.
    left : int
        Categories that are named as going left.
    terms : int
        Columns of a weighted sum.
    """

    length: int
    listed: int
    left: int
    terms: int


# From the fullest to the briefest: what a larger tree has room for.
WORDINGS = (
    Wording(NAME_LENGTH, 20, 40, 12),
    Wording(32, 12, 20, 8),
    Wording(24, 6, 12, 5),
)


def keys(tree) -> list[str]:
    """Return each node's place as its way from the root: "0" is left, "1" right.

    A node that stays where it is keeps its key while the tree around it changes.
    """
    found = [""] * tree.n_nodes
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if tree.left[node] >= 0:
            for side, child in (("0", tree.left[node]), ("1", tree.right[node])):
                found[child] = found[node] + side
                waiting.append(int(child))
    return found


def node_at(tree, key: str) -> int | None:
    """Return the node that a key leads to; None where the tree has none there."""
    node = 0
    for side in key:
        if side not in "01" or tree.left[node] < 0:
            return None
        node = int(tree.left[node] if side == "0" else tree.right[node])
    return node


class TreeWriter:
    """One tree and the rows that are shown in it.

    Parameters
    ----------
    tree : Tree
    X : DataFrame of shape (n_rows, n_columns) or None
        Rows of the user's table; None: there are none at hand, and the tree keeps
        the numbers that it has.
    y : array-like of shape (n_rows,) or None
        Their labels, or values of the target.
    fold : int array of shape (n_classes,) or None
        Place in the viewer's legend of each class of the tree; None for regression.
    target_edges : float array or None
        Edges of the bars that count the target; None for classes.
    columns : dict
        Codes and names of category columns read so far; shared by the trees of one
        picture.
    """

    def __init__(self, tree, X, y, fold, target_edges, columns: dict):
        self.tree = tree
        if X is None:
            self.matrix, y = np.empty((0, len(tree.features))), ()
        else:
            self.X = as_table(tree.features, X)
            self.matrix = read(tree, self.X)
        self.leaf = leaf_of(tree, self.matrix)
        self.y = check_target(tree, len(self.leaf), y)
        if X is not None:
            self.tree = with_leaves(tree, self.matrix, self.leaf, self.y)
        self.rows_at = RowsAt(self.tree, self.leaf)
        self.fold = fold
        self.n_codes = 1 if fold is None else int(fold.max()) + 1
        # What bars are counted by: the class's place in the legend, or nothing.
        plain = np.zeros(len(self.leaf), dtype=np.int64)
        self.code = plain if fold is None else fold[self.y]
        self.target_edges = target_edges
        if target_edges is not None:
            self._shown_edges = rounded_edges(target_edges)
        self._columns = columns

    def nodes(self, most: int, wording: Wording = WORDINGS[0]) -> list[dict]:
        """Write the nodes, parents first, without the histograms of splits.

        Parameters
        ----------
        most : int
            Nodes to write; of a larger tree those that the most rows pass. Where a
            split's children are left out, ``hidden`` counts what hangs below.
        wording : Wording
        """
        kept = self._kept(most)
        shown = [int(n) for n in self.rows_at.nodes if kept[n]]
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
                if not kept[self.tree.left[node]]:
                    entry["hidden"] = self.rows_at.below(node)
            written.append({k: v for k, v in entry.items() if v is not None})
        return written

    def _kept(self, most: int) -> np.ndarray:
        """Tell which nodes are written, bool (n_nodes,)."""
        tree = self.tree
        kept = np.ones(tree.n_nodes, dtype=bool)
        if tree.n_nodes <= most:
            return kept
        # No child has more rows than its parent, and of equals the parent comes
        # first: whatever is cut off this list, each kept split's parent is kept.
        order = self.rows_at.nodes
        order = order[~tree.is_leaf[order]]
        order = order[np.argsort(-tree.n_rows[order], kind="stable")]
        kept[:] = False
        kept[0] = True
        for children in (tree.left, tree.right):
            kept[children[order[: (most - 1) // 2]]] = True
        return kept

    def histogram(self, node: int, n_bars: int) -> dict:
        """Return what a split's histogram adds to its node; {} where it has no rows."""
        tree, rows = self.tree, self.rows_at[node]
        if not len(rows):
            return {}
        j, threshold = int(tree.feature[node]), float(tree.threshold[node])
        if j == OBLIQUE:
            x, _ = self._projection(node)
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
        if not isfinite(threshold):
            return {"hist": hist}
        # The very number that stands among the edges.
        shown = min(hist["edges"], key=lambda edge: abs(edge - threshold))
        return {"hist": hist, "threshold": shown}

    def _facts(self, node: int, wording: Wording) -> dict:
        """What is known of any node: its rows and what they say."""
        tree = self.tree
        n_rows, total = int(tree.n_rows[node]), int(tree.n_rows[0])
        facts: dict[str, Any] = {
            "rows": n_rows,
            "share": plain_number(n_rows / total if total else 0.0),
            "impurity": plain_number(tree.impurity[node]) if n_rows else None,
            "gain": plain_number(gain(tree, node)),
            "activity": None
            if tree.activity is None
            else plain_number(tree.activity[node]),
        }
        if tree.classes is None:
            facts["mean"] = plain_number(tree.value[node, 0])
            if n_rows:
                facts["std"] = plain_number(np.sqrt(tree.impurity[node]))
            if len(rows := self.rows_at[node]):
                facts["target_hist"] = {
                    "edges": self._shown_edges,
                    "counts": counts_between(self.y[rows], self.target_edges),
                }
            return facts
        best = int(tree.value[node].argmax())
        known = n_rows and tree.class_counts is not None
        counts = tree.class_counts[node] if known else tree.value[node]
        folded = np.bincount(self.fold, counts, minlength=self.n_codes)
        facts["shares"] = [
            plain_number(share) for share in folded / max(folded.sum(), 1e-300)
        ]
        facts["answer"] = short(tree.classes[best], wording.length)
        facts["confidence"] = plain_number(tree.value[node, best])
        return facts

    def _leaf(self, node: int, wording: Wording) -> dict:
        """What a leaf tells, where that is no class."""
        tree = self.tree
        if tree.classes is not None:
            return {}
        said = prediction_text(tree, node, most=wording.terms, length=wording.length)
        linear = tree.leaf_weights is not None and tree.leaf_weights[node].any()
        return {"formula" if linear else "answer": said}

    def _split(self, node: int, wording: Wording) -> dict:
        """What a split asks."""
        tree = self.tree
        j, threshold = int(tree.feature[node]), float(tree.threshold[node])
        most = wording.terms if j == OBLIQUE else wording.listed
        asked = split_text(tree, node, most=most, length=wording.length, missing=False)
        entry: dict[str, Any] = {"question": asked}
        if tree.classes is None:
            entry["answer"] = with_unit(rounded(tree.value[node, 0]), tree.target_unit)
        if j == OBLIQUE:
            entry["weights"] = self._weights(node, wording)
            entry["threshold"] = plain_number(threshold)
            entry["bound"] = rounded(threshold)
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
        return entry

    def _projection(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """An oblique split's sums at its rows, and its columns' spreads there.

        Without rows the spreads are those of the training rows, where they are known.
        """
        tree = self.tree
        used = np.flatnonzero(tree.weights[node])
        here = self.matrix[self.rows_at[node]]
        total, spread = np.zeros(len(here)), np.zeros(len(used))
        for k, j in enumerate(used.tolist()):
            x = filled(tree.features, here, j)
            total += tree.weights[node, j] * x
            ever = tree.features[j].spread
            spread[k] = x.std() if len(x) else ever if isfinite(ever) else 1.0
        return total, spread

    def _weights(self, node: int, wording: Wording) -> list[list]:
        """What an oblique split weighs: each column's name, weight, share and size.

        The size is the weight without its sign, as it is written.
        """
        tree = self.tree
        used = np.flatnonzero(tree.weights[node])
        weights = tree.weights[node, used]
        _, share = moves_and_shares(weights, self._projection(node)[1])
        order = np.argsort(-share, kind="stable")
        shown = order[: wording.terms]
        terms = [
            [
                brief_name(tree.features[used[k]], wording.length),
                plain_number(weights[k]),
                plain_number(share[k]),
                rounded(abs(weights[k])),
            ]
            for k in shown
        ]
        if rest := len(order) - len(shown):
            left_over = max(0.0, float(1 - share[shown].sum()))
            terms.append([counted(rest, "other column"), None, plain_number(left_over)])
        return terms

    def _left(self, node: int, wording: Wording) -> list[str]:
        """The categories that go left; a long list ends in how many more there are."""
        names = left_categories(self.tree, node)
        shown = [short(name, wording.length) for name in names[: wording.left]]
        more = len(names) - len(shown)
        return [*shown, f"{more} more"] if more else shown

    def _category_bars(self, node: int, rows: np.ndarray) -> dict | None:
        """Bars of a category column at some rows, none of which misses it."""
        feature = self.tree.features[self.tree.feature[node]]
        codes, names = self._category_codes(feature.column)
        found: dict = {}
        add(found, self.tree, node, True)
        side = found[feature.column]
        known = set(feature.categories)
        left = np.array(
            [name in side.allowed if name in known else side.new for name in names]
        )
        return category_bars(names, left, codes[rows], self.code[rows], self.n_codes)

    def _category_codes(self, column: str) -> tuple[np.ndarray, list[str]]:
        """A column's categories: the code of each row, and the name of each code."""
        if column not in self._columns:
            place = [str(name) for name in self.X.columns].index(column)
            codes, values = pd.factorize(self.X.iloc[:, place], use_na_sentinel=True)
            self._columns[column] = codes, [str(value) for value in values]
        return self._columns[column]


def brief_name(feature, length: int) -> str:
    """Return how a feature is called on a card; † stands for the score of a category.

    What the scores are is said in a note; see ``viewer_notes``.
    """
    if has_scores(feature):
        return f"{short(feature.column, length)}†"
    return term_name(feature, length)


def gain(tree, node: int) -> float | None:
    """Return by how much a split lowers the impurity of its rows; None for a leaf.

    In units of the impurity: of the node, less that of its children weighted by their
    rows. None, too, where no row passes or impurities are not known.
    """
    left, right, n_rows = tree.left[node], tree.right[node], int(tree.n_rows[node])
    if left < 0 or n_rows == 0:
        return None
    below = sum(
        tree.n_rows[child] * tree.impurity[child]
        for child in (left, right)
        if tree.n_rows[child]
    )
    return float(tree.impurity[node] - below / n_rows)


def plain_number(value) -> float | None:
    """Return a number of six significant digits that JSON can hold; None for others."""
    if value is None or not isfinite(value):
        return None
    return float(f"{float(value):.6g}")


def axis(trees) -> dict[str, dict]:
    """Name the columns that splits test, by the index of their feature."""
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
