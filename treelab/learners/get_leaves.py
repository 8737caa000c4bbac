"""What the leaves of a hard oblique tree answer, recomputed from the rows in them.

Shapes: E trees, L = 2**D leaves, n rows, F features, C outputs.
"""

from dataclasses import dataclass

import numpy as np

SHRINKAGE = 1.0  # rows of the parent's answer that every node's own rows are joined by
RIDGE = 1e-3  # share of the mean diagonal of a leaf's Gram matrix added to it


@dataclass(frozen=True)
class LinearLeaves:
    """Linear answers ``bias + weights @ x`` of the leaves of E trees.

    Attributes
    ----------
    bias : ndarray of shape (E, L)
        In units of the target.
    weights : ndarray of shape (E, L, F)
        Units of the target a unit of the encoded features; zeros where constant.
    constant : bool ndarray of shape (E, L)
        Leaves with too few rows for a formula, which answer with one value.
    """

    bias: np.ndarray
    weights: np.ndarray
    constant: np.ndarray

    def predict(self, x: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        """Answers (E, n) for encoded rows (n, F) in their leaves (E, n)."""
        tree = np.arange(len(leaf))[:, None]
        answers = self.bias[tree, leaf]
        for e, leaf_of_tree in enumerate(leaf):
            answers[e] += np.einsum("nf,nf->n", self.weights[e][leaf_of_tree], x)
        return answers


def constant_leaves(
    leaf: np.ndarray, target: np.ndarray, weight: np.ndarray, n_leaves: int
) -> np.ndarray:
    """Mean target of each leaf, drawn a little towards the means above it.

    From the root down, a node's answer is the mean of its rows joined by ``SHRINKAGE``
    rows that say what its parent says. So an empty leaf answers as its nearest
    ancestor with rows, and no class has probability zero.

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

    Returns
    -------
    ndarray of shape (E, L, C)
        In units of the target; for classes the rows sum to 1.
    """
    n_trees = len(leaf)
    slot = (leaf + np.arange(n_trees)[:, None] * n_leaves).ravel()
    size = n_trees * n_leaves
    count = np.bincount(slot, np.tile(weight, n_trees), size)
    total = np.stack(
        [
            np.bincount(slot, np.tile(weight * column, n_trees), size)
            for column in target.T
        ],
        axis=-1,
    )
    counts = [count.reshape(n_trees, n_leaves, 1)]
    totals = [total.reshape(n_trees, n_leaves, -1)]
    while counts[-1].shape[1] > 1:  # sums of the levels above, up to the root
        counts.append(counts[-1][:, 0::2] + counts[-1][:, 1::2])
        totals.append(totals[-1][:, 0::2] + totals[-1][:, 1::2])
    answer = totals[-1] / counts[-1]
    for count, total in zip(counts[-2::-1], totals[-2::-1]):
        parent = np.repeat(answer, 2, axis=1)
        answer = (total + SHRINKAGE * parent) / (count + SHRINKAGE)
    return answer


def linear_leaves(
    leaf: np.ndarray, x: np.ndarray, target: np.ndarray, n_leaves: int
) -> LinearLeaves:
    """Ridge regression in every leaf; one value where rows are too few.

    A leaf with no more rows than it has weights to find answers with a constant, as
    ``constant_leaves`` gives it.

    Parameters
    ----------
    leaf : ndarray of shape (E, n)
        Leaf of every row in every tree.
    x : ndarray of shape (n, F)
        Encoded rows.
    target : ndarray of shape (n,)
        Values.
    n_leaves : int
        Leaves of a tree, a power of two.

    Returns
    -------
    LinearLeaves
    """
    n_trees, n_features = len(leaf), x.shape[1]
    ones = np.ones(len(x))
    bias = constant_leaves(leaf, target[:, None], ones, n_leaves)[..., 0]
    weights = np.zeros((n_trees, n_leaves, n_features))
    constant = np.ones((n_trees, n_leaves), dtype=bool)
    for e in range(n_trees):
        order = np.argsort(leaf[e], kind="stable")
        bounds = np.searchsorted(leaf[e][order], np.arange(n_leaves + 1))
        for at in np.flatnonzero(np.diff(bounds) > n_features + 1):
            rows = order[bounds[at] : bounds[at + 1]]
            bias[e, at], weights[e, at] = _ridge(x[rows], target[rows])
            constant[e, at] = False
    return LinearLeaves(bias, weights, constant)


def _ridge(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Bias and weights of a ridge regression whose bias is not shrunk."""
    x_mean, y_mean = x.mean(axis=0), y.mean()
    x, y = x - x_mean, y - y_mean
    gram = x.T @ x
    gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) / len(gram) + 1e-9
    weights = np.linalg.solve(gram, x.T @ y)
    return y_mean - weights @ x_mean, weights
