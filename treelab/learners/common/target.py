"""A regression target as it is learned: its scale, and the loss of its predictions."""

from dataclasses import dataclass, replace

import numpy as np

from treelab.trees.losses import PARAMETERS, SQUARED_ERROR, Loss
from treelab.trees.tree import Tree

# A regression target in standard deviations, and back in its own unit.


FINE = 20  # powers of two below the standard deviation: so small is nothing to a search


@dataclass(frozen=True)
class TargetScale:
    """Standardises a target by its training rows; the default leaves it as it is.

    ``center`` and ``scale`` are in the unit of the target; of several they are (C,).
    """

    center: float | np.ndarray = 0.0
    scale: float | np.ndarray = 1.0

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None = None) -> "TargetScale":
        """Mean and standard deviation of ``y`` (n_rows,); a constant is only moved."""
        if not np.ptp(y):
            return cls(float(y[0]))
        center = float(np.average(y, weights=weight))
        # Squares of small or large numbers leave float64, so measure in units of size.
        size = float(np.abs(y - center).max())
        z = (y - center) / size
        std = z.std() if weight is None else np.cov(z, aweights=weight, ddof=0) ** 0.5
        return cls(center, size * float(std))

    @classmethod
    def for_loss(cls, y: np.ndarray, loss: Loss, *, rounded: bool) -> "TargetScale":
        """The scale in which a loss's target is learned; 0 stays where it counts.

        Several targets (n, C) have exact ones, as their losses are added up.
        """
        if loss.levels:
            return cls.for_loss(y[:, 0], Loss(), rounded=rounded)
        if y.ndim == 2:
            each = [cls.for_loss(own, loss, rounded=False) for own in y.T]
            center, scale = np.array([(own.center, own.scale) for own in each]).T
            if loss.counts_from_zero:
                scale = y.mean(axis=0)
            return cls(center, scale * 2.0 ** (-FINE * rounded))
        if not loss.counts_from_zero:
            return cls.rounded(y) if rounded else cls.of(y)
        size = y.mean() if loss.is_positive else cls.of(y).scale
        power = np.round(np.log2(size)) - FINE * rounded
        return cls(0.0, float(2.0**power))

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
        # That of several targets is a fraction.
        unit = self.scale if np.ndim(self.scale) == 0 else 1.0
        impurity = tree.impurity * unit * unit
        loss = None if tree.loss is None else tree.loss.scaled(self.scale)
        value = self.restore(tree.value)
        return replace(tree, value=value, impurity=impurity, loss=loss)


# The loss that a setting names.


def loss_of(settings, y: np.ndarray, weight: np.ndarray | None) -> Loss:
    """Return the loss that a regressor's settings ask for, in the target's unit.

    Standard deviations are those of rows of a ``weight`` (n_rows,).
    """
    name = getattr(settings, "loss", SQUARED_ERROR.name)
    if callable(name):
        from treelab.learners.common.callable_loss import CallableLoss  # loads torch

        return CallableLoss.of(name, y)
    if name not in PARAMETERS:
        return Loss(name)
    loss = Loss.of_setting(name, getattr(settings, PARAMETERS[name][0]))
    if name != "huber":
        return loss
    each = [TargetScale.of(own, weight).scale for own in np.atleast_2d(y.T)]
    return loss.scaled(each[0] if y.ndim == 1 else np.array(each))


def loss_note(loss: Loss) -> str:
    """Say what predictions are best by, where it is not the squared error."""
    return f"Predictions are {loss.best}: trained and pruned by {loss}."
