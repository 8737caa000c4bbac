"""Which columns GRANDE's trees may test where, under constraints."""

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from torch import Tensor

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.grande.rows import FoldedRows

NEVER = -1e9  # logit of a column that a split may not test: no weight, no gradient
N_TREES, MOST_ROWS = 32, 10_000  # of the forest that judges columns


def offered_columns(
    offered: Sequence[np.ndarray],
    rules: ColumnRules,
    rows: FoldedRows,
    depth: int,
    random: np.random.RandomState,
) -> list[np.ndarray]:
    """Return the features that each tree may be given, all of one group of columns.

    Parameters
    ----------
    offered : sequence of E int arrays
        Features that each tree could have without constraints.
    rules : ColumnRules
    rows : FoldedRows
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
    rules: ColumnRules, rows: FoldedRows, random: np.random.RandomState
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
        return _loss_out_of_bag(_forest(rows, features, seed, oob_score=True), rows)

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
    rules: ColumnRules,
    rows: FoldedRows,
    worth: np.ndarray,
    random: np.random.RandomState,
) -> np.ndarray:
    """Return those columns that a random forest finds most important, bool."""
    n_columns = rules.groups.shape[1]
    seed = random.randint(2**31)
    if rules.max_columns >= n_columns:
        return worth
    forest = _forest(rows, np.ones(len(rules.column), dtype=bool), seed)
    importance = np.bincount(rules.column, forest.feature_importances_, n_columns)
    may = np.any([*rules.by_level.values()], axis=0) & worth
    best = np.argsort(-np.where(may, importance, -1), kind="stable")
    return worth & np.isin(np.arange(n_columns), best[: rules.max_columns])


def _forest(rows: FoldedRows, features: np.ndarray, seed: int, **settings):
    """Fit a random forest on training rows, on the features that are True."""
    x, y = _sample(rows)
    grower = RandomForestClassifier if rows.n_classes else RandomForestRegressor
    forest = grower(
        N_TREES, min_samples_leaf=5, random_state=seed, bootstrap=True, **settings
    )
    with warnings.catch_warnings():  # a row that each tree was grown on has no vote
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        return forest.fit(x[:, features], y)


def _loss_out_of_bag(forest, rows: FoldedRows) -> float:
    """Squared error on rows out of the bag, as a fraction of the root's."""
    _, y = _sample(rows)
    if rows.n_classes:
        target = np.eye(len(forest.classes_))[np.searchsorted(forest.classes_, y)]
        predicted = forest.oob_decision_function_
    else:
        target, predicted = y[:, None], forest.oob_prediction_[:, None]
    voted = np.isfinite(predicted).all(1)
    error = ((target - predicted)[voted] ** 2).sum()
    return float(error / ((target - target.mean(0))[voted] ** 2).sum())


def _sample(rows: FoldedRows) -> tuple[np.ndarray, np.ndarray]:
    """Training rows that forests are grown on."""
    most = slice(min(rows.n_train, MOST_ROWS))
    return rows.x[most].cpu().numpy(), rows.target[most].cpu().numpy()
