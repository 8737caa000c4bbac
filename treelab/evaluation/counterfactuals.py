"""The smallest change of a row that changes its prediction."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.encoding import spread
from treelab.data.split import some_rows
from treelab.trees.dates import coarsest_unit, next_day
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.pruning_path import Model
from treelab.trees.text import (
    CategoryCondition,
    Condition,
    NumberCondition,
    ObliqueCondition,
    change_text,
    leaf_conditions,
    target_text,
)
from treelab.trees.tree import Tree, check_one_output, labels
from treelab.trees.words import significant

# A changed row: what changed, how far, and which changes are allowed.
#
# A change of a number is measured in robust standard deviations of its column (1.4826
# times the median absolute deviation), a change of a category, or to or from a missing
# value, as one. Distances add up over columns.
#
# Source: Wachter, Mittelstadt and Russell, "Counterfactual explanations without opening
# the black box", Harvard Journal of Law & Technology 31(2), 2018, section III.


NORMAL = 1.4826  # median absolute deviations in a standard deviation of a bell curve


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A row like another one, but predicted otherwise."""

    row: pd.DataFrame
    prediction: Any  # label, or value in the target's unit
    changes: dict[str, tuple]  # column to (value before, value now)
    distance: float  # in robust standard deviations, see above

    def sentence(
        self, model: Model, tree: Tree | None = None, write: Callable = str
    ) -> str:
        """Write what changes, what is predicted then, and how far it is, in Markdown.

        With a tree the words say how far other values lead to the same leaf. ``write``
        makes Markdown of what the table holds.
        """
        features = {feature.column: feature for feature in model.features}
        changes = "; ".join(
            change_text(features[column], before, now, tree, self.row)
            for column, (before, now) in self.changes.items()
        )
        predicted = f"“{self.prediction}”"
        if model.classes is None:
            predicted = target_text(model, float(self.prediction))
        words = write(changes[:1].upper() + changes[1:])
        far = significant(self.distance)
        return f"{words}: **{write(predicted)}** (distance {far})"


class KnownValues:
    """What the columns of some rows hold, looked up once for all rows that change.

    The values of these rows, such as the training rows, count as possible.
    """

    def __init__(self, X: pd.DataFrame):
        self.X = X
        self._is_whole: dict[str, bool] = {}

    @cached_property
    def spreads(self) -> dict[str, float]:
        """Robust standard deviation of each number column, never 0."""
        return robust_spreads(self.X)

    @cached_property
    def lacking(self) -> set[str]:
        """The columns in which some row lacks a value."""
        return set(self.X.columns[self.X.isna().any()])

    @cached_property
    def distinct(self) -> dict[str, np.ndarray]:
        """The distinct values of each column, numbers ascending."""
        found = {column: self.X[column].dropna().unique() for column in self.X}
        return found | {c: np.unique(found[c].astype(float)) for c in self.spreads}

    def is_whole(self, feature: Feature) -> bool:
        """Whether the values of a feature's column are whole numbers, or whole days."""
        if feature.column not in self._is_whole:
            values = self.distinct[feature.column]
            whole = not (values % 1).any()
            if feature.is_date:
                whole = coarsest_unit(values) == "D"
            self._is_whole[feature.column] = bool(whole)
        return self._is_whole[feature.column]


@dataclass(frozen=True, eq=False)
class Changes:
    """A row, the rows it comes from, and how it may change."""

    row: pd.DataFrame
    known: KnownValues
    locked: Collection[str] = ()  # columns that stay as they are
    # Number columns that may only grow, or only fall.
    rising: Collection[str] = ()
    falling: Collection[str] = ()

    def value(self, column: str):
        """Return the row's value."""
        return self.row[column].iloc[0]

    def allows(self, column: str, now) -> bool:
        """Whether a column may take a value."""
        before = self.value(column)
        if same(before, now):
            return True
        if column in self.locked:
            return False
        if pd.isna(now):  # where no row lacks a value, none can be taken away
            return column in self.known.lacking
        if pd.isna(before):
            return True
        too_low = column in self.rising and now < before
        return not (too_low or (column in self.falling and now > before))

    def cost(self, column: str, now) -> float:
        """Distance of a value from the row's."""
        before, spreads = self.value(column), self.known.spreads
        if same(before, now):
            return 0.0
        if column not in spreads or pd.isna(before) or pd.isna(now):
            return 1.0
        return abs(float(now) - float(before)) / spreads[column]

    def total_cost(self, values: dict) -> float:
        """Distance of changed values, by column, from the row's."""
        return float(sum(self.cost(column, now) for column, now in values.items()))

    def changed(self, values: dict) -> pd.DataFrame:
        """Return the row with other values, its columns' kinds kept."""
        row = self.row.copy()
        for column, now in values.items():
            dtype = float if column in self.known.spreads else object
            row[column] = pd.Series([now], index=row.index, dtype=dtype)
        return row

    def counterfactual(self, values: dict, prediction) -> Counterfactual:
        """Bind changed values with what is predicted of them."""
        values = {c: v for c, v in values.items() if not same(self.value(c), v)}
        changes = {column: (self.value(column), now) for column, now in values.items()}
        row, distance = self.changed(values), self.total_cost(values)
        return Counterfactual(row, prediction, changes, distance)


@dataclass(frozen=True)
class Wanted:
    """Which predictions are asked for."""

    labels: tuple = ()  # any of these classes; for regression empty
    # Or a value from ``low`` to ``high``.
    low: float = -np.inf
    high: float = np.inf

    def accepts(self, predictions) -> np.ndarray:
        """Whether each prediction (n,) is one of them, bool (n,)."""
        predictions = np.asarray(predictions)
        if self.labels:
            return np.array([label in self.labels for label in predictions.tolist()])
        return (predictions >= self.low) & (predictions <= self.high)


def robust_spreads(X: pd.DataFrame) -> dict[str, float]:
    """Return the robust standard deviation of each number column, never 0."""
    found = {}
    for column in X.columns:
        if column_kind(X[column]) != "number":
            continue
        values = X[column].dropna().to_numpy(float)
        if not len(values):
            found[column] = 1.0
            continue
        robust = NORMAL * np.median(np.abs(values - np.median(values)))
        found[column] = float(robust or spread(values) or 1.0)
    return found


def same(before, now) -> bool:
    """Whether two cells hold the same; missing ones do."""
    if pd.isna(before) or pd.isna(now):
        return bool(pd.isna(before) and pd.isna(now))
    return bool(before == now)


# A near row that any model predicts otherwise, found by a search with a budget.
#
# The nearest rows that the model predicts as wanted lend their values; then one column
# after another goes back to the row's own value while the prediction stays.


MOST_ROWS = 2000  # that may lend their values
N_LENDERS = 5


def searched_counterfactuals(
    model, changes: Changes, wanted: Wanted, columns, most: int = 3
) -> list[Counterfactual]:
    """Return near rows that the model predicts as wanted; nearer ones may exist.

    Nearest first, no two of the same values; empty where none was found. ``columns``
    are those that the model reads; the others stay.
    """
    X = changes.known.X
    X = X.iloc[some_rows(len(X), MOST_ROWS)]
    lenders = X[wanted.accepts(model.predict(X))]
    borrowed = [
        {
            column: row[column]
            for column in columns
            if not same(changes.value(column), row[column])
            and changes.allows(column, row[column])
        }
        for _, row in lenders.iterrows()
    ]
    far = [changes.total_cost(own) for own in borrowed]
    found: list[Counterfactual] = []
    for place in np.argsort(far, kind="stable")[: 4 * N_LENDERS]:
        values = borrowed[place]
        if not wanted.accepts(model.predict(changes.changed(values)))[0]:
            continue  # a locked column mattered
        values = _reverted(model, changes, wanted, values)
        prediction = model.predict(changes.changed(values))[0]
        made = changes.counterfactual(values, prediction)
        if all(made.changes != other.changes for other in found):
            found.append(made)
        if len(found) == N_LENDERS:
            break
    return sorted(found, key=lambda own: own.distance)[:most]


def _reverted(model, changes: Changes, wanted: Wanted, values: dict) -> dict:
    """Take back changes, the costliest first, while the prediction stays."""
    values = dict(values)
    while values:
        without = [
            changes.changed({c: v for c, v in values.items() if c != column})
            for column in values
        ]
        good = wanted.accepts(model.predict(pd.concat(without)))
        free = [column for column, own in zip(values, good) if own]
        if not free:
            break
        del values[max(free, key=lambda column: changes.cost(column, values[column]))]
    return values


# The nearest row that a single tree predicts otherwise, over all of its leaves.
#
# A leaf is a box: an interval for each number column, a set of categories for each
# category column. The nearest point of a box has a closed form; where splits weigh
# several columns, it is a small linear program, within the columns' ranges. The nearest
# over all leaves that predict what is wanted is exact. Numbers move to values that some
# row has, where one lies in the interval; in a linear program those of columns of whole
# numbers by whole ones, and dates to whole days where the training rows have no other.


_INSIDE = 1e-6  # spreads by which a linear program stays off a border


def tree_counterfactuals(
    tree: Tree, changes: Changes, wanted: Wanted, most: int = 3
) -> list[Counterfactual]:
    """Return the nearest row of each leaf that predicts what is wanted.

    Nearest first; empty where no allowed change leads to such a leaf. One that changes
    more than a nearer one of the same class does is left out. Where a split weighs
    several columns, category columns stay as they are. ValueError if leaves are linear
    models, whose predictions are no constants, or the tree has several outputs.
    """
    check_one_output(tree)
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
            nearest.append((changes.total_cost(values), len(values), leaf, values))
    found: list[Counterfactual] = []
    for _, _, leaf, values in sorted(nearest, key=lambda own: own[:3]):
        made = changes.counterfactual(values, predicted.tolist()[leaf])
        goes_further = any(
            other.changes.items() <= made.changes.items()
            and (not wanted.labels or other.prediction == made.prediction)
            for other in found
        )
        if tree.apply(made.row)[0] == leaf and not goes_further:
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
        observed = changes.known.distinct[column]
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
        seen = changes.known.distinct[condition.column].tolist()
        passing += [category for category in seen if str(category) not in known]
    return [*passing, *([np.nan] if condition.missing else [])]


def _by_linear_program(tree: Tree, conditions, changes: Changes) -> dict | None:
    """Return the nearest allowed values of number columns; categories stay."""
    now = feature_matrix(tree.features, changes.row)[0]
    # A column that no sum reads may have no fill.
    fill = np.nan_to_num([feature.fill for feature in tree.features])
    x = np.where(np.isnan(now), fill, now)
    bounds = np.zeros((len(x), 2))  # of the change of each feature
    for j, feature in enumerate(tree.features):
        if feature.kind == "number" and not np.isnan(now[j]):
            bounds[j] = _range(feature.column, changes)
    spreads = np.array([changes.known.spreads.get(f.column, 1) for f in tree.features])
    above, limit = [], []
    for condition in conditions:
        if isinstance(condition, ObliqueCondition):
            assert tree.weights is not None
            a, b = tree.weights[condition.node], tree.threshold[condition.node]
            sign = 1.0 if condition.left else -1.0
            off = _INSIDE * (np.abs(a) * spreads).sum()
            above.append(sign * a)
            limit.append(sign * (b - a @ x) - off)
        elif isinstance(condition, CategoryCondition) or np.isnan(
            now[j := tree.features.index(condition.feature)]
        ):
            if not condition.holds(changes.row)[0]:
                return None
        else:
            off = _INSIDE * spreads[j]
            bounds[j, 0] = max(bounds[j, 0], condition.low + off - x[j])
            bounds[j, 1] = min(bounds[j, 1], condition.high - x[j])
    if (bounds[:, 0] > bounds[:, 1]).any():
        return None
    is_whole = np.array(
        [f.kind == "number" and changes.known.is_whole(f) for f in tree.features]
    )
    is_date = np.array([feature.is_date for feature in tree.features])
    whole = is_whole & ~is_date & (x % 1 == 0)
    given = np.stack(above), np.array(limit), spreads, whole
    change = _least_change(bounds, *given)
    if change is None:
        return None
    # No linear program knows days, as years have 365 or 366: the rest follows them.
    days = np.flatnonzero(is_whole & is_date & (np.abs(change) > 1e-9 * spreads))
    for beyond in (True, False) if len(days) else ():
        pinned = bounds.copy()
        for j in days.tolist():
            pinned[j] = next_day(x[j] + change[j], (change[j] > 0) == beyond) - x[j]
        is_allowed = (pinned == np.clip(pinned, bounds[:, :1], bounds[:, 1:])).all()
        on_days = _least_change(pinned, *given) if is_allowed else None
        if on_days is not None:
            change = on_days
            break
    moved = np.flatnonzero(np.abs(change) > 1e-9 * spreads)
    return {tree.features[j].column: float(x[j] + change[j]) for j in moved.tolist()}


def _least_change(
    bounds: np.ndarray,
    sums: np.ndarray,
    limit: np.ndarray,
    spreads: np.ndarray,
    whole: np.ndarray,
) -> np.ndarray | None:
    """Return the least change (F,) within bounds (F, 2), sums (n, F) at most a limit.

    Those of ``whole`` (F,) features are whole numbers; None where there is none.
    """
    from scipy.optimize import linprog  # pages that ask for no change load faster

    # A change is a rise less a fall; both cost the same.
    rise, fall = np.maximum(bounds, 0), np.maximum(-bounds[:, ::-1], 0)
    solved = linprog(
        np.tile(1 / spreads, 2),
        A_ub=np.hstack([sums, -sums]),
        b_ub=limit,
        bounds=np.vstack([rise, fall]),
        integrality=np.tile(whole, 2).astype(int),
        method="highs",
    )
    if not solved.success:
        return None
    change = solved.x[: len(spreads)] - solved.x[len(spreads) :]
    return np.where(whole, np.rint(change), change)


def _range(column: str, changes: Changes) -> tuple[float, float]:
    """How far a number column may fall and rise: to values between those observed."""
    observed, now = changes.known.distinct[column], float(changes.value(column))
    if column in changes.locked or not len(observed):
        return 0.0, 0.0
    low = 0.0 if column in changes.rising else min(float(observed[0]) - now, 0.0)
    high = 0.0 if column in changes.falling else max(float(observed[-1]) - now, 0.0)
    return low, high
