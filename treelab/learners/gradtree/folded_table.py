"""A table as GradTree trains on it: made rows, folds, and how a tree is selected."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.common.base import TrainingData
from treelab.learners.common.folds import FEWEST_ROWS, assign_folds
from treelab.learners.gradtree.oversample import smote_rows
from treelab.learners.gradtree.settings import GradTreeSettings

CROSS_VALIDATED_ROWS = 5_000  # up to here "auto" selects by cross-validation
N_FOLDS = 3


@dataclass(frozen=True)
class FoldedTable:
    """Encoded rows, and which fold holds each of them out.

    Attributes
    ----------
    data : TrainingData
        The table that it was made from.
    x : ndarray of shape (n, F), float32
        Training rows, rows made by SMOTE, then rows that are for validation alone.
    y : ndarray of shape (n,)
        Class codes, or values in the unit of the target.
    fold : int64 array of shape (n,)
        Fold that holds the row out; -1 where all trees train on it.
    n_train : int
        Rows that some tree trains on.
    n_made : int
        Rows that SMOTE made.
    selection : {"cv", "holdout"}
        Whether trees are chosen by cross-validation or by one validation set.
    """

    data: TrainingData
    x: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    n_train: int
    n_made: int
    selection: str

    @property
    def n_folds(self) -> int:
        """Folds that take turns at being held out."""
        return int(self.fold.max()) + 1

    def made_rows(self) -> np.ndarray:
        """Encoded rows (n_made, F) that SMOTE made; they come last in training."""
        return self.x[self.n_train - self.n_made : self.n_train]

    def refit_rows(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the caller's rows that selection did not set aside, and their target.

        The leaves of the exported tree are refitted to them.
        """
        data = self.data
        if self.selection == "holdout" or not len(data.y_valid):
            return data.frame, data.y
        frame = pd.concat([data.frame, data.frame_valid])
        return frame, np.concatenate([data.y, data.y_valid])


def selection_for(settings: GradTreeSettings, n_rows: int) -> str:
    """Choose "cv" or "holdout" for a table of this many rows."""
    if n_rows < FEWEST_ROWS or settings.smote:
        return "holdout"
    if settings.selection == "auto":
        return "cv" if n_rows <= CROSS_VALIDATED_ROWS else "holdout"
    return settings.selection


def fold_table(
    data: TrainingData, settings: GradTreeSettings, *, seed: int
) -> FoldedTable:
    """Make rows where SMOTE is wanted, and assign every row to its fold."""
    selection = selection_for(settings, len(data.y) + len(data.y_valid))
    x = to_float32(data.X)
    made_x, made_y = x[:0], data.y[:0]
    if settings.smote:
        made_x, made_y = smote_rows(x, data.y, seed=seed)
    y = np.concatenate([data.y, made_y, data.y_valid])
    if selection == "cv":
        fold, n_train = assign_folds(y, N_FOLDS, seed=seed), len(y)
    else:
        n_train = len(data.y) + len(made_y)
        fold = np.repeat([-1, 0], [n_train, len(data.y_valid)])
    return FoldedTable(
        data=data,
        x=np.concatenate([x, made_x, to_float32(data.X_valid)]),
        y=y,
        fold=fold,
        n_train=n_train,
        n_made=len(made_y),
        selection=selection,
    )
