"""Trees by size: which numbers of leaves are tried, and the pruning for each.

A fold's tree is pruned by cost-complexity to each size, its held-out rows are counted
(``evaluation.pruned_scores.sums_at_sizes``), the folds' scores (``pooled_scores``
there) choose a size (``size_path.within_one_standard_error``), and the tree of all rows
is pruned to it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from treelab.trees.pruning.cost_complexity import (
    CostComplexityPath,
    cost_complexity_path,
)
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.tree import Tree

SMALLEST = 2  # a tree of one leaf tells nothing
_EVERY_SIZE = 16  # up to here each number of leaves is tried
_READABLE = 1000  # up to here each size is about an eighth larger than the one before


def size_grid(max_leaves: int) -> np.ndarray:
    """Return the numbers of leaves to try, ascending, the last one ``max_leaves``.

    Each from 2 to 16, then in steps of an eighth, and beyond 1,000 of a half.
    """
    sizes = [SMALLEST]
    while (size := sizes[-1]) < max_leaves:
        step = 1 if size < _EVERY_SIZE else size // (8 if size < _READABLE else 2)
        sizes.append(min(size + step, max_leaves))
    return np.array(sizes)


def steps_at(path: CostComplexityPath, sizes: np.ndarray) -> np.ndarray:
    """Return the step of the largest subtree with at most that many leaves, (S,)."""
    # Leaves fall along the path, so the first step that is small enough is the one.
    return np.searchsorted(-path.n_leaves, -np.asarray(sizes), side="left")


def prune_to_size(tree: Tree, n_leaves: int) -> Tree:
    """Return the largest cost-complexity pruning with at most ``n_leaves`` leaves.

    ``tree`` has rows and impurities at its nodes; a tree that is small enough comes
    back as it is.
    """
    if tree.n_leaves <= n_leaves:
        return tree
    path = cost_complexity_path(tree)
    return path.trees[int(steps_at(path, np.array([n_leaves]))[0])]


def path_of_sizes(
    trees: Sequence[Tree],
    sizes: np.ndarray,
    scores: np.ndarray,
    standard_errors: np.ndarray,
    chosen: int,
) -> SizePath:
    """Bind the trees of all sizes; of several with equally many leaves the best.

    Parameters
    ----------
    trees : sequence of S trees
        Each with at most as many leaves as its size.
    sizes, scores, standard_errors : ndarray of shape (S,)
        Most leaves, cross-validated score and its standard error over the folds.
    chosen : int
        Which tree is the learner's own; it stays, whatever its score.

    Returns
    -------
    SizePath
    """
    best: dict[int, int] = {}
    for i in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(trees[i].n_leaves, i)
    best[trees[chosen].n_leaves] = chosen
    order = [best[n_leaves] for n_leaves in sorted(best)]
    table = pd.DataFrame(
        {
            "n_leaves": np.asarray(sizes)[order],
            "score": np.asarray(scores)[order],
            "standard_error": np.asarray(standard_errors)[order],
        }
    )
    return SizePath(tuple(trees[i] for i in order), table, order.index(chosen))


def unscored_path(tree: Tree, most_leaves: int) -> SizePath:
    """Return a tree and its cost-complexity prunings, none of which was scored.

    Parameters
    ----------
    tree : Tree
        With rows and impurities at its nodes; it is the chosen one.
    most_leaves : int
        Of the largest pruning; the tree itself may have more.
    """
    sizes = size_grid(min(tree.n_leaves, most_leaves))
    if tree.n_leaves > sizes[-1]:
        sizes = np.append(sizes, tree.n_leaves)
    path = cost_complexity_path(tree)
    trees = [path.trees[int(step)] for step in steps_at(path, sizes)]
    unknown = np.full(len(trees), np.nan)
    return path_of_sizes(trees, sizes, unknown, unknown, len(trees) - 1)
