"""What the nodes of a hard oblique tree answer, recomputed from the rows in them.

Every node gets an answer, drawn a little towards its parent's, so that pruning can
ask what a split is worth, and an empty leaf answers as the last node with rows.

Shapes: E trees, L = 2**D leaves, n rows, F features, C outputs.
"""

from dataclasses import dataclass

import numpy as np

SHRINKAGE = 1.0  # rows that say what the parent says, added to a node's own


@dataclass(frozen=True)
class LinearLeaves:
    """Linear answers ``bias + weights @ x`` of the leaves of E trees.

    Attributes
    ----------
    bias : ndarray of shape (E, L)
        In units of the target.
    weights : ndarray of shape (E, L, F)
        Units of the target a unit of the encoded features; zeros where constant.
    """

    bias: np.ndarray
    weights: np.ndarray

    def predict(self, x: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        """Answers (E, n) for encoded rows (n, F) in their leaves (E, n)."""
        tree = np.arange(len(leaf))[:, None]
        answers = self.bias[tree, leaf]
        for e, leaf_of_tree in enumerate(leaf):
            answers[e] += np.einsum("nf,nf->n", self.weights[e][leaf_of_tree], x)
        return answers


def level_means(
    leaf: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    n_leaves: int,
    shrinkage: float = SHRINKAGE,
) -> list[np.ndarray]:
    """Mean target of every node, level by level, drawn towards the means above it.

    From the root down, a node's answer is the mean of its rows joined by `shrinkage`
    rows that say what its parent says; so no class has probability zero (hierarchical
    shrinkage, Agarwal et al., arXiv:2202.00858, in another weighting).

    Parameters
    ----------
    leaf : ndarray of shape (E, n)
        Leaf of every row in every tree.
    target : ndarray of shape (n, C)
        Values, or class membership as 0 and 1.
    weight : ndarray of shape (n,)
        What each row counts.
    n_leaves : int
        Leaves of a tree, a power of two.
    shrinkage : float
        In rows, above 0.

    Returns
    -------
    list of ndarray
        Level d, from the root, has shape (E, 2**d, C); for classes rows sum to 1.
    """
    n_trees = len(leaf)
    slot = (leaf + np.arange(n_trees)[:, None] * n_leaves).ravel()
    size = n_trees * n_leaves

    def sums(values):
        return np.bincount(slot, np.tile(values, n_trees), size)

    counts = [sums(weight).reshape(n_trees, n_leaves, 1)]
    totals = [np.stack([sums(weight * column) for column in target.T], axis=-1)]
    totals[0] = totals[0].reshape(n_trees, n_leaves, -1)
    while counts[-1].shape[1] > 1:  # sums of the levels above, up to the root
        counts.append(counts[-1][:, 0::2] + counts[-1][:, 1::2])
        totals.append(totals[-1][:, 0::2] + totals[-1][:, 1::2])
    levels = [totals[-1] / counts[-1]]
    above = counts[-1]
    for count, total in zip(counts[-2::-1], totals[-2::-1]):
        parent = np.repeat(levels[-1], 2, axis=1)
        answer = (total + shrinkage * parent) / (count + shrinkage)
        # A split that sends all rows one way asks nothing and changes nothing.
        levels.append(np.where(count == np.repeat(above, 2, axis=1), parent, answer))
        above = count
    return levels


def level_formulas(
    leaf: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    n_leaves: int,
    shrinkage: float = SHRINKAGE,
    n_imagined: int = 0,
) -> list[LinearLeaves]:
    """Ridge regression in every node of one tree, drawn towards the formula above.

    A node's formula is that of its parent plus a ridge regression on what the parent
    leaves over, whose penalty is that of `shrinkage` rows spread like all rows. Where
    a node's own columns hardly vary, its slopes so remain its parent's. A node with no
    more rows than a formula has numbers answers with a constant.

    Parameters
    ----------
    leaf : ndarray of shape (n,)
        Leaf of every row.
    x : ndarray of shape (n, F)
        Encoded rows.
    y : ndarray of shape (n,)
        Values.
    n_leaves : int
        Leaves of the tree, a power of two.
    shrinkage : float
        In rows, above 0.
    n_imagined : int
        The last rows, which do not count where too few rows make a constant.

    Returns
    -------
    list of LinearLeaves
        Of one tree; level d, from the root, has 2**d formulas.
    """
    order = np.argsort(leaf, kind="stable")
    design = np.hstack([np.ones((len(x), 1)), x - x.mean(axis=0)])[order]
    y, leaf = y[order], leaf[order]
    n_real = np.append(0, np.cumsum(order < len(x) - n_imagined))
    penalty = shrinkage * np.append(1.0, x.var(axis=0) + 1e-9)
    means = level_means(leaf[None], y[:, None], np.ones(len(y)), n_leaves, shrinkage)
    levels, parents, answers, above = [], None, None, None
    for means_of_level in means:
        width = means_of_level.shape[1]
        bounds = np.searchsorted(leaf, np.arange(width + 1) * (n_leaves // width))
        found = np.zeros((width, design.shape[1]))  # bias first
        shown = np.zeros_like(found)
        for node in range(width):
            rows = slice(bounds[node], bounds[node + 1])
            n_rows = bounds[node + 1] - bounds[node]
            if parents is not None and n_rows == above[node // 2]:
                found[node], shown[node] = parents[node // 2], answers[node // 2]
                continue
            here = np.zeros(found.shape[1]) if parents is None else parents[node // 2]
            a, left_over = design[rows], y[rows] - design[rows] @ here
            gram = a.T @ a
            gram[np.diag_indices_from(gram)] += penalty
            found[node] = here + np.linalg.solve(gram, a.T @ left_over)
            shown[node] = found[node]
            if n_real[rows.stop] - n_real[rows.start] <= found.shape[1]:
                shown[node] = 0.0
                shown[node, 0] = means_of_level[0, node, 0]
        parents, answers, above = found, shown, np.diff(bounds)
        bias = shown[:, 0] - shown[:, 1:] @ x.mean(axis=0)
        levels.append(LinearLeaves(bias[None], shown[None, :, 1:]))
    return levels
