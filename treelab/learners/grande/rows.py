"""Encoded rows as tensors, and which of them each fold holds out."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.common.objective import Objective


@dataclass(frozen=True)
class FoldedRows:
    """Encoded rows as tensors, and which of them each fold holds out.

    Attributes
    ----------
    x : Tensor of shape (n, F)
        Encoded features, float32.
    target : Tensor of shape (n,)
        Class codes (long), or standardised values (float32).
    weight : Tensor of shape (n, W)
        Weight of a row, under each of ``W`` weightings. Trees train under the first;
        their leaves may predict under another.
    fold : LongTensor of shape (n,)
        The fold that holds the row out; -1 where every candidate trains on it.
    n_train : int
        Rows that some candidate trains on; they come first.
    n_classes : int
        0 for regression.
    """

    x: Tensor
    target: Tensor
    weight: Tensor
    fold: Tensor
    n_train: int
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """Numbers in a leaf: one for two classes (a logit) and for regression."""
        return self.n_classes if self.n_classes > 2 else 1

    def class_weights(self) -> Tensor:
        """Weight of a row of each class under each weighting, (W, n_classes)."""
        weights = self.weight.new_ones(self.weight.shape[1], self.n_classes)
        weights[:, self.target] = self.weight.t()
        return weights


def to_rows(
    x: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    *,
    n_train: int,
    objective: Objective,
    device: torch.device,
) -> FoldedRows:
    """Put encoded rows on the device, target and weights as the objective has them.

    Parameters
    ----------
    x : ndarray of shape (n, F)
    y : ndarray of shape (n,)
        Class codes, or values in the unit of the target.
    fold : int64 array of shape (n,)
    n_train, objective, device
        See ``FoldedRows``.
    """
    weight = objective.row_weights(y)
    return FoldedRows(
        x=torch.tensor(to_float32(x), device=device),
        target=torch.tensor(objective.encode(y), device=device),
        weight=torch.tensor(weight, dtype=torch.float32, device=device),
        fold=torch.tensor(fold, device=device),
        n_train=n_train,
        n_classes=objective.n_classes,
    )
