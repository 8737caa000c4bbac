"""Training around what is held fixed: the free sums of an edited tree move, others not.

A weight that is held fixed is a parameter whose gradient is set to zero: those of
locked splits, and those of forbidden columns, which are zero and stay so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from treelab.data.encoding import Affine, minmax
from treelab.learners.common.target import TargetScale
from treelab.learners.get.fit import Search, leave_columns_out, train_stages
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import HardTrees, Rows
from treelab.training.device import resolve_device
from treelab.training.events import Callback, Monitor
from treelab.trees.feature import feature_matrix
from treelab.trees.tree import OBLIQUE, Tree, check_target

MOST_DEPTH = 10  # of a tree that is trained as a complete one
MOST_STARTS = 4  # they differ in their scale factors alone


@dataclass(frozen=True, eq=False)
class Around:
    """What is trained, and what is held fixed."""

    tree: Tree
    locked: np.ndarray  # bool (n_nodes,): splits that do not move
    allowed: np.ndarray  # bool (n_nodes, n_features): what each split may weigh
    class_weights: np.ndarray  # float (n_classes,): of each row, by its class
    # Returns a tree of this shape with its leaves fitted.
    with_leaves: Callable[[Tree], Tree]


@threadpool_limits.wrap(limits=1, user_api="blas")
def train_around(
    around: Around,
    rows: tuple,
    valid: tuple,
    settings: GetSettings,
    *,
    seed: int,
    device: str = "cpu",
    callbacks: Sequence[Callback] = (),
) -> Tree:
    """Train the free splits of a tree as sums of columns, from where they stand.

    Parameters
    ----------
    around : Around
    rows, valid : tuple of DataFrame and array-like
        Tables (n_rows, n_columns) and their targets (n_rows,): the rows of the
        gradients, and those whose loss chooses the step.
    settings : GetSettings
    seed : int
    device : str
    callbacks : sequence of callable

    Raises
    ------
    ValueError
        If the tree is too deep to be trained as a complete one.
    """
    tree = around.tree
    if tree.depth > MOST_DEPTH:
        raise ValueError(
            f"GET trains trees of at most {MOST_DEPTH} levels, this one has "
            f"{tree.depth}. Prune it, or let GradTree train it."
        )
    layout = _Layout(around, rows[0])
    place, scale = resolve_device(device), _target_scale(tree, rows[1])
    how = scale, around.class_weights, place
    encoded = _rows(tree, layout.x, rows[1], *how)
    judges = _rows(tree, layout.encode(valid[0]), valid[1], *how)
    start = layout.start(encoded)

    def export(trees: HardTrees) -> Tree:
        """Return a tree in the user's units, its leaves fitted."""
        return around.with_leaves(layout.export(trees))

    search = Search(
        encoded,
        judges,
        replace(settings, leaves="constant", recipe="treelab"),
        tree.depth,
        np.random.default_rng(seed),
        Monitor(1, callbacks, stage="start", is_preparation=True),
        export,
        free=layout.free(),
    )
    starts = _repeated(start, min(MOST_STARTS, settings.n_starts))
    trained, loss, _ = train_stages(search, starts, encoded, judges)
    if not loss < judges.loss(start.predict(judges.x))[0]:
        return around.with_leaves(tree)  # no step was better than where it began
    sparse = leave_columns_out(search, trained)
    found = layout.export(sparse)
    passed = found.node_counts(rows[0])
    held = np.flatnonzero(around.locked)
    empty = (passed[tree.left[held]] == 0) | (passed[tree.right[held]] == 0)
    # What is locked stays in the tree: with rows on both sides, as it began.
    return around.with_leaves(tree) if empty.any() else export(sparse)


class _Layout:
    """An edited tree laid out as a complete one over columns from 0 to 1.

    Attributes
    ----------
    x : ndarray of shape (n_rows, n_features)
    """

    def __init__(self, around: Around, X):
        self._around, tree = around, around.tree
        matrix = feature_matrix(tree.features, X)
        self._fill = np.zeros(len(tree.features))
        self._scales: list[Affine] = []
        for j, feature in enumerate(tree.features):
            known = matrix[~np.isnan(matrix[:, j]), j]
            middle = float(np.median(known)) if len(known) else 0.0
            self._fill[j] = middle if np.isnan(feature.fill) else feature.fill
            self._scales.append(minmax(np.append(known, self._fill[j])))
        self.x = self.encode(X)
        # The place of each split, breadth first; a complete tree has all of them.
        self.place = np.zeros(tree.n_nodes, dtype=np.int64)
        for node in np.argsort(tree.level, kind="stable"):
            if tree.left[node] >= 0:
                self.place[tree.left[node]] = 2 * self.place[node] + 1
                self.place[tree.right[node]] = 2 * self.place[node] + 2
        self.splits = np.flatnonzero(~tree.is_leaf)
        self.n_splits = 2**tree.depth - 1

    def encode(self, X) -> np.ndarray:
        """Return a table as the splits read it, (n_rows, n_features)."""
        matrix = feature_matrix(self._around.tree.features, X)
        filled = np.where(np.isnan(matrix), self._fill, matrix)
        each = [scale(column) for scale, column in zip(self._scales, filled.T)]
        return np.stack(each, axis=1)

    @property
    def _shift(self) -> np.ndarray:
        """Smallest value of each column."""
        return np.array([scale.shift for scale in self._scales])

    @property
    def _scale(self) -> np.ndarray:
        """Range of each column; infinite where it is constant."""
        return np.array([scale.scale for scale in self._scales])

    def start(self, rows: Rows) -> HardTrees:
        """Return the tree as it is, encoded; a batch of one."""
        tree = self._around.tree
        raw = np.zeros((tree.n_nodes, len(tree.features)))
        if tree.weights is not None:
            raw += tree.weights
        axis = np.flatnonzero(tree.feature >= 0)
        raw[axis, tree.feature[axis]] = 1.0
        weights = np.zeros((1, self.n_splits, raw.shape[1]))
        threshold = np.full((1, self.n_splits), np.inf)
        at, finite = self.place[self.splits], np.isfinite(self._scale)
        scale = np.where(finite, self._scale, 0.0)
        own = raw[self.splits]
        weights[0, at] = own * scale
        threshold[0, at] = tree.threshold[self.splits] - own @ self._shift
        return HardTrees.fit(weights, threshold, rows)

    def free(self) -> np.ndarray:
        """Which weights may move, bool (N, F)."""
        free = np.zeros((self.n_splits, len(self._scales)), dtype=bool)
        own = self.splits[~self._around.locked[self.splits]]
        free[self.place[own]] = self._around.allowed[own] & np.isfinite(self._scale)
        return free

    def export(self, trees: HardTrees) -> Tree:
        """Rewrite the free splits in the user's units; the locked ones as they were.

        Weights count in units of the one that matters most, as ``export.to_tree``'s.
        """
        tree = self._around.tree
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        missing_left = tree.missing_left.copy()
        weights = np.zeros((tree.n_nodes, len(tree.features)))
        if tree.weights is not None:
            weights += tree.weights
        spread = self.x.std(axis=0) + 1e-12
        for node in self.splits[~self._around.locked[self.splits]]:
            encoded = trees.weights[0, self.place[node]]
            if not encoded.any():
                continue  # it sends all rows left: as it was
            lead = int(np.argmax(np.abs(encoded) * spread))
            raw = encoded / self._scale
            unit = abs(raw[lead])
            raw = raw / unit
            own = trees.threshold[0, self.place[node]] / unit + raw @ self._shift
            threshold[node], weights[node] = own, raw
            feature[node], missing_left[node] = OBLIQUE, False
            if np.count_nonzero(raw) == 1 and raw[lead] > 0:
                feature[node], weights[node] = lead, 0.0
                missing_left[node] = self._fill[lead] <= own
        return replace(
            tree,
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            weights=weights,
            between=None,
            missing_rows=None,
        )


def _target_scale(tree: Tree, y) -> TargetScale:
    """Return the scale of a numeric target; classes have none."""
    if tree.classes is not None:
        return TargetScale()
    return TargetScale.of(np.asarray(y, dtype=np.float64))


def _rows(
    tree: Tree,
    x: np.ndarray,
    y,
    scale: TargetScale,
    class_weights: np.ndarray,
    device: torch.device,
) -> Rows:
    """Return encoded rows with class codes, or with standardised values."""
    target = check_target(tree, len(x), y)
    if tree.classes is not None:
        weight = class_weights[target]
        return Rows(x, target, weight, len(tree.classes), device=device)
    even = np.ones(len(x))
    return Rows(x, scale.standardise(target), even, 0, device=device)


def _repeated(tree: HardTrees, n: int) -> HardTrees:
    """Return a batch of one tree as one of ``n`` alike."""
    return replace(
        tree,
        weights=np.repeat(tree.weights, n, axis=0),
        threshold=np.repeat(tree.threshold, n, axis=0),
        constants=np.repeat(tree.constants, n, axis=0),
    )
