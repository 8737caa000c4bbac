"""The rows that shape and judge GET's trees.

Shapes: n rows, F features, C outputs (classes, or 1).
"""

from dataclasses import dataclass, field, replace

import numpy as np
import torch

MIN_PROBABILITY = 1e-6  # of a class, before the logarithm


@dataclass(frozen=True)
class Rows:
    """Rows as GET sees them.

    Attributes
    ----------
    x : ndarray of shape (n, F)
        Encoded features.
    y : ndarray of shape (n,)
        Standardised values, or class codes (int64).
    weight : ndarray of shape (n,)
        Of each row.
    n_classes : int
        0 for regression.
    device : torch.device
        On which they train.
    loss_unit : float
        By which losses are divided: the variance of the values.
    """

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_classes: int
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    loss_unit: float = 1.0

    @property
    def target(self) -> np.ndarray:
        """What constant leaves average: values (n, 1), or classes as 0 and 1 (n, C)."""
        if self.n_classes:
            return np.eye(self.n_classes)[self.y]
        return self.y[:, None]

    def row_loss(self, predicted: np.ndarray) -> np.ndarray:
        """Weighted squared error (..., n) of predictions (..., n, C): equation 3.

        Of classes it is that of their fractions, Brier's score.
        """
        error = ((predicted - self.target) ** 2).sum(axis=-1)
        return error * (self.weight / self.loss_unit)

    def loss(self, predicted: np.ndarray) -> np.ndarray:
        """Mean loss (E,) of the predictions (E, n, C) of E trees."""
        return self.row_loss(predicted).sum(axis=-1) / self.weight.sum()


def rounded(rows: Rows) -> Rows:
    """Return rows with few digits: columns to 2^-24 of their range, values to 2^-13.

    Training is chaotic in the last digits, which are others in each unit: the same
    table in meters, or with 1e9 added to its target, shall train the same tree.
    """
    y = rows.y if rows.n_classes else np.round(rows.y * 2.0**13) / 2.0**13
    return replace(rows, x=np.round(rows.x * 2.0**24) / 2.0**24, y=y)


def join_rows(first: Rows, second: Rows) -> Rows:
    """Return all rows of both."""
    return replace(
        first,
        x=np.concatenate([first.x, second.x]),
        y=np.concatenate([first.y, second.y]),
        weight=np.concatenate([first.weight, second.weight]),
    )
