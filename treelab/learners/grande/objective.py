"""What GRANDE's trees are trained for: classes or numbers, their loss and unit."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from treelab.learners.common.target_scale import TargetScale
from treelab.ops.losses import class_loss, log_shares, squared_error


@dataclass(frozen=True)
class ClassObjective:
    """Classes, by their codes; raw outputs are logits.

    Attributes
    ----------
    class_weights : ndarray of shape (n_classes,)
        Weight of a training row of each class.
    logit_shift : ndarray of shape (n_classes,)
        Added to the logits of every exported leaf, so that rare classes are predicted
        more often: the class-weight shift.
    loss_kind, focal_gamma
        See `class_loss`.
    """

    class_weights: np.ndarray
    logit_shift: np.ndarray
    loss_kind: str
    focal_gamma: float

    @property
    def n_classes(self) -> int:
        """Classes of the target."""
        return len(self.class_weights)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Class codes (n,), trained on as they are."""
        return y

    def row_weights(self, y: np.ndarray) -> np.ndarray:
        """Training weight (n,) of rows of these class codes."""
        return self.class_weights[y]

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Loss (..., B) of logits (..., C, B)."""
        return class_loss(
            output, target, kind=self.loss_kind, focal_gamma=self.focal_gamma
        )

    def predict(self, output: Tensor) -> Tensor:
        """Class probabilities (n_classes, B) of logits (C, B)."""
        return log_shares(output).exp()

    def leaf_values(self, value: np.ndarray) -> np.ndarray:
        """Logits (..., C) of leaves as they are exported.

        Estimator weights sum to one, so what is added to every leaf is added to the
        ensemble's logits.
        """
        if value.shape[-1] == 1:  # two classes: the logit of the second
            return value + (self.logit_shift[1:] - self.logit_shift[:1])
        return value + self.logit_shift


@dataclass(frozen=True)
class RegressionObjective:
    """Numbers; raw outputs are standardised values."""

    scale: TargetScale
    n_classes = 0

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values (n,) as they are trained on: standardised, float32."""
        return self.scale.standardise(y).astype(np.float32)

    def row_weights(self, y: np.ndarray) -> np.ndarray:
        """Training weight (n,) of rows: equal."""
        return np.ones(len(y))

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Squared error (..., B) of raw outputs (..., 1, B)."""
        return squared_error(output, target)

    def predict(self, output: Tensor) -> Tensor:
        """Values (1, B) in the unit of the target, of raw outputs (1, B)."""
        return self.scale.restore(output)

    def leaf_values(self, value: np.ndarray) -> np.ndarray:
        """Values (..., 1) of leaves in the unit of the target."""
        return self.scale.restore(value)


Objective = ClassObjective | RegressionObjective
