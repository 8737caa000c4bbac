"""What training makes small: losses of classes, and of values in their own scale."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treelab.learners.common.target import TargetScale
from treelab.ops.losses import class_loss
from treelab.trees.losses import SQUARED_ERROR, Loss

SMALLEST_MEAN, MOST_LOG = 1e-6, 20.0  # of means in units of the overall one


@dataclass(frozen=True, kw_only=True)
class ClassObjective:
    """Classes, by their codes; raw outputs are logits."""

    class_weights: np.ndarray  # (n_classes,): weight of a row of each class
    # See ``class_loss``.
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
        """Weights (n,) of rows of these class codes."""
        return self.class_weights[y]

    def leaf_outputs(self, raw: Tensor) -> Tensor:
        """Logits of leaves: their parameters themselves."""
        return raw

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
    """Numbers; raw outputs are standardised values."""

    scale: TargetScale  # of the training rows
    loss_of_rows: Loss = SQUARED_ERROR  # of standardised values
    n_outputs: int = 1  # targets, or levels of one
    n_classes = 0

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values (n,) or (n, C) as they are trained on: standardised, float32."""
        return self.scale.standardise(y).astype(np.float32)

    def row_weights(self, y: np.ndarray) -> np.ndarray:
        """Equal weights (n,)."""
        return np.ones(len(y))

    def leaf_outputs(self, raw: Tensor) -> Tensor:
        """Raw outputs of leaves whose parameters these are, (E, L, C)."""
        return raw.clamp(-MOST_LOG, MOST_LOG).exp() if self.is_log else raw

    def leaf_parameters(self, constants: np.ndarray) -> np.ndarray:
        """Parameters of leaves that predict constants, their logarithms maybe."""
        if not self.is_log:
            return constants
        return np.log(np.maximum(constants, SMALLEST_MEAN))

    @property
    def is_log(self) -> bool:
        """Whether parameters of leaves are logarithms of what they predict."""
        return self.loss_of_rows.is_positive

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Loss (..., B) of raw outputs (..., C, B), but for a part of the target's."""
        loss = self.loss_of_rows
        if self.n_outputs == 1:
            return loss.excess(output[..., 0, :], target, torch.log)
        return loss.excess(output.movedim(-2, -1), target, torch.log).mean(-1)


Objective = ClassObjective | RegressionObjective
