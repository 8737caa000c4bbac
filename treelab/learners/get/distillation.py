"""A bagging ensemble of trees with linear leaves, from which the one tree is distilled.

One tree sees each row once and fits its noise; a bagging ensemble, each tree grown on
its own bootstrap sample, averages the noise away. The ensemble is not saved: it gives
soft targets for the rows (out of bag) and for synthetic rows, and the one tree is
fitted to both. The paper's GET-Linear is not distilled.

Shapes: n rows, F features.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from treelab.learners.get.leaves import LinearLeaves, level_linear_models
from treelab.learners.get.linear_splits import LinearGrowth, linear_splits
from treelab.learners.get.rows import Rows
from treelab.learners.get.settings import auto_depth
from treelab.ops.oblique import hard_leaf


def _growth(min_samples_leaf: int, penalty: float) -> LinearGrowth:
    """Growth of a bagged tree, searched less closely than the one tree."""
    return LinearGrowth(
        min_samples_leaf=min_samples_leaf,
        penalty=penalty,
        max_rows=1500,
        n_thresholds=(7, 12),
        n_finalists=3,
    )


# The ensemble with the smallest out-of-bag error is the teacher.
GROWTHS = (_growth(10, 3.0), _growth(20, 30.0), _growth(20, 100.0))
MAX_BOOTSTRAP_ROWS = 20_000  # that a bagged tree is grown on
SYNTHETIC_PER_ROW = 3
MIN_SYNTHETIC, MAX_SYNTHETIC = 2000, 30_000
N_NEIGHBOURS = 8  # with one of which a row is crossed to make a synthetic row
TEACHER_WEIGHT = 0.5  # of the ensemble's prediction in the soft target of a real row


@dataclass(frozen=True)
class Distilled:
    """What the one tree is distilled from.

    Attributes
    ----------
    rows : Rows
        The rows with soft targets, half the ensemble's prediction and half their own
        value, and after them ``n_synthetic`` rows with the ensemble's predictions.
    growth : LinearGrowth
        Of the ensemble.
    seed : int
        For the same of other rows.
    """

    rows: Rows
    growth: LinearGrowth
    seed: int = 0


@dataclass(frozen=True)
class BaggedTree:
    """One tree of the ensemble; it predicts within the range of each leaf's rows."""

    weights: np.ndarray
    threshold: np.ndarray
    leaves: LinearLeaves
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def grow(
        cls, x: np.ndarray, y: np.ndarray, growth: LinearGrowth, rng
    ) -> "BaggedTree":
        """Grow a tree on rows (n, F) and their values; it is not pruned."""
        depth = auto_depth(len(x))
        weights, threshold = linear_splits(x, y, depth, rng, growth=growth)
        leaf = hard_leaf(x, weights[None], threshold[None])[0]
        leaves = level_linear_models(leaf, x, y, 2**depth, growth.penalty)[-1]
        lowest, highest = np.full(2**depth, np.inf), np.full(2**depth, -np.inf)
        np.minimum.at(lowest, leaf, y)
        np.maximum.at(highest, leaf, y)
        empty = lowest > highest  # no row was drawn into it, but one may be predicted
        lowest[empty], highest[empty] = y.min(), y.max()
        return cls(weights, threshold, leaves, lowest, highest)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Values (n,) for encoded rows (n, F)."""
        leaf = hard_leaf(x, self.weights[None], self.threshold[None])
        predicted = self.leaves.predict(x, leaf)[0]
        return np.clip(predicted, self.lowest[leaf[0]], self.highest[leaf[0]])


class _BaggingEnsemble:
    """Trees grown alike on bootstrap samples, and their out-of-bag predictions."""

    def __init__(self, rows: Rows, growth: LinearGrowth, seed: int):
        self.rows, self.growth = rows, growth
        self.rng = np.random.default_rng(seed)
        self.trees: list[BaggedTree] = []
        self.sum, self.count = np.zeros(len(rows.x)), np.zeros(len(rows.x))

    def add_tree(self) -> None:
        """Grow one more tree."""
        x, y = self.rows.x, self.rows.y
        drawn = self.rng.integers(len(x), size=min(len(x), MAX_BOOTSTRAP_ROWS))
        tree = BaggedTree.grow(x[drawn], y[drawn], self.growth, self.rng)
        self.trees.append(tree)
        out_of_bag = np.bincount(drawn, minlength=len(x)) == 0
        self.sum[out_of_bag] += tree.predict(x[out_of_bag])
        self.count += out_of_bag

    def out_of_bag_predictions(self) -> np.ndarray:
        """Predictions (n,) of the trees that did not see a row, or its own value."""
        return np.where(
            self.count > 0, self.sum / np.maximum(self.count, 1), self.rows.y
        )

    def out_of_bag_error(self) -> float:
        """Summed squared error of these predictions."""
        error = (self.out_of_bag_predictions() - self.rows.y)[self.count > 0]
        return float((error**2).sum())

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Mean prediction (n,) of all trees."""
        return np.mean([tree.predict(x) for tree in self.trees], axis=0)


def distil(
    rows: Rows,
    n_trees: int,
    rng: np.random.Generator,
    *,
    growths: tuple[LinearGrowth, ...] = GROWTHS,
    should_stop: Callable[[], bool] = lambda: False,
) -> Distilled | None:
    """Soft targets for the rows, and synthetic rows, from a bagging ensemble.

    Parameters
    ----------
    rows : Rows
        Of a regression.
    n_trees : int
        In the ensemble.
    rng : numpy Generator
    growths : tuple of LinearGrowth
        To choose from: the ensemble with the smallest out-of-bag error after half of
        its trees gets the others.
    should_stop : callable
        Asked before every tree.

    Returns
    -------
    Distilled or None
        None where it was stopped.

    References
    ----------
    Breiman, "Bagging predictors", 1996. Bucila, Caruana and Niculescu-Mizil, "Model
    compression", KDD 2006, for the synthetic rows.
    """
    seed = int(rng.integers(2**31))
    ensembles = [_BaggingEnsemble(rows, growth, seed) for growth in growths]
    n_first = n_trees if len(ensembles) == 1 else math.ceil(n_trees / 2)
    for ensemble in ensembles:
        for _ in range(n_first):
            if should_stop():
                return None
            ensemble.add_tree()
    teacher = min(ensembles, key=_BaggingEnsemble.out_of_bag_error)
    for _ in range(n_trees - n_first):
        if should_stop():
            return None
        teacher.add_tree()
    return Distilled(_soft_rows(teacher, rng), teacher.growth)


def _soft_rows(teacher: _BaggingEnsemble, rng: np.random.Generator) -> Rows:
    """The teacher's rows with soft targets, then synthetic rows."""
    rows = teacher.rows
    number = min(max(MIN_SYNTHETIC, SYNTHETIC_PER_ROW * len(rows.x)), MAX_SYNTHETIC)
    x = synthetic_rows(rows.x, number, rng)
    soft = teacher.out_of_bag_predictions()
    soft = TEACHER_WEIGHT * soft + (1 - TEACHER_WEIGHT) * rows.y
    return Rows(
        np.concatenate([rows.x, x]),
        np.concatenate([soft, teacher.predict(x)]),
        np.ones(len(soft) + number),
        0,
        rows.device,
        number,
    )


def synthetic_rows(x: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Rows (number, F) like ``x`` (n, F): each has columns of a row and a neighbour."""
    known = x
    if len(x) > MAX_BOOTSTRAP_ROWS:
        known = x[rng.choice(len(x), MAX_BOOTSTRAP_ROWS, replace=False)]
    std = known.std(axis=0)
    scaled = known / np.where(std > 1e-9, std, 1.0)
    n_near = min(N_NEIGHBOURS + 1, len(known))  # the first is the row itself
    index = NearestNeighbors(n_neighbors=n_near).fit(scaled)
    near = index.kneighbors(scaled, return_distance=False)
    one = rng.integers(len(known), size=number)
    other = near[one, rng.integers(min(1, n_near - 1), n_near, size=number)]
    return np.where(rng.random((number, x.shape[1])) < 0.5, known[one], known[other])
