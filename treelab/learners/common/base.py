"""What every learner shares: reading a table, holding rows out, answering."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from treelab.data.columns import as_frame, column_kind
from treelab.data.encoding.table_encoder import TableEncoder

VALIDATION_SHARE = 0.2  # held out of X when no validation rows are given


@dataclass(frozen=True)
class TrainingData:
    """A table as a learner trains on it.

    Attributes
    ----------
    encoder : TableEncoder
        Fitted on the training rows alone.
    X, X_valid : ndarray of shape (n_rows, F), float64
        Encoded features.
    y, y_valid : ndarray of shape (n_rows,)
        Class codes (int64), or values in the units of the target (float64).
    frame, frame_valid : DataFrame
        The same rows as the caller gave them.
    n_outputs : int
        Classes, or 1 for regression.
    """

    encoder: TableEncoder
    X: np.ndarray
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray
    frame: pd.DataFrame
    frame_valid: pd.DataFrame
    n_outputs: int


class TableEstimator(BaseEstimator):
    """Base of the learners: takes a raw table and predicts with the exported model.

    A learner's ``fit`` calls ``_read``, trains, and sets ``model_``, what it exports:
    a ``Tree``, ``WeightedTrees`` or ``PruningPath``, in the user's columns and units.
    """

    def __sklearn_tags__(self):
        """Tell scikit-learn that missing values and text columns are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags

    def _read(
        self, X, y, X_valid=None, y_valid=None, *, numbers, one_hot_max=0
    ) -> TrainingData:
        """Check the tables, hold rows out where none are given, and encode.

        ``numbers`` and ``one_hot_max`` say how columns are encoded, see
        ``TableEncoder``. Sets ``n_features_in_`` and, for classifiers, ``classes_``.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        frame = self._read_frame(X, reset=True)
        target = self._read_target(y, len(frame))
        if (X_valid is None) != (y_valid is None):
            raise ValueError("X_valid and y_valid go together; give both or neither.")
        if X_valid is None:
            rows, held_out = self._hold_out(target)
            frame_valid, target_valid = frame.iloc[held_out], target[held_out]
            frame, target = frame.iloc[rows], target[rows]
        else:
            frame_valid = self._read_frame(X_valid, reset=False)
            target_valid = self._encode_target(y_valid, len(frame_valid), "y_valid")
        encoder = TableEncoder(
            numbers,
            task=self._task(),
            one_hot_max=one_hot_max,
            random_state=self._seed_of_encoder(),
        )
        return TrainingData(
            encoder=encoder,
            X=encoder.fit_transform(frame, target),
            y=target,
            X_valid=encoder.transform(frame_valid),
            y_valid=target_valid,
            frame=frame,
            frame_valid=frame_valid,
            n_outputs=self._n_outputs(),
        )

    def _read_frame(self, X, *, reset: bool) -> pd.DataFrame:
        """Check a table of features and return it as a frame with text column names."""
        if issparse(X):
            raise TypeError("Sparse data was passed for X, but dense data is required.")
        if not isinstance(X, pd.DataFrame):
            X = check_array(
                X, dtype=None, ensure_all_finite=False, ensure_min_samples=1
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if len(X) == 0:
            raise ValueError("X has 0 sample(s), but at least 1 row is required.")
        if X.shape[1] == 0:
            raise ValueError(
                f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 "
                "is required."
            )
        if reset:
            frame = as_frame(X)
            self.columns_ = tuple(frame.columns)
        else:
            frame = as_frame(X, self.columns_)
        for name in frame.columns:
            check_finite(frame[name])
        return frame

    def _read_target(self, y, n_rows: int) -> np.ndarray:
        """Check the target of the training rows and learn its classes."""
        return self._encode_target(y, n_rows, "y")

    def _hold_out(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split row numbers into training and validation, by classes where that works.

        Tables too small to spare a row are validated on their training rows.
        """
        rows = np.arange(len(target))
        n_valid = round(len(rows) * VALIDATION_SHARE)
        if len(rows) < 10:
            return rows, rows
        strata = None
        if self._task() != "regression":
            counts = np.unique(target, return_counts=True)[1]
            if counts.min() >= 2 and n_valid >= len(counts):
                strata = target
        seed = check_random_state(self.random_state).randint(2**31)
        rows, held_out = train_test_split(
            rows, test_size=n_valid, stratify=strata, random_state=seed
        )
        if self._task() != "regression":  # every class has a row to learn from
            missing = np.setdiff1d(target, target[rows])
            rescued = held_out[np.isin(target[held_out], missing)]
            rows = np.concatenate([rows, rescued])
        return np.sort(rows), np.sort(held_out)

    def _seed_of_encoder(self) -> int:
        """Seed of the encoder's cross-fitting."""
        return int(check_random_state(self.random_state).randint(2**31))

    def _predict_frame(self, X) -> pd.DataFrame:
        """Check a table to predict on against the one that was learned."""
        check_is_fitted(self, "model_")
        return self._read_frame(X, reset=False)

    def _task(self) -> str:
        raise NotImplementedError

    def _n_outputs(self) -> int:
        raise NotImplementedError

    def _encode_target(self, y, n_rows: int, name: str) -> np.ndarray:
        raise NotImplementedError


class TableClassifier(ClassifierMixin, TableEstimator):
    """Base of the classifiers: labels in, labels out."""

    def _read_target(self, y, n_rows):
        """Learn the classes and return their codes (n_rows,), int64."""
        y = _column(y, n_rows, "y")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {_shown(self.classes_[0])}; a classifier "
                "needs rows of at least 2 classes."
            )
        return np.searchsorted(self.classes_, y)

    def _encode_target(self, y, n_rows, name):
        """Return the codes of labels that were learned."""
        y = _column(y, n_rows, name)
        unknown = y[~np.isin(y, self.classes_)]
        if len(unknown):
            raise ValueError(
                f"{name} holds the class {_shown(unknown[0])}, which no training row "
                "has."
            )
        return np.searchsorted(self.classes_, y)

    def _task(self):
        """Two classes are binary, more are multiclass."""
        return "binary" if len(self.classes_) == 2 else "multiclass"

    def _n_outputs(self):
        """One output a class."""
        return len(self.classes_)

    def _class_weights(self, y: np.ndarray) -> np.ndarray:
        """Weight of each class (n_classes,), mean 1 over the training rows ``y``."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        named = self.class_weight
        if isinstance(named, dict):
            codes = {label: code for code, label in enumerate(self.classes_)}
            named = {codes[label]: weight for label, weight in named.items()}
        weights = compute_class_weight(
            named, classes=np.arange(len(self.classes_)), y=y
        )
        return weights / weights[y].mean()

    def _balanced_weights(self, y: np.ndarray) -> np.ndarray:
        """Weight of each class (n_classes,) under which all classes count alike."""
        n_classes = len(self.classes_)
        return len(y) / (n_classes * np.maximum(np.bincount(y, minlength=n_classes), 1))

    def _weights_note(self, weights: np.ndarray) -> tuple[str, ...]:
        """Say what a row of each class counts (n_classes,), where that differs."""
        shown = [f"{weight:.2g}" for weight in weights]
        if len(set(shown)) == 1:
            return ()
        told = [f"{label} {weight}" for label, weight in zip(self.labels(), shown)]
        return (f"Shares weigh the rows of each class: {', '.join(told)}.",)

    def labels(self) -> tuple:
        """The classes as plain Python values, as the exported model keeps them."""
        return tuple(self.classes_.tolist())

    def predict(self, X):
        """Predict a label for each row of ``X``."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def predict_proba(self, X):
        """Predict (n_rows, n_classes) probabilities in the order of ``classes_``."""
        frame = self._predict_frame(X)
        return self.model_.predict_proba(frame)


class TableRegressor(RegressorMixin, TableEstimator):
    """Base of the regressors."""

    def _encode_target(self, y, n_rows, name):
        """Return the target as float64 (n_rows,)."""
        y = _column(y, n_rows, name)
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numbers for regression.") from error
        if not np.isfinite(y).all():
            row = int(np.argmin(np.isfinite(y)))
            raise ValueError(f"{name} contains NaN or infinity, first in row {row}.")
        return y

    def _task(self):
        """Regression."""
        return "regression"

    def _n_outputs(self):
        """One value."""
        return 1

    def labels(self) -> None:
        """Regression has no classes."""

    def predict(self, X):
        """Predict one value, in the units of the target, for each row of ``X``."""
        frame = self._predict_frame(X)
        return self.model_.predict(frame)


def check_finite(column: pd.Series) -> None:
    """Raise ValueError that names the column and row of an infinite value."""
    if column_kind(column) != "number":
        return
    infinite = np.isinf(column.to_numpy(dtype=float, na_value=np.nan))
    if infinite.any():
        raise ValueError(
            f"Column {column.name!r} contains infinity, first in row "
            f"{int(np.argmax(infinite))}. Give a number or leave the cell empty."
        )


def _shown(label) -> str:
    """Write a label as Python would, not as numpy does."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _column(y, n_rows: int, name: str) -> np.ndarray:
    """Return a target as a one-dimensional array without missing values."""
    y = column_or_1d(y, warn=True)
    if isinstance(y, pd.Series):
        y = y.to_numpy()
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has "
            f"{n_rows} rows, {name} has {len(y)}."
        )
    missing = pd.isna(y)
    if missing.any():
        raise ValueError(
            f"{name} contains NaN, first in row {int(np.argmax(missing))}; drop the "
            "rows whose target is missing."
        )
    return np.asarray(y)
