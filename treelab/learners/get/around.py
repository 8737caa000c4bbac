"""Training around what is held fixed: the free sums of an edited tree move, others not.

A weight that is held fixed is a parameter whose gradient is set to zero: those of
locked splits, and those of forbidden columns, which are zero and stay so.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from treelab.data.encoding import minmax
from treelab.learners.common.around import Around, row_weights
from treelab.learners.common.target import TargetScale
from treelab.learners.get.fit import Search, leave_columns_out, train_stages
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import HardTrees, Rows
from treelab.training.device import resolve_device
from treelab.training.events import Callback, Monitor
from treelab.trees.feature import feature_matrix
from treelab.trees.losses import SQUARED_ERROR
from treelab.trees.tree import OBLIQUE, Tree, check_target, complete_places

MOST_DEPTH = 10  # of a tree that is trained as a complete one
MOST_STARTS = 4  # they differ in their scale factors alone


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

    ``rows`` and ``valid`` are tables, their targets, and weights or None: the rows of
    the gradients, and those whose loss chooses the step. ValueError if the tree is too
    deep to be trained as a complete one.
    """
    tree = around.tree
    if tree.depth > MOST_DEPTH:
        raise ValueError(
            f"GET trains trees of at most {MOST_DEPTH} levels, this one has "
            f"{tree.depth}. Prune it, or let GradTree train it."
        )
    matrix, seen = (feature_matrix(tree.features, X) for X, *_ in (rows, valid))
    layout, scale, of_rows = _Layout(around, matrix), TargetScale(), SQUARED_ERROR
    if tree.classes is None:
        loss_of_tree = tree.loss or SQUARED_ERROR
        y = np.asarray(rows[1], dtype=np.float64)
        scale = TargetScale.for_loss(y, loss_of_tree, rounded=False)
        of_rows = loss_of_tree.scaled(1 / scale.scale)

    def encode(matrix: np.ndarray, y, weight) -> Rows:
        """Return encoded rows with class codes, or with standardised values."""
        target, n_classes = check_target(tree, len(matrix), y), len(tree.classes or ())
        weight = row_weights(weight, len(target))
        weight = weight * around.class_weights[target] if n_classes else weight
        target = target if n_classes else scale.standardise(target)
        return Rows(
            layout.encode(matrix),
            target,
            weight,
            n_classes,
            device=resolve_device(device),
            loss_of_rows=of_rows,
        )

    encoded, judges = encode(matrix, *rows[1:]), encode(seen, *valid[1:])
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
    n_starts = min(MOST_STARTS, settings.n_starts)
    each = (start.weights, start.threshold, start.constants)
    starts = HardTrees(*(np.repeat(array, n_starts, axis=0) for array in each))
    trained, loss, _ = train_stages(search, starts, encoded, judges)
    if not loss < judges.loss(start.predict(judges.x))[0]:
        return around.with_leaves(tree)  # no step was better than where it began
    sparse = leave_columns_out(search, trained)
    # What is locked stays in the tree: with rows on both sides, as it began.
    is_kept = around.is_kept_by(layout.export(sparse), matrix)
    return export(sparse) if is_kept else around.with_leaves(tree)


class _Layout:
    """An edited tree laid out as a complete one over columns from 0 to 1."""

    def __init__(self, around: Around, matrix: np.ndarray):
        self._around, tree = around, around.tree
        self._fill = around.fill(matrix)
        self._scales = [
            minmax(np.append(column[~np.isnan(column)], fill))
            for column, fill in zip(matrix.T, self._fill)
        ]
        # Smallest value and range of each column; infinite where it is constant.
        self._shift = np.array([scale.shift for scale in self._scales])
        self._scale = np.array([scale.scale for scale in self._scales])
        self._std = self.encode(matrix).std(axis=0) + 1e-12
        # The place of each split, breadth first; a complete tree has all of them.
        self.place, self.splits = complete_places(tree), tree.splits
        self.n_splits = 2**tree.depth - 1

    def encode(self, matrix: np.ndarray) -> np.ndarray:
        """Return features (n_rows, n_features) as the splits read them."""
        filled = np.where(np.isnan(matrix), self._fill, matrix)
        each = [scale(column) for scale, column in zip(self._scales, filled.T)]
        return np.stack(each, axis=1)

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

        Weights count in units of the one that matters most, as ``trees.to_tree``'s.
        """
        tree = self._around.tree
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        missing_left = tree.missing_left.copy()
        weights = np.zeros((tree.n_nodes, len(tree.features)))
        if tree.weights is not None:
            weights += tree.weights
        for node in self.splits[~self._around.locked[self.splits]]:
            encoded = trees.weights[0, self.place[node]]
            if not encoded.any():
                continue  # it sends all rows left: as it was
            lead = int(np.argmax(np.abs(encoded) * self._std))
            raw = encoded / self._scale
            unit = abs(raw[lead])
            raw = raw / unit
            own = trees.threshold[0, self.place[node]] / unit + raw @ self._shift
            threshold[node], weights[node] = own, raw
            feature[node], missing_left[node] = OBLIQUE, False
            if np.count_nonzero(raw) == 1 and raw[lead] > 0:
                feature[node], weights[node] = lead, 0.0
                missing_left[node] = self._fill[lead] <= own
        splits = {"feature": feature, "threshold": threshold, "weights": weights}
        return self._around.rewritten(missing_left=missing_left, **splits)
