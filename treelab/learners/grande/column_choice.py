"""Which columns GRANDE's trees may test where, under constraints."""

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from torch import Tensor

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.grande.rows import FoldedRows

NEVER = -1e9  # logit of a column that a split may not test: no weight, no gradient
N_TREES, MOST_ROWS = 32, 10_000  # of the forest that ranks columns


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
        If no group has a column for every level.
    """
    among = _best_columns(rules, rows, random)
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


def _best_columns(
    rules: ColumnRules, rows: FoldedRows, random: np.random.RandomState
) -> np.ndarray:
    """Return the columns that a random forest finds most important, bool (columns,)."""
    n_columns = rules.groups.shape[1]
    seed = random.randint(2**31)
    if rules.max_columns >= n_columns:
        return np.ones(n_columns, dtype=bool)
    x = rows.x[: rows.n_train].cpu().numpy()[:MOST_ROWS]
    y = rows.target[: rows.n_train].cpu().numpy()[:MOST_ROWS]
    grower = RandomForestClassifier if rows.n_classes else RandomForestRegressor
    forest = grower(N_TREES, min_samples_leaf=5, random_state=seed).fit(x, y)
    importance = np.bincount(rules.column, forest.feature_importances_, n_columns)
    may = np.any([*rules.by_level.values()], axis=0)
    best = np.argsort(-np.where(may, importance, -1), kind="stable")
    return np.isin(np.arange(n_columns), best[: rules.max_columns])
