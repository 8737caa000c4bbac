"""Which rows lie at which node, of one tree or of many at once."""

import numpy as np

from treelab.trees.tree import Tree, sum_up

# Which rows pass each node of a tree, found once for all nodes.


class RowsAt:
    """The rows that pass each node: ``rows_at[node]`` are their positions.

    In depth-first order the nodes below any node lie side by side. So the rows are
    sorted by the place of their ``leaf``, as ``tree.apply`` returns it, once, and each
    node's rows are one stretch of them. ``nodes`` are the nodes, depth first.
    """

    def __init__(self, tree: Tree, leaf: np.ndarray):
        self.nodes = tree.depth_first
        place = np.empty(tree.n_nodes, dtype=np.int64)
        place[self.nodes] = np.arange(tree.n_nodes)
        size = self._size = sum_up(tree, np.ones(tree.n_nodes, dtype=np.int64))
        at = place[leaf]
        self._rows = np.argsort(at, kind="stable")
        self._start = np.searchsorted(at[self._rows], place)
        self._stop = np.searchsorted(at[self._rows], place + size)

    def __getitem__(self, node: int) -> np.ndarray:
        """Return the positions of the rows at a node, int64; those of a leaf ascend."""
        return self._rows[self._start[node] : self._stop[node]]

    def below(self, node: int) -> int:
        """Return how many nodes hang below a node."""
        return int(self._size[node]) - 1


# The leaf that each row reaches in each of many complete trees, without a walk.
#
# Every split of every tree is decided at once, on small integers: a value's code is the
# number of thresholds of its feature that lie below it, so ``x <= threshold`` is
# exactly ``code <= rank of the threshold``. Two bytes a value instead of eight, and the
# choices are then brought up level by level with whole-array operations.


_CACHE_BYTES = 2**19  # what one step works on: about one core's second-level cache


class LeafCodes:
    """Thresholds of complete trees (E, N), breadth first, as ranks."""

    def __init__(self, feature, threshold, missing_left):
        n_trees, n_splits = feature.shape
        self.n_trees, self.n_splits = n_trees, n_splits
        self.used = np.unique(feature)
        self.sorted = []
        rank = np.empty(feature.shape, dtype=np.int64)
        for j in self.used:
            here = feature == j
            thresholds, rank[here] = np.unique(threshold[here], return_inverse=True)
            self.sorted.append(thresholds)
        most = max((len(s) for s in self.sorted), default=0)
        self.dtype = np.dtype(np.uint16 if most < 2**16 else np.uint32)
        # Each feature has two rows of codes, which differ where a value is missing.
        line = 2 * np.searchsorted(self.used, feature) + ~missing_left
        # Splits first, trees second, rows last: a level is one contiguous piece.
        self.line = np.ascontiguousarray(line.T)
        self.rank = np.ascontiguousarray(rank.T.astype(self.dtype))

    def codes(self, matrix: np.ndarray) -> np.ndarray:
        """Return codes (2 * used features, n_rows) of a float64 feature matrix."""
        codes = np.empty((2 * len(self.used), len(matrix)), dtype=self.dtype)
        for i, (j, thresholds) in enumerate(zip(self.used, self.sorted)):
            x = matrix[:, j]
            code = np.searchsorted(thresholds, x, side="left")
            missing = np.isnan(x)
            codes[2 * i] = np.where(missing, 0, code)  # at most any rank: left
            codes[2 * i + 1] = np.where(missing, len(thresholds), code)  # right
        return codes

    def leaves(self, codes: np.ndarray) -> np.ndarray:
        """Return the leaf, 0 to N, of each tree and row: unsigned ints (E, n_rows)."""
        n_rows = codes.shape[1]
        dtype = np.min_scalar_type(self.n_splits)
        leaf = np.zeros((self.n_trees, n_rows), dtype=dtype)
        if self.n_splits == 0 or n_rows == 0:
            return leaf
        step = max(1, _CACHE_BYTES // (self.n_splits * n_rows * self.dtype.itemsize))
        for first in range(0, self.n_trees, step):
            trees = slice(first, first + step)
            code = codes.take(self.line[:, trees], axis=0)  # (N, trees, n_rows)
            right = code > self.rank[:, trees, None]
            leaf[trees] = _bring_up(right, dtype)
        return leaf


def _bring_up(right: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the leaf, (trees, rows), given the side at every split (N, trees, rows).

    Bottom-up, each split keeps the place among its leaves that its chosen side holds.
    """
    n = (len(right) + 1) // 2  # splits on the lowest level
    place = right[n - 1 :].astype(dtype)
    size = 2  # leaves under each split of the level that ``place`` stands for
    while n > 1:
        n //= 2
        side = right[n - 1 : 2 * n - 1]
        # All bits set where the side is right: a choice without a branch.
        mask = np.negative(side.astype(dtype))
        left_place, right_place = place[0::2], place[1::2] | dtype.type(size)
        place = left_place ^ ((left_place ^ right_place) & mask)
        size *= 2
    return place[0]
