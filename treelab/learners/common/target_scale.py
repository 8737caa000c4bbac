"""A regression target in standard deviations, and back in its own unit."""

from dataclasses import dataclass, replace

import numpy as np

from treelab.trees.tree import Tree

FINE = 20  # powers of two below the standard deviation: so small is nothing to a search


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
        if not np.ptp(y):
            return cls(float(y[0]))
        center = float(y.mean())
        # Squares of small or large numbers leave float64, so measure in units of size.
        size = float(np.abs(y - center).max())
        return cls(center, size * float(((y - center) / size).std()))

    @classmethod
    def rounded(cls, y: np.ndarray) -> "TargetScale":
        """A small fraction of the deviation and a multiple of it near the mean.

        Both are so round in binary that standardising and restoring change no digit:
        a mean of standardised values is, restored, that of the values. The unit is
        that small because greedy searches stop at deviations of 1e-8.
        """
        exact = cls.of(y)
        scale = float(2.0 ** (np.round(np.log2(exact.scale)) - FINE))
        return cls(float(np.round(exact.center / scale)) * scale, scale)

    def standardise(self, y: np.ndarray) -> np.ndarray:
        """Values in the unit of the target as standard deviations from its mean."""
        return (y - self.center) / self.scale

    def restore(self, value):
        """Standardised values (an array or a tensor) in the unit of the target."""
        return self.center + self.scale * value

    def restore_tree(self, tree: Tree) -> Tree:
        """Return a tree of standardised values, without linear leaves, restored."""
        impurity = tree.impurity * self.scale * self.scale
        return replace(tree, value=self.restore(tree.value), impurity=impurity)
