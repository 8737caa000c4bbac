"""What a gradient tree is trained for: classes or numbers, their loss and weights."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from treelab.learners.common.target_scale import TargetScale
from treelab.ops.losses import class_loss, squared_error


@dataclass(frozen=True, kw_only=True)
class ClassObjective:
    """Classes, by their codes; raw outputs are logits.

    Attributes
    ----------
    class_weights : ndarray of shape (n_classes, W)
        Weight of a row of each class, under each of ``W`` weightings.
    loss_kind, focal_gamma, poly_epsilon
        See ``class_loss``.
    """

    class_weights: np.ndarray
    loss_kind: str = "cross_entropy"
    focal_gamma: float = 2.0
    poly_epsilon: float = 1.0

    @property
    def n_classes(self) -> int:
        """Classes of the target."""
        return len(self.class_weights)

    @property
    def n_outputs(self) -> int:
        """Raw outputs of a leaf: one logit where there are two classes."""
        return self.n_classes if self.n_classes > 2 else 1

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Class codes (n,), trained on as they are."""
        return y

    def row_weights(self, y: np.ndarray) -> np.ndarray:
        """Weights (n, W) of rows of these class codes."""
        return self.class_weights[y]

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Loss (..., B) of logits (..., C, B)."""
        return class_loss(
            output,
            target,
            kind=self.loss_kind,
            focal_gamma=self.focal_gamma,
            poly_epsilon=self.poly_epsilon,
        )


@dataclass(frozen=True)
class RegressionObjective:
    """Numbers; raw outputs are standardised values.

    Attributes
    ----------
    scale : TargetScale
        Of the training rows.
    """

    scale: TargetScale
    n_classes = 0
    n_outputs = 1

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values (n,) as they are trained on: standardised, float32."""
        return self.scale.standardise(y).astype(np.float32)

    def row_weights(self, y: np.ndarray) -> np.ndarray:
        """Equal weights (n, 1)."""
        return np.ones((len(y), 1))

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Squared error (..., B) of raw outputs (..., 1, B)."""
        return squared_error(output, target)


Objective = ClassObjective | RegressionObjective
