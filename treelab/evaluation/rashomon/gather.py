"""Which of many trees differ, and how each scores: the Rashomon set of a problem."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from treelab.evaluation.rashomon.training_rows import (
    TrainingRows,
    splits_key,
    structure,
    unplaced,
)
from treelab.trees.pruning.cost_complexity import cost_complexity_path
from treelab.trees.pruning.cut import cut_at
from treelab.trees.pruning.simplify import merge_equal
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.pruning.sizes import size_grid, steps_at
from treelab.trees.rashomon.rashomon_set import RashomonSet
from treelab.trees.tree import Tree

MOST_TREES = 300  # of a set
NEAR = 0.01  # below the run's own tree: trees that are tried with one split less
ENOUGH = 50  # such trees; where there are so many, no more are looked for
FURTHEST = 0.05  # below the run's own tree: trees that are stored
MOST_LEAVES = 2  # times the run's own leaves; a tree of eight is always looked at


def gather(
    own: Tree,
    others: Sequence[Tree],
    rows: tuple[pd.DataFrame, Any],
    weights: np.ndarray,
    path: SizePath | None = None,
    *,
    keeps: Callable[[Tree], bool] = lambda tree: True,
    most: int = MOST_TREES,
) -> RashomonSet:
    """Score trees that differ, in all their sizes, and return the good ones.

    Each tree and each of its cost-complexity prunings is made as small as its
    predictions allow: without branches that no row takes, sibling leaves of one class
    merged. Where few score well, these are looked at with one split less, too. A tree
    is fitted to the rows and scored as ``RefittedScorer`` does, against the run's tree
    of the same size, whose score is the cross-validated one: so the rows that shaped a
    tree's splits do not favour larger trees.

    Parameters
    ----------
    own : Tree
        The run's tree, which stays as it is.
    others : sequence of Tree
    rows : (X, y)
        That all of them were trained on.
    weights : ndarray of shape (n_classes,)
        Of the classes in the leaves; (1,) for regression.
    path : SizePath, optional
        The run's trees by size, with their cross-validated scores.
    keeps : callable, optional
        Whether a tree may stand in the set, once its leaves are fitted.
    most : int, default=300
        Trees of the set.

    Returns
    -------
    RashomonSet
        The best first; of equal scores the smaller tree.
    """
    table = TrainingRows(own, *rows, weights)
    merged, leaf = table.fitted(own)
    seen = {structure(merged, leaf)}
    trees, scores = [own], [table.scorer.score(merged, leaf)]
    leaves = [table.leaf(own)]

    def look_at(tree: Tree) -> None:
        """Score a tree, unless it was looked at before."""
        leaf = table.leaf(tree)
        key = structure(tree, leaf)
        if key in seen:
            return
        seen.add(key)
        tree = table.refitted(tree, leaf)
        if tree.n_splits and keeps(tree):
            trees.append(tree)
            scores.append(table.scorer.score(tree, leaf))
            leaves.append(leaf)

    for tree in _every_size(table, others, max(MOST_LEAVES * own.n_leaves, 8)):
        look_at(tree)
    correction = _correction(table, path)
    least = scores[0][0] + correction(own.n_leaves) - NEAR

    def good() -> list[Tree]:
        """Return the trees that score well so far."""
        pairs = zip(trees, scores)
        return [t for t, (s, _) in pairs if s + correction(t.n_leaves) >= least]

    for tree in good():
        if len(good()) >= ENOUGH:
            break
        for smaller in _one_split_less(unplaced(tree) if tree is own else tree):
            look_at(smaller)
    before, error = np.array(scores).T
    size = np.array([tree.n_leaves for tree in trees])
    score = before + correction(size)
    near = np.lexsort((size, -score))
    near = near[score[near] >= score[0] - FURTHEST]
    if len(near) > most:
        near = np.append(near[near != 0][: most - 1], 0)
        near = near[np.lexsort((size[near], -score[near]))]
    retained = [
        table.shrunk(table.finished(trees[i], leaves[i])) if i else own for i in near
    ]
    found = pd.DataFrame(
        {
            "score": score[near],
            "standard_error": error[near],
            "alike": table.alike(retained, [leaves[i] for i in near]),
        }
    )
    chosen = int(np.flatnonzero(near == 0)[0])
    return RashomonSet(tuple(retained), found, chosen, len(seen))


def _every_size(
    rows: TrainingRows, trees: Sequence[Tree], most_leaves: int
) -> Iterator[Tree]:
    """Return trees and their merged prunings, one a size of ``size_grid``."""
    seen: set[bytes] = set()
    pruned: set[tuple] = set()  # the trees of a path share most of their prunings
    for tree in trees:
        tree, leaf = rows.fitted(tree)
        key = structure(tree, leaf)
        if key in seen or not tree.n_splits:
            continue
        seen.add(key)
        path = cost_complexity_path(tree)
        sizes = size_grid(max(min(most_leaves, tree.n_leaves), 2))
        for step in dict.fromkeys(steps_at(path, sizes).tolist()):
            splits = splits_key(tree, path.step <= step)
            if splits not in pruned:
                pruned.add(splits)
                yield merge_equal(path.trees[step], same_class=True)


def _one_split_less(tree: Tree) -> Iterator[Tree]:
    """Return the trees in which one split above two leaves is a leaf."""
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        if node and tree.is_leaf[[tree.left[node], tree.right[node]]].all():
            smaller = cut_at(tree, np.arange(tree.n_nodes) == node)
            yield merge_equal(smaller, same_class=True)


def _correction(
    rows: TrainingRows, path: SizePath | None
) -> Callable[[Any], np.ndarray]:
    """Return what the cross-validated score of each size lacks of the refitted one.

    0 where no score was cross-validated.
    """
    gap, at = [], []
    known = () if path is None else zip(path.trees, path.scores["score"].tolist())
    for tree, score in known:
        if np.isfinite(score) and tree.n_splits:
            merged, leaf = rows.fitted(tree)
            gap.append(score - rows.scorer.score(merged, leaf)[0])
            at.append(tree.n_leaves)
    return lambda size: np.interp(size, at, gap) if gap else np.zeros(np.shape(size))
