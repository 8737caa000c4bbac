"""A table as groups of trees see it: each group has target rates of its own.

A category's target rate carries its rows' targets into every row that it is written
in. Where groups of trees hold out different rows, rates must be learned without those
rows, or validation flatters trees that lean on them.
"""

import numpy as np
import pandas as pd

from treelab.data.encoding.table_encoder import TableEncoder


class GroupEncoder:
    """Encoded columns that all groups share, and rates that each has for itself.

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
    own : list of G ndarrays
        Encoded columns that each group may use.
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
        """Learn each group's rates and return the rows as they are trained on.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows that `shared` was fitted on.
        encoded : ndarray of shape (n, F)
            The same rows as `shared` encoded them for training.
        target : ndarray of shape (n,)
            Class codes or values.
        fold : ndarray of shape (n,)
            Group that holds the row out.

        Returns
        -------
        ndarray of shape (n, F')
            In a group's own columns, the rows that it holds out are encoded as rows
            never seen are.
        """
        rated = list(self.shared.target_encoded_)
        kept = [f.column not in rated for f in self.shared.features_]
        common = np.flatnonzero(kept)
        # Encoders, and which of their columns are used.
        self._parts = [(self.shared, common)]
        blocks = [encoded[:, common]]
        for group in range(int(fold.max()) + 1):
            rows = fold != group
            encoder = TableEncoder("quantile", task=self.task, random_state=self.seed)
            crossed = encoder.fit_transform(frame.loc[rows, rated], target[rows])
            block = np.empty((len(frame), crossed.shape[1]))
            block[rows] = crossed
            block[~rows] = encoder.transform(frame.loc[~rows, rated])
            self._parts.append((encoder, np.arange(block.shape[1])))
            blocks.append(block)
        self._starts = np.cumsum([0, *[block.shape[1] for block in blocks]])
        self.own = [
            np.concatenate([np.arange(len(common)), np.arange(start, stop)])
            for start, stop in zip(self._starts[1:-1], self._starts[2:])
        ]
        self.features_ = tuple(
            encoder.features_[j] for encoder, used in self._parts for j in used
        )
        return np.concatenate(blocks, axis=1)

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Rows of a table as prediction sees them, (n_rows, F')."""
        return np.concatenate(
            [
                encoder.transform(frame[list(encoder.columns_)])[:, used]
                for encoder, used in self._parts
            ],
            axis=1,
        )

    def axis_splits(
        self, feature: np.ndarray, threshold: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Splits on encoded columns in the columns' own units, as `TableEncoder`."""
        raw = np.empty(len(feature))
        missing_left = np.empty(len(feature), dtype=bool)
        part = np.searchsorted(self._starts, feature, side="right") - 1
        for number, (encoder, used) in enumerate(self._parts):
            mine = part == number
            place = used[feature[mine] - self._starts[number]]
            raw[mine], missing_left[mine] = encoder.axis_splits(place, threshold[mine])
        return raw, missing_left
