"""Encoded rows as tensors, and which of them each sub-ensemble holds out."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treelab.data.encoding import to_float32
from treelab.learners.common.base import TrainingData
from treelab.learners.common.objective import Objective


@dataclass(frozen=True)
class Rows:
    """Rows to train and validate on."""

    x: Tensor  # (n, F): encoded features, float32
    target: Tensor  # (n,): class codes (long), or standardised values (float32)
    weight: Tensor  # (n,): the row's own, mean 1 over training rows, times its class's
    # (n,): the fold that holds the row out; -1 where every sub-ensemble trains on it.
    fold: Tensor
    n_train: int  # rows that some sub-ensemble trains on; they come first
    n_folds: int  # folds and sub-ensembles, G
    n_classes: int  # 0 for regression
    # (n,): the row's own alone; None: all count alike.
    own_weight: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        data: TrainingData,
        fold: np.ndarray | None,
        objective: Objective,
        device: torch.device,
    ) -> "Rows":
        """Put rows on the device, validation rows as those that all trees hold out.

        ``fold`` (n_train,) is that of each training row; None: all are trained on.
        """
        n_train, n_valid = len(data.y), len(data.y_valid)
        trained_on = np.full(n_train, -1) if fold is None else fold
        fold = np.append(trained_on, np.zeros(n_valid, dtype=np.int64))
        y = np.concatenate([data.y, data.y_valid])
        own = np.concatenate([data.row_weight, data.row_weight_valid])
        weight = own * objective.row_weights(y)[:, 0]
        return cls(
            x=torch.tensor(
                to_float32(np.concatenate([data.X, data.X_valid])), device=device
            ),
            target=torch.tensor(objective.encode(y), device=device),
            weight=torch.tensor(weight, dtype=torch.float32, device=device),
            fold=torch.tensor(fold, device=device),
            n_train=n_train,
            n_folds=max(1, int(fold.max()) + 1),
            n_classes=objective.n_classes,
            own_weight=own if np.ptp(own) else None,
        )

    @property
    def n_outputs(self) -> int:
        """Numbers in a leaf: one for two classes (a logit) and for regression."""
        return self.n_classes if self.n_classes > 2 else 1
