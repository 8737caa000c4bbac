"""What the nodes of a hard oblique tree predict, computed from the rows in them.

Every node gets a prediction, shrunk a little towards its parent's, so that pruning can
compare a split with a leaf, and an empty leaf predicts as the last node with rows.

Shapes: E trees, L = 2**D leaves, n rows, F features, C outputs.
"""

from dataclasses import dataclass

import numpy as np

SHRINKAGE = 1.0  # pseudo-rows with the parent's prediction, added to a node's own


@dataclass(frozen=True)
class LinearLeaves:
    """Linear models ``bias + weights @ x`` of the leaves of E trees.

    The paper's ``k_t' x + h_t`` (section 2).

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
        """Predictions (E, n) for encoded rows (n, F) in their leaves (E, n)."""
        tree = np.arange(len(leaf))[:, None]
        predicted = self.bias[tree, leaf]
        for e, leaf_of_tree in enumerate(leaf):
            predicted[e] += np.einsum("nf,nf->n", self.weights[e][leaf_of_tree], x)
        return predicted


def level_means(
    leaf: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    n_leaves: int,
    shrinkage: float = SHRINKAGE,
) -> list[np.ndarray]:
    """Mean target of every node, level by level, shrunk towards the means above it.

    From the root down, a node predicts the mean of its rows joined by `shrinkage`
    pseudo-rows with its parent's prediction; so no class has probability zero
    (hierarchical shrinkage, Agarwal et al., arXiv:2202.00858, in another weighting).

    Parameters
    ----------
    leaf : ndarray of shape (E, n)
        Leaf of every row in every tree.
    target : ndarray of shape (n, C)
        Values, or class membership as 0 and 1.
    weight : ndarray of shape (n,)
        Of each row.
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
        shrunk = (total + shrinkage * parent) / (count + shrinkage)
        # A split that sends all rows one way changes nothing.
        levels.append(np.where(count == np.repeat(above, 2, axis=1), parent, shrunk))
        above = count
    return levels


def level_linear_models(
    leaf: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    n_leaves: int,
    shrinkage: float = SHRINKAGE,
    n_synthetic: int = 0,
) -> list[LinearLeaves]:
    """Ridge regression in every node of one tree, shrunk towards the model above.

    A node's linear model is that of its parent plus a ridge regression on the parent's
    residuals, whose penalty is that of `shrinkage` rows that vary like all rows. Where
    a node's own columns hardly vary, its slopes so remain its parent's. A node with no
    more rows than a model has coefficients predicts a constant.

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
    n_synthetic : int
        The last rows, which do not count where too few rows make a constant.

    Returns
    -------
    list of LinearLeaves
        Of one tree; level d, from the root, has 2**d models.
    """
    order = np.argsort(leaf, kind="stable")
    design = np.hstack([np.ones((len(x), 1)), x - x.mean(axis=0)])[order]
    y, leaf = y[order], leaf[order]
    n_real = np.append(0, np.cumsum(order < len(x) - n_synthetic))
    penalty = shrinkage * np.append(1.0, x.var(axis=0) + 1e-9)
    means = level_means(leaf[None], y[:, None], np.ones(len(y)), n_leaves, shrinkage)
    n_coefficients = design.shape[1]
    # Of the level above: the models, what its nodes predict with, and their rows.
    models = np.zeros((1, n_coefficients))  # bias first
    predictors, n_rows_above = models, np.array([-1])
    levels = []
    for means_of_level in means:
        width = means_of_level.shape[1]
        parent = np.arange(width) // 2
        bounds = np.searchsorted(leaf, np.arange(width + 1) * (n_leaves // width))
        n_rows = np.diff(bounds)
        models, predictors = models[parent], predictors[parent]
        for node in np.flatnonzero(n_rows != n_rows_above[parent]):
            first, last = bounds[node], bounds[node + 1]
            here = design[first:last]
            models[node] += ridge(here, y[first:last] - here @ models[node], penalty)
            predictors[node] = models[node]
            if n_real[last] - n_real[first] <= n_coefficients:
                predictors[node] = 0.0
                predictors[node, 0] = means_of_level[0, node, 0]
        n_rows_above = n_rows
        bias = predictors[:, 0] - predictors[:, 1:] @ x.mean(axis=0)
        levels.append(LinearLeaves(bias[None], predictors[None, :, 1:]))
    return levels


def ridge(design: np.ndarray, y: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
    """Coefficients (P,) of a ridge regression on rows (n, P), each with a penalty."""
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += penalty
    return np.linalg.solve(gram, design.T @ y)
