"""The part of all possible rows that reaches each node, and which lies above which.

A tree of ordinary splits gives each node a box: an interval of each number, a set of
categories of each category column, and whether a missing value comes along. Whether a
tree is monotone is a question about pairs of leaves' boxes alone, so it is answered for
every possible row and not for those of a sample.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE

SIGNS = {"up": 1, "down": -1}


@dataclass(frozen=True)
class Boxes:
    """Boxes of some nodes.

    Attributes
    ----------
    low, high : float arrays of shape (n_nodes, n_numbers)
        Values x of each number column with ``low < x <= high``; none where equal.
    missing : bool array of shape (n_nodes, n_numbers)
        Whether a missing value of the column can arrive.
    numbers : tuple of str
        The number columns.
    categories : tuple of bool arrays of shape (n_nodes, n_kinds)
        Of each category column, which categories can arrive; the last two stand for
        one that no training row held and for a missing value.
    """

    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    numbers: tuple[str, ...]
    categories: tuple[np.ndarray, ...]

    def of(self, nodes: np.ndarray) -> "Boxes":
        """Boxes of some of the nodes."""
        return Boxes(
            self.low[nodes],
            self.high[nodes],
            self.missing[nodes],
            self.numbers,
            tuple(own[nodes] for own in self.categories),
        )

    def ordered(self, monotone: Mapping[str, str]) -> np.ndarray:
        """Return the pairs whose values must be in order, int (n_pairs, 2).

        The boxes of a pair meet in every column but one that is monotone, and there one
        lies below the other: a row of the first becomes a row of the second by that one
        column alone. The first must not predict more than the second.

        Parameters
        ----------
        monotone : mapping of column to "up" or "down"
            Columns that no split tests may be among them.
        """
        apart = np.zeros((len(self.low), len(self.low)), dtype=np.int64)
        meets = []
        for j in range(len(self.numbers)):
            low, high, missing = self.low[:, j], self.high[:, j], self.missing[:, j]
            both = np.maximum.outer(low, low) < np.minimum.outer(high, high)
            meets.append(both | np.logical_and.outer(missing, missing))
            apart += ~meets[-1]
        for own in self.categories:
            apart += ~(own.astype(np.float32) @ own.T.astype(np.float32) > 0)
        pairs = []
        for j, name in enumerate(self.numbers):
            if name not in monotone:
                continue
            low, high = self.low[:, j], self.high[:, j]
            filled = low < high
            below = (high[:, None] <= low) & np.logical_and.outer(filled, filled)
            # A missing value on both sides would let them meet, and yet be in order.
            first, second = np.nonzero(below & (apart - ~meets[j] == 0))
            pair = np.stack([first, second], axis=1)
            pairs.append(pair[:, :: SIGNS[monotone[name]]])
        return np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64)


def node_boxes(tree: Tree, *, encoded: bool = False) -> Boxes:
    """Return the box of every node of a tree.

    Parameters
    ----------
    tree : Tree
        Of splits that test one column each.
    encoded : bool, default=False
        Whether thresholds are of encoded columns, in which nothing is missing and
        categories are numbers; then each feature is a number column of its own.

    Raises
    ------
    ValueError
        If a split tests several columns, or leaves are linear.
    """
    if (tree.feature == OBLIQUE).any() or tree.leaf_weights is not None:
        raise ValueError(
            "Constraints are checked on splits of one column and constant leaves."
        )
    kinds = ["number" if encoded else f.kind for f in tree.features]
    tested = np.unique(tree.feature[tree.feature >= 0])
    numbers = [j for j in tested.tolist() if kinds[j] == "number"]
    place = {j: at for at, j in enumerate(numbers)}
    shape = (tree.n_nodes, len(numbers))
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    missing = np.full(shape, not encoded)
    names = dict.fromkeys(
        tree.features[j].column for j in tested if kinds[j] != "number"
    )
    sets = {name: _all_categories(tree, name) for name in names}
    for node in np.flatnonzero(~tree.is_leaf)[np.argsort(tree.level[~tree.is_leaf])]:
        j, threshold = int(tree.feature[node]), tree.threshold[node]
        left, right = int(tree.left[node]), int(tree.right[node])
        for child in (left, right):
            low[child], high[child] = low[node], high[node]
            missing[child] = missing[node]
            for own in sets.values():
                own[child] = own[node]
        if j in place:
            at = place[j]
            high[left, at] = min(high[node, at], threshold)
            low[right, at] = max(low[node, at], threshold)
            missing[left, at] &= tree.missing_left[node]
            missing[right, at] &= not tree.missing_left[node]
        else:
            goes_left = _goes_left(tree, node)
            sets[tree.features[j].column][left] &= goes_left
            sets[tree.features[j].column][right] &= ~goes_left
    columns = tuple(tree.features[j].column for j in numbers)
    return Boxes(low, high, missing, columns, tuple(sets.values()))


def _labels(tree: Tree, column: str) -> list[str]:
    """Categories of a column, of all features that read it."""
    own = [f.categories for f in tree.features if f.column == column]
    return [*dict.fromkeys(label for labels in own for label in labels)]


def _all_categories(tree: Tree, column: str) -> np.ndarray:
    """Every category, an unseen one and a missing value can reach the root."""
    return np.ones((tree.n_nodes, len(_labels(tree, column)) + 2), dtype=bool)


def _goes_left(tree: Tree, node: int) -> np.ndarray:
    """Which categories of a column go left at a split, unseen and missing ones, too."""
    feature = tree.features[tree.feature[node]]
    known = dict(zip(feature.categories, feature.scores))
    labels = _labels(tree, feature.column)
    scores = [known.get(label, feature.unseen) for label in labels]
    score = np.array([*scores, feature.unseen, np.nan])
    return np.where(
        np.isnan(score), tree.missing_left[node], score <= tree.threshold[node]
    )
