"""GET as the paper has it: what ``recipe="paper"`` trains.

Source: Mao and Cao, arXiv:2411.17003, algorithms 1 and 2, appendices C to F. Every
epoch is a step on all rows, the loss is equation 3, all levels are trained together,
and the tree with the lowest hard loss on the training rows is taken. What the paper
leaves open is as in its own program (get-oblique 0.1.1): the first start is CART, the
others have weights and thresholds from -1 to 1.
"""

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from treelab.learners.get.fit import Found
from treelab.learners.get.rows import Rows, join_rows
from treelab.learners.get.settings import MAX_DEPTH
from treelab.learners.get.stages import Fit, train_stages
from treelab.learners.get.starts import Splits, greedy_splits
from treelab.learners.get.trees import HardTrees

NO_SHRINKAGE = 1e-9  # leaves are means and least squares


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_paper_tree(fit: Fit, *, tune_depth: bool) -> Found:
    """Train a tree of ``fit.depth``, or of the depth that validation prefers.

    The depth is tuned from 1 to 12 (section 5.1); the tree is then trained anew on
    training and validation rows together (appendix F.1).
    """
    if tune_depth:
        losses = []
        for depth in range(1, MAX_DEPTH + 1):
            found = _polished_tree(fit, fit.rows, depth, reports=False)
            predicted = found.tree.predict(fit.valid.x)
            losses.append(float(fit.valid.loss(predicted)[0]))
            if fit.stopped:
                break
        fit.depth = 1 + int(np.argmin(losses))
    return _polished_tree(fit, join_rows(fit.rows, fit.valid), fit.depth, reports=True)


def _polished_tree(fit: Fit, rows: Rows, depth: int, *, reports: bool) -> Found:
    """Train the starts and polish the best: algorithm 2.

    The paper's GET-Linear is not polished (appendix F).
    """
    starts = _starts(fit, rows, depth, None)
    trained, loss, best = train_stages(fit, starts, rows, rows, reports=reports)
    tree = trained
    polishes = not fit.settings.linear
    for split in range((2**depth - 1) * polishes):  # from the root, breadth first
        if fit.should_stop():
            break
        tree, loss = _polish_subtree(fit, rows, tree, loss, split)
    kind = "greedy" if best == 0 else "random"
    return Found(tree, trained, starts.take(best), kind, rows, ("polish",) * polishes)


def _polish_subtree(
    fit: Fit, rows: Rows, tree: HardTrees, loss: float, split: int
) -> tuple[HardTrees, float]:
    """Train the subtree under a split, and take it where the whole loss falls."""
    level = (split + 1).bit_length() - 1
    reached = tree.nodes_at(rows.x, level) == split - (2**level - 1)
    if reached.sum() <= 1 or np.ptp(rows.y[reached]) == 0:
        return tree, loss
    own = replace(
        rows, x=rows.x[reached], y=rows.y[reached], weight=rows.weight[reached]
    )
    splits = subtree_splits(split, tree.depth - level)
    warm = tree.weights[0, splits], tree.threshold[0, splits]
    starts = _starts(fit, own, tree.depth - level, warm)
    best, _, _ = train_stages(fit, starts, own, own, reports=False)
    found = tree.with_splits(splits, best.weights[0], best.threshold[0], rows)
    after = float(rows.loss(found.predict(rows.x))[0])
    return (found, after) if after < loss else (tree, loss)


def _starts(fit: Fit, rows: Rows, depth: int, warm: Splits | None) -> HardTrees:
    """CART, the warm start where there is one, and random trees: line 5."""
    found = [greedy_splits(rows, depth, fit.rng, min_samples_leaf=1, oblique=False)]
    found += [] if warm is None else [warm]
    while len(found) < fit.settings.n_starts:
        shape = 2**depth - 1, rows.x.shape[1]
        found.append((fit.rng.uniform(-1, 1, shape), fit.rng.uniform(-1, 1, shape[0])))
    weights, threshold = map(np.stack, zip(*found))
    return HardTrees.fit(
        weights,
        threshold,
        rows,
        linear=fit.settings.linear,
        shrinkage=NO_SHRINKAGE,
    )


def subtree_splits(root: int, depth: int) -> np.ndarray:
    """Splits of the subtree of this depth under a split, breadth first."""
    levels = [np.array([root])]
    while len(levels) < depth:
        levels.append((2 * levels[-1][:, None] + [1, 2]).ravel())
    return np.concatenate(levels)
