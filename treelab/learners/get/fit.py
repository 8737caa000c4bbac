"""How GET finds its tree: starts, stages, growth, sparse splits.

Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
arXiv:2411.17003. The paper trains a tree of the full depth (algorithm 1) and polishes
it (algorithm 2); ``paper.py`` does just that. Ours trains the upper levels of several
trees from soft to hard and grows the best of them greedily to full depth.
"""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from treelab.learners.get.prune import prune_by_validation, sparse_splits
from treelab.learners.get.rows import Rows
from treelab.learners.get.stages import Fit, train_stages
from treelab.learners.get.starts import greedy_splits, random_splits
from treelab.learners.get.trees import HardTrees

TRAINED_DEPTH = 6  # levels trained as a whole
MIN_SAMPLES_LEAF = {False: 5, True: 20}  # in growth; by linear leaves


@dataclass(frozen=True)
class Found:
    """What a fit found; batches of one tree each.

    Attributes
    ----------
    tree : HardTrees
        Not pruned by its last validation losses yet.
    trained : HardTrees
        The levels that were trained, as training left them.
    start : HardTrees
        The same levels as they began.
    kind : str
        How the start was made, a key of ``origin.STARTS``.
    rows : Rows
        On which it was trained.
    later : tuple of str
        Steps after training of the whole tree.
    """

    tree: HardTrees
    trained: HardTrees
    start: HardTrees
    kind: str
    rows: Rows
    later: tuple[str, ...] = ()


# Matrices are small here: BLAS threads that wait for the next one only hold the cores.
@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_tree(fit: Fit) -> Found:
    """Find the best tree for the validation rows."""
    starts, kinds = initial_trees(fit)
    trained, _, best = train_stages(fit, starts, fit.rows, fit.valid)
    dense = grow(fit, trained)
    tolerance = fit.settings.sparse_tolerance
    sparse = sparse_splits(dense, fit.rows, fit.valid, tolerance)
    later = ["growth below the trained levels"]
    if (sparse.weights != dense.weights).any():
        later.append("leaving columns out of splits")
    return Found(
        sparse, trained, starts.take(best), kinds[best], fit.rows, tuple(later)
    )


def initial_trees(fit: Fit) -> tuple[HardTrees, list[str]]:
    """Trees where training starts (line 5 of algorithm 1), and how each was made.

    The first is a CART tree; then random and greedy oblique ones take turns.
    """
    linear = fit.settings.linear
    depth = min(fit.depth, TRAINED_DEPTH)
    found, kinds = [], []
    for start in range(fit.settings.n_starts):
        if start % 2 == 1:
            found.append(random_splits(fit.rows.x, depth, fit.rng))
            kinds.append("random")
        else:
            splits = greedy_splits(
                fit.rows,
                depth,
                fit.rng,
                min_samples_leaf=MIN_SAMPLES_LEAF[linear],
                oblique=start > 0,
                linear=linear,
            )
            found.append(splits)
            kinds.append("greedy")
        if fit.should_stop():
            break
    weights, threshold = map(np.stack, zip(*found))
    return HardTrees.fit(weights, threshold, fit.rows, linear=linear), kinds


def grow(fit: Fit, trained: HardTrees) -> HardTrees:
    """Grow a trained tree, a batch of one, to full depth, and prune it."""
    linear = fit.settings.linear
    splits = trained.weights[0], trained.threshold[0]
    if not fit.should_stop():
        splits = greedy_splits(
            fit.rows,
            fit.depth,
            fit.rng,
            min_samples_leaf=MIN_SAMPLES_LEAF[linear],
            linear=linear,
            top=splits,
        )
    weights, threshold = (part[None] for part in splits)
    tree = HardTrees.fit(weights, threshold, fit.rows, linear=linear)
    return prune_by_validation(tree, fit.rows, fit.valid)
