"""What the nodes of a hard oblique tree predict, computed from the rows in them.

Every leaf is shrunk a little towards the nodes above it, and an empty one predicts as
the last node with rows.

Shapes: E trees, L = 2**D leaves, n rows, F features, C outputs.
"""

import numpy as np

SHRINKAGE = 1.0  # pseudo-rows with the parent's prediction, added to a node's own


def leaf_means(
    leaf: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    n_leaves: int,
    shrinkage: float = SHRINKAGE,
) -> np.ndarray:
    """Mean target of every leaf, shrunk towards the means of the nodes above it.

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
    ndarray of shape (E, L, C)
        For classes they sum to 1.
    """
    n_trees = len(leaf)
    slot = (leaf + np.arange(n_trees)[:, None] * n_leaves).ravel()
    both = np.column_stack([weight[:, None] * target, weight])  # (n, C + 1)
    sums = [np.bincount(slot, np.tile(v, n_trees), n_trees * n_leaves) for v in both.T]
    levels = [np.stack(sums, axis=-1).reshape(n_trees, n_leaves, -1)]
    while levels[-1].shape[1] > 1:  # sums of the levels above, up to the root
        levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
    mean = levels[-1][..., :-1] / levels[-1][..., -1:]
    for above, here in zip(levels[:0:-1], levels[-2::-1]):
        parent, count = np.repeat(mean, 2, axis=1), here[..., -1:]
        shrunk = (here[..., :-1] + shrinkage * parent) / (count + shrinkage)
        # A split that sends all rows one way changes nothing.
        same = count == np.repeat(above[..., -1:], 2, axis=1)
        mean = np.where(same, parent, shrunk)
    return mean


def leaf_models(
    leaf: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    n_leaves: int,
    shrinkage: float = SHRINKAGE,
) -> np.ndarray:
    """Ridge regression in every leaf of one tree, shrunk towards the models above.

    A node's linear model is that of its parent plus a ridge regression on the parent's
    residuals, whose penalty is that of `shrinkage` rows that vary like all rows. Where
    a node's own columns hardly vary, or its rows are few, its slopes so remain its
    parent's.

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

    Returns
    -------
    ndarray of shape (L, 1 + F)
        Bias and weights for encoded rows, the paper's h_t and k_t (section 2).
    """
    order = np.argsort(leaf, kind="stable")
    centre = x.mean(axis=0)
    design = np.hstack([np.ones((len(x), 1)), x - centre])[order]
    y, leaf = y[order], leaf[order]
    penalty = shrinkage * np.append(1.0, x.var(axis=0) + 1e-9)
    models = np.zeros((1, design.shape[1]))  # of the level above, bias first
    n_rows_above, width = np.array([-1]), 1
    while width <= n_leaves:
        parent = np.arange(width) // 2
        bounds = np.searchsorted(leaf, np.arange(width + 1) * (n_leaves // width))
        models, n_rows = models[parent], np.diff(bounds)
        for node in np.flatnonzero(n_rows != n_rows_above[parent]):
            at = slice(bounds[node], bounds[node + 1])
            models[node] += ridge(
                design[at], y[at] - design[at] @ models[node], penalty
            )
        n_rows_above, width = n_rows, 2 * width
    models[:, 0] -= models[:, 1:] @ centre
    return models


def ridge(design: np.ndarray, y: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
    """Coefficients (P,) of a ridge regression on rows (n, P), each with a penalty."""
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += penalty
    return np.linalg.solve(gram, design.T @ y)
