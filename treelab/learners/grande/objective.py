"""What GRANDE's trees are trained for, and their leaves as they are exported."""

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from treelab.learners.common import objective
from treelab.ops.losses import log_proba


@dataclass(frozen=True, kw_only=True)
class ClassObjective(objective.ClassObjective):
    """Classes, by their codes; raw outputs are logits.

    Attributes
    ----------
    class_weights : ndarray of shape (n_classes, 1)
        Weight of a training row of each class.
    logit_scale : float
        Multiplies the logits of every exported leaf: how sure the ensemble may be.
    logit_shift : ndarray of shape (n_classes,)
        Then added to them, so that probabilities are those of the data.
    decision_weights : ndarray of shape (n_classes,) or None
        See ``WeightedTrees.class_weights``.
    loss_kind, focal_gamma, poly_epsilon
        See ``class_loss``.
    """

    logit_scale: float = 1.0
    logit_shift: np.ndarray = field(default_factory=lambda: np.zeros(1))
    decision_weights: np.ndarray | None = None

    def predict(self, output: Tensor) -> Tensor:
        """Class probabilities (n_classes, B) of logits (C, B)."""
        return log_proba(output).exp()

    def as_predictions(self, y: np.ndarray) -> np.ndarray:
        """Write class codes (n,) as probabilities (n, n_classes) of 0 and 1."""
        return np.eye(self.n_classes)[y]

    def encode_mixture(self, target: np.ndarray) -> np.ndarray:
        """Probabilities (n, n_classes) as they are trained on: float32."""
        return target.astype(np.float32)

    def leaf_values(self, value: np.ndarray) -> np.ndarray:
        """Logits (..., C) of leaves as they are exported.

        Estimator weights sum to one, so what is done to every leaf is done to the
        ensemble's logits.
        """
        value = self.logit_scale * value
        if value.shape[-1] == 1:  # two classes: the logit of the second
            return value + (self.logit_shift[1:] - self.logit_shift[:1])
        return value + self.logit_shift


@dataclass(frozen=True)
class RegressionObjective(objective.RegressionObjective):
    """Numbers; raw outputs are standardised values."""

    decision_weights = None

    def predict(self, output: Tensor) -> Tensor:
        """Values (1, B) in the unit of the target, of raw outputs (1, B)."""
        return self.scale.restore(output)

    def as_predictions(self, y: np.ndarray) -> np.ndarray:
        """Write values (n,) as a column, (n, 1)."""
        return y[:, None]

    def encode_mixture(self, target: np.ndarray) -> np.ndarray:
        """Values (n, 1) as they are trained on: standardised (n,), float32."""
        return self.encode(target[:, 0])

    def leaf_values(self, value: np.ndarray) -> np.ndarray:
        """Values (..., 1) of leaves in the unit of the target."""
        return self.scale.restore(value)


Objective = ClassObjective | RegressionObjective
