"""Edited: a tree with what was said of its nodes and columns."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treelab.editing.candidates import (
    MIN_SAMPLES_LEAF,
    Candidate,
    best_split,
    by_column,
    candidates,
)
from treelab.editing.edits import SetSplit
from treelab.editing.limits import EditRows, closed_columns
from treelab.editing.paths import node_of, paths
from treelab.trees.constraints import Constraints
from treelab.trees.feature import Feature
from treelab.trees.pruning import cut_at
from treelab.trees.tree import OBLIQUE, PER_NODE, Tree, midpoint

# A preferred column is tested where it gains at least this fraction of the best one.
PREFERENCE = 0.5


@dataclass(frozen=True, eq=False)
class Edited:
    """A tree under way, whose nodes are called by their paths.

    Leaves are not fitted, nor rows counted, before ``leaves.refit``. No node is left
    out for want of rows, so a path means one place as long as nobody prunes above it.
    """

    tree: Tree
    start: Tree  # as it was before the first edit
    locked: frozenset[str] = frozenset()  # paths that are held fixed
    # A path and a column, which is forbidden there and below.
    forbidden: tuple[tuple[str, str], ...] = ()
    preferred: tuple[tuple[str, str], ...] = ()
    # Paths of nodes whose split is new: what is below them has other rows.
    changed: frozenset[str] = frozenset()
    # Of the run whose tree it was; edits stay within them.
    constraints: Constraints = field(default_factory=Constraints)

    @classmethod
    def of(cls, tree: Tree, constraints: Constraints | None = None) -> "Edited":
        """Return a tree that nobody has edited yet."""
        return cls(tree, tree, constraints=constraints or Constraints())

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features from which new splits are made."""
        return self.start.features

    def feature_of(self, column: str) -> Feature:
        """Return the feature by which a new split tests a column; ValueError: none."""
        if (found := by_column(self.features).get(column)) is None:
            raise ValueError(f"The tree knows no column {column!r}.")
        return found

    def forbidden_at(self, path: str) -> frozenset[str]:
        """Return the columns that a split at a node must not test."""
        return columns_at(self.forbidden, path)

    def closed_at(self, path: str) -> frozenset[str]:
        """Return the columns that edits or constraints keep from a split at a node."""
        closed = self.forbidden_at(path)
        if not self.constraints.limits_splits:
            return closed
        columns = frozenset(feature.column for feature in self.features)
        return closed | closed_columns(self.tree, path, self.constraints, columns)

    def preferred_at(self, path: str) -> frozenset[str]:
        """Return the columns that a split at a node had better test."""
        return columns_at(self.preferred, path)

    def columns_of(self, node: int) -> frozenset[str]:
        """Return the columns that a node tests."""
        tree = self.tree
        if tree.feature[node] == OBLIQUE and tree.weights is not None:
            tested = np.flatnonzero(tree.weights[node])
        else:
            tested = tree.feature[[node]][tree.feature[[node]] >= 0]
        return frozenset(tree.features[j].column for j in tested)

    def candidates(self, path: str, rows: EditRows) -> list[Candidate]:
        """Return the splits that a node may have, the best of each column."""
        at = rows.at(self.tree, node_of(self.tree, path))
        return self.candidates_of(path, rows, at)

    def candidates_of(self, path: str, rows: EditRows, at) -> list[Candidate]:
        """Return ``candidates`` of a node whose rows are known."""
        closed, least = self.closed_at(path), self._least_rows
        return candidates(
            rows, at, self.features, forbidden=closed, min_samples_leaf=least
        )

    def preferred_split(self, path: str, rows: EditRows) -> Candidate | None:
        """Return the split of a preferred column that ``best`` takes, or None.

        The other columns are looked at only until one gains too much for it.
        """
        at = rows.at(self.tree, node_of(self.tree, path))
        closed, least = self.closed_at(path), self._least_rows

        def split_of(column: str) -> Candidate | None:
            """Return the best split of a column."""
            return best_split(rows, at, features[column], least)

        features = by_column(self.features)
        columns = [column for column in features if column not in closed]
        wanted = self.preferred_at(path)
        liked = [split_of(column) for column in columns if column in wanted]
        own = max((one for one in liked if one), key=lambda one: one.gain, default=None)
        if own is None:
            return None
        now = self.columns_of(node_of(self.tree, path))  # likely the best of the others
        for column in sorted(set(columns) - wanted, key=lambda name: name not in now):
            other = split_of(column)
            if other is not None and own.gain < PREFERENCE * other.gain:
                return None
        return own

    @property
    def _least_rows(self) -> int:
        """Rows that either side of a new split must have."""
        return max(MIN_SAMPLES_LEAF, self.constraints.min_samples_leaf)

    def best(self, path: str, found: list[Candidate]) -> Candidate | None:
        """Return the candidate that a node takes: the best, or nearly, if preferred."""
        if not found:
            return None
        wanted = self.preferred_at(path)
        enough = PREFERENCE * found[0].gain
        liked = (one for one in found if one.column in wanted and one.gain >= enough)
        return next(liked, found[0])

    def with_split(self, split: SetSplit) -> "Edited":
        """Return it with another split at a node; a leaf grows two children."""
        node = node_of(self.tree, split.path)
        tree = self.tree if self.tree.left[node] >= 0 else _grown(self.tree, node)
        if split.threshold is not None:
            columns = [feature.column for feature in self.features]
            index, threshold = columns.index(split.column), split.threshold
        else:
            tree, index, threshold = _with_set(tree, split)
        tree = _with_arrays(tree, node, index, threshold, split.missing_left)
        return replace(self, tree=tree, changed=self.changed | {split.path})

    def with_threshold(self, path: str, threshold: float) -> "Edited":
        """Return it with another threshold of a split."""
        moved = self.tree.threshold.copy()
        moved[node_of(self.tree, path)] = threshold
        tree = replace(self.tree, threshold=moved, between=None, missing_rows=None)
        return replace(self, tree=tree, changed=self.changed | {path})

    def cut(self, path: str) -> "Edited":
        """Return it with a leaf in the place of a node."""
        cut = np.zeros(self.tree.n_nodes, dtype=bool)
        cut[node_of(self.tree, path)] = True
        changed = frozenset(p for p in self.changed if not p.startswith(path))
        locked = frozenset(p for p in self.locked if p == path or not below(p, path))
        tree = cut_at(replace(self.tree, between=None, missing_rows=None), cut)
        return replace(self, tree=tree, changed=changed | {path}, locked=locked)

    def splits_below(self, path: str) -> list[str]:
        """Return the paths of all splits at a node and below, the upper ones first."""
        named = zip(paths(self.tree), self.tree.is_leaf)
        own = [p for p, is_leaf in named if not is_leaf and p.startswith(path)]
        return sorted(own, key=lambda p: (len(p), p))


def below(path: str, top: str) -> bool:
    """Whether a node is below another one."""
    return path != top and path.startswith(top)


def columns_at(said: tuple[tuple[str, str], ...], path: str) -> frozenset[str]:
    """Return the columns of which something was said at a node or above it."""
    return frozenset(column for top, column in said if path.startswith(top))


def _grown(tree: Tree, node: int) -> Tree:
    """Return the tree with two leaves below a leaf, which predict what it does."""
    n = tree.n_nodes
    both: dict[str, Any] = {}
    for name in PER_NODE:
        array = getattr(tree, name)
        if array is not None and name not in ("between", "missing_rows"):
            both[name] = np.concatenate([array, array[[node, node]]])
    both["left"][node], both["right"][node] = n, n + 1
    # A split until its column is set: the root tests the first one meanwhile.
    both["feature"][node], both["threshold"][node] = 0, 0.0
    return replace(tree, between=None, missing_rows=None, **both)


def _with_arrays(
    tree: Tree, node: int, index: int, threshold: float, missing_left: bool
) -> Tree:
    """Return the tree with a split that tests one feature."""
    feature, thresholds = tree.feature.copy(), tree.threshold.copy()
    side, weights = tree.missing_left.copy(), tree.weights
    feature[node], thresholds[node], side[node] = index, threshold, missing_left
    if weights is not None:
        weights = weights.copy()
        weights[node] = 0
    return replace(
        tree,
        feature=feature,
        threshold=thresholds,
        missing_left=side,
        weights=weights,
        between=None,
        missing_rows=None,
    )


def _with_set(tree: Tree, split: SetSplit) -> tuple[Tree, int, float]:
    """Return the tree, a feature and a threshold that send some categories left.

    Where no feature orders the categories so, one is added to the tree.
    """
    left = set(split.categories or ())
    own = [
        (j, feature)
        for j, feature in enumerate(tree.features)
        if feature.column == split.column and feature.categories
    ]
    for j, feature in own:
        scores = dict(zip(feature.categories, feature.scores))
        inside = [score for name, score in scores.items() if name in left]
        outside = [score for name, score in scores.items() if name not in left]
        if inside and outside and max(inside) < min(outside):
            low, high = np.array([max(inside), min(outside)])
            return tree, j, float(midpoint(low, high))
    sides = tuple(float(name not in left) for name in own[0][1].categories)
    added = replace(
        own[0][1],
        scores=sides,
        rare=(),
        fill=np.nan,
        unseen=np.nan,
        spread=float(np.std(sides)),
    )
    zeros: dict[str, Any] = {
        name: np.pad(array, ((0, 0), (0, 1)))
        for name in ("weights", "leaf_weights")
        if (array := getattr(tree, name)) is not None
    }
    tree = replace(tree, features=(*tree.features, added), **zeros)
    return tree, len(tree.features) - 1, 0.5
