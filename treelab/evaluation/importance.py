"""What each column does to a model's predictions over all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.split import some_rows
from treelab.evaluation.metrics import headline_score
from treelab.trees.dates import days_text
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.text import (
    NumberCondition,
    cell_text,
    term_fractions,
    written_threshold,
)
from treelab.trees.tree import OBLIQUE, Tree, knows_impurity
from treelab.trees.words import counted, significant, with_unit

# What matters overall: by impurity at the splits, and by shuffling columns.
#
# Source: Breiman, "Random forests", Machine Learning 45, 2001, for the shuffling.


BY_CHANCE = 0.05  # tables of noise in which a column is said to matter
MOST_ROWS = 1_000
_SHUFFLES = (10, 100)  # of each column, more where rows are few
_SHUFFLED_ROWS = 10_000


def n_shuffles(n_rows: int) -> int:
    """Return how often each column is shuffled on so many rows."""
    fewest, most = _SHUFFLES
    return min(max(fewest, _SHUFFLED_ROWS // n_rows), most)


def permutation_importances(
    model, X: pd.DataFrame, y, task: str, weight: np.ndarray | None = None
) -> pd.DataFrame:
    """Return how much the score falls when a column's values are shuffled.

    That is macro F1 of classes, R² of numbers, or D² of the model's loss, on rows that
    did not train the model; of more than ``MOST_ROWS`` on a sample. The table has
    column, importance and std (over the shuffles), and whether the column clearly
    matters, the largest importance first; columns that the model does not read have 0.
    """
    some = some_rows(len(X), MOST_ROWS)
    X, y = X.iloc[some], np.asarray(y)[some]
    weight = None if weight is None else weight[some]

    def score(predicted) -> float:
        return headline_score(task, y, predicted, weight, model.loss)

    whole, used = score(model.predict(X)), X.columns.astype(str).isin(model.columns)
    mean, std = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    clear = np.zeros(X.shape[1], dtype=bool)
    n, rng = n_shuffles(len(X)), np.random.default_rng(0)
    rows = np.tile(np.arange(len(X)), (n, 1))
    every = X.iloc[rows.ravel()]
    for j in np.flatnonzero(used).tolist():
        shuffled, order = every.copy(deep=False), rng.permuted(rows, axis=1).ravel()
        shuffled.isetitem(j, X.iloc[:, j].array[order])
        predicted = np.split(model.predict(shuffled), n)
        falls = np.array([whole - score(own) for own in predicted])
        mean[j], std[j] = falls.mean(), falls.std()
        clear[j] = _exceeds_chance(falls, BY_CHANCE / used.sum())
    return _ranked(X.columns, mean, std=std, clear=clear)


def _exceeds_chance(falls: np.ndarray, level: float) -> bool:
    """Whether a score falls in shuffles (n,) by more than chance gives.

    The rows of a column that tells nothing might as well be one more shuffle of it:
    hardly a shuffle has their score, and how far they are from the others' mean has a t
    distribution where rows are many.
    """
    from scipy import stats  # takes a second, and most of a page needs none

    n = len(falls)
    furthest = stats.t.isf(level, n - 1) * np.sqrt(1 + 1 / n) * falls.std(ddof=1)
    n_as_well = int((falls <= 1e-12).sum())  # but for rounding
    return bool(falls.mean() > furthest and n_as_well + 1 <= max(1, level * (n + 1)))


def shuffled_words(table: pd.DataFrame, metric: str) -> str:
    """Say which column the score of this name needs most, and how many it needs.

    ``table`` is what ``permutation_importances`` returns.
    """
    first, n_clear = table.iloc[0], int(table["clear"].sum())
    if first["importance"] <= 0:
        return f"no feature lowers {metric}."
    fall = f"{significant(first['importance'])} ± {significant(first['std'], 2)}"
    return (
        f"without {first['column']} {metric} falls most, by {fall}; {n_clear} of "
        f"{counted(len(table), 'feature')} clearly "
        f"matter{'s' * (n_clear == 1)}."
    )


def impurity_importances(tree: Tree) -> pd.DataFrame:
    """Return the fraction of the root's impurity that each column's splits remove.

    A weighted sum's gain is shared among its terms by ``term_fractions``. The table has
    column and importance, the largest first, of the columns that are tested; all
    together they are the fraction that the tree removes. ValueError where its rows and
    impurities, as ``with_rows`` gives them, are not known.
    """
    if not knows_impurity(tree):
        raise ValueError(
            "What splits remove is known of a tree with rows and impurities at each "
            "node. Call tree.with_rows(X, y) with the training rows first."
        )
    total = tree.mass * np.nan_to_num(tree.impurity)
    found: dict[str, float] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        gain = total[node] - total[tree.left[node]] - total[tree.right[node]]
        fractions = {int(tree.feature[node]): 1.0}
        if tree.feature[node] == OBLIQUE and tree.weights is not None:
            shares = term_fractions(tree.features, tree.weights[node])
            fractions = {j: shares[j] for j in np.flatnonzero(shares).tolist()}
        for j, fraction in fractions.items():
            column = tree.features[j].column
            found[column] = found.get(column, 0.0) + float(gain * fraction)
    importance = np.array(list(found.values())) / (total[0] if total[0] > 0 else 1.0)
    return _ranked(list(found), importance)


def ensemble_importances(model: WeightedTrees, tree_weights: np.ndarray) -> np.ndarray:
    """Return how much of what an ensemble's trees predict each feature's splits decide.

    A split counts by how far it moves what the tree predicts for its training rows: the
    variance between its two sides. Where leaves predict the means of their rows, this
    is the decrease in impurity; it holds for leaves that training moved, too.

    The weighted mean (n_features,) over the trees, each of which has a total of 1, or 0
    where it predicts the same for all rows. ``tree_weights`` (n_estimators,) may be
    their mean weights over the training rows.
    """
    assert model.mass is not None
    value = model.leaf_value  # (E, L, C), then (E, nodes on the level above, C)
    if model.leaf_output == "logits" and value.shape[2] > 1:
        value = value - value.mean(axis=2, keepdims=True)  # a shift of all is none
    rows = model.mass[:, -model.n_leaves :, None]
    gains = []
    while value.shape[1] > 1:
        left, right = rows[:, 0::2], rows[:, 1::2]
        rows = left + right
        fraction = left / np.where(rows > 0, rows, 1)
        moved = value[:, 0::2] - value[:, 1::2]
        gains.append((fraction * right * moved**2).sum(axis=2))
        value = value[:, 1::2] + fraction * moved
    gain = np.concatenate(gains[::-1], axis=1)  # (E, N), as ``feature``
    total = gain.sum(axis=1, keepdims=True)
    gain = gain / np.where(total > 0, total, 1) * tree_weights[:, None]
    return np.bincount(model.feature.ravel(), gain.ravel(), len(model.features))


def by_column(columns: Sequence[str], importances: pd.DataFrame) -> np.ndarray:
    """Return importances (n_columns,) in the order of a table's columns, a total of 1.

    Zeros where nothing is of any importance; a column may have several.
    """
    summed = importances.groupby("column")["importance"].sum()
    found = summed.reindex(list(columns), fill_value=0.0).to_numpy(dtype=np.float64)
    total = found.sum()
    return found / total if total > 0 else found


def _ranked(columns, importance, **others) -> pd.DataFrame:
    """A row a column, the largest importance first."""
    about = {"column": list(map(str, columns)), "importance": importance, **others}
    table = pd.DataFrame(about)
    return table.sort_values(
        "importance", ascending=False, kind="stable", ignore_index=True
    )


# How a model's prediction depends on one column, others as the rows have them.
#
# Sources: partial dependence, Friedman, "Greedy function approximation", Annals of
# Statistics 29, 2001; a line for each row (ICE), Goldstein et al., "Peeking inside the
# black box", JCGS 24, 2015.


MOST_NUMBERS = 30
MOST_CATEGORIES = 12
MOST_STEPS = 100
MOST_DEPENDENCE_ROWS = 200


@dataclass(frozen=True, eq=False)
class Dependence:
    """Predictions of rows in which one column takes one value after the other."""

    column: str
    # (n_values,): numbers, ascending, or categories, the most frequent first.
    values: np.ndarray
    is_number: bool
    # float64 (n_rows, n_values): a prediction: a class's probability, or a value in the
    # target's unit.
    lines: np.ndarray
    # float64 (n_rows,): of each row; None: all count alike.
    weight: np.ndarray | None = None
    # The distinct values of training rows, ascending, where predictions are constant
    # from one of ``values``, itself left out, to the next; None where they need not be.
    seen: np.ndarray | None = None

    @property
    def mean(self) -> np.ndarray:
        """Partial dependence, (n_values,): the mean over the rows, by weight."""
        return np.average(self.lines, axis=0, weights=self.weight)

    def sentence(self, title: str, feature: Feature, write=significant) -> str:
        """Say where the mean prediction, so titled and written, is least and most."""
        mean = self.mean
        low, high = int(mean.argmin()), int(mean.argmax())
        if mean[high] - mean[low] <= 1e-12 * np.abs(mean).max():
            return f"The mean {title} does not depend on {self.column}."
        ends = []
        for name, place in (("lowest", low), ("highest", high)):
            text = self.place_text(place, feature)
            at = "" if feature.is_date and self.seen is not None else "at "
            ends.append(f"{name}, {write(float(mean[place]))}, {at}{text}")
        return f"By {self.column}, the mean {title} is {', and '.join(ends)}."

    def texts(self, feature: Feature) -> list[str]:
        """Write each of the values; or the interval of the column that ends at it."""
        return [self.place_text(place, feature) for place in range(len(self.values))]

    def place_text(self, place: int, feature: Feature) -> str:
        """Write a value, or the interval of the column that ends at it."""
        value = self.values[place]
        if self.seen is None:
            return days_text(value) if feature.is_date else cell_text(feature, value)
        given: dict[str, Any] = {}
        for side, at in (("low", place - 1), ("high", place)):
            if 0 <= at < len(self.values) - 1:
                end = float(self.values[at])
                above = np.searchsorted(self.seen, end, side="right")
                near = self.seen[above - 1 : above + 1]
                text = written_threshold(feature, end, *near)
                given |= {side: end, f"{side}_text": text}
        bound = NumberCondition(feature, **given).bound
        return with_unit(bound, feature.unit) if bound else "all values"


def dependence(
    model, X: pd.DataFrame, column: str, values: np.ndarray, output: int = 0
) -> Dependence:
    """Return what a model predicts for rows, at least one, a column set to each value.

    Values (n_values,) may be those of ``grid``.
    """
    every = X.iloc[np.repeat(np.arange(len(X)), len(values))].reset_index(drop=True)
    is_number = column_kind(X[column]) == "number"
    own = pd.Series(np.tile(values, len(X)))
    every[column] = own.astype(float if is_number else object)
    if model.classes is None:
        predicted = model.predict(every)
    else:
        predicted = model.predict_proba(every)[:, output]
    lines = np.asarray(predicted, float).reshape(len(X), len(values))
    return Dependence(column, np.asarray(values), is_number, lines)


def grid(values: pd.Series) -> np.ndarray:
    """Return the values at which to look at a column.

    Numbers: all distinct ones, or quantiles of them where there are more than 30.
    Categories: the twelve most frequent. Missing ones are left out.
    """
    known = values.dropna()
    if column_kind(values) != "number":
        return known.value_counts().index[:MOST_CATEGORIES].to_numpy(object)
    distinct = np.unique(known.to_numpy(float))
    if len(distinct) <= MOST_NUMBERS:
        return distinct
    places = np.linspace(0, 1, MOST_NUMBERS)
    # Half by rank, half by size: dense where rows are, and no wide gaps elsewhere.
    ranks = np.quantile(known.to_numpy(float), places[::2], method="nearest")
    sizes = np.interp(places[1::2], [0, 1], distinct[[0, -1]])
    return np.unique(np.concatenate([ranks, sizes]))


def step_ends(model, values: pd.Series) -> np.ndarray | None:
    """Return where a model's predictions can change with a column of numbers.

    They are the thresholds among its values, and the largest value: between two of
    them, the second included, predictions are constant. None where they change at
    other places, too, as with weighted sums, linear leaves or a predictor on top, or at
    more than a hundred, and of other columns.
    """
    known = values.dropna().to_numpy()
    if column_kind(values) != "number" or not len(known):
        return None
    if model.has_predictor:
        return None
    model = getattr(model, "tree", model)  # of a pruning path
    own = [k for k, f in enumerate(model.features) if f.column == values.name]
    if any(f.part is not None and f.part[1] == values.name for f in model.features):
        return None
    for name in ("weights", "leaf_weights"):
        sums = getattr(model, name, None)
        if sums is not None and sums[:, own].any():
            return None
    ends = np.unique(model.threshold[np.isin(model.feature, own)])
    ends = ends[(ends >= known.min()) & (ends < known.max())]
    return None if len(ends) > MOST_STEPS else np.append(ends, float(known.max()))


def sample_rows(X: pd.DataFrame) -> pd.DataFrame:
    """Return a random sample of rows, in the table's order, or all where few."""
    return X.iloc[some_rows(len(X), MOST_DEPENDENCE_ROWS)]
