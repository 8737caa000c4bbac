"""Minimal cost-complexity pruning: the weakest link goes first.

Source: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984,
chapter 3; the same numbers as scikit-learn's ``cost_complexity_pruning_path``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from treelab.trees.pruning.cut import cut_at

if TYPE_CHECKING:
    from treelab.trees.tree import Tree

if TYPE_CHECKING:
    from treelab.trees.tree import Tree

_TIE = 1e-12  # alphas that differ by less than this, relative to the root, are one


@dataclass(frozen=True, eq=False)
class CostComplexityPath:
    """All subtrees that are best for some price of a leaf, from the tree to its root.

    Parameters
    ----------
    tree : Tree
        The tree that is pruned.
    alphas : float64 array of shape (n_steps,)
        Ascending price of a leaf, in units of impurity, from which each subtree is
        best; the first, 0, is the tree itself.
    impurities : float64 array of shape (n_steps,)
        Impurity of the leaves of each subtree, weighted by their share of rows.
    n_leaves : int64 array of shape (n_steps,)
        Leaves of each subtree.
    step : int64 array of shape (n_nodes,)
        First step at which each node is a leaf or gone; ``n_steps`` where never (a
        leaf of the tree counts from the step at which a node above it is cut).
    """

    tree: "Tree"
    alphas: np.ndarray
    impurities: np.ndarray
    n_leaves: np.ndarray
    step: np.ndarray

    def __len__(self):
        return len(self.alphas)

    @property
    def trees(self) -> Sequence:
        """The subtrees, made when they are asked for: ``path.trees[3]``."""
        return _Trees(self)

    def table(self) -> pd.DataFrame:
        """Return a row a subtree: alpha, impurity, n_leaves."""
        return pd.DataFrame(
            {
                "alpha": self.alphas,
                "impurity": self.impurities,
                "n_leaves": self.n_leaves,
            }
        )

    def index_of(self, alpha: float) -> int:
        """Return the place of the subtree that is best at this price of a leaf.

        Price 0 keeps the whole tree, as in scikit-learn.

        Raises
        ------
        ValueError
            If the price is negative or not a number.
        """
        if not alpha >= 0:
            raise ValueError(f"alpha must be a number >= 0, got {alpha!r}.")
        if alpha == 0:
            return 0
        return int(np.searchsorted(self.alphas, alpha, side="right")) - 1


class _Trees(Sequence):
    """The subtrees of a path, each made when it is asked for."""

    def __init__(self, path):
        self._path = path

    def __len__(self):
        return len(self._path)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        step = range(len(self))[index]
        path = self._path
        return path.tree if step == 0 else cut_at(path.tree, path.step <= step)


def cost_complexity_path(tree) -> CostComplexityPath:
    """Find the order in which the weakest links of a tree go.

    Parameters
    ----------
    tree : Tree
        With rows and impurities, as ``with_rows`` gives them.

    Returns
    -------
    CostComplexityPath

    Raises
    ------
    ValueError
        If the tree was shown no rows, or does not know its impurities.
    """
    if tree.n_rows[0] == 0 or np.isnan(tree.impurity[tree.n_rows > 0]).any():
        raise ValueError(
            "Cost-complexity pruning needs rows and impurities at each node. "
            "Call tree.with_rows(X, y) with the training rows first."
        )
    share = tree.n_rows / tree.n_rows[0]
    risk = (share * np.where(tree.n_rows > 0, tree.impurity, 0.0)).tolist()
    left, right = tree.left.tolist(), tree.right.tolist()
    parent = tree.parent.tolist()
    leaf_risk, leaves = _below(tree, risk)

    def link(node):
        """Impurity gained for each leaf that goes, when this node is cut."""
        return (risk[node] - leaf_risk[node]) / (leaves[node] - 1)

    # A node's entry in the heap is out of date once something below it was cut.
    current = [link(node) if leaves[node] > 1 else None for node in range(tree.n_nodes)]
    heap = [(g, node) for node, g in enumerate(current) if g is not None]
    heapify(heap)
    tie = _TIE * max(risk[0], np.finfo(float).tiny)
    alphas, impurities, n_leaves = [0.0], [leaf_risk[0]], [leaves[0]]
    step = np.full(tree.n_nodes, -1)
    while heap:
        g, node = heappop(heap)
        if current[node] != g:
            continue
        if len(alphas) == 1 or g > alphas[-1] + tie:
            alphas.append(max(g, alphas[-1]))
            impurities.append(0.0)
            n_leaves.append(0)
        gone = [node]
        while gone:
            below = gone.pop()
            if step[below] < 0:
                step[below] = len(alphas) - 1
                current[below] = None
                if left[below] >= 0:
                    gone += [left[below], right[below]]
        lost, gained = leaves[node] - 1, risk[node] - leaf_risk[node]
        leaf_risk[node], leaves[node] = risk[node], 1
        above = parent[node]
        while above >= 0:
            leaf_risk[above] += gained
            leaves[above] -= lost
            current[above] = link(above)
            heappush(heap, (current[above], above))
            above = parent[above]
        impurities[-1], n_leaves[-1] = leaf_risk[0], leaves[0]
    step[step < 0] = len(alphas)
    return CostComplexityPath(
        tree, np.array(alphas), np.array(impurities), np.array(n_leaves), step
    )


def _below(tree, risk):
    """Return risk and number of the leaves under each node, as lists."""
    leaf_risk = np.where(tree.is_leaf, risk, 0.0)
    leaves = tree.is_leaf.astype(np.int64)
    for level in range(tree.depth, 0, -1):
        nodes = np.flatnonzero(tree.level == level)
        np.add.at(leaf_risk, tree.parent[nodes], leaf_risk[nodes])
        np.add.at(leaves, tree.parent[nodes], leaves[nodes])
    return leaf_risk.tolist(), leaves.tolist()


def cost_complexity_prune(tree, alpha: float):
    """Return the subtree that is best when a leaf costs ``alpha`` of impurity.

    Raises
    ------
    ValueError
        If ``alpha`` is negative, or the tree does not know its impurities.
    """
    path = cost_complexity_path(tree)
    return path.trees[path.index_of(alpha)]
