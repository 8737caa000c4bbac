"""A table as trees of each fold train on it: every fold has target rates of its own.

A category's target rate carries its rows' targets into every row that it is written
in. Where sub-ensembles hold out different folds, rates must be learned without those
rows, or validation flatters trees that test them.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.learners.common.base import TrainingData
from treelab.learners.common.folds import assign_folds


class FoldEncoder:
    """Encoded columns that all folds share, and target rates that each has for itself.

    Parameters
    ----------
    shared : TableEncoder
        Fitted on all rows.
    task : str
        See `TableEncoder`.
    seed : int
        Seeds the cross-fitting of the rates.

    Attributes
    ----------
    features_ : tuple of Feature
        One for each encoded column.
    columns_by_fold_ : list of G ndarrays
        Encoded columns that the trees of each fold may test.
    """

    def __init__(self, shared: TableEncoder, *, task: str, seed: int):
        self.shared = shared
        self.task = task
        self.seed = seed

    def fit_transform(
        self,
        frame: pd.DataFrame,
        encoded: np.ndarray,
        target: np.ndarray,
        fold: np.ndarray,
    ) -> np.ndarray:
        """Learn each fold's rates and return the rows as they are trained on.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows that `shared` was fitted on.
        encoded : ndarray of shape (n, F)
            The same rows as `shared` encoded them for training.
        target : ndarray of shape (n,)
            Class codes or values.
        fold : ndarray of shape (n,)
            Fold of each row.

        Returns
        -------
        ndarray of shape (n, F')
            In a fold's own columns, its rows are encoded as rows never seen are.
        """
        rated = list(self.shared.target_encoded_)
        common = np.flatnonzero([f.column not in rated for f in self.shared.features_])
        # Encoders, and which of their columns are used.
        self._encoders = [(self.shared, common)]
        blocks = [encoded[:, common]]
        for held_out in range(int(fold.max()) + 1):
            rows = fold != held_out
            encoder = TableEncoder("quantile", task=self.task, random_state=self.seed)
            crossed = encoder.fit_transform(frame.loc[rows, rated], target[rows])
            block = np.empty((len(frame), crossed.shape[1]))
            block[rows] = crossed
            block[~rows] = encoder.transform(frame.loc[~rows, rated])
            self._encoders.append((encoder, np.arange(block.shape[1])))
            blocks.append(block)
        self._first = np.cumsum([0, *[block.shape[1] for block in blocks]])
        self.columns_by_fold_ = [
            np.concatenate([np.arange(len(common)), np.arange(start, stop)])
            for start, stop in zip(self._first[1:-1], self._first[2:])
        ]
        self.features_ = tuple(
            encoder.features_[j] for encoder, used in self._encoders for j in used
        )
        return np.concatenate(blocks, axis=1)

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Rows of a table as prediction sees them, (n_rows, F')."""
        return np.concatenate(
            [
                encoder.transform(frame[list(encoder.columns_)])[:, used]
                for encoder, used in self._encoders
            ],
            axis=1,
        )

    def axis_splits(
        self, feature: np.ndarray, threshold: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Splits on encoded columns in the columns' own units, as `TableEncoder`."""
        raw = np.empty(len(feature))
        missing_left = np.empty(len(feature), dtype=bool)
        owner = np.searchsorted(self._first, feature, side="right") - 1
        for number, (encoder, used) in enumerate(self._encoders):
            own = owner == number
            column = used[feature[own] - self._first[number]]
            raw[own], missing_left[own] = encoder.axis_splits(column, threshold[own])
        return raw, missing_left


@dataclass(frozen=True)
class FoldedTable:
    """Encoded rows, and which fold holds each of them out.

    Attributes
    ----------
    encoder : TableEncoder or FoldEncoder
        Made the encoded columns; brings splits back to the columns' own units.
    x : ndarray of shape (n, F), float64
        Training rows, then rows that are for validation alone.
    y : ndarray of shape (n,)
        Class codes, or values in the unit of the target.
    fold : ndarray of shape (n,)
        Fold that holds the row out; -1 where all trees train on it.
    n_train : int
        Rows that some tree trains on.
    columns_by_fold : list of G ndarrays
        Encoded columns that the trees of each fold may test.
    """

    encoder: TableEncoder | FoldEncoder
    x: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    n_train: int
    columns_by_fold: list[np.ndarray]

    @property
    def n_folds(self) -> int:
        """Folds, G."""
        return len(self.columns_by_fold)


def fold_table(
    data: TrainingData, n_folds: int, *, task: str, seed: int
) -> FoldedTable:
    """Assign training rows to folds; validation rows, where there are, are the only.

    Parameters
    ----------
    data : TrainingData
        Without validation rows every training row is held out by one of the folds.
    n_folds : int
        At least 2 where there are no validation rows.
    task : str
        See `TableEncoder`.
    seed : int
        Shuffles the rows, and seeds the cross-fitting of target rates.
    """
    n_train, n_valid = len(data.y), len(data.y_valid)
    if n_valid:
        x = np.concatenate([data.X, data.X_valid])
        y = np.concatenate([data.y, data.y_valid])
        fold = np.repeat([-1, 0], [n_train, n_valid])
        return FoldedTable(data.encoder, x, y, fold, n_train, [np.arange(x.shape[1])])
    fold = assign_folds(data.y, n_folds, seed=seed)
    if not data.encoder.target_encoded_:
        columns = [np.arange(data.X.shape[1])] * n_folds
        return FoldedTable(data.encoder, data.X, data.y, fold, n_train, columns)
    encoder = FoldEncoder(data.encoder, task=task, seed=seed)
    x = encoder.fit_transform(data.frame, data.X, data.y, fold)
    return FoldedTable(encoder, x, data.y, fold, n_train, encoder.columns_by_fold_)


def table_of_all_rows(data: TrainingData) -> FoldedTable:
    """All rows as one ensemble trains on them, none held out."""
    n_rows, n_columns = data.X.shape
    nowhere = np.full(n_rows, -1)
    columns = [np.arange(n_columns)]
    return FoldedTable(data.encoder, data.X, data.y, nowhere, n_rows, columns)
