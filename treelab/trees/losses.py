"""Losses of regression: one object says of a loss all that anybody needs to know.

What a row costs, which constant costs a group of rows least, in which unit, for which
targets, by which name. Whoever grows, trains, prunes or scores asks it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

MEAN_LOSSES = ("squared_error", "poisson", "gamma", "tweedie")  # the mean costs least
POSITIVE_LOSSES = ("poisson", "gamma", "tweedie")  # predictions are above 0
LOSSES = ("squared_error", "absolute_error", "quantile", "huber", *POSITIVE_LOSSES)
_BISECTIONS = 60  # of Huber's constant: to the last digits of a range
_SMALLEST = 1e-12  # of the mean: a prediction whose logarithm is taken


@dataclass(frozen=True)
class Loss:
    """A loss of regression, least where the prediction is the target.

    Parameters
    ----------
    name : str
        As scikit-learn has it: one of ``LOSSES``.
    parameter : float, default=0.0
        The level of "quantile", in (0, 1); of "huber" the error, in the unit of the
        target, from which it is linear; of "tweedie" the power, in (1, 2).

    Notes
    -----
    With prediction f and target y, every one is 0 where they are equal:

    - "squared_error": ``(f - y)^2``
    - "absolute_error": ``|y - f|``
    - "quantile": ``q (y - f)`` above the prediction, ``(1 - q) (f - y)`` below
      (Koenker and Bassett, "Regression Quantiles", Econometrica 1978)
    - "huber": ``(f - y)^2 / 2`` up to ``delta``, then ``delta (|f - y| - delta / 2)``
    - "poisson", "gamma", "tweedie": the unit deviances, as scikit-learn's
      ``mean_tweedie_deviance`` of power 1, 2 and in between has them
    """

    name: str = "squared_error"
    parameter: float = 0.0

    def __post_init__(self):
        bounds = {"quantile": (0, 1), "tweedie": (1, 2), "huber": (0, np.inf)}
        if self.name not in LOSSES:
            raise ValueError(f"loss must be one of {LOSSES}, got {self.name!r}.")
        low, high = bounds.get(self.name, (-np.inf, np.inf))
        if not low < self.parameter < high:
            raise ValueError(
                f"The parameter of the loss {self.name!r} must lie between {low} and "
                f"{high}, got {self.parameter!r}."
            )

    def __str__(self):
        """Return what it is called, as "pinball loss at 0.9"."""
        if self.name == "quantile":
            return f"pinball loss at {self.parameter:g}"
        if self.name == "tweedie":
            return f"Tweedie deviance of power {self.parameter:g}"
        if self.name == "huber":
            return "Huber loss"
        words = {"poisson": "Poisson deviance", "gamma": "gamma deviance"}
        return words.get(self.name, self.name.replace("_", " "))

    @property
    def is_squared(self) -> bool:
        """Whether it is the squared error."""
        return self.name == "squared_error"

    @property
    def has_means(self) -> bool:
        """Whether the mean of a group costs it least."""
        return self.name in MEAN_LOSSES

    @property
    def is_positive(self) -> bool:
        """Whether predictions are above 0; raw outputs are then their logarithms."""
        return self.name in POSITIVE_LOSSES

    @property
    def criterion(self) -> str:
        """What scikit-learn's trees are grown by for this loss.

        Trees grown for quantiles themselves are worse than trees of squared error
        whose leaves are refitted.
        """
        return "poisson" if self.is_positive else "squared_error"

    @property
    def power(self) -> float:
        """Power of the target's unit in which it counts."""
        if self.name == "tweedie":
            return 2 - self.parameter
        powers = {"squared_error": 2, "huber": 2, "gamma": 0}
        return powers.get(self.name, 1)

    def scaled(self, factor: float) -> "Loss":
        """Return the loss of targets that were multiplied by a factor above 0."""
        if self.name != "huber":
            return self
        return replace(self, parameter=self.parameter * factor)

    def check_target(
        self, y: np.ndarray, name: str, rows: np.ndarray | None = None
    ) -> None:
        """Raise ValueError, with the row, unless the loss knows these targets (n,).

        ``rows`` (n,) are what the rows are called, by default their places from 0.
        """
        if not self.is_positive:
            return
        least = "above 0" if self.name == "gamma" else "at least 0"
        wrong = y <= 0 if self.name == "gamma" else y < 0
        if wrong.any():
            place = int(np.argmax(wrong))
            row = place if rows is None else rows[place]
            raise ValueError(
                f"loss={self.name!r} needs targets {least}, but {name} holds "
                f"{y[place]:g} in row {row}. Take another loss or leave the row out."
            )
        if not y.any():
            raise ValueError(f"loss={self.name!r} needs a target above 0 in {name}.")

    def excess(self, predicted: Any, y: Any, log: Callable = np.log) -> Any:
        """Loss but for what depends on the target alone, elementwise.

        Of arrays, or with ``log=torch.log`` of tensors: its gradient is the loss's.
        """
        if self.name == "poisson":
            return 2 * (predicted - y * log(predicted))
        if self.name == "gamma":
            return 2 * (log(predicted) + y / predicted)
        if self.name == "tweedie":
            p = self.parameter
            first, second = predicted ** (2 - p), predicted ** (1 - p)
            return 2 * (first / (2 - p) - y * second / (1 - p))
        error = y - predicted
        if self.name == "squared_error":
            return error * error
        size = abs(error)
        if self.name == "absolute_error":
            return size
        if self.name == "quantile":
            return (size + (2 * self.parameter - 1) * error) / 2
        near = size.clip(max=self.parameter)
        return near * (size - near / 2)

    def rows(self, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of predictions on targets, elementwise, in ``power`` of their unit."""
        least: np.ndarray | float = 0.0
        if self.name == "poisson":
            least = 2 * (y * np.log(np.where(y > 0, y, 1)) - y)
        elif self.name == "gamma":
            least = -2 * (np.log(y) + 1)
        elif self.name == "tweedie":
            p = self.parameter
            least = 2 * y ** (2 - p) / ((1 - p) * (2 - p))
        if self.is_positive and np.size(y):
            predicted = np.maximum(predicted, _SMALLEST * max(np.mean(y), 1e-300))
        return self.excess(predicted, y) + least

    def constants(
        self, group: np.ndarray, y: np.ndarray, weight: np.ndarray, n_groups: int
    ) -> np.ndarray:
        """Return the constant that costs each group of rows least.

        Parameters
        ----------
        group : int array of shape (n,)
        y, weight : ndarray of shape (n,)
            Targets, and what the rows weigh, above 0.
        n_groups : int

        Returns
        -------
        float64 array of shape (n_groups,)
            NaN for a group without rows. Where an interval of constants costs least
            (a median of two rows), its middle.
        """
        if self.name == "huber":
            return self._huber_constants(group, y, weight, n_groups)
        total = np.bincount(group, weight, n_groups)
        if self.has_means:
            centre = y.mean() if len(y) else 0.0  # keeps sums exact
            sums = np.bincount(group, weight * (y - centre), n_groups)
            with np.errstate(invalid="ignore"):
                return centre + sums / total
        level = self.parameter if self.name == "quantile" else 0.5
        order = np.lexsort([y, group])
        group, y, weight = group[order], y[order], weight[order]
        ends = np.cumsum(np.bincount(group, minlength=n_groups))
        reached = np.cumsum(weight)
        before = np.append(0.0, reached)[ends] - total
        aim = before + level * total
        slack = 1e-12 * reached[-1:].sum()
        value = np.full(n_groups, np.nan)
        some = np.flatnonzero(total > 0)
        last = ends[some] - 1
        low = np.minimum(np.searchsorted(reached, aim[some] - slack), last)
        high = np.minimum(np.searchsorted(reached, aim[some] + slack, "right"), last)
        value[some] = (y[low] + y[high]) / 2
        return value

    def _huber_constants(self, group, y, weight, n_groups):
        """Where the sum of clipped errors, which falls, is 0: by bisection."""
        low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
        np.minimum.at(low, group, y)
        np.maximum.at(high, group, y)
        is_empty = low > high
        low[is_empty] = high[is_empty] = 0.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            pull = np.clip(y - middle[group], -self.parameter, self.parameter)
            rises = np.bincount(group, weight * pull, n_groups) > 0
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        return np.where(is_empty, np.nan, (low + high) / 2)

    def score(
        self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
    ) -> float:
        """Return D²: the fraction of the loss of the best constant that is saved.

        As scikit-learn's ``d2_pinball_score``, ``d2_tweedie_score`` and
        ``r2_score``; NaN where the constant costs nothing.
        """
        weight = np.ones(len(y)) if weight is None else weight
        rows = weight > 0
        y, weight, predicted = y[rows], weight[rows], predicted[rows]
        constant = self.constants(np.zeros(len(y), dtype=np.int64), y, weight, 1)
        of_constant = np.average(self.rows(constant[0] + 0 * y, y), weights=weight)
        own = np.average(self.rows(predicted, y), weights=weight)
        return float(1 - own / of_constant) if of_constant > 0 else float("nan")


SQUARED_ERROR = Loss()


def as_loss(given: Any) -> Loss | None:
    """Read a loss that was stored as plain values; None stays."""
    if given is None or isinstance(given, Loss):
        return given
    try:
        return Loss(**given)
    except TypeError as error:
        raise ValueError(f"There is no such loss: {given!r}.") from error
