"""Scores and errors of groups of rows."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.evaluation.paired_bootstrap import level_of_each, resampled_sums
from treelab.trees.date_parts import looks_like_dates
from treelab.trees.dates import moment_text
from treelab.trees.tree import Tree, rows_through
from treelab.trees.words import clock_text, parse, percent, shortest

# Rates by group: how often a class is predicted, and how often rightly.
#
# The names are those of Hardt, Price and Srebro, "Equality of opportunity in supervised
# learning", NeurIPS 2016, and of fairlearn's ``MetricFrame``.


MISSING = "(missing)"
OTHERS = "(others)"
# What else stands among groups in tables of rates; a group of such a name is in quotes.
_ENDS = ["difference from", "difference to"]
_TAKEN = (MISSING, OTHERS, "all", "node", "n_rows", "difference", *_ENDS)
MOST_GROUPS = 8  # the largest; the rest are taken together
N_RESAMPLES = 500
RATES = {
    "selection rate": "rows predicted as the class",
    "accuracy": "rows predicted rightly, as the class or not",
    "true positive rate": "rows of the class that are predicted as it",
    "false positive rate": "rows of other classes that are predicted as the class",
    "precision": "rows predicted as the class that are of it",
}


@dataclass(frozen=True)
class RateGap:
    """How far a rate is apart between the groups."""

    # Highest minus lowest rate, lowest over highest; NaN where fewer than two groups
    # have the rate.
    difference: float
    ratio: float
    # Ends of a 95% interval of the difference between these two groups, which holds
    # although they were chosen as furthest apart. Below 0 the other group is ahead.
    low: float
    high: float

    @property
    def words(self) -> str:
        """The difference in Markdown, with its interval and the ratio."""
        ends = f"({percent(self.low)} to {percent(self.high)})"
        ratio = "" if np.isnan(self.ratio) else f", ratio {self.ratio:.2f}"
        return f"**{percent(self.difference)}** {ends}{ratio}"


def groups_of(column: pd.Series, *, of_times: bool = False) -> pd.Series:
    """Return each row's group as text: a category, a number, or a quarter of numbers.

    Those of numbers are ordered categories, by which tables of rates list them. Beyond
    ``MOST_GROUPS`` the smaller groups become one, and numbers of more values than that
    are cut at their quartiles. Hours that are ``of_times`` are written so.
    """
    known = column.dropna()
    if column_kind(column) == "number":
        values = known.to_numpy(np.float64)
        ends = np.unique(values)[:-1]  # beyond the last end lie rows
        if len(ends) >= MOST_GROUPS:
            quartiles = np.quantile(values, [0.25, 0.5, 0.75])
            ends = np.unique(np.minimum(quartiles, ends[-1]))
        group = pd.Series(np.searchsorted(ends, values), index=known.index)
        spans = known.groupby(group).agg(["min", "max"])
        write = moment_text if looks_like_dates(known) else None
        names = _span_names(spans, clock_text if of_times else write)
        text = group.map(names).reindex(column.index).astype(object)
        # From the lowest numbers to the highest.
        order = [*names.values(), *[MISSING] * bool(column.isna().any())]
        return text.where(column.notna(), MISSING).astype(
            pd.CategoricalDtype(order, ordered=True)
        )
    text = column.astype(object).map(str)
    text = text.where(~text.isin(_TAKEN), "“" + text + "”")
    text = text.where(column.notna(), MISSING)
    counts = text.value_counts(sort=True)
    if len(counts) > MOST_GROUPS:
        rare = counts.index[MOST_GROUPS - 1 :]
        text = text.where(~text.isin(rare), OTHERS)
    return text


def _span_names(
    spans: pd.DataFrame, write: Callable[[float], str] | None
) -> dict[int, str]:
    """Write from where to where each group of numbers goes, the lowest numbers first.

    ``write`` is of dates and times.
    As written, each number of a group lies between its ends, and of no other group.
    """
    lows, highs = spans.to_numpy(float).T
    above = np.nextafter([-np.inf, *highs[:-1]], np.inf)  # the group before
    below = np.nextafter([*lows[1:], np.inf], -np.inf)  # the group after
    names = []
    for low, high, least, most in zip(lows, highs, above, below):
        if write is not None:
            ends = [write(low), write(high)]
        elif low == high:
            ends = [_end_text(low, least, most)]
        else:
            ends = [_end_text(low, least, low), _end_text(high, high, most)]
        names.append(" to ".join(dict.fromkeys(ends)))
    return dict(zip(spans.index, names))


def _end_text(end: float, least: float, most: float) -> str:
    """Write a group's end with few digits, so that it is from ``least`` to ``most``."""
    text = shortest(end)
    if least <= parse(text) <= most:
        return text
    return shortest(end, lambda shown: least <= shown <= most)


def rates_by_group(
    is_class: np.ndarray,
    predicted: np.ndarray,
    group: Sequence[str],
    weight: np.ndarray | None = None,
) -> pd.DataFrame:
    """Return the rates of each group, the largest first, or in the groups' own order.

    The table has ``n_rows`` and the ``RATES``; NaN where a group has no row to count.
    Of each row: whether it is of the class, and is predicted as it, bool (n_rows,), and
    its group's name.
    """
    names, code = np.unique(np.asarray(group, dtype=str), return_inverse=True)
    counts = _counts(is_class, predicted, code, len(names), weight)
    table = pd.DataFrame(_rates(counts), index=names, columns=list(RATES))
    table.insert(0, "n_rows", np.bincount(code, minlength=len(names)))
    return table.loc[_order(group)]


def _order(group: Sequence[str]) -> list[str]:
    """Return the groups that rows have, in their own order or by their rows."""
    found = pd.Series(group).value_counts()
    if isinstance(found.index, pd.CategoricalIndex) and found.index.ordered:
        found = found[found > 0].sort_index()
    else:
        found = found.sort_index().sort_values(ascending=False, kind="stable")
    return [str(name) for name in found.index]


def rate_gaps(
    is_class: np.ndarray,
    predicted: np.ndarray,
    group: Sequence[str],
    weight: np.ndarray | None = None,
    *,
    rates: Collection[str] = tuple(RATES),
    n_tables: int = 1,
) -> dict[str, RateGap]:
    """Return how far each of the rates is apart between groups, with 95% intervals.

    The standard error is that of bootstrap resamples. Rows are drawn anew within each
    group, so a resample has the groups' sizes; as rows count only by their kind and
    weight, the counts of these are drawn. The two groups furthest apart of many differ
    by chance, so the interval is as wide as all pairs need together: by the studentized
    range (Kramer, "Extension of multiple range tests to group means with unequal
    numbers of replications", Biometrics 12, 1956). As a few rows are often all alike,
    each group counts with two rows more, one right and one wrong, and its rate errs as
    much as that at least (Agresti and Caffo, The American Statistician 54, 2000); of
    rows that are weighted as many count as weighted alike would vary so (Kish). Where
    these rows are one of ``n_tables`` that are looked at, as those of a node are, the
    intervals are as wide as all of these need together. Other parameters as of
    ``rates_by_group``.
    """
    names, code = np.unique(np.asarray(group, dtype=str), return_inverse=True)
    random = np.random.default_rng(0)
    weights, place = np.unique(
        np.ones(len(code)) if weight is None else weight, return_inverse=True
    )
    (of_group, kind, place), occurs = np.unique(
        np.stack([code, _kinds(is_class, predicted), place]), axis=1, return_counts=True
    )
    counted = weights[place][:, None] * np.eye(4)[kind]
    sums = np.stack(
        [
            resampled_sums(occurs[own], counted[own], N_RESAMPLES, random)
            for own in (of_group == each for each in range(len(names)))
        ],
        axis=1,
    )  # (1 + N_RESAMPLES, groups, 4)
    found_rates, resampled = _rates(sums[0]), _rates(sums[1:])
    difference, ratio = gap(found_rates)
    n_rows = _rows_alike(is_class, predicted, code, len(names), weight)
    drawn_in = (found_rates * n_rows + 1) / (n_rows + 2)
    least_variance = drawn_in * (1 - drawn_in) / (n_rows + 2)
    found = {}
    for name in rates:
        rate = list(RATES).index(name)
        own = found_rates[:, rate]
        low = high = np.nan
        if not np.isnan(difference[rate]):  # of the same two groups throughout
            ends = [np.nanargmax(own), np.nanargmin(own)]
            variance = np.nanvar(resampled[:, ends, rate], axis=0)
            variance = np.maximum(variance, least_variance[ends, rate]).sum()
            n_known = int((~np.isnan(own)).sum())
            reach = _reach(level_of_each(n_tables), n_known) * np.sqrt(variance)
            middle = drawn_in[ends[0], rate] - drawn_in[ends[1], rate]
            low = max(min(middle - reach, difference[rate]), -1.0)
            high = min(max(middle + reach, difference[rate]), 1.0)
        found[name] = RateGap(*map(float, (difference[rate], ratio[rate], low, high)))
    return found


@cache
def _reach(level: float, n_groups: int) -> float:
    """Return how many standard errors any two of so many groups are apart by chance."""
    from scipy.stats import studentized_range  # takes a second

    return float(studentized_range.ppf(level, n_groups, np.inf) / np.sqrt(2))


def gaps_of_models(
    predicted: np.ndarray,
    is_class: np.ndarray,
    group: Sequence[str],
    rate: str,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return the difference of one rate between groups for each of T models, (T,).

    ``predicted`` (T, n_rows) says which rows each model predicts as the class,
    ``is_class`` (n_rows,) which are of it; the rate is one of ``RATES``. Rows count by
    their weight (n_rows,).
    """
    names, code = np.unique(np.asarray(group, dtype=str), return_inverse=True)
    counts = [_counts(is_class, own, code, len(names), weight) for own in predicted]
    difference, _ = gap(_rates(np.reshape(counts, (-1, len(names), 4))))
    return difference[:, list(RATES).index(rate)]


def gap(rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return highest minus lowest and lowest over highest of (..., groups, rates)."""
    n_known = (~np.isnan(rates)).sum(axis=-2)
    low = np.nanmin(np.where(np.isnan(rates), np.inf, rates), axis=-2)
    high = np.nanmax(np.where(np.isnan(rates), -np.inf, rates), axis=-2)
    several = n_known > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(several, high - low, np.nan)
        ratio = np.where(several & (high > 0), low / high, np.nan)
    return difference, ratio


def _kinds(is_class, predicted) -> np.ndarray:
    """Return each row's kind, int (n_rows,): 0 to 3 for TN, FP, FN, TP."""
    return 2 * np.asarray(is_class, dtype=int) + np.asarray(predicted, dtype=int)


def _counts(
    is_class, predicted, code: np.ndarray, n_groups: int, weight=None
) -> np.ndarray:
    """Weigh rows by group and kind, float (groups, 4): TN, FP, FN, TP."""
    kind = _kinds(is_class, predicted)
    flat = np.bincount(4 * code + kind, weight, minlength=4 * n_groups)
    return flat.reshape(n_groups, 4).astype(float)


def _rates(counts: np.ndarray) -> np.ndarray:
    """Return the ``RATES`` (..., 5) of counts (..., 4)."""
    tops, bottoms = _fractions(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return tops / bottoms


def _rows_alike(is_class, predicted, code, n_groups: int, weight) -> np.ndarray:
    """Return how many rows weighted alike vary as those of each rate, (groups, 5)."""
    rows = is_class, predicted, code, n_groups
    own = _fractions(_counts(*rows, weight))[1]
    if weight is None:
        return own
    squares = _fractions(_counts(*rows, np.square(weight)))[1]
    return own**2 / np.where(squares > 0, squares, 1)


def _fractions(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each of the ``RATES`` divides, and by what, (..., 5) each."""
    tn, fp, fn, tp = np.moveaxis(counts, -1, 0)
    parts = [
        (tp + fp, tn + fp + fn + tp),
        (tp + tn, tn + fp + fn + tp),
        (tp, tp + fn),
        (fp, fp + tn),
        (tp, tp + fp),
    ]
    tops, bottoms = zip(*parts)
    return np.stack(tops, axis=-1), np.stack(bottoms, axis=-1)


# A rate by group at every node of a tree.


def rate_at_nodes(
    tree: Tree,
    X: pd.DataFrame,
    is_class: np.ndarray,
    predicted: np.ndarray,
    group: Sequence[str],
    rate: str,
    weight: np.ndarray | None = None,
) -> pd.DataFrame:
    """Return one rate, of the ``RATES``, of each group among the rows at each node.

    A row a node, depth first, the index its number: ``n_rows``, the rate of each group
    (NaN where it has none), and their ``difference``, highest minus lowest, with the
    ends of its interval, ``difference from`` and ``difference to``: the 95% intervals
    of ``rate_gaps`` hold for all nodes together. Other parameters as of
    ``rates_by_group``.
    """
    names, code = np.unique(np.asarray(group, dtype=str), return_inverse=True)
    leaf, kind = tree.apply(X), 4 * code + _kinds(is_class, predicted)
    counts = rows_through(tree, leaf, kind, 4 * len(names), weight)
    rates = _rates(counts.reshape(tree.n_nodes, len(names), 4).astype(float))
    place = list(RATES).index(rate)
    table = pd.DataFrame(rates[..., place], columns=names)[_order(group)]
    table["difference"] = gap(rates)[0][:, place]
    ends, groups, n_nodes = [], np.asarray(group), tree.n_nodes
    for at in tree.decision_path(X).T:
        low = high = np.nan
        if at.any():
            own = is_class[at], predicted[at], groups[at].tolist()
            own_weight = None if weight is None else weight[at]
            found = rate_gaps(*own, own_weight, rates=[rate], n_tables=n_nodes)[rate]
            low, high = found.low, found.high
        ends.append((low, high))
    table[_ENDS] = ends
    table.insert(0, "n_rows", rows_through(tree, leaf))
    return table.loc[tree.depth_first]
