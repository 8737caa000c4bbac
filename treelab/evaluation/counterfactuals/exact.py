"""The nearest row that a single tree predicts otherwise, over all of its leaves.

A leaf is a box: an interval for each number column, a set of categories for each
category column. The nearest point of a box has a closed form; where splits weigh
several columns, it is a small linear program, within the columns' ranges. The nearest
over all leaves that predict what is wanted is exact. Numbers move to values that some
row has, where one lies in the interval.
"""

from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from treelab.evaluation.counterfactuals.changes import (
    Changes,
    Counterfactual,
    Wanted,
)
from treelab.trees.feature import feature_matrix
from treelab.trees.labels import labels
from treelab.trees.text.conditions import (
    CategoryCondition,
    Condition,
    NumberCondition,
    ObliqueCondition,
    leaf_conditions,
)
from treelab.trees.tree import Tree

_INSIDE = 1e-6  # spreads by which a linear program stays off a border


def tree_counterfactuals(
    tree: Tree, changes: Changes, wanted: Wanted, most: int = 3
) -> list[Counterfactual]:
    """Return the nearest row of each leaf that predicts what is wanted.

    Parameters
    ----------
    tree : Tree
        With constant leaves. Where a split weighs several columns, category columns
        stay as they are.
    changes : Changes
    wanted : Wanted
    most : int, default=3

    Returns
    -------
    list of Counterfactual
        Nearest first; empty where no allowed change leads to such a leaf.

    Raises
    ------
    ValueError
        If leaves are linear models: their predictions are no constants.
    """
    if tree.leaf_weights is not None:
        raise ValueError("A tree with linear leaves has no box for each prediction.")
    predicted = tree.value[:, 0]
    if tree.classes is not None:
        predicted = labels(tree.classes)[tree.predicted_class]
    good = wanted.accepts(predicted)
    goes_left = tree.margin(changes.row)[0] >= 0
    nearest = []
    for leaf, conditions in leaf_conditions(tree):
        if not good[leaf]:
            continue
        path = tree.path_to(leaf)
        parts = [a for a, b in pairwise(path) if goes_left[a] != (tree.left[a] == b)]
        failing = {tree.features[tree.feature[node]].column for node in parts}
        values = _nearest(tree, conditions, failing, changes)
        if values is not None:
            cost = sum(changes.cost(column, now) for column, now in values.items())
            nearest.append((cost, len(values), leaf, values))
    found: list[Counterfactual] = []
    for _, _, leaf, values in sorted(nearest, key=lambda own: own[:3]):
        made = changes.counterfactual(values, predicted.tolist()[leaf])
        if tree.apply(made.row)[0] == leaf:
            found.append(made)
        if len(found) == most:
            break
    return found


def _nearest(
    tree: Tree, conditions: list[Condition], failing: set[str], changes: Changes
) -> dict | None:
    """Return the values of the nearest allowed row of a leaf, or None.

    ``failing`` are the columns whose conditions the row does not meet.
    """
    values: dict = {}
    for condition in conditions:
        if isinstance(condition, ObliqueCondition):
            return _by_linear_program(tree, conditions, changes)
        if condition.column not in failing:
            continue
        if isinstance(condition, NumberCondition):
            options = _numbers(condition, changes)
        else:
            options = _categories(condition, changes)
        column = condition.column
        options = [own for own in options if changes.allows(column, own)]
        if not options:
            return None
        values[column] = min(options, key=lambda own: changes.cost(column, own))
    return values


def _numbers(condition: NumberCondition, changes: Changes) -> list[float]:
    """Return numbers that pass a condition, the nearest on either side among them."""
    column, options = condition.column, []
    if condition.low < condition.high:
        before = changes.value(column)
        observed = changes.observed(column)
        if pd.isna(before):
            before = np.median(observed) if len(observed) else 0.0
        inside = observed[(observed > condition.low) & (observed <= condition.high)]
        if len(inside):
            place = int(np.searchsorted(inside, before))
            options += inside[max(place - 1, 0) : place + 1].tolist()
        else:
            least = np.nextafter(condition.low, np.inf)
            options.append(float(np.clip(before, least, condition.high)))
    if condition.missing:
        options.append(np.nan)
    return options


def _categories(condition: CategoryCondition, changes: Changes) -> list:
    """Return categories that pass a condition, and missing where that does."""
    known = condition.feature.categories
    passing = [category for category in known if category in condition.allowed]
    if condition.new:
        seen = changes.observed(condition.column).tolist()
        passing += [category for category in seen if str(category) not in known]
    return [*passing, *([np.nan] if condition.missing else [])]


def _by_linear_program(tree: Tree, conditions, changes: Changes) -> dict | None:
    """Return the nearest allowed values of number columns; categories stay."""
    now = feature_matrix(tree.features, changes.row)[0]
    fill = np.array([feature.fill for feature in tree.features])
    x = np.where(np.isnan(now), fill, now)
    bounds = np.zeros((len(x), 2))  # of the change of each feature
    for j, feature in enumerate(tree.features):
        if feature.kind == "number" and not np.isnan(now[j]):
            bounds[j] = _range(feature.column, changes)
    above, limit = [], []
    for condition in conditions:
        if isinstance(condition, ObliqueCondition):
            assert tree.weights is not None
            a, b = tree.weights[condition.node], tree.threshold[condition.node]
            sign = 1.0 if condition.left else -1.0
            off = _INSIDE * (np.abs(a) * _spreads(tree, changes)).sum()
            above.append(sign * a)
            limit.append(sign * (b - a @ x) - off)
        elif isinstance(condition, CategoryCondition) or np.isnan(
            now[j := tree.features.index(condition.feature)]
        ):
            if not condition.holds(changes.row)[0]:
                return None
        else:
            off = _INSIDE * changes.spreads[condition.column]
            bounds[j, 0] = max(bounds[j, 0], condition.low + off - x[j])
            bounds[j, 1] = min(bounds[j, 1], condition.high - x[j])
    if (bounds[:, 0] > bounds[:, 1]).any():
        return None
    # A change is a rise less a fall; both cost the same.
    rise = np.stack([np.maximum(bounds[:, 0], 0), np.maximum(bounds[:, 1], 0)], 1)
    fall = np.stack([np.maximum(-bounds[:, 1], 0), np.maximum(-bounds[:, 0], 0)], 1)
    cost = np.tile(1 / _spreads(tree, changes), 2)
    rows = np.stack(above)
    solved = linprog(
        cost,
        A_ub=np.hstack([rows, -rows]),
        b_ub=np.array(limit),
        bounds=np.vstack([rise, fall]),
        method="highs",
    )
    if not solved.success:
        return None
    change = solved.x[: len(x)] - solved.x[len(x) :]
    moved = np.flatnonzero(np.abs(change) > 1e-9 * _spreads(tree, changes))
    return {tree.features[j].column: float(x[j] + change[j]) for j in moved.tolist()}


def _range(column: str, changes: Changes) -> tuple[float, float]:
    """How far a number column may fall and rise: to values between those observed."""
    observed, now = changes.observed(column), float(changes.value(column))
    if column in changes.locked or not len(observed):
        return 0.0, 0.0
    low = 0.0 if column in changes.rising else min(float(observed[0]) - now, 0.0)
    high = 0.0 if column in changes.falling else max(float(observed[-1]) - now, 0.0)
    return low, high


def _spreads(tree: Tree, changes: Changes) -> np.ndarray:
    """Spread of each feature's column; 1 for categories."""
    return np.array([changes.spreads.get(f.column, 1.0) for f in tree.features])
