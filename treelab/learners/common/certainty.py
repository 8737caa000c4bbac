"""How sure trees are, measured on rows that they did not fit.

How far leaves overfit hangs on the table and on how many numbers their splits fit,
hardly on who grew them. So greedy trees of as many numbers, grown on folds, tell what
fractions and quantiles of a tree's own rows lack on rows that it did not see.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.data.encoding import TableEncoder, power_of_two, to_float32
from treelab.data.split import some_rows
from treelab.learners.common.folds import FEWEST_ROWS, Rows, repeated_folds
from treelab.learners.common.greedy import encoded_tree
from treelab.trees.constraints import Constraints, cost_matrix, with_order
from treelab.trees.losses import Loss
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import PruningPath
from treelab.trees.shrinkage import shrunk_fractions, with_shrunk_values
from treelab.trees.tree import Tree, rows_by_level, rows_through

# How far probabilities are shrunk: the loss on new rows is that of the tree's own rows,
# plus what greedy trees lose more on the rows that they did not see than on their own
# (the optimism of the training error: Efron, "Estimating the error rate of a prediction
# rule", JASA 1983).


# Rows that a node's parent counts for: from hardly any to more than all.
STRENGTHS = 2.0 ** np.arange(-3, 21)
UNMEASURED = 1.0  # of tables too small for folds
NOTHING_LEARNED = (
    "By the estimate on folds its leaves tell no more of new rows than the class "
    "frequencies: probabilities are shrunk towards these as far as they can be."
)
TreesBySize = TypeVar("TreesBySize", SizePath, PruningPath)
_LEAST = 1e-12  # probability, where a fold lacks a class
_LEAF_FRACTION = 0.8  # of the rows: as many as four of five folds hold


def with_measured_shrinkage(
    path: TreesBySize, rows: Rows, *, task: str, seed: int, constraints: Constraints
) -> TreesBySize:
    """Return a path whose trees predict shrunk probabilities, and the same classes.

    They were fitted to these rows, and their leaves predict; ``seed`` is that of the
    folds. Probabilities keep the order of the constraints, and where these say what
    errors cost they choose the classes.
    """
    costs = cost_matrix(constraints, path.tree.classes)
    smallest = path.tree.n_rows[path.tree.is_leaf].min()
    optimism = measured_optimism(
        rows,
        [greedy_size(tree) for tree in path.trees],
        min_samples_leaf=max(1, int(smallest * _LEAF_FRACTION)),
        task=task,
        seed=seed,
    )
    unit = float(rows.weights.mean())  # what a row weighs
    trees = []
    for tree, more in zip(path.trees, optimism):
        best = UNMEASURED
        if np.isfinite(more).all():
            best = STRENGTHS[np.argmin(_own_losses(tree, unit) + more)]
        tree = with_shrunk_values(_noted(tree, best), best * unit, costs)
        trees.append(with_order(tree, constraints))
    return replace(path, trees=tuple(trees))


def _noted(tree: Tree, strength: float) -> Tree:
    """Return a tree that says so where the strongest shrinkage is best."""
    if strength < STRENGTHS[-1]:
        return tree
    return replace(tree, notes=(*tree.notes, NOTHING_LEARNED))


def _own_losses(tree: Tree, unit: float) -> np.ndarray:
    """Return the log loss of a tree's training rows by strength, (n_strengths,)."""
    counts = tree.class_counts
    assert counts is not None
    counts = counts / unit
    leaves = counts[tree.is_leaf]
    logs = _logs(shrunk_fractions(tree, counts, STRENGTHS)[:, tree.is_leaf])
    return np.array(_log_losses(leaves, logs))


def _logs(value: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities, finite ones of 0."""
    return np.log(np.maximum(value, _LEAST))


def _log_losses(counts: np.ndarray, logs: np.ndarray) -> list[float]:
    """Return the mean log loss of rows, counted by place and class, by strength."""
    n_rows = counts.sum()
    return [float(-(counts * log).sum() / n_rows) for log in logs]


def greedy_size(tree: Tree) -> int:
    """Return how many leaves a greedy tree has with as many numbers to fit.

    A split of one column has one; a weighted sum has as many as it weighs columns.
    """
    if tree.weights is None:
        return tree.n_leaves
    n_weights = (tree.weights != 0).sum(axis=1)
    return 1 + int(np.maximum(n_weights, 1)[~tree.is_leaf].sum())


def measured_optimism(
    rows: Rows, sizes: Sequence[int], *, min_samples_leaf: int, task: str, seed: int
) -> np.ndarray:
    """Return how much greater held-out log loss is than that of rows that were seen.

    In nats, of greedy trees by their leaves and their strength, (n_sizes, n_strengths);
    NaN with too few rows for folds.
    """
    frame, y, weight, groups = rows
    if len(y) < FEWEST_ROWS:
        return np.full((len(sizes), len(STRENGTHS)), np.nan)
    if weight is not None:
        rows = rows._replace(weight=weight / weight.mean())
    n_classes = int(y.max()) + 1
    repeats = repeated_folds(y, seed=seed, n_columns=frame.shape[1], groups=groups)
    found = []
    for held_out in chain.from_iterable(repeats):
        grown_on = rows, y, held_out, max(2, *sizes), min_samples_leaf
        tree, leaf = grown_without(*grown_on, task=task, seed=seed)
        own = None if weight is None else rows.weights[~held_out]
        counts = rows_through(tree, leaf[~held_out], y[~held_out], n_classes, own)
        logs = _logs(shrunk_fractions(tree, counts, STRENGTHS))
        more = np.zeros((len(sizes), len(STRENGTHS)))
        for sign, some in ((1, held_out), (-1, ~held_out)):
            for i, size in enumerate(sizes):
                cells = node_at_size(tree, leaf[some], size) * n_classes + y[some]
                reached = np.bincount(cells, rows.weights[some], counts.size)
                reached = reached.reshape(counts.shape)
                more[i] += [sign * loss for loss in _log_losses(reached, logs)]
        found.append(more)
    return np.mean(found, axis=0)


def grown_without(
    rows: Rows,
    target: np.ndarray,
    held_out: np.ndarray,
    n_leaves: int,
    min_samples_leaf: int = 1,
    *,
    task: str,
    seed: int,
) -> tuple[Tree, np.ndarray]:
    """Grow scikit-learn's tree on the rows that a fold, (n_rows,), does not hold out.

    It fits the ``target`` (n_rows,) by at most ``n_leaves``; categories are encoded by
    the ``y`` of the rows. Returned over encoded columns, without rows (see
    ``node_at_size``), with the leaf (n_rows,) that each row reaches as prediction sees
    it: by plain rates of categories, which are cross-fitted for growing.
    """
    seen = rows.take(~held_out)
    encoder = TableEncoder("rank", task=task, random_state=seed)
    X = to_float32(encoder.fit_transform(*seen))
    is_regression = task == "regression"
    kind = DecisionTreeRegressor if is_regression else DecisionTreeClassifier
    grown = kind(
        max_leaf_nodes=n_leaves, min_samples_leaf=min_samples_leaf, random_state=seed
    )
    grown = grown.fit(X, target[~held_out], sample_weight=seen.weight).tree_
    leaf = grown.apply(to_float32(encoder.transform(rows.frame)))
    return encoded_tree(grown, encoder.features_, None), leaf


def node_at_size(tree: Tree, leaf: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return the node that rows reach while a tree has so many leaves.

    scikit-learn grows the best split first and numbers children as it splits: the
    first ``2 * n_leaves - 1`` nodes are the tree of ``n_leaves``.
    """
    node = leaf
    while (later := node > 2 * n_leaves - 2).any():
        node = np.where(later, tree.parent[node], node)
    return node


# What regression trees predict of new rows: quantiles, and where most of them lie.
#
# A leaf knows the quantiles of its training rows. On rows that the tree has not seen
# fewer lie between these, since the leaf's few rows shaped its splits, too. So they are
# moved by what greedy trees lack on the rows that they did not see: conformalized
# quantile regression (Romano, Patterson and Candes, NeurIPS 2019, arXiv:1905.03222)
# across folds. Where leaves are linear these grow on what the tree leaves unexplained:
# the ends of constant leaves are counts where the target is, and say nothing of ends
# that change from row to row.


# On which trees are grown for this; leaves hold as many rows as ours.
MOST_ROWS = 20_000
MOVED = "Quantiles were moved to where those of held-out rows lie."


def with_interval(tree: Tree, rows: Rows, *, level: float, seed: int) -> Tree:
    """Return a tree that knows between which values a fraction of the rows lies.

    As many of the rows, of one target, to which it was fitted shall lie below as above.
    ``seed`` is that of the folds; where there are too few rows for these, the tree is
    the same.
    """
    if len(rows.y) < FEWEST_ROWS:
        return tree
    off = rows.y - tree.predict(rows.frame)
    levels = (1 - level) / 2, (1 + level) / 2
    ends = np.full((tree.n_nodes, 2), np.nan)
    for some, node in rows_by_level(tree, tree.apply(rows.frame)):
        found = _quantiles(node, off[some], rows.weights[some], tree.n_nodes, levels)
        ends = np.where(np.isnan(ends), found, ends)
    for node in tree.depth_first:
        if np.isnan(ends[node]).any():
            ends[node] = ends[tree.parent[node]]  # nobody comes here
    target = rows.y if tree.leaf_weights is None else off
    [residual], weights = _unseen([tree], rows._replace(y=target), levels, seed)
    beyond = np.maximum(-residual[:, 0], residual[:, 1])
    widened = _apart(ends, quantile_of(beyond, weights, level))
    return replace(tree, interval=widened, interval_level=level)


def with_quantiles(
    path: SizePath, rows: Rows, *, levels: Sequence[float], seed: int
) -> SizePath:
    """Return trees whose quantiles are moved to where those of new rows lie.

    They predict the ``levels``, ascending, of one target, fitted to these rows. All
    leaves of a tree move by the same, constant ones no farther than targets go. Where
    there are too few rows for folds, the trees are the same.
    """
    if len(rows.y) < FEWEST_ROWS:
        return path
    is_linear = path.tree.leaf_weights is not None
    batches, trees = [path.trees], []
    if is_linear:  # each leaves something else unexplained
        batches = [(tree,) for tree in path.trees]
    for batch in batches:
        target = rows.y - batch[0].predict(rows.frame) if is_linear else rows.y
        found, weights = _unseen(batch, rows._replace(y=target), levels, seed)
        for tree, residuals in zip(batch, found):
            columns = zip(residuals.T, levels)
            by = [quantile_of(own, weights, level) for own, level in columns]
            trees.append(_moved(tree, np.array(by), rows.y))
    return replace(path, trees=tuple(trees))


def _moved(tree: Tree, by: np.ndarray, y: np.ndarray) -> Tree:
    """Move quantiles by (n_levels,), never past one another, with a note of it."""
    if not by.any():
        return tree
    value = np.maximum.accumulate(tree.value + by, axis=1).clip(y.min(), y.max())
    bias = None if tree.leaf_bias is None else tree.leaf_bias + by
    return replace(tree, value=value, leaf_bias=bias, notes=(*tree.notes, MOVED))


def _apart(ends: np.ndarray, by: float) -> np.ndarray:
    """Move ends (n_nodes, 2) apart, or closer together, but never past one another."""
    half = np.maximum(np.diff(ends, axis=1) / 2 + by, 0)
    return ends.mean(axis=1, keepdims=True) + half * [-1.0, 1.0]


def _quantiles(group, y, weight, n_groups: int, levels: Sequence[float]) -> np.ndarray:
    """Quantiles of each group's targets, (n_groups, n_levels)."""
    ends = (Loss("quantile", level) for level in levels)
    return np.stack([end.constants(group, y, weight, n_groups) for end in ends], axis=1)


def quantile_of(y: np.ndarray, weight: np.ndarray, level: float) -> float:
    """Quantile of all values (n,)."""
    return float(_quantiles(np.zeros(len(y), dtype=int), y, weight, 1, [level])[0, 0])


def _unseen(
    trees: Sequence[Tree], rows: Rows, levels: Sequence[float], seed: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """What rows have beyond the quantiles of greedy trees that did not see them.

    Leaves hold as many rows as those of each of the trees, which is what optimism hangs
    on; where these are linear, there are as many leaves as numbers. Returns residuals
    (n, n_levels) for each tree, and the weights (n,) of the rows.
    """
    n_leaves = [
        tree.n_leaves if tree.leaf_weights is None else greedy_size(tree)
        for tree in trees
    ]
    leaves_a_row = [n / len(rows.y) for n in n_leaves]
    some = some_rows(len(rows.y), MOST_ROWS)
    rows = rows._replace(weight=rows.weights).take(some)
    frame, y, _, groups = rows
    # Of small variances scikit-learn makes leaves, near large means it sees none.
    scaled = (y - y.mean()) / power_of_two(y)
    repeats = repeated_folds(y, seed=seed, n_columns=frame.shape[1], groups=groups)
    found = np.empty((len(trees), len(repeats), len(y), len(levels)))
    for repeat, folds in enumerate(repeats):
        for held_out in folds:
            seen = ~held_out
            sizes = [max(2, round(each * seen.sum())) for each in leaves_a_row]
            grown_on = rows, scaled, held_out, max(sizes)
            tree, leaf = grown_without(*grown_on, task="regression", seed=seed)
            for place, size in enumerate(sizes):
                node = node_at_size(tree, leaf, size)
                own = node[seen], y[seen], rows.weights[seen]
                ends = _quantiles(*own, tree.n_nodes, levels)[node[held_out]]
                found[place, repeat, held_out] = y[held_out, None] - ends
    residuals = found.reshape(len(trees), -1, len(levels))
    return [*residuals], np.tile(rows.weights, len(repeats))
