"""Minimal cost-complexity pruning: the weakest link is cut first.

Source: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984,
chapter 3; the same numbers as scikit-learn's ``cost_complexity_pruning_path``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
import pandas as pd

from treelab.trees.pruning.cut import cut_at
from treelab.trees.tree import Tree
from treelab.trees.walk import sum_up

_TIE = 1e-12  # alphas that differ by less than this, relative to the root, are one


@dataclass(frozen=True, eq=False)
class CostComplexityPath:
    """All subtrees that minimise ``R(T) + alpha |T|`` for some alpha (section 3.3).

    Parameters
    ----------
    tree : Tree
        The tree that is pruned.
    alphas : float64 array of shape (n_steps,)
        Ascending complexity parameter (``ccp_alpha``), in units of impurity, from
        which each subtree is the minimal one; the first, 0, is the tree itself.
    impurities : float64 array of shape (n_steps,)
        R(T) of each subtree: impurity of its leaves, weighted by their rows.
    n_leaves : int64 array of shape (n_steps,)
        Leaves |T| of each subtree.
    step : int64 array of shape (n_nodes,)
        First step at which each node is a leaf or pruned; ``n_steps`` where never (a
        leaf of the tree counts from the step at which a node above it is cut).
    """

    tree: Tree
    alphas: np.ndarray
    impurities: np.ndarray
    n_leaves: np.ndarray
    step: np.ndarray

    def __len__(self):
        return len(self.alphas)

    @property
    def trees(self) -> Sequence[Tree]:
        """The subtrees, each made when it is read: ``path.trees[3]``."""
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
        """Return the index of the minimal subtree at a complexity parameter.

        0 stands for the tree that is not pruned, as in scikit-learn.

        Raises
        ------
        ValueError
            If ``alpha`` is negative or not a number.
        """
        if not alpha >= 0:
            raise ValueError(f"alpha must be a number >= 0, got {alpha!r}.")
        if alpha == 0:
            return 0
        return int(np.searchsorted(self.alphas, alpha, side="right")) - 1


class _Trees(Sequence):
    """The subtrees of a path, each made when it is read."""

    def __init__(self, path: CostComplexityPath):
        self._path = path

    def __len__(self):
        return len(self._path)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        step = range(len(self))[index]
        path = self._path
        return path.tree if step == 0 else cut_at(path.tree, path.step <= step)


def cost_complexity_path(tree: Tree) -> CostComplexityPath:
    """Find the order in which the weakest links of a tree are cut.

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
        If the tree has no rows, or not all impurities.
    """
    if tree.n_rows[0] == 0 or np.isnan(tree.impurity[tree.n_rows > 0]).any():
        raise ValueError(
            "Cost-complexity pruning needs rows and impurities at each node. "
            "Call tree.with_rows(X, y) with the training rows first."
        )
    links = _Links(tree)
    tie = _TIE * max(links.risk[0], np.finfo(float).tiny)
    alphas, impurities, n_leaves = [0.0], [links.leaf_risk[0]], [links.n_leaves[0]]
    step = np.full(tree.n_nodes, -1)
    for alpha, pruned in links.cut_all():
        if len(alphas) == 1 or alpha > alphas[-1] + tie:
            alphas.append(max(alpha, alphas[-1]))
            impurities.append(0.0)
            n_leaves.append(0)
        step[pruned] = len(alphas) - 1
        impurities[-1], n_leaves[-1] = links.leaf_risk[0], links.n_leaves[0]
    step[step < 0] = len(alphas)
    return CostComplexityPath(
        tree, np.array(alphas), np.array(impurities), np.array(n_leaves), step
    )


def cost_complexity_prune(tree: Tree, alpha: float) -> Tree:
    """Return the minimal subtree at a complexity parameter, as ``ccp_alpha`` prunes.

    Raises
    ------
    ValueError
        If ``alpha`` is negative, or the tree has no rows or impurities.
    """
    path = cost_complexity_path(tree)
    return path.trees[path.index_of(alpha)]


class _Links:
    """A tree that is cut further and further, as lists by node.

    Attributes
    ----------
    risk : list of float
        R(t), the impurity of each node weighted by its rows.
    leaf_risk : list of float
        R(T_t), the same of the leaves under each node.
    n_leaves : list of int
        Leaves |T_t| under each node.
    strength : list of float or None
        g(t) of each split; None for leaves and pruned nodes.
    """

    def __init__(self, tree: Tree):
        fraction = tree.n_rows / tree.n_rows[0]
        risk = fraction * np.where(tree.n_rows > 0, tree.impurity, 0.0)
        self.risk = risk.tolist()
        self.leaf_risk = sum_up(tree, np.where(tree.is_leaf, risk, 0.0)).tolist()
        self.n_leaves = sum_up(tree, tree.is_leaf.astype(np.int64)).tolist()
        self.left, self.right = tree.left.tolist(), tree.right.tolist()
        self.parent = tree.parent.tolist()
        self.is_pruned = [False] * tree.n_nodes
        self.strength = [
            self._strength(node) if n > 1 else None
            for node, n in enumerate(self.n_leaves)
        ]

    def cut_all(self) -> Iterator[tuple[float, list[int]]]:
        """Cut the weakest link until the root is a leaf; yield g(t), nodes pruned."""
        # A node's entry is out of date once something below it was cut.
        heap = [(g, node) for node, g in enumerate(self.strength) if g is not None]
        heapify(heap)
        while heap:
            strength, node = heappop(heap)
            if self.strength[node] != strength:
                continue
            pruned = self._cut(node)
            for above in self._update_above(node):
                heappush(heap, (self._strength(above), above))
            yield strength, pruned

    def _strength(self, node: int) -> float:
        """Strength g(t) = (R(t) - R(T_t)) / (|T_t| - 1) of a link: its alpha."""
        lost = self.risk[node] - self.leaf_risk[node]
        return lost / (self.n_leaves[node] - 1)

    def _cut(self, node: int) -> list[int]:
        """Make a leaf of a node; return it and all that was still below it."""
        pruned, waiting = [], [node]
        while waiting:
            below = waiting.pop()
            if self.is_pruned[below]:
                continue
            self.is_pruned[below], self.strength[below] = True, None
            pruned.append(below)
            if self.left[below] >= 0:
                waiting += [self.left[below], self.right[below]]
        return pruned

    def _update_above(self, node: int) -> Iterator[int]:
        """Count a node as a leaf at all nodes above it; yield these."""
        n_lost = self.n_leaves[node] - 1
        gained = self.risk[node] - self.leaf_risk[node]
        self.leaf_risk[node], self.n_leaves[node] = self.risk[node], 1
        above = self.parent[node]
        while above >= 0:
            self.leaf_risk[above] += gained
            self.n_leaves[above] -= n_lost
            self.strength[above] = self._strength(above)
            yield above
            above = self.parent[above]
