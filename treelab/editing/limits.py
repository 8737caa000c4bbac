"""How far an edit may go, and on which rows."""

from dataclasses import replace

import numpy as np

from treelab.editing.paths import paths
from treelab.trees.constraints import Constraints, wrong_splits
from treelab.trees.feature import Feature, FeatureReader
from treelab.trees.pruning import cut_at
from treelab.trees.tree import Tree, check_target, leaf_of, rows_at, rows_through


class EditRows:
    """Rows on which splits are chosen, or to which leaves are fitted.

    They are read by the features and classes of a tree; ``y`` has codes of classes, or
    values, whose variance is known; that of classes is 1. ``weight`` (n_rows,), above
    0, is what each row counts, None: all count alike.
    """

    def __init__(self, tree: Tree, X, y, weight=None):
        self.y = check_target(tree, len(X), y)
        self.weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        self._n_classes = 0 if tree.classes is None else len(tree.classes)
        # What sums are taken of: values from their mean, so that squares stay exact.
        self._summed, self.variance = self.y, 1.0
        if not self._n_classes:
            self._summed = self.y - np.average(self.y, weights=self.weight)
            squares = self._summed**2
            self.variance = float(np.average(squares, weights=self.weight))
        self._reader = FeatureReader(tree.features, X)
        self._features = tree.features
        self._place = {  # of each number column, which LightGBM may read in two ways
            (feature.column, feature.missing_range): place
            for place, feature in enumerate(tree.features)
            if feature.kind == "number"
        }
        self._matrix = self._reader.matrix(tree.features)
        self._codes: dict[str, np.ndarray] = {}
        self._places: dict[tuple, tuple[np.ndarray, np.ndarray]] = {}
        self._extended = tree.features, self._matrix

    def __len__(self):
        return len(self.y)

    def values(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return what leaves average, (n_rows, n_outputs): indicators, or values."""
        y = self.y if rows is None else self.y[rows]
        return np.eye(self._n_classes)[y] if self._n_classes else y[:, None]

    def sums(self, group: np.ndarray, rows: np.ndarray, n_groups: int) -> np.ndarray:
        """Sum weighted ``values`` of some rows by group, (n_groups, n_outputs).

        Numbers count from their mean among all rows.
        """
        y, weight = self._summed[rows], self.weights(rows)
        if not self._n_classes:
            return np.bincount(group, weight * y, n_groups)[:, None]
        cells = n_groups * self._n_classes
        flat = np.bincount(group * self._n_classes + y, weight, cells)
        return flat.reshape(n_groups, self._n_classes)

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """Return what some rows count, float (n,)."""
        return np.ones(len(rows)) if self.weight is None else self.weight[rows]

    def mass(self, rows: np.ndarray) -> float:
        """Return what some rows count in all."""
        return float(self.weights(rows).sum())

    def matrix(self, tree: Tree) -> np.ndarray:
        """Return the numbers, (n_rows, n_features), that a tree may test.

        Its first features are those of the tree that was edited.
        """
        features, matrix = self._extended
        if tree.features is not features:  # a set of categories was added
            more = tree.features[len(self._features) :]
            matrix = self._matrix
            if more:
                own = self._reader.matrix(more)
                matrix = np.asfortranarray(np.column_stack([matrix, own]))
            self._extended = tree.features, matrix
        return matrix

    def numbers(self, feature: Feature) -> np.ndarray:
        """Return a number column, (n_rows,)."""
        return self._matrix[:, self._place[feature.column, feature.missing_range]]

    def places(self, feature: Feature) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct values of a number column, ascending, and each row's.

        Values are (n_values,), places in them (n_rows,), -1 where missing.
        """
        key = feature.column, feature.missing_range
        if key not in self._places:
            x = self.numbers(feature)
            known = ~np.isnan(x)
            values, inverse = np.unique(x[known], return_inverse=True)
            found = np.full(len(x), -1)
            found[known] = inverse
            self._places[key] = values, found
        return self._places[key]

    def codes(self, feature: Feature) -> np.ndarray:
        """Return each row's place in ``feature.categories``; -1 missing or unseen."""
        if feature.column not in self._codes:
            places = tuple(range(len(feature.categories)))
            plain = replace(feature, scores=places, unseen=np.nan)
            found = self._reader.matrix([plain])[:, 0]
            self._codes[feature.column] = np.nan_to_num(found, nan=-1).astype(int)
        return self._codes[feature.column]

    def at(self, tree: Tree, node: int) -> np.ndarray:
        """Return the positions, ascending, of the rows that reach a node."""
        return rows_at(tree, self.matrix(tree), node)


def closed_columns(
    tree: Tree, path: str, constraints: Constraints, columns: frozenset[str]
) -> frozenset[str]:
    """Return which of the columns a split at a path must not test.

    The other splits are as they are.
    """
    open_ = constraints.allowed_at(len(path), [*columns]) & columns
    tested = {
        own: tree.features[j].column
        for own, j in zip(paths(tree), tree.feature.tolist())
        if j >= 0 and own != path
    }
    if constraints.max_columns is not None:
        used = frozenset(tested.values())
        if len(used) >= constraints.max_columns:
            open_ &= used
    if constraints.together:
        groups = constraints.group_of([*columns])
        above = frozenset(own for at, own in tested.items() if path.startswith(at))
        below = {at: own for at, own in tested.items() if at.startswith(path)}
        lines = [above] + [
            above | {own for at, own in below.items() if end.startswith(at)}
            for end in below
        ]
        for line in lines:  # the columns of a path, but for the node's own
            open_ &= frozenset().union(*(own for own in groups if line <= own))
    return columns - open_


def newly_broken(
    before: Tree, after: Tree, rows: EditRows, constraints: Constraints
) -> str:
    """Say what an edit would break that was kept before; "" where nothing.

    Values of leaves are put in order whenever they are fitted, so it is splits and the
    training rows that are looked at.
    """

    def wrong(tree: Tree) -> dict[str, str]:
        """Return the column of each split that is wrong where it stands, by path."""
        named = zip(paths(tree), tree.feature.tolist(), wrong_splits(tree, constraints))
        return {path: tree.features[j].column for path, j, bad in named if bad}

    def leaves(tree: Tree) -> dict[str, int]:
        """Count the training rows of each leaf, by its path."""
        passed = rows_through(tree, leaf_of(tree, rows.matrix(tree)))
        named = zip(paths(tree), passed.tolist(), tree.is_leaf)
        return {path: n_rows for path, n_rows, is_leaf in named if is_leaf}

    known_wrong = wrong(before).items()
    new = [own for own in wrong(after).items() if own not in known_wrong]
    if new:
        return f"{new[0][1]!r} may not be tested there."
    most = constraints.max_columns
    if most is not None and len(after.columns) > max(most, len(before.columns)):
        return f"The tree would test {len(after.columns)} columns, more than {most}."
    if (least := constraints.min_samples_leaf) == 1:
        return ""
    known = leaves(before)
    for path, n_rows in leaves(after).items():
        if n_rows < least and known.get(path) != n_rows:
            return f"A leaf would have {n_rows:,} training rows, fewer than {least:,}."
    return ""


def without_small_leaves(tree: Tree, least: int, held: np.ndarray) -> Tree:
    """Cut splits that part too few rows, but none that is held or above one that is.

    The tree knows the training rows at its nodes, and a prediction at each.
    """
    cut, is_leaf = np.zeros(tree.n_nodes, dtype=bool), tree.is_leaf.copy()
    fixed = held.copy()
    for node in np.flatnonzero(held):
        fixed[tree.path_to(int(node))] = True
    for level in range(tree.depth, 0, -1):
        here = (tree.level == level) & is_leaf & (tree.n_rows < least)
        parents = np.unique(tree.parent[here])
        parents = parents[~fixed[parents]]
        cut[parents] = is_leaf[parents] = True
    return cut_at(tree, cut) if cut.any() else tree
