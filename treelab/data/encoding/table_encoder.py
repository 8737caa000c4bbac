"""TableEncoder: the user's table as numbers for a learner, and splits back again."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.columns import TASKS, as_frame
from treelab.data.encoding.encoded_columns import encode_columns
from treelab.data.encoding.scale import SCALES, Affine
from treelab.data.values import numbers, refuse_large
from treelab.trees.feature import Feature, feature_forms, feature_matrix
from treelab.trees.midpoints import midpoint


class TableEncoder:
    """Turns a table into a matrix of numbers, and splits on them back into its units.

    Numbers are scaled, their missing values filled with the training median.
    Categories become the target rate of their training rows, missing being a category
    of its own and a category never seen the target mean; then they are scaled too.
    Every map is increasing, so a split on encoded numbers is a split in the column's
    own unit, which the ``axis_splits`` and ``oblique_splits`` give.

    Parameters
    ----------
    numbers : {"quantile", "zscore", "minmax", "none"}, default="quantile"
        Scale of every feature: normal scores of the ranks, mean 0 and deviation 1,
        from 0 to 1, or as it is. A column that is constant becomes 0, except under
        "none". Only the last three are affine, as oblique splits need.
    task : {"binary", "multiclass", "regression"}
        Multiclass gives a category column one feature for each class.
    one_hot_max : int, default=0
        Category columns with at most this many categories, a missing one included,
        become columns of 0 and 1, a single column where there are two; 0 never.
    units : mapping of column name to unit, optional
        Kept in ``features_``. None takes ``frame.attrs["units"]`` where there is one.
    rare : mapping of column name to float, optional
        Categories that fewer training rows hold (below 1: a smaller fraction of them)
        become one, see ``join_rare``. None takes ``frame.attrs["rare"]``.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds in which categories are cross-fitted.

    Attributes
    ----------
    features_ : tuple of Feature
        One for each encoded column, in their order.
    columns_ : tuple of str
        Columns of the training table.
    target_encoded_ : tuple of str
        Category columns that became target rates.
    """

    def __init__(
        self,
        numbers="quantile",
        *,
        task,
        one_hot_max=0,
        units: Mapping[str, str] | None = None,
        rare: Mapping[str, float] | None = None,
        random_state=None,
    ):
        self.numbers = numbers
        self.task = task
        self.one_hot_max = one_hot_max
        self.units = units
        self.rare = rare
        self.random_state = random_state

    def fit_transform(self, frame: pd.DataFrame, y) -> np.ndarray:
        """Learn from training rows and return them encoded, categories cross-fitted.

        Parameters
        ----------
        frame : DataFrame or array-like of shape (n_rows, n_columns)
            Training rows only.
        y : array-like of shape (n_rows,)
            Labels of any sortable kind, or numbers for regression; none missing.

        Returns
        -------
        ndarray of shape (n_rows, F), float64
            For training alone: a category's score in a row does not know that row's
            target. ``transform`` gives what prediction will see.

        Raises
        ------
        ValueError
            If a setting is unknown, there are no rows, the target does not fit, or a
            number is infinite (the message names its column and row).
        """
        frame = as_frame(frame)
        y = self._check(frame, y)
        self.columns_ = tuple(frame.columns)
        units = frame.attrs.get("units", {}) if self.units is None else self.units
        rare = frame.attrs.get("rare", {}) if self.rare is None else self.rare

        columns = encode_columns(
            frame,
            y,
            task=self.task,
            one_hot_max=self.one_hot_max,
            units=units,
            rare=rare,
            forms=feature_forms(frame),
            random_state=self.random_state,
        )
        self.features_ = tuple(
            replace(column.feature, spread=_spread(column.values)) for column in columns
        )
        self.target_encoded_ = tuple(
            dict.fromkeys(c.feature.column for c in columns if c.is_target_encoded)
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

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Return rows of a table as numbers, (n_rows, F), float64, as prediction does.

        Raises
        ------
        ValueError
            If a column is absent, or a number column holds text or an infinite value.
        """
        frame = as_frame(frame, self.columns_)
        refuse_large(frame, {f.column for f in self.features_ if f.kind == "number"})
        encoded = feature_matrix(self.features_, frame)
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

        Parameters
        ----------
        feature : array-like of shape (k,), int
            Encoded column of each split.
        threshold : array-like of shape (k,)
            In encoded numbers. It is compared as it comes: pass what the learner
            compared with, in the learner's own precision.
        dtype : dtype, default=float32
            Precision of the encoded numbers that the learner compared.

        Returns
        -------
        threshold : ndarray of shape (k,), float64
            In the column's unit, or a score; -inf where no known value goes left, inf
            where all do.
        missing_left : ndarray of shape (k,), bool
            Whether a missing value goes left.

        Raises
        ------
        ValueError
            If a threshold is NaN.
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
        filled by the fill of their features.

        Parameters
        ----------
        weights : array-like of shape (k, F)
        threshold : array-like of shape (k,)

        Returns
        -------
        weights : ndarray of shape (k, F), float64
            Per unit of each column (per unit of score for categories).
        threshold : ndarray of shape (k,), float64

        Raises
        ------
        ValueError
            If numbers are encoded by quantiles, which no weighted sum can undo.
        """
        weights, moved = self._unscale(weights)
        return weights, np.asarray(threshold, dtype=np.float64) + moved

    def linear_leaves(self, weights, bias) -> tuple[np.ndarray, np.ndarray]:
        """Return leaf models ``bias + encoded @ weights`` in the columns' own units.

        Parameters
        ----------
        weights : array-like of shape (k, F)
        bias : array-like of shape (k,)

        Returns
        -------
        weights : ndarray of shape (k, F), float64
        bias : ndarray of shape (k,), float64

        Raises
        ------
        ValueError
            If numbers are encoded by quantiles, which no weighted sum can undo.
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
        y = pd.Series(y).reset_index(drop=True)
        if len(y) != len(frame):
            raise ValueError(
                f"The table has {len(frame)} rows, but the target has {len(y)}."
            )
        if y.isna().any():
            raise ValueError(
                f"The target is missing in row {int(y.isna().argmax())}; leave such "
                "rows out."
            )
        if self.task == "regression":
            return numbers(y.rename("target").astype(np.float64))
        return np.unique(y.to_numpy(), return_inverse=True)[1]


def to_float32(encoded: np.ndarray) -> np.ndarray:
    """Return encoded numbers as the float32 that learners train on.

    Raises
    ------
    ValueError
        If a number is too large for float32 (only under ``numbers="none"``).
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


def _spread(values: np.ndarray) -> float:
    """Standard deviation of the values that are there; 0 where there is none."""
    observed = values[~np.isnan(values)]
    return float(observed.std()) if len(observed) else 0.0


def _known_values(feature: Feature, observed: np.ndarray) -> np.ndarray:
    """Values between which a threshold lies: of training rows, missing and unseen."""
    others = [feature.fill, *feature.scores]
    if feature.kind == "category":
        others.append(feature.unseen)
    return np.unique(np.concatenate([observed, others]))
