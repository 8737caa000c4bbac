"""A loss of one's own: a function of torch tensors as a ``Loss`` of regression."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from treelab.trees.losses import CALLABLE, Loss, ranges

_DOUBLINGS = 60  # of the range of the targets, in search of the best constant


@dataclass(frozen=True)
class CallableLoss(Loss):
    """A function ``(raw, y) -> loss per row`` of regression.

    ``parameter`` is what targets were multiplied by before they came here.
    """

    # Takes predictions and targets, tensors (n,), both in the unit of the target;
    # returns the losses (n,) of the rows, at least 0, with a gradient by the
    # predictions. Where it rises on both sides of what it is least at, as convex losses
    # do, the best constants are those of all numbers.
    function: Callable[[Tensor, Tensor], Tensor] = field(kw_only=True)
    # Of the losses: the mean loss of the best constant of the training rows, so that a
    # learning rate means the same whatever the function counts in.
    unit: float = 1.0

    @classmethod
    def of(cls, function: Callable, y: np.ndarray) -> "CallableLoss":
        """Return the loss of a function, in the unit of the target ``y`` (n,).

        ValueError if it does not return a loss of each row, at least 0 and finite.
        """
        title = getattr(function, "__name__", type(function).__name__)
        if y.ndim > 1:
            raise ValueError(
                f"loss={title} is a function of one target, got {y.shape[1]}. Take a "
                "loss that has a name."
            )
        loss = cls(CALLABLE, 1.0, title, function=function)
        rows = np.zeros(len(y), dtype=np.int64)
        constant = loss.constants(rows, y, np.ones(len(y)), 1)
        return replace(loss, unit=float(loss.rows(constant[rows], y).mean()) or 1.0)

    def scaled(self, factor: Any) -> "CallableLoss":
        """Return the loss of targets that were multiplied by a factor above 0."""
        return replace(self, parameter=self._each[0] * factor)

    @property
    def power(self) -> float:
        """It counts in ``unit``, whatever the target's."""
        return 0.0

    def excess(self, predicted, y, log: Callable = np.log):
        """Loss of the predictions, elementwise, of arrays or tensors."""
        if not isinstance(predicted, Tensor):
            raw = torch.tensor(np.asarray(predicted, dtype=float))
            losses = self.excess(raw, torch.tensor(np.asarray(y, dtype=float)))
            return losses.detach().numpy()
        unit = self._each[0]
        raw = torch.broadcast_tensors(predicted / unit, y / unit)
        own = [each.reshape(-1) for each in raw]
        losses = self.function(*own)
        if not isinstance(losses, Tensor) or losses.shape != own[0].shape:
            shape = getattr(losses, "shape", None)
            found = type(losses).__name__ if shape is None else f"shape {tuple(shape)}"
            raise ValueError(
                f"loss={self.title} must return a tensor with the loss of each row, of "
                f"shape {tuple(own[0].shape)} here, got {found}."
            )
        return losses.reshape(raw[0].shape) / self.unit

    def rows(self, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of predictions on targets, elementwise, which must be at least 0."""
        losses = self.excess(predicted, y)
        wrong = np.flatnonzero(~(losses >= 0) | np.isinf(losses))
        if len(wrong):
            own = np.broadcast_arrays(predicted, y, losses)
            raw, truth, lost = (float(each.flat[wrong[0]]) for each in own)
            raise ValueError(
                f"loss={self.title} must be a number of at least 0, but is "
                f"{lost * self.unit:g} where {raw / self._each[0]:g} is predicted and "
                f"the target is {truth / self._each[0]:g}."
            )
        return losses

    def slope(self, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative of the loss by the prediction, elementwise, by autograd."""
        with torch.enable_grad():
            raw = torch.tensor(np.asarray(predicted, dtype=float), requires_grad=True)
            total = self.excess(raw, torch.tensor(np.asarray(y, dtype=float))).sum()
            if not total.requires_grad:
                raise ValueError(
                    f"loss={self.title} has no gradient: compute it from the predicted "
                    "tensor by torch alone."
                )
            total.backward()
        assert raw.grad is not None
        slope = raw.grad.numpy()
        if np.isnan(slope).any():
            raise ValueError(f"loss={self.title} has a gradient that is no number.")
        return slope

    def constants(self, group, y, weight, n_groups, base=None):
        """Best constants (n_groups,) by bisection; of an interval one that lies in it.

        The search begins between the least and the greatest target of a group and
        widens while the loss falls beyond.
        """
        base = np.zeros(len(y)) if base is None else base
        low, high = ranges(group, y - base, n_groups)
        some = low <= high
        width = np.where(some, high - low, 0.0)
        width = np.maximum(width, 1e-6 * max(np.ptp(y) if len(y) else 0.0, 1e-6))

        def slopes(constant):
            by_row = weight * self.slope(base + constant[group], y)
            return np.bincount(group, by_row, n_groups)

        for _ in range(_DOUBLINGS):
            ends = np.where(some, low, 0.0), np.where(some, high, 0.0)
            below, above = slopes(ends[0]), slopes(ends[1])
            falls_below, falls_above = below > 0, above < 0
            if not (falls_below | falls_above).any():
                found = below, above
                return self.bisected(low, high, group, y, weight, base, found)
            low = np.where(falls_below, low - width, low)
            high = np.where(falls_above, high + width, high)
            width = 2 * width
        raise ValueError(f"loss={self.title} has no constant that costs least.")
