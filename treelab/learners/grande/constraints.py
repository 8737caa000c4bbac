"""Constraints: which columns GRANDE's trees may test, and what they keep for good.

Trees train freely, on the columns on offer. Then splits that leave too few rows are
closed and leaves are put in order, once; to keep them so after each epoch gained
nothing (docs/benchmarks.md).
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import RandomForestRegressor
from torch import Tensor

from treelab.data.split import some_rows
from treelab.learners.common.greedy import ColumnRules
from treelab.learners.grande.rows import Rows
from treelab.trees.constraints import Constraints, isotonic, node_boxes, output_of
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.tree import Tree

NEVER = -1e9  # logit of a column that a split may not test: no weight, no gradient
N_TREES, MOST_ROWS = 32, 10_000  # of the forest that judges columns


def offered_columns(
    offered: Sequence[np.ndarray],
    rules: ColumnRules,
    rows: Rows,
    depth: int,
    random: np.random.RandomState,
) -> list[np.ndarray]:
    """Return the features that each tree may be given, all of one group of columns.

    Parameters
    ----------
    offered : sequence of E int arrays
        Features that each tree could have without constraints.
    rules : ColumnRules
    rows : Rows
    depth : int
    random : RandomState
        Deals the groups among the trees, and seeds the forest that ranks the columns.

    Raises
    ------
    ValueError
        If no group has a column for every level, or no column is worth its cost.
    """
    worth = _worth_their_cost(rules, rows, random)
    among = _best_columns(rules, rows, worth, random)
    levels = [rules.by_level.get(level, rules.by_level[-1]) for level in range(depth)]
    groups = [
        group & among
        for group in rules.groups
        if all((group & among & level).any() for level in levels)
    ]
    if not groups:
        raise ValueError(
            "The constraints leave a level of GRANDE's trees without any column: "
            "allow more columns there, or more columns in all."
        )
    dealt = random.permutation(np.resize(np.arange(len(groups)), len(offered)))
    own = [
        features[groups[g][rules.column[features]]]
        for features, g in zip(offered, dealt)
    ]
    # Trees are one tensor: one with fewer features has some of them twice.
    width = max(len(features) for features in own)
    return [np.resize(features, width) for features in own]


def forbid_by_level(
    logits: Tensor, columns: Tensor | None, rules: ColumnRules
) -> Tensor:
    """Return logits (E, N, K) in which no split chooses what its level may not test.

    Raises
    ------
    ValueError
        If a split has nothing to choose from.
    """
    n_splits = logits.shape[1]
    levels = np.floor(np.log2(np.arange(1, n_splits + 1))).astype(int)
    may = np.stack([rules.may_test(level, ()) for level in levels])  # (N, F)
    allowed = torch.as_tensor(may, device=logits.device)
    if columns is not None:
        allowed = allowed[:, columns].transpose(0, 1)  # (E, N, K)
    if not bool(allowed.any(-1).all()):
        raise ValueError(
            "A tree of GRANDE was given no column that a level allows; set "
            "selected_variables to 1."
        )
    return logits.masked_fill(~allowed, NEVER)


def _worth_their_cost(
    rules: ColumnRules, rows: Rows, random: np.random.RandomState
) -> np.ndarray:
    """Return the columns without which a forest loses more than they cost, bool.

    One after the other, the dearest first, is left out where it is not worth it. The
    loss is that of rows out of the bag, as a fraction of the root's impurity.
    """
    cost = np.zeros(rules.groups.shape[1])
    cost[rules.column] = rules.cost
    worth = np.ones(len(cost), dtype=bool)
    if not cost.any():
        return worth
    seed = random.randint(2**31)

    def loss_of(columns: np.ndarray) -> float:
        features = columns[rules.column]
        if not features.any():
            return 1.0
        return _forest(rows, features, seed)[1]

    loss = loss_of(worth)
    for column in np.argsort(-cost, kind="stable")[: np.count_nonzero(cost)]:
        without = worth & (np.arange(len(cost)) != column)
        other = loss_of(without)
        if other - loss <= cost[column]:
            worth, loss = without, other
    if not worth.any():
        raise ValueError("No column saves what it costs; lower column_costs.")
    return worth


def _best_columns(
    rules: ColumnRules, rows: Rows, worth: np.ndarray, random: np.random.RandomState
) -> np.ndarray:
    """Return those columns that a random forest finds most important, bool."""
    n_columns = rules.groups.shape[1]
    seed = random.randint(2**31)
    if rules.max_columns >= n_columns:
        return worth
    forest, _ = _forest(rows, np.ones(len(rules.column), dtype=bool), seed)
    importance = np.bincount(rules.column, forest.feature_importances_, n_columns)
    may = np.any([*rules.by_level.values()], axis=0) & worth
    best = np.argsort(-np.where(may, importance, -1), kind="stable")
    return worth & np.isin(np.arange(n_columns), best[: rules.max_columns])


def _forest(
    rows: Rows, features: np.ndarray, seed: int
) -> tuple[RandomForestRegressor, float]:
    """Grow a random forest on the features that are True; with its loss out of the bag.

    On training rows; the squared error is that of the classes' probabilities, where
    there are classes, as a fraction of the root's.
    """
    most = some_rows(rows.n_train, MOST_ROWS)
    x, y = rows.x.cpu().numpy()[most], rows.target.cpu().numpy()[most]
    target = np.eye(rows.n_classes)[y] if rows.n_classes else y[:, None]
    weight = None if rows.own_weight is None else rows.own_weight[most]
    forest = RandomForestRegressor(
        N_TREES,
        min_samples_leaf=5,
        max_features="sqrt" if rows.n_classes else 1.0,
        random_state=seed,
        oob_score=True,
    )
    with warnings.catch_warnings():  # a row that each tree was grown on has no vote
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        forest.fit(x[:, features], target if rows.n_classes else y, weight)
    mean = np.average(target, axis=0, weights=weight)
    own, of_root = (
        np.average(((target - each) ** 2).sum(axis=1), weights=weight)
        for each in (forest.oob_prediction_.reshape(target.shape), mean)
    )
    return forest, float(own / of_root)


def kept_trees(
    trees: WeightedTrees,
    frame: pd.DataFrame,
    constraints: Constraints,
    weight: np.ndarray | None = None,
) -> WeightedTrees:
    """Return an ensemble whose every tree keeps its constraints on every possible row.

    Parameters
    ----------
    trees : WeightedTrees
    frame : DataFrame
        The training rows.
    constraints : Constraints
    weight : ndarray of shape (n_rows,) or None, default=None
        Of each row; None: all count alike.
    """
    if constraints.monotone or constraints.min_samples_leaf > 1:
        # Branches without rows are not drawn, and leaves beside them take their boxes.
        trees = _without_small(trees, frame, constraints.min_samples_leaf)
    if constraints.monotone:
        trees = _in_order(trees, frame, constraints, weight)
    return trees


def _without_small(
    trees: WeightedTrees, frame: pd.DataFrame, least: int
) -> WeightedTrees:
    """Send all rows one way where a split leaves a side too few of them."""
    matrix = feature_matrix(trees.features, frame)
    threshold, missing_left = trees.threshold.copy(), trees.missing_left.copy()
    for e in range(trees.n_estimators):
        node = np.zeros(len(matrix), dtype=np.int64)
        for level in range(trees.depth):
            nodes = np.arange(2**level - 1, 2 ** (level + 1) - 1)
            value = matrix[np.arange(len(matrix)), trees.feature[e, node]]
            goes_left = np.where(
                np.isnan(value), missing_left[e, node], value <= threshold[e, node]
            )
            n_all = np.bincount(node, minlength=nodes[-1] + 1)[nodes]
            n_left = np.bincount(node, goes_left, minlength=nodes[-1] + 1)[nodes]
            small = np.minimum(n_left, n_all - n_left) < least
            to_left = 2 * n_left >= n_all
            closed = nodes[small]
            threshold[e, closed] = np.where(to_left[small], np.inf, -np.inf)
            missing_left[e, closed] = to_left[small]
            at = node - nodes[0]
            goes_left = np.where(small[at], to_left[at], goes_left)
            node = 2 * node + np.where(goes_left, 1, 2)
    return replace(trees, threshold=threshold, missing_left=missing_left)


def _in_order(
    trees: WeightedTrees,
    frame: pd.DataFrame,
    constraints: Constraints,
    row_weight: np.ndarray | None,
) -> WeightedTrees:
    """Put the leaves of each tree in order: the nearest values that are."""
    leaf = trees.leaves(frame)
    n_outputs = trees.leaf_value.shape[2]
    signs = output_signs(constraints, trees.classes, n_outputs)
    value = trees.leaf_value.copy()
    leaves = np.arange(trees.n_leaves - 1, 2 * trees.n_leaves - 1)
    for e in range(trees.n_estimators):
        tree = Tree.complete(
            trees.features,
            trees.feature[e],
            trees.threshold[e],
            trees.missing_left[e],
            np.zeros((trees.n_leaves, 1)),
        )
        pairs = node_boxes(tree).of(leaves).ordered(constraints.monotone)
        mass = np.bincount(leaf[:, e], row_weight, trees.n_leaves)
        for output, sign in enumerate(signs):
            if len(pairs):
                wanted = sign * value[e, :, output]
                value[e, :, output] = sign * isotonic(wanted, mass, pairs)
    return replace(trees, leaf_value=value)


def output_signs(
    constraints: Constraints, classes: tuple | None, n_outputs: int
) -> np.ndarray:
    """Return which outputs of a leaf grow with what has the order, int (n_outputs,).

    Of more than two classes the logit of the one that is meant must not fall and those
    of the others not rise: then its probability does not fall.
    """
    if classes is None:
        return np.ones(1, dtype=np.int64)
    meant = output_of(classes, constraints)
    if n_outputs == 1:  # the logit of the second class
        return np.array([1 if meant == 1 else -1])
    return np.where(np.arange(n_outputs) == meant, 1, -1)
