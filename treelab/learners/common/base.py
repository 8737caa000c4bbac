"""The estimators' base: what is checked of a table, read into numbers, and kept."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from treelab.data.columns import as_frame, column_kind, too_large
from treelab.data.encoding import TableEncoder, power_of_two
from treelab.evaluation.importance import by_column, impurity_importances
from treelab.evaluation.metrics import macro_f1, scores
from treelab.learners.common.certainty import (
    TreesBySize,
    with_interval,
    with_measured_shrinkage,
    with_quantiles,
)
from treelab.learners.common.folds import Rows, hold_out
from treelab.learners.common.origin import Origin
from treelab.learners.common.settings import (
    CLASSES,
    CommonSettings,
    growing_weights,
    read_settings,
)
from treelab.learners.common.target import TargetScale, loss_of
from treelab.training.events import Callback
from treelab.trees.constraints import Constraints, cost_matrix
from treelab.trees.frames import as_array, as_pandas, plain_column
from treelab.trees.losses import LOSSES, SQUARED_ERROR, Loss
from treelab.trees.tree import Tree

# Refusals of tables and targets that no learner can use, by column and row.


def check_table(X):
    """Return a table of features, a pandas frame or an array with at least one row.

    ValueError if there is no row or no column; TypeError for a sparse matrix.
    """
    X = as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        X = as_array(X) if isinstance(X, list | tuple) else X
        return check_array(X, dtype=None, ensure_all_finite=False)
    for size, what in zip(X.shape, ("sample", "feature")):
        if size == 0:
            raise ValueError(f"X has 0 {what}(s), but at least 1 is required.")
    return X


def in_fitted_order(X, names: Sequence[str] | None, columns: Sequence[str]):
    """Return a table with its columns in the order in which they were fitted.

    ``names`` are ``feature_names_in_``, None where the table that was fitted had none;
    ``columns`` what its columns are called, x0, x1, ... those of an array. An array, or
    a table of other columns, is returned as it is; where an array was fitted, columns
    of other names are taken in their order, as scikit-learn does.
    """
    if not isinstance(X, pd.DataFrame):
        return X
    own = [str(name) for name in X.columns]
    if len(own) != len(columns):
        return X
    if set(own) == set(columns):
        return X if own == list(columns) else X.iloc[:, [*map(own.index, columns)]]
    was_array = names is None and list(columns) == [f"x{i}" for i in range(len(own))]
    return X.set_axis([*columns], axis=1) if was_array else X


def check_finite(column: pd.Series) -> None:
    """Raise ValueError that names the column and row of an infinite value."""
    if column_kind(column) != "number":
        return
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if infinite := too_large(values, np.finfo(np.float64).max):
        raise ValueError(f"Column {column.name!r} {infinite}")


def target_columns(y) -> pd.DataFrame | None:
    """Return several targets as a frame, y0, y1, ... where they have no names.

    None where there is one.
    """
    y = as_pandas(y)
    if not isinstance(y, pd.DataFrame | pd.Series):
        y = np.asarray(y)
        if y.ndim == 2:
            y = pd.DataFrame(y, columns=[f"y{j}" for j in range(y.shape[1])])
    return y if y.ndim == 2 and y.shape[1] > 1 else None


def check_target(y, n_rows: int, name: str, *, several: bool = False) -> np.ndarray:
    """Return a target as an array (n_rows,), which ``name`` is called in messages.

    Where there may be ``several`` those of more than one column are (n_rows, C).
    ValueError if it has another length than the table or a missing value.
    """
    if (columns := target_columns(y)) is not None:
        if not several:
            raise ValueError(
                f"y should be a 1d array, got {columns.shape[1]} columns as {name}: "
                "this learner predicts one target. CartRegressor, GradTreeRegressor "
                "and GetRegressor predict several numbers at once."
            )
        each = [check_target(own, n_rows, name) for _, own in columns.items()]
        return np.stack(each, axis=1)
    y = as_pandas(y)
    if isinstance(y, pd.DataFrame):
        y = pd.DataFrame({column: _numpy_typed(own) for column, own in y.items()})
    y = _numpy_typed(y) if isinstance(y, pd.Series) else y
    y = column_or_1d(y, warn=not several)
    if isinstance(y, pd.Series):
        y = y.to_numpy()
    if y.dtype == object:  # a column of a mixed table's array: numbers among objects
        y = pd.Series(y).infer_objects().to_numpy()
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has "
            f"{n_rows} rows, {name} has {len(y)}."
        )
    missing = pd.isna(y)
    if missing.any():
        raise ValueError(
            f"{name} contains NaN, first in row {int(np.argmax(missing))}, counted "
            "from 0; drop the rows whose target is missing."
        )
    return np.asarray(y)


def _numpy_typed(y: pd.Series) -> pd.Series:
    """Return whole numbers and true and false as numpy has them.

    Of pandas' own types (Int64, boolean, categories) scikit-learn makes floats.
    """
    if isinstance(y.dtype, pd.CategoricalDtype):
        y = y.astype(y.cat.categories.dtype)
    is_own = not isinstance(y.dtype, np.dtype) and not y.hasnans
    if is_own and (is_bool_dtype(y.dtype) or is_integer_dtype(y.dtype)):
        return pd.Series(y.tolist(), index=y.index, name=y.name)
    return y


def check_numeric_target(
    y, n_rows: int, name: str, rows: pd.Index | None = None, *, several: bool = False
) -> np.ndarray:
    """Return a target of numbers, float64 (n_rows,); dates are as in ``plain_column``.

    ``rows`` are what the rows are called, by default their places from 0. The rest is
    as in ``check_target``; ValueError, too, if a value is no number or not finite.
    """
    y = check_target(y, n_rows, name, several=several)
    if y.ndim == 2:
        each = [check_numeric_target(own, n_rows, name, rows) for own in y.T]
        return np.stack(each, axis=1)
    try:
        y = plain_column(pd.Series(y)).to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers for regression.") from error
    if not np.isfinite(y).all():
        place = int(np.argmin(np.isfinite(y)))
        row = f"{place}, counted from 0" if rows is None else rows[place]
        raise ValueError(f"{name} contains NaN or infinity, first in row {row}.")
    return y


def check_weights(weights, n_rows: int, name: str) -> np.ndarray | None:
    """Return the weights of rows as float64 (n_rows,); None where all count alike.

    Those whose squares leave float64 come in another unit, in which the largest is
    about 1. ``name`` is what messages call them. ValueError if there is not one for
    each row, one is negative or no finite number (its row is named), or none is above
    0.
    """
    if weights is None:
        return None
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers.") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one weight for each of the {n_rows} rows, got shape "
            f"{weights.shape}."
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be finite and at least 0, got {weights[row]:g} in row {row}, "
            "counted from 0."
        )
    if not weights.any():
        raise ValueError(
            f"{name} must have a weight above 0; all {n_rows} weights are zero."
        )
    largest = weights.max()
    if not 1e-100 < largest < 1e100:
        weights = np.ldexp(weights, -np.frexp(largest)[1])
    return weights if np.ptp(weights) else None


def check_groups(groups, n_rows: int, name: str) -> np.ndarray | None:
    """Return the groups of rows (n_rows,) as objects; None where there are none.

    ValueError, which calls them by ``name``, if there is not one for each row.
    """
    if groups is None:
        return None
    found = np.asarray(column_or_1d(as_pandas(groups)), dtype=object)
    if len(found) != n_rows:
        raise ValueError(
            f"{name} must have a group for each of the {n_rows} rows, got {len(found)}."
        )
    return found


def label_text(label) -> str:
    """Write a label as Python would, not as numpy does."""
    return repr(label.item() if isinstance(label, np.generic) else label)


# How far predictions shift towards rare classes, by macro F1 on held-out rows.


POWERS = np.linspace(0, 1.5, 31)  # of balanced class weights
N_RESAMPLES = 50


def best_weight_power(
    log_proba: np.ndarray,
    target: np.ndarray,
    log_weights: np.ndarray,
    row_weights: np.ndarray | None = None,
) -> float:
    """Power of balanced class weights that shifts the class prior best.

    Of ``log_proba`` (n_rows, C), logarithms of predicted probabilities, of rows of
    these class codes ``target`` (n_rows,); the shift is the power times ``log_weights``
    (C,), logarithms of balanced weights: 0 leaves the predictions as they are, 1 weighs
    all classes alike. Few held-out rows make the best power jumpy, so it is bagged: the
    mean of the best powers of resampled rows, each of which counts in the score by
    ``row_weights`` (Breiman, "Bagging Predictors", 1996).
    """
    n_rows, n_classes = log_proba.shape
    rng = np.random.default_rng(0)
    # How often each row is drawn, times what it weighs.
    times = np.empty((N_RESAMPLES, n_rows), np.uint16 if row_weights is None else float)
    for drawn in times:
        drawn[:] = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
        if row_weights is not None:
            drawn *= row_weights
    scores = []
    for power in POWERS:
        cell = target * n_classes + (log_proba + power * log_weights).argmax(1)
        confusions = [np.bincount(cell, n, minlength=n_classes**2) for n in times]
        scores.append(macro_f1(np.reshape(confusions, (-1, n_classes, n_classes))))
    return float(POWERS[np.argmax(scores, axis=0)].mean())


# What every learner shares: reading a table, holding rows out, predicting.


@dataclass(frozen=True)
class TrainingData:
    """A table as a learner trains on it; what its rows hold stands at ``Rows``."""

    encoder: TableEncoder  # fitted on the training rows alone
    X: np.ndarray  # (n_rows, F): encoded features
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray
    frame: pd.DataFrame
    frame_valid: pd.DataFrame
    n_outputs: int  # classes; 1 for regression, or the number of targets or levels
    # Whether the validation rows are rows of the caller's ``X`` that were set aside
    # from training, so that they may join it in the end.
    held_out: bool = False
    validation: str = ""  # what the validation rows are; "" where training rows are
    weight: np.ndarray | None = None
    weight_valid: np.ndarray | None = None
    groups: np.ndarray | None = None
    groups_valid: np.ndarray | None = None

    @property
    def rows(self) -> Rows:
        """The training rows."""
        return Rows(self.frame, self.y, self.weight, self.groups)

    @property
    def rows_valid(self) -> Rows:
        """The validation rows."""
        own = self.frame_valid, self.y_valid, self.weight_valid, self.groups_valid
        return Rows(*own)

    def joined(self) -> "TrainingData":
        """Return it with the validation rows among the training rows; ``X`` stays."""
        return replace(self, **self.rows.joined(self.rows_valid)._asdict())

    @property
    def row_weight(self) -> np.ndarray:
        """Weight of each training row, mean 1."""
        return self.rows.weights / self.rows.weights.mean()

    @property
    def row_weight_valid(self) -> np.ndarray:
        """Weight of each validation row, in units of the training rows' mean."""
        return self.rows_valid.weights / self.rows.weights.mean()


class TableEstimator(CommonSettings, BaseEstimator):
    """Base of the learners: takes a raw table and predicts with the exported model.

    A learner's ``_learn`` trains and sets ``model_``, what it exports: a ``Tree``,
    ``WeightedTrees`` or ``PruningPath``, in the user's columns and units, and
    ``origin_``, how the model came about.
    """

    columns_: tuple[str, ...]
    _kinds: dict[str, str]  # "number" or "category" for each of the columns
    origin_: Origin
    outputs_: tuple[str, ...] = ()  # names of several targets or quantiles
    predicts_several: ClassVar[bool] = False
    constraints_ = Constraints()  # learners that keep any read theirs
    _threads: Callable[[], Any] = staticmethod(nullcontext)  # a fit runs within it
    # Of regression: the loss in the target's unit, and the unit that is learned in.
    _loss_of_rows: Loss = SQUARED_ERROR
    _target_scale = TargetScale()

    def __str__(self):
        """Return the settings that were changed and, once fitted, the origin."""
        origin = getattr(self, "origin_", None)
        return repr(self) if origin is None else f"{self!r}\n{origin}"

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much impurity the splits on each column of ``X`` remove, a total of 1.

        (n_features_in_,), float64. A weighted sum's part is shared among its terms by
        how far each moves the sum; all are 0 where the tree is a single leaf.
        """
        check_is_fitted(self, "model_")
        return by_column(self.columns_, impurity_importances(self.tree_))

    def __sklearn_tags__(self):
        """Tell scikit-learn that missing values and text columns are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_valid=None,
        y_valid=None,
        sample_weight_valid=None,
        groups=None,
        groups_valid=None,
        callbacks: Sequence[Callback] = (),
    ):
        """Learn from ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Raw table: numbers, categories and missing values.
        y : array-like of shape (n_rows,)
            Target; of several targets (n_rows, n_outputs).
        sample_weight : array-like of shape (n_rows,), optional
            Of each row, as multiples of their mean: one of weight 2 counts as twice the
            row, one of 0 is left out.
        groups : array-like of shape (n_rows,), optional
            Rows of one value are held out together wherever rows are held out.
        X_valid, y_valid, sample_weight_valid, groups_valid : optional
            Rows that stop the training and choose the model; without them rows of ``X``
            are held out for that: a fifth, or folds in turn. CART that is tuned and
            GradTree without early stopping choose by folds of all rows, and train on
            these as well. Plain CART and optimal trees only measure their loss on them.
        callbacks : sequence of callable
            Called with a ``Progress`` now and then; returning True stops training, and
            the model is made of the best so far.
        """
        settings = read_settings(self)
        given = X, y, sample_weight, groups
        given_valid = X_valid, y_valid, sample_weight_valid, groups_valid
        with self._threads():
            data = self._read(given, given_valid, **self._encoding(settings))
            self._learn(data, settings, callbacks)
        return self

    def _encoding(self, settings) -> dict[str, Any]:
        """Keywords of ``_read``: how columns are encoded."""
        raise NotImplementedError

    def _learn(self, data: TrainingData, settings, callbacks) -> None:
        """Train on rows that were read, by settings that were checked."""
        raise NotImplementedError

    def _read(
        self,
        given: tuple,
        given_valid: tuple,
        *,
        numbers: str,
        one_hot_max: int = 0,
        joins_valid: bool = False,
    ) -> TrainingData:
        """Check the tables, hold rows out where none are given, and encode.

        Rows of weight 0 are left out. ``given`` are table, target, weights and groups;
        ``numbers`` and ``one_hot_max`` set how columns are encoded, see
        ``TableEncoder``; with ``joins_valid`` validation rows that are given are
        trained on, too. Sets ``n_features_in_`` and, for classifiers, ``classes_``.
        """
        if given[1] is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        rows = self._read_rows(*given, suffix="")
        self._name_outputs(given[1])
        rows = rows._replace(y=self._read_target(rows.y, rows.frame.index))
        X_valid, y_valid, weight_valid, groups_valid = given_valid
        if (X_valid is None) != (y_valid is None):
            raise ValueError("X_valid and y_valid go together; give both or neither.")
        if X_valid is None and weight_valid is not None:
            raise ValueError("sample_weight_valid needs X_valid and y_valid.")
        if (groups_valid is None) != (given[3] is None or X_valid is None):
            raise ValueError(
                "groups_valid are the groups of X_valid; give them where X_valid and "
                "groups are given."
            )
        set_aside, validation = False, "validation rows"
        if X_valid is None:
            places, held_out = self._hold_out(rows.y, rows.groups)
            set_aside = len(held_out) > 0 and not np.isin(held_out, places).any()
            rows, valid = rows.take(places), rows.take(held_out)
            validation = "a fifth of the rows" if set_aside else ""
        else:
            more = self._in_order(y_valid), weight_valid, groups_valid
            valid = self._read_rows(X_valid, *more, suffix="_valid")
            y = self._encode_target(valid.y, valid.frame.index, "y_valid")
            valid = valid._replace(y=y)
            if joins_valid:
                rows, valid = rows.joined(valid), valid.take(np.arange(0))
        encoder = TableEncoder(
            numbers,
            task=self._task(),
            one_hot_max=one_hot_max,
            random_state=self._draw_seed(),
        )
        parts = {f"{name}_valid": own for name, own in valid._asdict().items()}
        return TrainingData(
            encoder=encoder,
            X=encoder.fit_transform(*rows),
            X_valid=encoder.transform(valid.frame),
            n_outputs=len(self.labels() or self.outputs_ or (None,)),
            held_out=set_aside,
            validation=validation,
            **rows._asdict(),
            **parts,
        )

    def _read_rows(self, X, y, weights, groups, *, suffix: str) -> Rows:
        """Leave rows of weight 0 out; the target is as it was given."""
        frame = self._read_frame(X, reset=not suffix)
        weights = check_weights(weights, len(frame), f"sample_weight{suffix}")
        groups = check_groups(groups, len(frame), f"groups{suffix}")
        rows = Rows(frame, y, weights, groups)
        if weights is None or weights.all():
            return rows
        y = check_target(y, len(frame), f"y{suffix}", several=self.predicts_several)
        rows = rows._replace(y=y).take(weights > 0)
        return rows if np.ptp(rows.weights) else rows._replace(weight=None)

    def _read_frame(self, X, *, reset: bool) -> pd.DataFrame:
        """Check a table of features and return it as a frame with text column names."""
        X = check_table(X)
        if not reset:
            names = getattr(self, "feature_names_in_", None)
            X = in_fitted_order(X, names, self.columns_)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            frame = as_frame(X)
            self.columns_ = tuple(frame.columns)
            self._kinds = {name: column_kind(frame[name]) for name in self.columns_}
        else:
            frame = as_frame(X, self.columns_, self._kinds)
        for name in frame.columns:
            check_finite(frame[name])
        return frame

    def _predict_frame(self, X) -> pd.DataFrame:
        """Check a table to predict on against the one that was fitted."""
        check_is_fitted(self, "model_")
        return self._read_frame(X, reset=False)

    def _hold_out(
        self, target: np.ndarray, groups: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Split row numbers into training and validation; see ``hold_out``."""
        by_class = self._task() != "regression"
        seed = self._draw_seed()
        return hold_out(target, by_class=by_class, seed=seed, groups=groups)

    def _with_certainty(self, path: TreesBySize, rows: Rows) -> TreesBySize:
        """Return a path of trees, fitted to these rows, that know how sure they are."""
        return path

    def _weights_note(self, weights: np.ndarray) -> tuple[str, ...]:
        """Note the weight of each class's rows (n_classes,), where they differ."""
        return ()

    @property
    def _scaled_loss(self) -> Loss:
        """The loss of rows in the unit that is learned in."""
        return self._loss_of_rows.scaled(1 / self._target_scale.scale)

    def _draw_seed(self) -> int:
        """First seed that ``random_state`` gives."""
        return int(check_random_state(self.random_state).randint(2**31))

    def _name_outputs(self, y) -> None:
        """Learn what several targets, as the caller gave them, are called."""

    def _in_order(self, y):
        """Return several targets of a table as they were fitted, by their names."""
        columns = target_columns(y)
        if columns is None or {*map(str, columns)} != {*self.outputs_}:
            return y
        return columns.set_axis([*map(str, columns)], axis=1)[[*self.outputs_]]

    def _read_target(self, y, rows: pd.Index) -> np.ndarray:
        """Check the target of the training rows; a classifier learns its classes."""
        return self._encode_target(y, rows, "y")

    def _encode_target(self, y, rows: pd.Index, name: str) -> np.ndarray:
        """Check a target and return it as numbers (n_rows,).

        ``rows`` is the index of the caller's frame, by which a row is named.
        """
        raise NotImplementedError

    def _decode_target(self, y: np.ndarray) -> np.ndarray:
        """Return an encoded target as the caller gave it."""
        return y

    def labels(self) -> tuple | None:
        """Return the classes as plain Python values; None for regression."""
        return None

    def _task(self) -> str:
        """One of "binary", "multiclass" and "regression"."""
        n_classes = len(self.labels() or ())
        return {0: "regression", 2: "binary"}.get(n_classes, "multiclass")


class TableClassifier(ClassifierMixin, TableEstimator):
    """Base of the classifiers: labels in, labels out."""

    tasks = CLASSES

    def _read_target(self, y, rows):
        """Learn the classes and return their codes (n_rows,), int64."""
        y = check_target(y, len(rows), "y")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {label_text(self.classes_[0])}; a classifier "
                "needs rows of at least 2 classes."
            )
        return np.searchsorted(self.classes_, y)

    def _encode_target(self, y, rows, name):
        """Return the codes of labels that were learned."""
        y = check_target(y, len(rows), name)
        unknown = y[~np.isin(y, self.classes_)]
        if len(unknown):
            raise ValueError(
                f"{name} holds the class {label_text(unknown[0])}, which no training "
                "row has."
            )
        return np.searchsorted(self.classes_, y)

    def _decode_target(self, y):
        """Return the labels of class codes."""
        return self.classes_[y]

    @property
    def _class_weight(self) -> Any:
        """The setting ``class_weight`` that is trained with, if any."""
        return getattr(read_settings(self), "class_weight", None)

    def _training_weights(self, data: TrainingData) -> np.ndarray:
        """Weight of each class (n_classes,) while splits are chosen.

        What its errors cost, where these have costs, else as ``class_weight`` asks.
        """
        costs = cost_matrix(self.constraints_, self.labels())
        if costs is not None:
            return growing_weights(costs, data.y, data.weight)
        return self._class_weights(data.y, data.weight)

    def _class_weights(
        self, y: np.ndarray, row_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Weight of each class (n_classes,), mean 1 over the training rows ``y``.

        Classes count alike where held-out rows choose later what they weigh, "auto".
        """
        given = self._class_weight
        if given is None or (isinstance(given, str) and given == "auto"):
            return np.ones(len(self.classes_))
        if isinstance(given, dict):
            weights = self._given_weights(given)
        elif given == "balanced":
            weights = self._balanced_weights(y, row_weight)
        else:
            raise ValueError(
                "class_weight must be None, 'balanced' or a dict of label to weight, "
                f"got {given!r}."
            )
        return weights / np.average(weights[y], weights=row_weight)

    def _given_weights(self, given: dict) -> np.ndarray:
        """Weight of each class (n_classes,) by its label, 1 where none is given.

        As scikit-learn has it, a label that the rows lack is no mistake where every
        class has its weight: a fold may lack a rare class.
        """
        labels = self.labels()
        unknown = [label for label in given if label not in labels]
        missing = [label for label in labels if label not in given]
        if unknown and missing:
            raise ValueError(
                f"class_weight has a weight for {unknown[0]!r}, which is no class of "
                f"y, and none for a class that is, such as {missing[0]!r}."
            )
        for label, weight in given.items():
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(
                    "class_weight must hold finite numbers of at least 0, got "
                    f"{weight!r} for {label!r}."
                )
        return np.array([given.get(label, 1.0) for label in labels], dtype=float)

    def _balanced_weights(
        self, y: np.ndarray, row_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Weight of each class (n_classes,) under which all classes count alike."""
        n_classes = len(self.classes_)
        count = np.bincount(y, row_weight, minlength=n_classes)
        return count.sum() / (n_classes * np.where(count > 0, count, 1))

    def _weights_note(self, weights, how_sure="shrunk towards the nodes above"):
        """By the labels of the classes."""
        shown = [f"{weight:.2g}" for weight in weights]
        if len(set(shown)) == 1:
            return ()
        by_class = [f"{label} {weight}" for label, weight in zip(self.labels(), shown)]
        return (
            f"Classes are chosen with rows weighted by class: {', '.join(by_class)}; "
            f"probabilities are those of the rows, {how_sure}.",
        )

    def _with_certainty(self, path, rows):
        """Shrink probabilities as far as held-out rows say; classes stay."""
        return with_measured_shrinkage(
            path,
            rows,
            task=self._task(),
            seed=self._draw_seed(),
            constraints=self.constraints_,
        )

    def labels(self) -> tuple:
        """Return the classes as plain Python values, as in the exported model."""
        return tuple(self.classes_.tolist())

    def score(self, X, y, sample_weight=None):
        """Return the accuracy of the labels that are predicted for ``X``.

        ValueError if ``y`` holds text where the classes are none, or the other way.
        """
        predicted = self.predict(X)
        given = check_target(y, len(predicted), "y"), predicted, self.classes_
        y, predicted, known = (
            np.array([*own]) if own.dtype == object else own for own in given
        )
        if (y.dtype.kind == "U") != (known.dtype.kind == "U"):
            fitted = ", ".join(map(label_text, known[:3]))
            raise ValueError(
                f"y holds the label {label_text(y[0])}, and the classes that were "
                f"fitted are such as {fitted}. Give labels as they were fitted."
            )
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    def predict(self, X):
        """Predict a label for each row of ``X``."""
        frame = self._predict_frame(X)
        return self.model_.predict(frame).astype(self.classes_.dtype)

    def predict_proba(self, X):
        """Predict (n_rows, n_classes) probabilities in the order of ``classes_``."""
        frame = self._predict_frame(X)
        return self.model_.predict_proba(frame)


class TableRegressor(RegressorMixin, TableEstimator):
    """Base of the regressors."""

    tasks = ("regression",)

    def __sklearn_tags__(self):
        """Tell scikit-learn whether there may be several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.predicts_several
        return tags

    @property
    def _levels(self) -> tuple[float, ...]:
        """Levels of the quantiles that are predicted together; () for anything else."""
        own: Any = getattr(self, "quantile", 0.5)
        is_several = getattr(self, "loss", "") == "quantile" and np.size(own) > 1
        return tuple(own) if is_several else ()

    def _name_outputs(self, y):
        """Name targets by their columns, quantiles by their levels."""
        columns = target_columns(y)
        names = [f"quantile {level:g}" for level in self._levels]
        self.outputs_ = tuple(map(str, names if columns is None else columns))
        self.n_outputs_ = max(1, len(self.outputs_))
        twice = {name for name in self.outputs_ if self.outputs_.count(name) > 1}
        if twice:
            raise ValueError(f"y has two columns that are called {min(twice)!r}.")

    def _encode_target(self, y, rows, name):
        """Return the target as float64 (n_rows,), which the loss must know.

        Several, or one that is repeated for each level, are (n_rows, n_outputs_).
        """
        y = check_numeric_target(
            self._in_order(y), len(rows), name, rows, several=self.predicts_several
        )
        if self._levels:
            return self._repeated(y, name)
        n_columns = 1 if y.ndim == 1 else y.shape[1]
        if n_columns != self.n_outputs_:
            raise ValueError(
                f"{name} must have as many columns as y, {self.n_outputs_}, got "
                f"{n_columns}."
            )
        if (loss := getattr(self, "loss", "")) in LOSSES:
            Loss.named(loss).check_target(y, name, rows)
        return y

    def _learn_loss(self, settings, data: TrainingData, *, rounded=False) -> None:
        """Learn the loss, and the unit in which it is trained; see ``TargetScale``."""
        self._loss_of_rows = loss = loss_of(settings, data.y, data.weight)
        self._target_scale = TargetScale.for_loss(data.y, loss, rounded=rounded)

    def _repeated(self, y: np.ndarray, name: str) -> np.ndarray:
        """Return the one target (n_rows,) once for each level, (n_rows, n_levels)."""
        if not self.predicts_several:
            raise ValueError(
                f"{type(self).__name__} predicts one quantile, got {self.quantile!r}. "
                "CartRegressor, GradTreeRegressor and GetRegressor predict several."
            )
        if y.ndim == 2:
            raise ValueError(
                f"Several quantiles are those of one target, got {y.shape[1]} columns "
                f"as {name}. Give one column, or one quantile."
            )
        return np.repeat(y[:, None], len(self._levels), axis=1)

    def predict(self, X):
        """Predict a value, in the units of the target, for each row of ``X``.

        Of several targets, or quantiles, they are (n_rows, n_outputs_).
        """
        frame = self._predict_frame(X)
        return self.model_.predict(frame)

    def predict_interval(self, X):
        """Return between which values most rows lie, (n_rows, 2), in the target's unit.

        The setting ``interval`` says which fraction; see ``Tree.predict_interval``.
        """
        frame = self._predict_frame(X)
        if not isinstance(self.model_, Tree):
            raise ValueError(f"{type(self).__name__} predicts no interval.")
        return self.model_.predict_interval(frame)

    def _with_certainty(self, path, rows):
        """Let quantiles be those of new rows; say between which values most rows lie.

        Of several targets, or where no interval is wanted, neither.
        """
        level = getattr(self, "interval", None)
        loss = self._loss_of_rows
        if level is None or (self.outputs_ and not self._levels):
            return path
        if self._levels:
            rows = rows._replace(y=rows.y[:, 0])
        if loss.name == "quantile":
            levels, seed = np.ravel(loss.parameter), self._draw_seed()
            path = with_quantiles(path, rows, levels=levels, seed=seed)
        if self.outputs_:
            return path
        own = with_interval(path.tree, rows, level=level, seed=self._draw_seed())
        trees = [*path.trees]
        trees[path.chosen] = own
        return replace(path, trees=tuple(trees))

    def score(self, X, y, sample_weight=None):
        """Return R² of the predictions for ``X``, of values of whatever size.

        Of another loss than the squared error its D², the fraction of the loss of the
        best constant that the predictions save, as scikit-learn's ``d2_pinball_score``.
        Of several targets, or levels, it is the mean of their scores.
        """
        predicted = self.predict(X)
        loss = self._loss_of_rows
        y = self._encode_target(y, pd.RangeIndex(len(predicted)), "y")
        if loss.is_squared:
            return scores("regression", y, predicted, sample_weight=sample_weight)["r2"]
        unit = np.apply_along_axis(power_of_two, 0, y)
        weight = check_weights(sample_weight, len(y), "sample_weight")
        return loss.scaled(1 / unit).score(predicted / unit, y / unit, weight)
