"""From a data frame to the numbers that learners train on, and splits back again."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.columns import TASKS, as_frame, categories, column_kind, numbers
from treelab.data.split_by import grouped_folds, has_groups
from treelab.trees.cells import LARGEST_NUMBER, noted_units
from treelab.trees.feature import Feature, feature_forms, feature_matrix
from treelab.trees.tree import midpoint

MOST_WHOLE = 2**53  # from here on float64 is not each whole number

# Rare categories as one: values that few training rows hold share a score.


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A category column as codes, its rare levels joined."""

    # int64 (n_rows,): group of each row's level, -1 where the value is missing.
    codes: np.ndarray
    levels: tuple[str, ...]  # all levels, sorted
    # int64 (n_levels,): group of each level: one of its own, or that of the rare ones,
    # the last.
    group: np.ndarray
    rare: tuple[str, ...] = ()  # the levels that are one group; () or at least two

    @property
    def n_groups(self) -> int:
        """Number of groups of levels."""
        return len(self.levels) - max(len(self.rare) - 1, 0)

    @property
    def n_marks(self) -> int:
        """Number of groups, a missing value being one where some row misses it."""
        return self.n_groups + bool((self.codes < 0).any())


def join_rare(codes: np.ndarray, levels: tuple[str, ...], least: float) -> CodedColumn:
    """Join the levels that fewer rows hold than ``least``, where they are two or more.

    ``codes`` (n_rows,) are the level of each row, -1 where the value is missing. Below
    1 ``least`` is a fraction of all rows; 0 joins none.
    """
    own = np.arange(len(levels))
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    is_rare = counts < (least * len(codes) if least < 1 else least)
    if is_rare.sum() < 2:
        return CodedColumn(codes, levels, own)
    group = np.where(is_rare, (~is_rare).sum(), np.cumsum(~is_rare) - 1)
    rare = tuple(level for level, few in zip(levels, is_rare) if few)
    return CodedColumn(np.where(codes < 0, -1, group[codes]), levels, group, rare)


def parse_least(text: str) -> float:
    """Read least rows as people write them: "10", or "1%" of the rows; 0 for "".

    ValueError if it is neither a whole number of at least 2 nor a percentage between 0
    and 50.
    """
    text = text.strip()
    try:
        value = float(text.removesuffix("%") or 0 * bool(text)) if text else 0.0
    except ValueError:
        value = -1.0
    if text.endswith("%") and 0 < value <= 50:
        return value / 100
    if not text or (value >= 2 and value.is_integer() and not text.endswith("%")):
        return value
    raise ValueError(
        "A value is rare below a whole number of rows from 2 on, or below a "
        f"percentage of the rows up to 50%; got {text!r}."
    )


def least_text(least: float) -> str:
    """Write least rows as ``parse_least`` reads them."""
    if not least:
        return ""
    return f"{least * 100:g}%" if least < 1 else f"{least:g}"


# Monotone maps from a column's own unit to the numbers that learners train on.


SMALLEST_SPREAD = 1e-250  # a column that spreads less is constant, or divides to inf
LARGEST = 1e150  # what values far outside of the known ones are encoded as


@dataclass(frozen=True)
class Affine:
    """``(x - shift) / scale``; a constant column's scale is infinite, all maps to 0."""

    # In the column's own unit.
    shift: float = 0.0
    scale: float = 1.0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Map values of any shape."""
        with np.errstate(over="ignore"):
            return np.clip((x - self.shift) / self.scale, -LARGEST, LARGEST)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Piecewise linear and increasing through the score of each known value.

    Outside the known values the ends hold.
    """

    values: np.ndarray  # (n_values,): the known values, ascending and distinct
    scores: np.ndarray  # (n_values,): what each maps to, ascending

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Map values of any shape; never decreasing, also in the last bit."""
        if len(self.values) <= 1:
            return np.where(np.isnan(x), x, 0.0)
        right = np.searchsorted(self.values, x, side="right")
        right = np.clip(right, 1, len(self.values) - 1)
        low, high = self.values[right - 1], self.values[right]
        from_score, to_score = self.scores[right - 1], self.scores[right]
        with np.errstate(over="ignore"):  # far outside of two close values
            share = np.clip((x - low) / (high - low), 0.0, 1.0)
        # The product rounds, so without the minimum a value might pass its neighbour.
        return np.minimum(from_score + share * (to_score - from_score), to_score)


Scale = Affine | Interpolation


def median(x: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Median of numbers (n,), n >= 1, as of so many copies of each as it weighs."""
    if weight is None:
        return float(np.median(x))
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(weight[order])
    middle = np.searchsorted(reached, reached[-1] / 2)
    after = np.searchsorted(reached, reached[-1] / 2, side="right")
    return float((x[order[middle]] + x[order[after]]) / 2)


def zscore(x: np.ndarray) -> Affine:
    """Mean 0 and standard deviation 1 over ``x`` (n_rows,)."""
    if np.ptp(x) < SMALLEST_SPREAD:
        return Affine(float(x[0]), np.inf)
    mean = float(x.mean())
    # Squares of very large or small numbers leave float64, so measure in units of size.
    size = float(np.abs(x - mean).max())
    return Affine(mean, size * float(((x - mean) / size).std()))


def power_of_two(x: np.ndarray) -> float:
    """The first power of two above the range of ``x``; 1 where that is 0.

    Divided by it no digit changes, and squares of very small numbers stay in float64.
    """
    return float(2.0 ** np.frexp(np.ptp(x))[1])


def spread(x: np.ndarray) -> float:
    """Standard deviation of the known values of ``x``; 0 where there is none."""
    known = x[~np.isnan(x)]
    found = zscore(known).scale if len(known) else 0.0
    return found if np.isfinite(found) else 0.0


def minmax(x: np.ndarray) -> Affine:
    """From 0 to 1 over ``x`` (n_rows,)."""
    width = float(np.ptp(x))
    return Affine(float(x.min()), width if width >= SMALLEST_SPREAD else np.inf)


def normal_scores(x: np.ndarray) -> Interpolation:
    """Standard normal over ``x`` (n_rows,), by ranks; ties share their middle rank.

    What scikit-learn's ``QuantileTransformer(output_distribution="normal")`` with a
    quantile for every row gives at the values of ``x``: the smallest and the largest
    go to -5.2 and 5.2. That class treats values less than 1e-7 apart as equal, which
    would flatten a column of small numbers; ranks know no such unit.
    """
    # Here, as it takes a moment, and pages import this module to be shown.
    from scipy.special import ndtri

    values, counts = np.unique(x, return_counts=True)
    if len(values) == 1:
        return Interpolation(values, np.zeros(1))
    last = np.cumsum(counts) - 1.0
    rank = last - (counts - 1) / 2
    share = rank / (len(x) - 1)
    share[0], share[-1] = 0.0, 1.0
    edge = 1e-7 - np.spacing(1)
    return Interpolation(values, ndtri(np.clip(share, edge, 1 - edge)))


def ranks(x: np.ndarray) -> Interpolation:
    """The place of each value among the distinct ones of ``x`` (n_rows,), from 0.

    A missing value stays one. All that a greedy search of axis-aligned splits needs
    to know, in whatever unit, and exact in float32.
    """
    values = np.unique(x[~np.isnan(x)])
    return Interpolation(values, np.arange(len(values), dtype=np.float64))


def unscaled(x: np.ndarray) -> Affine:
    """The values of ``x`` as they are."""
    return Affine()


SCALES: dict[str, Callable[[np.ndarray], Scale]] = {
    "quantile": normal_scores,
    "rank": ranks,
    "zscore": zscore,
    "minmax": minmax,
    "none": unscaled,
}


# Target encoding: categories become their smoothed target rates, by scikit-learn.


FOLDS = 5
FEWEST_CROSS_FITTED = 10  # with fewer rows a fold is too small; fit plainly
# With this many rows a level, on average, a row's own target hardly moves the score of
# its level; cross-fitting would separate alike rows by their fold instead.
ROWS_A_LEVEL = 20


@dataclass(frozen=True, eq=False)
class TargetEncoding:
    """Scores of the levels of several category columns, K columns and C outputs."""

    # (n_levels, C) for each column: the fraction of a class, or the mean of the target;
    # the last level is the missing value.
    scores: list[np.ndarray]
    # (C,): target mean over all training rows, the score of a level never seen.
    mean: np.ndarray
    # (n_rows, K, C): score of each training row, from the other folds' rows alone; in a
    # column with many rows a level the level's score itself.
    cross_fitted: np.ndarray


def fit_target_encoding(
    codes: np.ndarray,
    n_levels: list[int],
    y: np.ndarray,
    *,
    task: str,
    seed: int,
    weight: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> TargetEncoding:
    """Learn a score for each level, cross-fitted for the training rows if need be.

    Source: Micci-Barreca 2001, doi:10.1145/507533.507538, with empirical Bayes
    smoothing, as scikit-learn's ``TargetEncoder`` has it.

    ``codes`` (n_rows, K) are the level of each row in each column, -1 where it is
    missing, of ``n_levels`` (K) beside that one; ``y`` (n_rows,) are class codes,
    or numbers. Multiclass gives a score a class (C classes that occur), other tasks
    one. Rows of a group know each other's targets: a fold holds them out together.
    """
    filled = np.where(codes < 0, n_levels, codes)  # missing is the last level
    kind, y = _target_kind(task, y)
    unit = power_of_two(y) if kind == "continuous" else 1.0
    y = y / unit if kind == "continuous" else y
    target = y[:, None]
    if kind == "multiclass":
        target = (target == np.unique(y)).astype(np.float64)
    weight = np.ones(len(y)) if weight is None else weight / weight.mean()
    mean = weight @ target / weight.sum()
    scores = _smoothed_means(filled, n_levels, target, weight, mean)
    rates = _scores_of(filled, scores)  # (n_rows, K, C)
    cross_fitted = np.empty_like(rates)
    for others, own in cross_fitting_folds(y, kind, seed, groups):
        # Of all rows, these too: the mean of the others alone is low where theirs are
        # high, which would tell of levels that they alone have.
        apart = _smoothed_means(
            filled[others], n_levels, target[others], weight[others], mean
        )
        cross_fitted[own] = _scores_of(filled[own], apart)
    n_seen = np.array([len(np.unique(column)) for column in filled.T])
    n_apart = pd.Series(groups).nunique(dropna=False) if has_groups(groups) else len(y)
    plain = (len(y) < FEWEST_CROSS_FITTED) | (n_apart >= ROWS_A_LEVEL * n_seen)  # (K,)
    cross_fitted = np.where(plain[:, None], rates, cross_fitted)
    by_column = [score * unit for score in scores]
    return TargetEncoding(by_column, mean * unit, cross_fitted * unit)


def _smoothed_means(
    codes: np.ndarray,
    n_levels: list[int],
    target: np.ndarray,
    weight: np.ndarray,
    mean: np.ndarray,
) -> list[np.ndarray]:
    """Means of targets (n, C) of each column's levels, (n_levels + 1, C) each.

    A level's mean is drawn to the ``mean`` (C,) the more, the fewer its rows are and
    the more they vary; a level without rows has that.
    """
    variance = weight @ (target - mean) ** 2 / weight.sum()
    scores = []
    for column, n in zip(codes.T, n_levels):
        count = _sums(column, n, np.tile(weight[:, None], target.shape[1]))
        some = np.where(count > 0, count, 1)
        # Not by sums less the mean: levels without a row of a class would have rates of
        # nearly 0, by whose rounding ranks tell them apart.
        own = _sums(column, n, weight[:, None] * target) / some
        apart = weight[:, None] * (target - own[column]) ** 2
        within = _sums(column, n, apart) / some
        drawn = variance * count + within
        pull = np.divide(variance * count, drawn, out=0 * drawn, where=drawn > 0)
        scores.append(pull * own + (1 - pull) * mean)
    return scores


def _sums(column: np.ndarray, n: int, values: np.ndarray) -> np.ndarray:
    """Sums (n + 1, C) of the values (n_rows, C) of each level's rows."""
    return np.stack([np.bincount(column, own, n + 1) for own in values.T], axis=1)


def _scores_of(codes: np.ndarray, scores: list[np.ndarray]) -> np.ndarray:
    """Scores (n, K, C) of rows by their levels (n, K)."""
    return np.stack([own[column] for own, column in zip(scores, codes.T)], axis=1)


def cross_fitting_folds(
    y: np.ndarray, kind: str, seed: int, groups: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return folds of rows as (training rows, held-out rows), stratified for classes.

    Unlike scikit-learn's stratified folds these allow a class with fewer rows than
    folds. A single row is both. Rows of a group are in one fold, of whatever classes.
    """
    n_rows = len(y)
    if has_groups(groups):
        # By classes it would take a tenth of a millisecond and more a group.
        fold = grouped_folds(np.zeros(n_rows), FOLDS, seed, groups)
    else:
        rng = np.random.default_rng(seed)
        rows = rng.permutation(n_rows)
        if kind != "continuous":
            rows = rows[np.argsort(y[rows], kind="stable")]
        if n_rows == 1:
            return [(rows, rows)]
        fold = np.empty(n_rows, dtype=np.int64)
        fold[rows] = np.arange(n_rows) % FOLDS
    return [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)
    ]


def _target_kind(task: str, y: np.ndarray) -> tuple[str, np.ndarray]:
    """Return scikit-learn's type of the target, and the target in that type.

    A task names what may occur; a small table may hold two classes of many, or one.
    """
    if task == "regression":
        return "continuous", y
    n_classes = len(np.unique(y))
    if n_classes == 1:
        return "continuous", np.zeros(len(y))
    return ("binary" if n_classes == 2 else "multiclass"), y


# The columns of a table as numeric features: numbers, target rates, one-hot.


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """One feature of the training rows, before it is scaled."""

    feature: Feature
    # float64 (n_rows,): as prediction reads the rows; NaN where a number is missing.
    values: np.ndarray
    # float64 (n_rows,): to train on: a target rate does not know the row's own target.
    cross_fitted: np.ndarray


def _number(
    column: pd.Series, unit: str, weight: np.ndarray | None = None
) -> EncodedColumn:
    """Return the feature of a number column; its median stands for missing values.

    A warning says where whole numbers are rounded, of which ids become one.
    """
    values = numbers(column)
    if column.dtype.kind in "iu" and (np.abs(values) >= MOST_WHOLE).any():
        warnings.warn(
            f"Column {column.name!r} holds whole numbers of more than 15 digits, which "
            "are rounded. If they are ids, give them as text, by astype(str).",
            stacklevel=2,
        )
    is_known = ~np.isnan(values)
    of_known = None if weight is None else weight[is_known]
    fill = median(values[is_known], of_known) if is_known.any() else 0.0
    return EncodedColumn(
        Feature(str(column.name), unit=unit, fill=fill), values, values
    )


def _scored(name: str, column: CodedColumn, scores, fill, unseen) -> Feature:
    """Return the feature of a category column with a score (n_groups,) a group."""
    return Feature(
        name,
        kind="category",
        categories=column.levels,
        scores=tuple(scores[column.group]),
        fill=fill,
        unseen=unseen,
        rare=column.rare,
    )


def _target_rates(
    name: str, column: CodedColumn, encoding: TargetEncoding, k: int
) -> Iterator[EncodedColumn]:
    """Yield a feature of target rates for each output; ``k`` is the column's place."""
    for c, mean in enumerate(encoding.mean):
        rate, apart = encoding.scores[k][:, c], encoding.cross_fitted[:, k, c]
        feature = _scored(name, column, rate, rate[-1], mean)
        yield EncodedColumn(feature, rate[column.codes], apart)


def _one_hot(name: str, column: CodedColumn) -> Iterator[EncodedColumn]:
    """Yield a feature of 0 and 1 for each level; for two levels the second alone."""
    marks = [*range(column.n_groups), -1][: column.n_marks]
    for mark in marks[1:] if len(marks) == 2 else marks:
        values = (column.codes == mark).astype(np.float64)
        ones = np.arange(column.n_groups) == mark
        yield EncodedColumn(
            _scored(name, column, ones, mark == -1, 0.0), values, values
        )


# TableEncoder: the user's table as numbers for a learner, and splits back again.


@dataclass(eq=False)
class TableEncoder:
    """Turns a table into a matrix of numbers, and splits on them back into its units.

    Numbers are scaled, their missing values filled with the training median.
    Categories become the target rate of their training rows, missing being a category
    of its own and a category never seen the target mean; then they are scaled too.
    Every map is increasing, so a split on encoded numbers is a split in the column's
    own unit, which the ``axis_splits`` and ``oblique_splits`` give.

    Once it is fitted, ``features_`` has a Feature for each encoded column, in their
    order, and ``columns_`` the columns of the training table.
    """

    # Scale of every feature: normal scores of the ranks, ranks of the distinct values,
    # mean 0 and deviation 1 ("zscore"), from 0 to 1 ("minmax"), or as it is ("none"). A
    # column that is constant becomes 0, except under "none". Only the last three are
    # affine, as oblique splits need.
    numbers: str = "quantile"
    _: KW_ONLY
    # "binary", "multiclass" or "regression": multiclass gives a category column one
    # feature for each class.
    task: str
    # Category columns with at most this many categories, a missing one included, become
    # columns of 0 and 1, a single column where there are two; 0 never.
    one_hot_max: int = 0
    random_state: Any = None  # seeds the folds in which categories are cross-fitted

    def fit_transform(
        self,
        frame: pd.DataFrame,
        y,
        sample_weight: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> np.ndarray:
        """Learn from training rows and return them encoded, categories cross-fitted.

        ``y`` are labels of any sortable kind, or numbers for regression; none missing.
        Of several numbers (n_rows, C) it takes the ``first_component``.
        ``sample_weight`` above 0 counts in target rates and medians; rows of one value
        of ``groups`` are cross-fitted together.

        What is returned, (n_rows, F), is for training alone: a category's score in a
        row does not know that row's target, nor those of its group. ``transform`` gives
        what prediction sees.

        ValueError if a setting is unknown, there are no rows, the target does not fit,
        or a number is infinite (the message names its column and row).
        """
        frame = as_frame(frame)
        y = self._check(frame, y)
        self.columns_ = tuple(frame.columns)
        forms = feature_forms(frame)
        columns = self._encoded(frame, y, sample_weight, groups)
        self.features_ = tuple(
            replace(
                column.feature,
                spread=spread(column.values),
                form=forms.get(column.feature.column),
            )
            for column in columns
        )
        self._scales, self._known, self._known_encoded = [], [], []
        encoded = np.empty((len(frame), len(columns)))
        for j, column in enumerate(columns):
            fill = column.feature.fill
            observed = column.values[~np.isnan(column.values)]
            scale = SCALES[self.numbers](observed if len(observed) else np.zeros(1))
            filled = np.where(np.isnan(column.cross_fitted), fill, column.cross_fitted)
            encoded[:, j] = scale(filled)
            known = _known_values(column.feature, observed)
            self._scales.append(scale)
            self._known.append(known)
            self._known_encoded.append(scale(known))
        self._fill = np.array([feature.fill for feature in self.features_])
        return encoded

    def _encoded(self, frame: pd.DataFrame, y, weight, groups) -> list[EncodedColumn]:
        """Turn each column of training rows into features, in the table's order.

        Units of columns are ``frame.attrs["units"]``, and without those what cells
        carried when the table was read; ``frame.attrs["rare"]`` are the least rows of a
        category of its own, see ``join_rare``.
        """
        # Here, as it takes a moment, and pages import this module to be shown.
        from sklearn.utils import check_random_state

        units = frame.attrs.get("units", noted_units(frame))
        rare = frame.attrs.get("rare", {})
        table = {str(name): column for name, column in frame.items()}
        coded = {
            name: join_rare(*categories(column), rare.get(name, 0))
            for name, column in table.items()
            if column_kind(column) == "category"
        }
        rated = [name for name, own in coded.items() if own.n_marks > self.one_hot_max]
        if rated:
            encoding = fit_target_encoding(
                np.stack([coded[name].codes for name in rated], axis=1),
                [coded[name].n_groups for name in rated],
                y,
                task=self.task,
                seed=int(check_random_state(self.random_state).randint(2**31)),
                weight=weight,
                groups=groups,
            )
        columns: list[EncodedColumn] = []
        for name, column in table.items():
            if name not in coded:
                columns.append(_number(column, units.get(name, ""), weight))
            elif name in rated:
                columns += _target_rates(name, coded[name], encoding, rated.index(name))
            else:
                columns += _one_hot(name, coded[name])
        return columns

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Return rows of a table as numbers, (n_rows, F), float64, as prediction does.

        ValueError if a column is absent, or a number column holds text or an infinite
        value.
        """
        encoded = feature_matrix(self.features_, frame)
        for large in np.flatnonzero((np.abs(encoded) > LARGEST_NUMBER).any(axis=0)):
            name = self.features_[large].column
            numbers(pd.Series(encoded[:, large], name=name))  # which refuses it
        encoded = np.where(np.isnan(encoded), self._fill, encoded)
        for j, scale in enumerate(self._scales):
            encoded[:, j] = scale(encoded[:, j])
        return encoded

    def axis_splits(
        self, feature, threshold, dtype=np.float32
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return splits ``encoded <= threshold`` in the columns' own units.

        A threshold moves to the midpoint between the neighbouring known values: those
        of the training rows, the value that fills a missing one, and the score of a
        category never seen. So each of them keeps its side exactly.

        Of ``feature`` (k,), encoded columns, ``threshold`` (k,) is compared as it
        comes: pass what the learner compared with, in the learner's own precision,
        which is ``dtype``.

        Returned are thresholds (k,), float64, in the column's unit, or scores: -inf
        where no known value goes left, inf where all do; and whether a missing value
        goes left. ValueError if a threshold is NaN: training diverged.
        """
        feature = np.asarray(feature, dtype=np.int64)
        threshold = np.asarray(threshold)
        if np.isnan(threshold).any():
            split = int(np.argmax(np.isnan(threshold)))
            raise ValueError(
                f"The threshold of split {split} is NaN: training diverged."
            )
        raw = np.empty(len(feature))
        order = np.argsort(feature, kind="stable")
        used, starts = np.unique(feature[order], return_index=True)
        for j, splits in zip(used, np.split(order, starts[1:])):
            # Distinct values may share one encoded number, above all in float32.
            # Counting to the right of equal ones keeps such values on one side.
            encoded = self._known_encoded[j].astype(dtype)
            n_left = np.searchsorted(encoded, threshold[splits], side="right")
            bounds = np.concatenate([[-np.inf], self._known[j], [np.inf]])
            raw[splits] = midpoint(bounds[n_left], bounds[n_left + 1])
        return raw, self._fill[feature] <= raw

    def oblique_splits(self, weights, threshold) -> tuple[np.ndarray, np.ndarray]:
        """Return splits ``encoded @ weights <= threshold`` in the columns' own units.

        Exact but for rounding, as the encoding is affine. Missing values are to be
        filled by the fill of their features. Both ``weights`` (k, F), per unit of each
        column (of score for categories), and ``threshold`` (k,) come back as float64.
        ValueError if numbers are encoded by quantiles, which no weighted sum can undo.
        """
        weights, moved = self._unscale(weights)
        return weights, np.asarray(threshold, dtype=np.float64) + moved

    def linear_leaves(self, weights, bias) -> tuple[np.ndarray, np.ndarray]:
        """Return leaf models ``bias + encoded @ weights`` in the columns' own units.

        ``bias`` is (k,); all else is as in ``oblique_splits``.
        """
        weights, moved = self._unscale(weights)
        return weights, np.asarray(bias, dtype=np.float64) - moved

    def _unscale(self, weights) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (k, F) on raw values and ``raw - encoded`` sums (k,)."""
        if not all(isinstance(scale, Affine) for scale in self._scales):
            raise ValueError(
                'Weighted sums need numbers="zscore", "minmax" or "none"; '
                f"{self.numbers!r} is not affine."
            )
        affine = [scale for scale in self._scales if isinstance(scale, Affine)]
        shift = np.array([scale.shift for scale in affine])
        scale = np.array([scale.scale for scale in affine])
        raw = np.asarray(weights, dtype=np.float64) / scale
        return raw, raw @ shift

    def _check(self, frame: pd.DataFrame, y) -> np.ndarray:
        """Refuse settings and targets that do not fit; return class codes or floats."""
        if self.numbers not in SCALES:
            known = ", ".join(repr(name) for name in SCALES)
            raise ValueError(f"numbers must be one of {known}, got {self.numbers!r}.")
        if self.task not in TASKS:
            known = ", ".join(repr(name) for name in TASKS)
            raise ValueError(f"task must be one of {known}, got {self.task!r}.")
        if len(frame) == 0:
            raise ValueError("The table has no rows to train on.")
        y = pd.Series(first_component(y)).reset_index(drop=True)
        if len(y) != len(frame):
            raise ValueError(
                f"The table has {len(frame)} rows, but the target has {len(y)}."
            )
        if y.isna().any():
            raise ValueError(
                f"The target is missing in row {int(y.isna().argmax())}, counted "
                "from 0; leave such rows out."
            )
        if self.task == "regression":
            return numbers(y.rename("target").astype(np.float64))
        return np.unique(y.to_numpy(), return_inverse=True)[1]


def first_component(y):
    """Return one number (n_rows,) for several targets (n_rows, C): what they share.

    It is the first principal component of the standardised targets. What is one target
    already stays as it is.
    """
    if np.ndim(y) < 2:
        return y
    y = np.asarray(y, dtype=np.float64)
    if (y == y[:, :1]).all():
        return y[:, 0]
    size = np.maximum(np.abs(y).max(axis=0), 1e-300)
    standard = y / size - (y / size).mean(axis=0)
    std = standard.std(axis=0)
    standard = standard / np.where(std > 0, std, 1.0)
    direction = np.linalg.eigh(standard.T @ standard)[1][:, -1]
    # An eigenvector has no sign of its own.
    return standard @ (direction * np.sign(direction[np.abs(direction).argmax()]))


def to_float32(encoded: np.ndarray) -> np.ndarray:
    """Return encoded numbers as the float32 that learners train on.

    ValueError if a number is too large for float32 (only under ``numbers="none"``).
    """
    with np.errstate(over="ignore"):
        single = np.asarray(encoded).astype(np.float32)
    if np.isinf(single).any():
        j = int(np.argmax(np.isinf(single).any(axis=0)))
        raise ValueError(
            f"Encoded column {j} holds {np.abs(encoded[..., j]).max():g}, too large "
            'for float32; encode numbers by "quantile", "zscore" or "minmax".'
        )
    return single


def _known_values(feature: Feature, observed: np.ndarray) -> np.ndarray:
    """Values between which a threshold lies: of training rows, missing and unseen."""
    others = [feature.fill, *feature.scores]
    if feature.kind == "category":
        others.append(feature.unseen)
    return np.unique(np.concatenate([observed, others]))


# Candidate thresholds of encoded columns, and the yes/no columns that they make.


@dataclass(frozen=True)
class Candidates:
    """K candidate splits ``x[:, feature] <= threshold``."""

    feature: np.ndarray  # (K,): encoded column that each candidate tests
    # (K,): midway between two values of the column, in encoded numbers.
    threshold: np.ndarray

    def right(self, x: np.ndarray) -> np.ndarray:
        """Whether each row of ``x`` (n, F) goes right, as 0 and 1 (n, K)."""
        return (x[:, self.feature] > self.threshold).astype(np.int32)


def candidate_thresholds(x: np.ndarray, n_thresholds: int) -> Candidates:
    """Choose thresholds of every column of ``x`` (n, F), evenly by number of rows.

    A column of at most ``n_thresholds + 1`` different values gets every threshold
    that parts two of them, so that nothing is lost by the choice. Missing values do
    not count.
    """
    features, thresholds = [], []
    for feature, column in enumerate(x.T):
        column = column[~np.isnan(column)]
        values = np.unique(column)
        middles = values[:-1] + (values[1:] - values[:-1]) / 2
        if len(middles) > n_thresholds:
            wanted = np.quantile(column, np.linspace(0, 1, n_thresholds + 2)[1:-1])
            place = np.searchsorted(values, wanted, side="right") - 1
            middles = middles[np.unique(place.clip(0, len(middles) - 1))]
        features += [feature] * len(middles)
        thresholds.append(middles)
    return Candidates(
        np.array(features, dtype=np.int64), np.concatenate([np.empty(0), *thresholds])
    )
