"""Greedy trees of every size, distilled from a forest and scored on held-out rows."""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import torch
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor
from torch import Tensor

from treelab.learners.common.complete_tree import lay_out
from treelab.learners.common.rows import FoldedRows
from treelab.learners.gradtree.full_data_trees import FullDataTrees
from treelab.learners.gradtree.soft_targets import SoftTargets, soft_targets
from treelab.learners.gradtree.starts import ALWAYS_LEFT
from treelab.learners.gradtree.tree_batch import Candidate

SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)  # leaves
NOTE = (
    "Distilled from a random forest, which is not part of the model; validation "
    "preferred it to the trees that gradient descent trained."
)


class BestFirstTree:
    """A tree grown best split first, so that it holds all smaller ones.

    Parameters
    ----------
    soft : SoftTargets
        What to grow on.
    class_weight : ndarray of shape (n_classes,) or None
        Weight of a row of each class while splits are chosen.
    max_depth : int
        Most splits on a path.
    seed : int
        Breaks ties.
    """

    def __init__(self, soft: SoftTargets, class_weight, max_depth: int, seed: int):
        weight = soft.weight
        if class_weight is not None:
            weight = weight * (soft.target @ class_weight)
        self.columns = soft.columns
        x = soft.x[:, self.columns]
        self.grown = DecisionTreeRegressor(
            max_depth=max_depth, max_leaf_nodes=SIZES[-1], random_state=seed
        ).fit(x, soft.target, sample_weight=weight)
        path = self.grown.decision_path(x)  # (m, nodes)
        weighted = sparse.diags_array(soft.weight) @ path
        self.value = (weighted.T @ soft.target) / weighted.sum(0)[:, None]
        tree = self.grown.tree_
        self.parent = np.zeros(tree.node_count, dtype=np.int64)
        for child in (tree.children_left, tree.children_right):
            inner = np.flatnonzero(child >= 0)
            self.parent[child[inner]] = inner

    def of_size(self, size: int) -> SimpleNamespace:
        """Return the tree of its first `size` - 1 splits, in the form of ``tree_``."""
        tree = self.grown.tree_
        inner = (tree.children_left >= 0) & (tree.children_right <= _last_node(size))
        return SimpleNamespace(
            children_left=np.where(inner, tree.children_left, -1),
            children_right=np.where(inner, tree.children_right, -1),
            feature=np.where(inner, self.columns[np.maximum(tree.feature, 0)], -1),
            threshold=tree.threshold,
        )

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predict encoded rows (n, F) by the tree of each size, (K, n, C)."""
        node = self.grown.apply(x[:, self.columns])
        predictions = []
        for size in reversed(SIZES):
            while (late := node > _last_node(size)).any():
                node = np.where(late, self.parent[node], node)
            predictions.append(self.value[node])
        return np.stack(predictions[::-1])


def _last_node(size: int) -> int:
    """Number of the last node of a tree of this size: split k made 2k - 1 and 2k."""
    return 2 * size - 2


class DistilledTrees:
    """One grown tree at every size, in the place of a `TreeBatch` that is trained.

    Parameters
    ----------
    rows : FoldedRows
        All rows; ``FoldedRows.weight`` holds what their classes weigh.
    grown : BestFirstTree
    max_depth : int
        Most splits on a path.
    """

    notes: tuple[str, ...] = (NOTE,)

    def __init__(self, rows: FoldedRows, grown: BestFirstTree, max_depth: int):
        self.rows, self.grown, self.max_depth = rows, grown, max_depth
        self.candidates = tuple(
            Candidate(max_depth, -1, f"distilled from a forest, {size} leaves")
            for size in SIZES
        )
        self.n_candidates = len(self.candidates)

    def splits(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Feature and threshold (encoded, float32) of every split of one tree."""
        grown = self.grown.of_size(SIZES[tree])
        feature, threshold, _ = lay_out(grown, self.max_depth)
        tests = feature >= 0
        left = np.float32(ALWAYS_LEFT)
        return np.where(tests, feature, 0), np.where(tests, threshold, left)

    def refitted_values(self, tree: int, x: Tensor, weighting: int = 0) -> np.ndarray:
        """Leaf values (L, n_classes or 1) of one tree, from the soft targets.

        The rows ``x`` change nothing: fewer would estimate them less well.
        """
        _, _, node = lay_out(self.grown.of_size(SIZES[tree]), self.max_depth)
        return reweighted(self.grown.value[node], self.rows, weighting)

    def refitted_predictions(self) -> Iterator[Tensor]:
        """Each tree's predictions on every row, one Tensor (n, n_classes or 1)."""
        value = self.grown.predict(self.rows.x.cpu().numpy())
        value = reweighted(value, self.rows, 0)
        yield from torch.as_tensor(value, device=self.rows.x.device)


def reweighted(value: np.ndarray, rows: FoldedRows, weighting: int) -> np.ndarray:
    """Class probabilities (..., C) under one weighting of the rows."""
    if rows.n_classes == 0:
        return value
    value = value * rows.class_weights()[weighting].cpu().numpy()
    return value / value.sum(-1, keepdims=True)


def distill_trees(
    rows: FoldedRows, y: np.ndarray, *, max_depth: int, max_columns: int, seed: int
) -> FullDataTrees:
    """Distil a forest of all rows into trees; score each by its like of each fold.

    Parameters
    ----------
    rows : FoldedRows
        Every row in one of the folds.
    y : ndarray of shape (n,)
        Class codes, or values.
    max_depth : int
        Most splits on a path.
    max_columns : int
        Features that a tree may use.
    seed : int
        Seeds forests and synthetic rows.
    """
    random = np.random.RandomState(seed)
    x, fold = rows.x.cpu().numpy(), rows.fold.cpu().numpy()
    # Halfway between equal and balanced, where there are several weightings.
    class_weight = None
    if rows.n_classes:
        class_weight = rows.class_weights()[rows.weight.shape[1] // 2].cpu().numpy()

    def grow(shown):
        soft = soft_targets(
            x[shown],
            y[shown],
            n_classes=rows.n_classes,
            n_columns=max_columns,
            random=random,
        )
        return BestFirstTree(soft, class_weight, max_depth, seed)

    predictions = np.empty((len(SIZES), len(x), rows.n_classes or 1))
    for number in range(fold.max() + 1):
        held_out = fold == number
        predictions[:, held_out] = grow(~held_out).predict(x[held_out])
    batch = DistilledTrees(rows, grow(np.ones(len(x), dtype=bool)), max_depth)
    predictions = reweighted(predictions, rows, 0)
    return FullDataTrees(batch, torch.as_tensor(predictions, device=rows.x.device))
