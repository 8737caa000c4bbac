"""Columns of a clustering tree: those that it splits on and those that it predicts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.learners.argmin.settings import ClusterSettings
from treelab.learners.common.base import TrainingData

MOST_CATEGORIES = 50  # of a category column; one with more is encoded as a constant


@dataclass(frozen=True)
class ClusterColumns:
    """A table as a clustering tree trains on it.

    Attributes
    ----------
    data : TrainingData
        What the splits read; its ``y`` are zeros.
    y, y_valid : ndarray of shape (n_rows, C), float32
        Target columns, encoded.
    """

    data: TrainingData
    y: np.ndarray
    y_valid: np.ndarray

    def features_of_columns(self) -> np.ndarray:
        """Return which features belong to each of the columns, bool (J, F)."""
        owner = np.array([f.column for f in self.data.encoder.features_])
        return np.unique(owner)[:, None] == owner


def encode_columns(
    train: pd.DataFrame, valid: pd.DataFrame, settings: ClusterSettings
) -> ClusterColumns:
    """Encode the columns that the tree reads, and those that it predicts, as z-scores.

    The encoders see the training rows alone.

    Raises
    ------
    ValueError
        If the table has one column only, or the target columns are not some of its.
    """
    targets = target_columns(list(train.columns), settings)
    features = [name for name in train.columns if name not in targets] or targets
    nothing = np.zeros(len(train))
    feature_encoder, target_encoder = (
        TableEncoder("zscore", task="regression", one_hot_max=MOST_CATEGORIES)
        for _ in range(2)
    )
    data = TrainingData(
        encoder=feature_encoder,
        X=feature_encoder.fit_transform(train[features], nothing),
        y=nothing,
        X_valid=feature_encoder.transform(valid[features]),
        y_valid=np.zeros(len(valid)),
        frame=train,
        frame_valid=valid,
        n_outputs=1,
    )
    target_encoder.fit_transform(train[targets], nothing)
    return ClusterColumns(
        data,
        target_encoder.transform(train[targets]).astype(np.float32),
        target_encoder.transform(valid[targets]).astype(np.float32),
    )


def target_columns(columns: Sequence[str], settings: ClusterSettings) -> list[str]:
    """Return the columns to predict.

    Raises
    ------
    ValueError
        If the choice leaves nothing to learn from.
    """
    wanted = settings.target_columns
    if len(columns) < 2:
        raise ValueError(
            "Clustering needs at least 2 columns, got 1 feature(s): a tree learns "
            "one column from another."
        )
    if wanted is None or settings.masks_columns:
        return list(columns)
    if isinstance(wanted, str):
        raise ValueError(
            "target_columns must be None, 'each' or a list of column names, got "
            f"{wanted!r}."
        )
    targets = list(wanted)
    for name in targets:
        if name not in columns:
            raise ValueError(
                f"target_columns names {name!r}; the table has "
                f"{', '.join(columns[:8])}{', ...' if len(columns) > 8 else ''}."
            )
    if not targets or len(set(targets)) >= len(columns):
        raise ValueError(
            f"target_columns must name 1 to {len(columns) - 1} of the "
            f"{len(columns)} columns, got {len(set(targets))}; None takes all."
        )
    return targets
