"""Greedy trees of every size that a forest taught, judged by rows held out."""

from types import SimpleNamespace

import numpy as np
import torch
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor
from torch import Tensor

from treelab.learners.common.complete_tree import lay_out
from treelab.learners.common.rows import FoldedRows
from treelab.learners.gradtree.full_data_trees import WholeTrees
from treelab.learners.gradtree.soft_targets import Lesson, lesson
from treelab.learners.gradtree.starts import ASKS_NOTHING
from treelab.learners.gradtree.tree_batch import Candidate

SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)  # leaves
NOTE = (
    "A random forest, not kept, taught this tree; validation preferred it to the trees "
    "that gradient descent trained."
)


class GrownTree:
    """A tree grown best split first, so that it holds all smaller ones.

    Parameters
    ----------
    taught : Lesson
        What to grow on.
    class_weight : ndarray of shape (n_classes,) or None
        What a row of each class counts while splits are chosen.
    depth : int
        Most splits on a path.
    seed : int
        Breaks ties.
    """

    def __init__(self, taught: Lesson, class_weight, depth: int, seed: int):
        weight = taught.weight
        if class_weight is not None:
            weight = weight * (taught.told @ class_weight)
        self.columns = taught.columns
        x = taught.x[:, self.columns]
        self.grown = DecisionTreeRegressor(
            max_depth=depth, max_leaf_nodes=SIZES[-1], random_state=seed
        ).fit(x, taught.told, sample_weight=weight)
        path = self.grown.decision_path(x)  # (m, nodes)
        counted = sparse.diags_array(taught.weight) @ path
        self.value = (counted.T @ taught.told) / counted.sum(0)[:, None]
        tree = self.grown.tree_
        self.parent = np.zeros(tree.node_count, dtype=np.int64)
        for child in (tree.children_left, tree.children_right):
            inner = np.flatnonzero(child >= 0)
            self.parent[child[inner]] = inner

    def of_size(self, size: int) -> SimpleNamespace:
        """The tree of its first `size` - 1 splits, in the form of ``tree_``."""
        tree = self.grown.tree_
        inner = (tree.children_left >= 0) & (tree.children_right <= _last_node(size))
        return SimpleNamespace(
            children_left=np.where(inner, tree.children_left, -1),
            children_right=np.where(inner, tree.children_right, -1),
            feature=np.where(inner, self.columns[np.maximum(tree.feature, 0)], -1),
            threshold=tree.threshold,
        )

    def answers(self, x: np.ndarray) -> np.ndarray:
        """What the tree of each size says of encoded rows (n, F), (K, n, C)."""
        node = self.grown.apply(x[:, self.columns])
        told = []
        for size in reversed(SIZES):
            while (late := node > _last_node(size)).any():
                node = np.where(late, self.parent[node], node)
            told.append(self.value[node])
        return np.stack(told[::-1])


def _last_node(size: int) -> int:
    """Number of the last node of a tree of this size: split k made 2k - 1 and 2k."""
    return 2 * size - 2


class TaughtTrees:
    """One grown tree at every size, in the place of a `TreeBatch` that is trained.

    Parameters
    ----------
    rows : FoldedRows
        All rows; `FoldedRows.weight` says what the classes count.
    grown : GrownTree
    depth : int
        Most splits on a path.
    """

    notes = (NOTE,)

    def __init__(self, rows: FoldedRows, grown: GrownTree, depth: int):
        self.rows, self.grown, self.depth = rows, grown, depth
        self.candidates = tuple(
            Candidate(depth, -1, f"taught by a forest, {size} leaves") for size in SIZES
        )
        self.n_candidates = len(self.candidates)

    def splits(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Feature and threshold (encoded, float32) of every split of one tree."""
        feature, threshold, _ = lay_out(self.grown.of_size(SIZES[tree]), self.depth)
        asks = feature >= 0
        nothing = np.float32(ASKS_NOTHING)
        return np.where(asks, feature, 0), np.where(asks, threshold, nothing)

    def refitted(self, tree: int, x: Tensor, weighting: int = 0) -> np.ndarray:
        """What the leaves of one tree say, (L, n_classes or 1), as they were taught.

        The rows ``x`` change nothing: fewer would say it less well.
        """
        _, _, node = lay_out(self.grown.of_size(SIZES[tree]), self.depth)
        return leaned(self.grown.value[node], self.rows, weighting)

    def answers_fitted(self):
        """What each tree says of every row, one Tensor (n, n_classes or 1) a tree."""
        told = self.grown.answers(self.rows.x.cpu().numpy())
        told = torch.as_tensor(leaned(told, self.rows, 0), device=self.rows.x.device)
        yield from told


def leaned(value: np.ndarray, rows: FoldedRows, weighting: int) -> np.ndarray:
    """Class shares (..., C) as one weighting of the rows wants them."""
    if rows.n_classes == 0:
        return value
    value = value * rows.class_weights()[weighting].cpu().numpy()
    return value / value.sum(-1, keepdims=True)


def taught_trees(
    rows: FoldedRows, y: np.ndarray, *, depth: int, max_columns: int, seed: int
) -> WholeTrees:
    """Have a forest of all rows teach a tree; judge it by the like of each fold.

    Parameters
    ----------
    rows : FoldedRows
        Every row in one of the folds.
    y : ndarray of shape (n,)
        Class codes, or values.
    depth : int
        Most splits on a path.
    max_columns : int
        Features that a tree may use.
    seed : int
        Seeds forests and imagined rows.
    """
    random = np.random.RandomState(seed)
    x, fold = rows.x.cpu().numpy(), rows.fold.cpu().numpy()
    # Halfway between equal and balanced, where there are several weightings.
    growth = None
    if rows.n_classes:
        growth = rows.class_weights()[rows.weight.shape[1] // 2].cpu().numpy()

    def grow(shown):
        taught = lesson(
            x[shown],
            y[shown],
            n_classes=rows.n_classes,
            n_columns=max_columns,
            random=random,
        )
        return GrownTree(taught, growth, depth, seed)

    answers = np.empty((len(SIZES), len(x), rows.n_classes or 1))
    for held_out in range(fold.max() + 1):
        apart = fold == held_out
        answers[:, apart] = grow(~apart).answers(x[apart])
    batch = TaughtTrees(rows, grow(np.ones(len(x), dtype=bool)), depth)
    answers = leaned(answers, rows, 0)
    return WholeTrees(batch, torch.as_tensor(answers, device=rows.x.device))
