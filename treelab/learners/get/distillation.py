"""A bagging ensemble of trees with linear leaves, from which the one tree is distilled.

One tree sees each row once and fits its noise; trees on bootstrap samples average the
noise away. The ensemble is not saved: it gives soft targets for the rows (out of bag)
and for synthetic rows, on which the one tree is trained. The paper's GET-Linear is not
distilled.

Shapes: n rows, F features.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.neighbors import NearestNeighbors

from treelab.learners.get.linear_splits import LinearGrowth, linear_splits
from treelab.learners.get.rows import Rows
from treelab.learners.get.trees import HardTrees
from treelab.ops.oblique import hard_leaf

# Of the bagged trees, searched less closely than the one tree.
GROWTH = LinearGrowth(penalty=30.0, max_rows=1500, n_thresholds=(7, 12), n_finalists=3)
SYNTHETIC_PER_ROW = 3
MIN_SYNTHETIC, MAX_SYNTHETIC = 2000, 30_000
N_NEIGHBOURS = 8  # with one of which a row is crossed to make a synthetic row
TEACHER_WEIGHT = 0.5  # of the ensemble's prediction in the soft target of a real row


def distil(
    rows: Rows,
    valid: Rows,
    depth: int,
    n_trees: int,
    rng: np.random.Generator,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Rows, Rows] | None:
    """Soft targets from a bagging ensemble, and synthetic rows.

    Parameters
    ----------
    rows, valid : Rows
        Training rows of a regression, on which the ensemble is grown, and others.
    depth : int
        Most splits on a path of a bagged tree.
    n_trees : int
        In the ensemble.
    rng : numpy Generator
    should_stop : callable
        Asked before every tree.

    Returns
    -------
    (Rows, Rows) or None
        Training rows with soft targets, half their own value and half their out-of-bag
        prediction, then ``n_synthetic`` rows with the ensemble's predictions; and the
        validation rows with soft targets. None where it was stopped.

    References
    ----------
    Breiman, "Bagging predictors", 1996. Bucila, Caruana and Niculescu-Mizil, "Model
    compression", KDD 2006, for the synthetic rows.
    """
    n_rows = len(rows.x)
    number = min(max(MIN_SYNTHETIC, SYNTHETIC_PER_ROW * n_rows), MAX_SYNTHETIC)
    x = np.concatenate([rows.x, valid.x, synthetic_rows(rows.x, number, rng)])
    total, count = np.zeros(len(x)), np.zeros(len(x))
    for _ in range(n_trees):
        if should_stop():
            return None
        drawn = rng.integers(n_rows, size=n_rows)
        sees = np.bincount(drawn, minlength=len(x)) == 0  # out of bag, or no such row
        total[sees] += _bagged_predictions(rows, drawn, depth, x[sees], rng)
        count += sees
    y = np.concatenate([rows.y, valid.y])
    known = count[: len(y)] > 0
    teacher = np.where(known, total[: len(y)] / np.maximum(count[: len(y)], 1), y)
    soft = TEACHER_WEIGHT * teacher + (1 - TEACHER_WEIGHT) * y
    soft_rows = replace(
        rows,
        x=np.concatenate([rows.x, x[len(y) :]]),
        y=np.concatenate([soft[:n_rows], total[len(y) :] / n_trees]),
        weight=np.ones(n_rows + number),
        n_synthetic=number,
    )
    return soft_rows, replace(valid, y=soft[n_rows:])


def with_soft_targets(rows: Rows, soft: Rows, soft_valid: Rows) -> Rows:
    """All rows of a table with the soft targets of ``distil``, then synthetic ones."""
    n_rows = len(soft.y) - soft.n_synthetic
    y = np.concatenate([soft.y[:n_rows], soft_valid.y])[: len(rows.y)]
    return replace(
        soft,
        x=np.concatenate([rows.x, soft.x[n_rows:]]),
        y=np.concatenate([y, soft.y[n_rows:]]),
        weight=np.ones(len(y) + soft.n_synthetic),
    )


def _bagged_predictions(
    rows: Rows, drawn: np.ndarray, depth: int, x: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Grow a tree on drawn rows and predict others (m,) within each leaf's range."""
    own = replace(rows, x=rows.x[drawn], y=rows.y[drawn], weight=rows.weight[drawn])
    weights, threshold = linear_splits(own.x, own.y, depth, rng, growth=GROWTH)
    splits = weights[None], threshold[None]
    tree = HardTrees.fit(*splits, own, linear=True, shrinkage=GROWTH.penalty)
    leaf = hard_leaf(own.x, *splits)[0]
    lowest, highest = np.full(2**depth, np.inf), np.full(2**depth, -np.inf)
    np.minimum.at(lowest, leaf, own.y)
    np.maximum.at(highest, leaf, own.y)
    empty = lowest > highest  # no row was drawn into it, but one may be predicted
    lowest[empty], highest[empty] = own.y.min(), own.y.max()
    reached = hard_leaf(x, *splits)[0]
    return np.clip(tree.predict(x)[0, :, 0], lowest[reached], highest[reached])


def synthetic_rows(x: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Rows (number, F) like ``x`` (n, F): each has columns of a row and a neighbour."""
    std = x.std(axis=0)
    scaled = x / np.where(std > 1e-9, std, 1.0)
    n_near = min(N_NEIGHBOURS + 1, len(x))  # the first is the row itself
    index = NearestNeighbors(n_neighbors=n_near).fit(scaled)
    one = rng.integers(len(x), size=number)
    near = index.kneighbors(scaled, return_distance=False)
    other = near[one, rng.integers(min(1, n_near - 1), n_near, size=number)]
    return np.where(rng.random((number, x.shape[1])) < 0.5, x[one], x[other])
