"""A bag of trees with linear leaves, from whose answers the one tree learns.

One tree sees each row once and chases its noise; a bag of trees, each grown on its own
draw of the rows, averages the noise away. The bag is not kept: it tells what it thinks
of the rows, each by the trees that did not see it, and of rows that it imagines, and
the one tree is fitted to both.

Shapes: n rows, F features.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from treelab.learners.get.gain import formula_splits
from treelab.learners.get.leaves import LinearLeaves, level_formulas
from treelab.learners.get.trees import Rows
from treelab.ops.oblique import hard_leaf

# Fewest rows in a leaf, and the rows that draw a formula to the one above it; the bag
# that best tells the rows its trees did not see teaches.
RECIPES = ((10, 3.0), (20, 30.0), (20, 100.0))
DEEPEST = 12
DRAWN = 20_000  # rows a tree of the bag draws, at most
LOOKED_AT = 1500  # rows by which a split in the bag is chosen, at most
CUTS = (7, 12, 3)  # tried there, fewer than for the one tree
IMAGINED, MOST_IMAGINED = 3, 30_000  # imagined rows for each row, and at most
FEWEST_IMAGINED = 2000
NEIGHBOURS = 8  # with one of which a row shares its columns to imagine another
BELIEVED = 0.5  # share of the bag's answer in what the one tree is told of a real row


@dataclass(frozen=True)
class BagTree:
    """One tree of the bag; its answers stay within those of each leaf's rows."""

    weights: np.ndarray
    threshold: np.ndarray
    leaves: LinearLeaves
    lowest: np.ndarray
    highest: np.ndarray

    def answers(self, x: np.ndarray) -> np.ndarray:
        """Values (n,) for encoded rows (n, F)."""
        leaf = hard_leaf(x, self.weights[None], self.threshold[None])
        told = self.leaves.predict(x, leaf)[0]
        return np.clip(told, self.lowest[leaf[0]], self.highest[leaf[0]])


class _Bag:
    """Trees of one recipe, and what they say of the rows that they did not draw."""

    def __init__(self, rows: Rows, recipe: tuple, seed: int):
        self.rows, self.recipe = rows, recipe
        self.rng = np.random.default_rng(seed)
        self.trees = []
        self.sum, self.count = np.zeros(len(rows.x)), np.zeros(len(rows.x))

    def grow(self):
        """Add a tree."""
        x, y = self.rows.x, self.rows.y
        drawn = self.rng.integers(len(x), size=min(len(x), DRAWN))
        tree = _grown(x[drawn], y[drawn], self.recipe, self.rng)
        self.trees.append(tree)
        apart = np.bincount(drawn, minlength=len(x)) == 0
        self.sum[apart] += tree.answers(x[apart])
        self.count += apart

    def told(self) -> np.ndarray:
        """Answers (n,) of the trees that did not see a row, or its own value."""
        return np.where(
            self.count > 0, self.sum / np.maximum(self.count, 1), self.rows.y
        )

    def missed(self) -> float:
        """Squared error of these answers."""
        return float(((self.told() - self.rows.y)[self.count > 0] ** 2).sum())


def teach(
    rows: Rows,
    n_trees: int,
    rng: np.random.Generator,
    *,
    recipes=RECIPES,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Rows, tuple] | None:
    """What a bag of trees says of the rows, and of rows like them.

    Parameters
    ----------
    rows : Rows
        Of a regression.
    n_trees : int
        In the bag.
    rng : numpy Generator
    recipes : sequence of (int, float)
        Fewest rows in a leaf and strength of shrinkage. The bag that is best with half
        of its trees gets the others.
    stop : callable
        Asked before every tree; True ends the lesson.

    Returns
    -------
    taught : Rows
        The rows, their values drawn half way to what the bag says of them, and after
        them ``n_imagined`` rows with the values that the bag gives them.
    recipe : (int, float)
        Of the bag.
        None instead of both where the lesson was ended.

    References
    ----------
    Breiman, "Bagging predictors", 1996. Bucila, Caruana and Niculescu-Mizil, "Model
    compression", KDD 2006, for the imagined rows.
    """
    seed = rng.integers(2**31)
    bags = [_Bag(rows, recipe, seed) for recipe in recipes]
    n_first = n_trees if len(bags) == 1 else math.ceil(n_trees / 2)
    for bag in bags:
        for _ in range(n_first):
            if stop():
                return None
            bag.grow()
    best = min(bags, key=_Bag.missed)
    for _ in range(n_trees - n_first):
        if stop():
            return None
        best.grow()
    told = best.told()
    number = min(max(FEWEST_IMAGINED, IMAGINED * len(rows.x)), MOST_IMAGINED)
    x = imagined(rows.x, number, rng)
    answers = np.mean([tree.answers(x) for tree in best.trees], axis=0)
    y = BELIEVED * told + (1 - BELIEVED) * rows.y
    taught = Rows(
        np.concatenate([rows.x, x]),
        np.concatenate([y, answers]),
        np.ones(len(y) + number),
        0,
        rows.device,
        number,
    )
    return taught, best.recipe


def imagined(x: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Rows (number, F) like ``x`` (n, F): each has columns of a row and a neighbour."""
    known = x
    if len(x) > DRAWN:
        known = x[rng.choice(len(x), DRAWN, replace=False)]
    spread = known.std(axis=0)
    scaled = known / np.where(spread > 1e-9, spread, 1.0)
    n_near = min(NEIGHBOURS + 1, len(known))  # the first is the row itself
    near = NearestNeighbors(n_neighbors=n_near).fit(scaled)
    near = near.kneighbors(scaled, return_distance=False)
    one = rng.integers(len(known), size=number)
    other = near[one, rng.integers(min(1, n_near - 1), n_near, size=number)]
    return np.where(rng.random((number, x.shape[1])) < 0.5, known[one], known[other])


def _grown(x, y, recipe, rng) -> BagTree:
    """A tree of the bag, grown on rows and not pruned."""
    min_leaf_rows, strength = recipe
    depth = int(np.clip(np.log2(max(2, len(x) / 3)), 1, DEEPEST))
    weights, threshold = formula_splits(
        x,
        y,
        depth,
        rng,
        min_leaf_rows=min_leaf_rows,
        penalty=strength,
        looked_at=LOOKED_AT,
        cuts=CUTS,
    )
    leaf = hard_leaf(x, weights[None], threshold[None])[0]
    leaves = level_formulas(leaf, x, y, 2**depth, strength)[-1]
    lowest, highest = np.full(2**depth, np.inf), np.full(2**depth, -np.inf)
    np.minimum.at(lowest, leaf, y)
    np.maximum.at(highest, leaf, y)
    empty = lowest > highest  # no row drawn, but one to be told: any answer will do
    lowest[empty], highest[empty] = y.min(), y.max()
    return BagTree(weights, threshold, leaves, lowest, highest)
