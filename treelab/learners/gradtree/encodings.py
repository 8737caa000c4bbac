"""The table as each fold sees it: its own encoder, and the rows that it holds out."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.encoding.table_encoder import TableEncoder, to_float32
from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.folds import FEWEST_ROWS, hold_out, repeated_folds

CROSS_VALIDATED_ROWS = 5000  # larger tables hold a fifth of the rows out once


@dataclass(frozen=True)
class Encoding:
    """All rows of the table, encoded by what some of them know.

    Attributes
    ----------
    encoder : TableEncoder
        Fitted on the rows that are not held out.
    x : ndarray of shape (n, F), float32
        To train on: the encoder's own rows cross-fitted.
    seen : ndarray of shape (n, F), float32
        As at prediction.
    held_out : bool array of shape (n,)
    weight : ndarray of shape (n,)
        Of each row while trees are trained.
    rules : ColumnRules or None, default=None
        What constraints say of the encoded columns; None for nothing.
    restarts : range or None, default=None
        Which restarts of a plan read it; all where None. Those of repeated folds are
        spread over the repeats, and random ones train in the first alone.
    """

    encoder: TableEncoder
    x: np.ndarray
    seen: np.ndarray
    held_out: np.ndarray
    weight: np.ndarray
    rules: ColumnRules | None = None
    restarts: range | None = None


def encode(
    frame: pd.DataFrame, y: np.ndarray, held_out: np.ndarray, *, task: str, seed: int
) -> Encoding:
    """Fit an encoder without the rows held out and encode all of them."""
    encoder = TableEncoder("quantile", task=task, random_state=seed)
    own = to_float32(encoder.fit_transform(frame[~held_out], y[~held_out]))
    seen = to_float32(encoder.transform(frame))
    x = seen.copy()
    x[~held_out] = own
    return Encoding(encoder, x, seen, held_out, np.ones(len(y)))


def cross_validation_folds(
    y: np.ndarray, *, by_class: bool, seed: int, n_columns: int = 1
) -> list[list[np.ndarray]]:
    """Return which rows each fold of each repeat holds out, bool (n,) each.

    Large tables have one fold, of a fifth of the rows; tiny ones none.
    """
    if len(y) < FEWEST_ROWS:
        return []
    if len(y) > CROSS_VALIDATED_ROWS:
        held_out = np.zeros(len(y), dtype=bool)
        held_out[hold_out(y, by_class=by_class, seed=seed)[1]] = True
        return [[held_out]]
    return repeated_folds(y, seed=seed, n_columns=n_columns)
