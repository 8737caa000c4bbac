"""A regression target in standard deviations, and back in its own unit."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TargetScale:
    """Standardises a target by its training rows; the default leaves it as it is.

    ``center`` and ``scale`` are in the unit of the target.
    """

    center: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(cls, y: np.ndarray) -> "TargetScale":
        """Mean and standard deviation of ``y`` (n_rows,); a constant is only moved."""
        return cls(float(y.mean()), float(y.std()) or 1.0)

    def standardise(self, y: np.ndarray) -> np.ndarray:
        """Values in the unit of the target as standard deviations from its mean."""
        return (y - self.center) / self.scale

    def restore(self, value):
        """Standardised values (an array or a tensor) in the unit of the target."""
        return self.center + self.scale * value
