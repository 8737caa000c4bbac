"""Greedy splits for leaves that hold linear models, by what these explain.

The paper trains all splits by gradients alone (algorithm 1); growth is ours.

Shapes: N = 2**D - 1 splits breadth first, n rows, F features, K directions, P
coefficients of a linear model.
"""

from dataclasses import dataclass

import numpy as np

from treelab.learners.get.leaves import ridge
from treelab.learners.get.starts import Growth, Splits, directions, no_splits
from treelab.ops.linear_split_numba import best_linear_split

MAX_MODEL_COLUMNS = 40  # that enter a linear model while splits are compared


@dataclass(frozen=True)
class LinearGrowth(Growth):
    """How a tree with linear leaves is grown greedily.

    Attributes
    ----------
    penalty : float
        Of the linear models, in rows that vary like all rows.
    n_thresholds : (int, int)
        Candidate thresholds along every direction, then near the best of finalists.
    n_finalists : int
        Directions that are searched more closely.
    """

    min_samples_leaf: int = 20
    penalty: float = 3.0
    n_thresholds: tuple[int, int] = (9, 24)
    n_finalists: int = 4


DEFAULT_GROWTH = LinearGrowth()


def linear_splits(
    x: np.ndarray,
    y: np.ndarray,
    depth: int,
    rng: np.random.Generator,
    *,
    growth: LinearGrowth = DEFAULT_GROWTH,
    top: Splits | None = None,
) -> Splits:
    """Splits of a tree that is grown greedily for leaves that hold linear models.

    A node's model is that of its parent plus a ridge regression on the parent's
    residuals. The split of a node is the direction and the threshold for which two
    models, one a side, lower the penalised squared error most. Directions are the
    columns and the sums that ``starts.directions`` finds.

    Parameters
    ----------
    x, y : ndarray of shape (n, F), (n,)
        Encoded rows and their values.
    depth : int
        Most splits on a path.
    rng : numpy Generator
    growth : LinearGrowth
    top : (weights, threshold), optional
        Splits of the first levels, which stay.

    Returns
    -------
    weights : ndarray of shape (N, F)
    threshold : ndarray of shape (N,)
        Where there is no split: no weights and an infinite threshold.
    """
    weights, threshold, n_top = no_splits(depth, x.shape[1], top)
    # In these units the penalty on every coefficient is 1.
    unit = np.sqrt(growth.penalty * np.append(1.0, x.var(axis=0) + 1e-9))
    design = np.hstack([np.ones((len(x), 1)), x - x.mean(axis=0)]) / unit
    negligible = 1e-9 * ((y - y.mean()) ** 2).sum()
    waiting = [(0, np.arange(len(x)), y)]
    while waiting:
        split, rows, residual = waiting.pop()
        if split >= len(threshold) or len(rows) < 2 * growth.min_samples_leaf:
            continue
        if split >= n_top or np.isfinite(threshold[split]):
            model = ridge(design[rows], residual, 1.0)
            residual = residual - design[rows] @ model
        if split >= n_top:
            if (residual**2).sum() <= negligible:
                continue
            at = np.arange(len(rows))
            if len(rows) > growth.max_rows:
                at = rng.choice(len(rows), growth.max_rows, replace=False)
            augmented = _augmented_design(design[rows[at]], residual[at], model)
            tried = _directions_tried(x[rows[at]], y[rows[at]], growth, rng)
            gain, best, value = best_linear_split(
                x[rows[at]] @ tried,
                augmented,
                min_rows=growth.min_samples_leaf,
                n_thresholds=growth.n_thresholds,
                n_finalists=growth.n_finalists,
            )
            if best < 0 or gain <= negligible:
                continue
            weights[split], threshold[split] = tried[:, best], value
        goes_left = x[rows] @ weights[split] <= threshold[split]
        for child, part in ((2 * split + 1, goes_left), (2 * split + 2, ~goes_left)):
            waiting.append((child, rows[part], residual[part]))
    return weights, threshold


def _directions_tried(x, y, growth, rng) -> np.ndarray:
    """Directions (F, K) that a node's split may take."""
    columns = np.eye(x.shape[1])
    if not growth.oblique:
        return columns
    return np.hstack([columns, directions(x, y[:, None], np.ones(len(x)), rng)])


def _augmented_design(design, residual, model) -> np.ndarray:
    """Design of the columns that move a model's predictions most, then the residual."""
    used = np.arange(len(model))
    if len(model) > MAX_MODEL_COLUMNS + 1:
        moved = np.abs(model[1:]) * design[:, 1:].std(axis=0)
        most = np.argsort(-moved, kind="stable")[:MAX_MODEL_COLUMNS]
        used = np.append(0, 1 + np.sort(most))
    return np.hstack([design[:, used], residual[:, None]])
