"""How large a tree should be: how many leaves, and how many columns in its splits.

Both are chosen by held-out rows. The paper tunes the depth instead (section 5.1), and
has an L1 penalty for the columns (equation 5).

Shapes: T = 2 * L - 1 nodes breadth first, splits before leaves; S sizes, n rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.evaluation.metrics import macro_f1
from treelab.learners.get.leaves import (
    LinearLeaves,
    level_linear_models,
    level_means,
)
from treelab.learners.get.rows import Rows
from treelab.learners.get.trees import HardTrees
from treelab.ops.oblique import hard_leaf
from treelab.trees.pruning.size_path import within_one_standard_error
from treelab.trees.pruning.sparse_sums import N_COLUMNS, approximations

# Pseudo-rows that shrink a node towards its parent: from hardly to almost all of it.
SHRINKAGES = (0.1, 1.0, 10.0, 100.0)
NO_SHRINKAGE = 1e-9  # leaves are means and least squares, as in the paper
N_BOOTSTRAPS = 50  # for the standard error of macro F1
AT_ONCE = 8  # an eighth of a large tree's splits falls in one step


@dataclass(frozen=True)
class Prunings:
    """All cost-complexity subtrees of one tree, largest first.

    Attributes
    ----------
    trees : HardTrees
        The batch of one tree that is pruned.
    retained : bool ndarray of shape (S, N)
        Splits of each subtree.
    loss : ndarray of shape (S,)
        Validation loss.
    """

    trees: HardTrees
    retained: np.ndarray
    loss: np.ndarray

    @property
    def n_leaves(self) -> np.ndarray:
        """Leaves of each subtree (S,)."""
        return 1 + self.retained.sum(axis=1)

    @classmethod
    def of(cls, trees: HardTrees, rows: Rows, valid: Rows) -> "Prunings":
        """Prune by the weakest link (Breiman et al., 1984, section 3.3).

        Training rows decide the order in which splits fall.
        """
        error, loss = _node_losses(trees, rows, valid)
        retained = np.isfinite(trees.threshold[0])
        steps, losses = [], []
        while True:
            retained, strength = _weakest_link(error, retained)
            steps.append(retained)
            losses.append(_subtree_sums(loss, retained)[0])
            if not retained.any():
                break
            n_falling = max(1, retained.sum() // AT_ONCE)
            weakest = np.sort(strength[retained])[n_falling - 1]
            retained = retained & (strength > weakest)
        total = np.array(losses) / valid.weight.sum()
        return cls(trees, np.array(steps), total)

    def best(self, max_leaf_nodes: int | None = None) -> int:
        """Subtree with the lowest validation loss, of those that are small enough."""
        fits = self.n_leaves <= (max_leaf_nodes or self.n_leaves.max())
        return int(np.where(fits, self.loss, np.inf).argmin())

    def tree(self, step: int, rows: Rows) -> HardTrees:
        """One subtree, complete down to its deepest split, its leaves from rows.

        A split that was pruned sends all rows left.
        """
        retained = self.retained[step]
        depth = int(np.flatnonzero(retained).max(initial=0) + 1).bit_length()
        return self.trees.cut_to(retained[: 2**depth - 1]).refit(rows)


def prune_by_validation(
    trees: HardTrees, rows: Rows, valid: Rows, max_leaf_nodes: int | None = None
) -> tuple[HardTrees, float]:
    """Prune one tree and shrink its leaves for the lowest validation loss.

    Returns the pruned tree, a batch of one, and its loss on the validation rows. The
    shrinkage is hierarchical (Agarwal et al., arXiv:2202.00858).
    """
    prunings = _best_shrunk(trees, rows, valid, max_leaf_nodes)
    step = prunings.best(max_leaf_nodes)
    return prunings.tree(step, rows), float(prunings.loss[step])


def _best_shrunk(
    trees: HardTrees, rows: Rows, valid: Rows, max_leaf_nodes: int | None
) -> Prunings:
    """Prunings under the shrinkage with the lowest validation loss."""
    each = (
        Prunings.of(trees.refit(rows, shrinkage), rows, valid)
        for shrinkage in SHRINKAGES
    )
    return min(each, key=lambda found: found.loss[found.best(max_leaf_nodes)])


@dataclass(frozen=True)
class Sizes:
    """Trees of ascending size, each a batch of one, and the one that is chosen.

    ``scores`` are those of a ``SizePath``.
    """

    trees: list[HardTrees]
    scores: pd.DataFrame
    chosen: int


def choose_sizes(
    trees: HardTrees, rows: Rows, valid: Rows, max_leaf_nodes: int | None = None
) -> Sizes:
    """Prune a batch of one tree to all sizes, and choose one.

    Chosen is the smallest tree whose mean validation loss is within one standard error
    of the best one's; with ``max_leaf_nodes`` the best of those that are small enough.
    """
    prunings = Prunings.of(trees, rows, valid)
    if trees.shrinkage > NO_SHRINKAGE:
        prunings = _best_shrunk(trees, rows, valid, max_leaf_nodes)
    best: dict[int, int] = {}
    for step in np.argsort(prunings.loss, kind="stable").tolist():
        best.setdefault(int(prunings.n_leaves[step]), step)
    n_leaves = np.array(sorted(best))
    found = [prunings.tree(best[size], rows) for size in n_leaves.tolist()]
    predicted = [tree.predict(valid.x)[0] for tree in found]
    gain = -np.array([valid.row_loss(each) for each in predicted])  # (S, n)
    if max_leaf_nodes is None:
        chosen, _ = within_one_standard_error(gain)
    else:
        fits = n_leaves <= max_leaf_nodes
        chosen = int(np.where(fits, gain.mean(1), -np.inf).argmax())
    scores = [_score(each, valid) for each in predicted]
    columns = ["n_leaves", "score", "standard_error"]
    table = pd.DataFrame([(n, *s) for n, s in zip(n_leaves, scores)], columns=columns)
    return Sizes(found, table, chosen)


def _score(predicted: np.ndarray, valid: Rows) -> tuple[float, float]:
    """R² or macro F1 of predictions (n, C) for the rows, and its standard error."""
    if not valid.n_classes:
        variance = valid.y.var()
        if variance == 0:
            return np.nan, np.nan
        explained = 1 - (predicted[:, 0] - valid.y) ** 2 / variance
        return explained.mean(), explained.std() / np.sqrt(len(explained))
    labels = predicted.argmax(axis=1)
    pair = valid.y * valid.n_classes + labels
    shape = valid.n_classes, valid.n_classes

    def f1(pairs):
        return macro_f1(np.bincount(pairs, minlength=shape[0] ** 2).reshape(shape))

    rng = np.random.default_rng(0)
    again = [f1(rng.choice(pair, len(pair))) for _ in range(N_BOOTSTRAPS)]
    return f1(pair), float(np.std(again))


def _node_losses(
    trees: HardTrees, rows: Rows, valid: Rows
) -> tuple[np.ndarray, np.ndarray]:
    """Of each node (T,) as a leaf: squared training error, and validation loss."""
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)
    leaf_valid = hard_leaf(valid.x, trees.weights, trees.threshold)[0]
    n_leaves = trees.threshold.shape[1] + 1
    levels: Sequence[np.ndarray | LinearLeaves]
    if trees.linear is not None:
        levels = level_linear_models(
            leaf[0], rows.x, rows.y, n_leaves, trees.shrinkage, rows.n_synthetic
        )
    else:
        levels = level_means(leaf, rows.target, rows.weight, n_leaves, trees.shrinkage)
    error, loss = [], []
    for level, models in enumerate(levels):

        def predict(x, node, models=models):
            if isinstance(models, np.ndarray):
                return models[0, node]
            return models.predict(x, node[None])[0][:, None]

        node, of_valid = (at >> (trees.depth - level) for at in (leaf[0], leaf_valid))
        squared = ((rows.target - predict(rows.x, node)) ** 2).sum(axis=1)
        error.append(np.bincount(node, squared * rows.weight, 2**level))
        lost = valid.row_loss(predict(valid.x, of_valid))
        loss.append(np.bincount(of_valid, lost, 2**level))
    return np.concatenate(error), np.concatenate(loss)


def _subtree_sums(at_node: np.ndarray, retained: np.ndarray) -> np.ndarray:
    """Sum over the leaves below each node (T,), what stands at each being (T,)."""
    total = at_node.copy()
    n_splits = len(retained)
    first = n_splits
    while first > 0:
        first = (first - 1) // 2  # of the level above
        here = slice(first, 2 * first + 1)
        below = total[2 * first + 1 : 4 * first + 3]
        both = below[0::2] + below[1::2]
        total[here] = np.where(retained[here], both, total[here])
    return total


def _weakest_link(
    error: np.ndarray, retained: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Splits that still hang together, and what each one's subtree gains a leaf."""
    retained = retained.copy()
    first, n_splits = 1, len(retained)
    while first < n_splits:
        width = first + 1
        above = retained[(first - 1) // 2 : first]
        retained[first : first + width] &= np.repeat(above, 2)
        first += width
    of_subtree = _subtree_sums(error, retained)
    n_leaves = _subtree_sums(np.ones(len(error)), retained)
    saved = error[:n_splits] - of_subtree[:n_splits]
    return retained, saved / np.maximum(n_leaves[:n_splits] - 1, 1)


def sparse_splits(
    trees: HardTrees, rows: Rows, valid: Rows, tolerance: float
) -> HardTrees:
    """Leave columns out of the splits while the losses stay within bounds.

    Level by level from the bottom, each split's sum is approximated with few columns,
    their weights refitted, and the leaves are recomputed. The fewest columns are taken
    that keep the loss of the split's own rows within its part of the tolerance, on
    validation rows and, as these may be few, on training rows as well.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows, valid : Rows
        Training and validation rows.
    tolerance : float
        Fraction of what the tree explains that it may lose, at least 0: of the
        difference between its loss and that of one leaf for all rows.

    Returns
    -------
    HardTrees
        A batch of one tree, its losses within the tolerance.
    """
    both = (valid, rows)
    allowed = [
        tolerance * explained_loss(trees, rows, on) * on.weight.sum() / trees.depth
        for on in both
    ]
    for level in range(trees.depth - 1, -1, -1):
        bounds = [  # on either rows, the most that each node of the level may lose
            trees.node_losses(on, level) + total * _fraction_reached(trees, on, level)
            for on, total in zip(both, allowed)
        ]
        trees = _sparse_level(trees, both, level, bounds)
    return trees


def _sparse_level(
    trees: HardTrees, both: tuple[Rows, Rows], level: int, bounds: list[np.ndarray]
) -> HardTrees:
    """Give each split of a level the fewest columns that keep losses within bounds.

    ``both`` are the validation rows and the training rows.
    """
    first, rows = 2**level - 1, both[1]
    found = _approximations_of_level(trees, rows, level)
    waiting = set(found)
    for step in range(len(N_COLUMNS)):
        trying = [node for node in waiting if len(found[node]) > step]
        if not trying:
            break
        splits = first + np.array(trying)
        weights = np.array([found[node][step][0] for node in trying])
        moved = np.array([found[node][step][1] for node in trying])
        threshold = trees.threshold[0, splits] - moved
        tried = trees.with_splits(splits, weights, threshold, rows)
        within = np.all(
            [tried.node_losses(on, level) <= bound for on, bound in zip(both, bounds)],
            axis=0,
        )
        done = [node for node in trying if within[node]]
        splits = first + np.array(done, dtype=int)
        trees = trees.with_splits(
            splits, tried.weights[0, splits], tried.threshold[0, splits], rows
        )
        waiting -= set(done)
    return trees


def _approximations_of_level(
    trees: HardTrees, rows: Rows, level: int
) -> dict[int, list]:
    """Sums of fewer columns for each split of a level that has any to spare."""
    node = trees.nodes_at(rows.x, level)
    found = {}
    for at in np.unique(node):
        weights = trees.weights[0, 2**level - 1 + at]
        if (weights != 0).sum() > 1:
            found[int(at)] = approximations(rows.x[node == at], weights)
    return found


def explained_loss(trees: HardTrees, rows: Rows, on: Rows) -> float:
    """Loss of one leaf for all rows less that of a batch of one tree, at least 0.

    The one leaf predicts the mean of ``rows``; losses are those of the rows ``on``.
    """
    mean = np.average(rows.target, axis=0, weights=rows.weight)
    constant = np.broadcast_to(mean, (1, len(on.x), len(mean)))
    return float(max(0.0, on.loss(constant)[0] - on.loss(trees.predict(on.x))[0]))


def _fraction_reached(trees: HardTrees, rows: Rows, level: int) -> np.ndarray:
    """Fraction of the rows (2**level,) that reaches each node of the level."""
    node = trees.nodes_at(rows.x, level)
    return np.bincount(node, minlength=2**level) / len(node)
