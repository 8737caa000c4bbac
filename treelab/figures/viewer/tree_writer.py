"""The nodes of one tree as the viewer in the browser reads them."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from treelab.figures.viewer.bins import (
    category_bars,
    counts_between,
    number_bins,
    rounded_edges,
)
from treelab.figures.viewer.keys import keys
from treelab.figures.viewer.wording import (
    NAME_LENGTH,
    WORDINGS,
    Wording,
    brief_name,
    plain_number,
)
from treelab.trees.feature import Feature, as_table
from treelab.trees.rows_at import RowsAt
from treelab.trees.statistics import check_target, with_leaves
from treelab.trees.text.conditions import (
    CategoryCondition,
    rare_apart,
    split_condition,
)
from treelab.trees.text.names import clean, short
from treelab.trees.text.nodes import (
    left_categories,
    number_text,
    prediction_text,
    split_text,
)
from treelab.trees.text.numerals import counted, rounded
from treelab.trees.text.sums import term_fractions
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, filled, leaf_of, read_features


class TreeWriter:
    """One tree and the rows that are shown in it.

    Parameters
    ----------
    tree : Tree
    X : DataFrame of shape (n_rows, n_columns) or None
        Rows of the user's table; None: the tree has the numbers that were stored with
        it.
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

    def __init__(self, tree: Tree, X, y, fold, target_edges, columns: dict):
        self.tree = tree
        if X is None:
            self.matrix, y = np.empty((0, len(tree.features))), ()
        else:
            self.X = as_table(tree.features, X)
            self.matrix = read_features(tree, self.X)
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
        # No child has more rows than its parent, and of equals the parent comes
        # first: whatever is cut off this list, the parent of each
        # split that is left in it is in it, too.
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
            x = self._sums(node)
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
        """What any node has: its rows, their impurity and their targets."""
        tree = self.tree
        n_rows, total = int(tree.n_rows[node]), int(tree.n_rows[0])
        facts: dict[str, Any] = {
            "rows": n_rows,
            "share": plain_number(n_rows / total if total else 0.0),
            "impurity": plain_number(tree.impurity[node]) if n_rows else None,
            "gain": plain_number(split_gain(tree, node)),
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
        best = int(tree.predicted_class[node])
        counts = tree.value[node]
        if n_rows and tree.class_counts is not None:
            counts = tree.class_counts[node]
        folded = np.bincount(self.fold, counts, minlength=self.n_codes)
        facts["shares"] = [
            plain_number(share) for share in folded / max(folded.sum(), 1e-300)
        ]
        facts["prediction"] = short(tree.classes[best], wording.length)
        facts["confidence"] = plain_number(tree.value[node, best])
        likeliest = int(tree.value[node].argmax())
        if tree.value[node, likeliest] > tree.value[node, best]:
            facts["likeliest"] = [
                short(tree.classes[likeliest], wording.length),
                plain_number(tree.value[node, likeliest]),
            ]
        return facts

    def _leaf(self, node: int, wording: Wording) -> dict:
        """A leaf's prediction, where that is no class."""
        tree = self.tree
        if tree.classes is not None:
            return {}
        text = prediction_text(tree, node, most=wording.terms, length=wording.length)
        linear = tree.leaf_weights is not None and tree.leaf_weights[node].any()
        return {"formula" if linear else "prediction": text}

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

    def _sums(self, node: int) -> np.ndarray:
        """What an oblique split adds up at each of its rows."""
        tree = self.tree
        assert tree.weights is not None  # as of every tree with an oblique split
        here = self.matrix[self.rows_at[node]]
        total = np.zeros(len(here))
        for j in np.flatnonzero(tree.weights[node]).tolist():
            total += tree.weights[node, j] * filled(tree.features, here, j)
        return total

    def _weights(self, node: int, wording: Wording) -> list[list]:
        """The terms of an oblique split: each feature's name, weight, share and size.

        The size is the weight without its sign, as it is written.
        """
        tree = self.tree
        assert tree.weights is not None  # as of every tree with an oblique split
        used = np.flatnonzero(tree.weights[node])
        weights = tree.weights[node, used]
        share = term_fractions(tree.features, tree.weights[node])[used]
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
            remaining = max(0.0, float(1 - share[shown].sum()))
            terms.append(
                [counted(rest, "other feature"), None, plain_number(remaining)]
            )
        return terms

    def _left(self, node: int, wording: Wording) -> list[str]:
        """The categories that go left; a long list ends in how many more there are."""
        feature = self.tree.features[self.tree.feature[node]]
        own, rare = rare_apart(feature, left_categories(self.tree, node))
        names = [*(short(name, wording.length) for name in own), *rare]
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
            place = [str(name) for name in self.X.columns].index(column)
            codes, values = pd.factorize(self.X.iloc[:, place], use_na_sentinel=True)
            self._columns[column] = codes, [feature.category(v) for v in values]
        return self._columns[column]


def split_gain(tree: Tree, node: int) -> float | None:
    """Return how far a split lowers the impurity of its rows; None for a leaf.

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
