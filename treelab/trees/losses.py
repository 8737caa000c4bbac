"""Losses of regression: one object says of a loss all that anybody needs to know.

What a row costs, which constant costs a group of rows least, in which unit, for which
targets, by which name. Whoever grows, trains, prunes or scores asks it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treelab.trees.words import joined

MEAN_LOSSES = ("squared_error", "poisson", "gamma", "tweedie")  # the mean costs least
POSITIVE_LOSSES = ("poisson", "gamma", "tweedie")  # predictions are above 0
LOSSES = ("squared_error", "absolute_error", "quantile", "huber", *POSITIVE_LOSSES)
# Losses with a parameter: the setting that has it, and some value of it.
PARAMETERS = {
    "quantile": ("quantile", 0.5),
    "huber": ("huber_delta", 1.0),
    "tweedie": ("tweedie_power", 1.5),
}
CALLABLE = "callable"  # the name of every loss that is a function in Python
SMALLEST_RANGE = 2.0**-24  # of the first, in which a constant without a formula is
MOST_STEPS = 60  # of the search for it
_SMALLEST = 1e-12  # of the mean: a prediction whose logarithm is taken


@dataclass(frozen=True)
class Loss:
    """A loss of regression, least where the prediction is the target.

    With prediction f and target y, every one is 0 where they are equal:

    - "squared_error": ``(f - y)^2``
    - "absolute_error": ``|y - f|``
    - "quantile": ``q (y - f)`` above the prediction, ``(1 - q) (f - y)`` below
      (Koenker and Bassett, "Regression Quantiles", Econometrica 1978)
    - "huber": ``(f - y)^2 / 2`` up to ``delta``, then ``delta (|f - y| - delta / 2)``
    - "poisson", "gamma", "tweedie": the unit deviances, as scikit-learn's
      ``mean_tweedie_deviance`` of power 1, 2 and in between has them

    Of several outputs C predictions are (..., n, C) and targets (n, C), of several
    levels the one target C times; ``rows`` and ``excess`` stay elementwise.
    """

    name: str = "squared_error"  # as scikit-learn has it: one of ``LOSSES``
    # The level of "quantile", in (0, 1); of "huber" the error, in the unit of the
    # target, from which it is linear; of "tweedie" the power, in (1, 2). A tuple has
    # one for each output: ascending levels of one target, or errors of several.
    parameter: float | tuple[float, ...] = 0.0
    # Of a "callable" its ``__name__``. This class is what a stored model knows of it:
    # the name, no more. ``treelab.learners.common.callable_loss`` has the function.
    title: str = ""

    def __post_init__(self):
        if np.ndim(self.parameter):
            each = tuple(map(float, self.parameter))
            object.__setattr__(self, "parameter", each)
        bounds = {"quantile": (0, 1), "tweedie": (1, 2), "huber": (0, np.inf)}
        if self.name not in (*LOSSES, CALLABLE):
            raise ValueError(f"loss must be one of {LOSSES}, got {self.name!r}.")
        low, high = bounds.get(self.name, (-np.inf, np.inf))
        rise = (np.diff(self.levels) > 0).all()
        if not rise or not all(low < one < high for one in self._each):
            raise ValueError(
                f"The parameter of the loss {self.name!r} must lie between {low} and "
                f"{high}, several in ascending order, got {self.parameter!r}."
            )

    @classmethod
    def named(cls, name: str) -> "Loss":
        """Return a loss of this name, to ask it what hangs on no parameter."""
        return cls(name, PARAMETERS.get(name, ("", 0.0))[1])

    @classmethod
    def of_setting(cls, name: str, parameter: Any) -> "Loss":
        """Return a loss by a setting, which may be a sequence of one number."""
        own = np.ravel(parameter).tolist()
        return cls(name, own[0] if len(own) == 1 else tuple(own))

    def __str__(self):
        """Return what it is called, as "pinball loss at 0.9"."""
        if self.name == CALLABLE:
            return f"{self.title}, a function in Python"
        if self.name == "quantile":
            return f"pinball loss at {self._shown}"
        if self.name == "tweedie":
            return f"Tweedie deviance of power {self._each[0]:g}"
        if self.name == "huber":
            return "Huber loss"
        words = {"poisson": "Poisson deviance", "gamma": "gamma deviance"}
        return words.get(self.name, self.name.replace("_", " "))

    @property
    def best(self) -> str:
        """What it is that predictions should be, as "medians"."""
        words = {
            "absolute_error": "medians",
            "quantile": f"the {self._shown} quantile" + "s" * bool(self.levels),
            "huber": "between mean and median",
            CALLABLE: "what costs least",
        }
        return words.get(self.name, "means")

    @property
    def value_word(self) -> str:
        """What one prediction is, as "median"."""
        words = {"absolute_error": "median", "quantile": f"{self._shown} quantile"}
        return "mean" if self.has_means else words.get(self.name, "prediction")

    @property
    def _each(self) -> tuple[float, ...]:
        """Parameter of each output, or the one of all."""
        own = self.parameter
        return own if isinstance(own, tuple) else (own,)

    @property
    def _shown(self) -> str:
        """Parameter of each output, as "0.1, 0.5 and 0.9"."""
        return joined([f"{own:g}" for own in self._each])

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of one target that are predicted together; () where there is one."""
        is_several = self.name == "quantile" and isinstance(self.parameter, tuple)
        return self._each if is_several else ()

    @property
    def middle(self) -> int:
        """Place of the level that is nearest the median; 0 where there is one."""
        return int(np.argmin(np.abs(np.array(self.levels or (0.5,)) - 0.5)))

    def of_output(self, place: int) -> "Loss":
        """Return the loss of one of several outputs."""
        if not isinstance(self.parameter, tuple):
            return self
        return replace(self, parameter=self.parameter[place])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, which ``as_loss`` reads."""
        own: dict[str, Any] = {"name": self.name, "parameter": self.parameter}
        if isinstance(self.parameter, tuple):
            own["parameter"] = [*self.parameter]
        return own | ({"title": self.title} if self.name == CALLABLE else {})

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
    def counts_from_zero(self) -> bool:
        """Whether it is another loss where a number is added to all targets."""
        return self.is_positive or self.name == CALLABLE

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
            return 2 - self._each[0]
        powers = {"squared_error": 2, "huber": 2, "gamma": 0}
        return powers.get(self.name, 1)

    def scaled(self, factor: float | np.ndarray) -> "Loss":
        """Return the loss of targets that were multiplied by a factor above 0.

        Several targets may have a factor (C,) each. 7 digits of it stay: the last ones
        differ with the unit, and other ones train another model.
        """
        if self.name != "huber":
            return self
        digits, exponent = np.frexp(np.asarray(self.parameter) * factor)
        rounded = np.ldexp(np.round(digits * 2.0**24) / 2.0**24, exponent)
        return replace(self, parameter=rounded.tolist())

    def check_target(
        self, y: np.ndarray, name: str, rows: np.ndarray | None = None
    ) -> None:
        """Raise ValueError, with the row, unless the loss knows these targets.

        They are (n,), or (n, C).
        ``rows`` (n,) are what the rows are called, by default their places from 0.
        """
        if not self.is_positive:
            return
        if y.ndim == 2:
            for column in y.T:
                self.check_target(column, name, rows)
            return
        least = "above 0" if self.name == "gamma" else "at least 0"
        wrong = y <= 0 if self.name == "gamma" else y < 0
        if wrong.any():
            place = int(np.argmax(wrong))
            row = f"{place}, counted from 0" if rows is None else rows[place]
            raise ValueError(
                f"loss={self.name!r} needs targets {least}, but {name} holds "
                f"{y[place]:g} in row {row}. Take another loss or leave the row out."
            )
        if not y.any():
            raise ValueError(f"loss={self.name!r} needs a target above 0 in {name}.")

    def excess(self, predicted: Any, y: Any, log: Callable = np.log) -> Any:
        """Loss but for what depends on the target alone, elementwise.

        Of arrays, or with ``log=torch.log`` of tensors: its gradient is the loss's.
        With ``has_means`` it is affine in ``y``, but for the squared error's ``y^2``.
        ValueError of a function in Python that a stored model had; as do all that ask
        it.
        """
        if self.name == CALLABLE:
            raise ValueError(
                f"The loss of this model is {self}, and a stored model keeps its name "
                "alone: it predicts, but cannot be scored or fitted by it any more."
            )
        if self.name == "poisson":
            return 2 * (predicted - y * log(predicted))
        if self.name == "gamma":
            return 2 * (log(predicted) + y / predicted)
        if self.name == "tweedie":
            p = self._each[0]
            first, second = predicted ** (2 - p), predicted ** (1 - p)
            return 2 * (first / (2 - p) - y * second / (1 - p))
        error = y - predicted
        if self.name == "squared_error":
            return error * error
        size = abs(error)
        if self.name == "absolute_error":
            return size
        own: Any = self.parameter
        if isinstance(own, tuple):  # an array, or a tensor where the loss is one
            own = getattr(error, "new_tensor", np.array)(own)
        if self.name == "quantile":
            return (size + (2 * own - 1) * error) / 2
        near = size.clip(max=own)
        return near * (size - near / 2)

    def rows(self, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of predictions on targets, elementwise, in ``power`` of their unit."""
        if self.is_positive and np.size(y):
            mean = np.mean(y, axis=0) if np.ndim(y) == 2 else np.mean(y)
            predicted = np.maximum(predicted, _SMALLEST * np.maximum(mean, 1e-300))
        return self.excess(predicted, y) + self.offset(y)

    def by_row(self, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss (..., n) of each row, the mean over outputs where there are several."""
        lost = self.rows(predicted, y)
        return lost.mean(axis=-1) if np.ndim(y) == 2 else lost

    def offset(self, y: np.ndarray) -> np.ndarray:
        """What ``excess`` lacks to be 0 where the prediction is right, elementwise."""
        if self.name == "poisson":
            return 2 * (y * np.log(np.where(y > 0, y, 1)) - y)
        if self.name == "gamma":
            return -2 * (np.log(y) + 1)
        if self.name == "tweedie":
            p = self._each[0]
            return 2 * y ** (2 - p) / ((1 - p) * (2 - p))
        return np.zeros(np.shape(y))

    def slope(self, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative of the loss by the prediction, elementwise; 0 at a kink."""
        error = predicted - y
        if self.has_means:
            powers = {"poisson": 1.0, "gamma": 2.0, "tweedie": self._each[0]}
            variance = predicted ** powers[self.name] if self.is_positive else 1.0
            return 2 * error / variance
        if self.name == "huber":
            return np.clip(error, -self._each[0], self._each[0])
        if self.name == "quantile":
            return (np.sign(error) + (1 - 2 * self._each[0]) * (error != 0)) / 2
        if self.name == "absolute_error":
            return np.sign(error)
        return self.excess(predicted, y)  # says what it is that has none

    def constants(
        self,
        group: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        n_groups: int,
        base: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the constant that costs each group of rows least, (n_groups,).

        Rows have a group, targets ``y`` (n,) or (n, C), and a weight above 0; of
        several outputs constants are (n_groups, C). ``base`` (n,), of losses whose
        predictions may be below 0, is what is predicted already, to which the constant
        is added. NaN for a group without rows. Where an interval of constants costs
        least (a median of two rows), its middle.
        """
        if y.ndim == 2:
            each = [
                self.of_output(j).constants(group, column, weight, n_groups)
                for j, column in enumerate(y.T)
            ]
            return np.stack(each, axis=1)
        if base is not None:
            y = y - base
        if self.name == "huber":
            low, high = ranges(group, y, n_groups)
            return self.bisected(low, high, group, y, weight, 0.0)
        if self.name == CALLABLE:
            return self.excess(y, y)  # says that there is none
        total = np.bincount(group, weight, n_groups)
        if self.has_means:
            # Keeps sums exact; where nothing is below 0, so are they as they stand.
            centre = y.mean() if len(y) and not self.is_positive else 0.0
            sums = np.bincount(group, weight * (y - centre), n_groups)
            with np.errstate(invalid="ignore"):
                return centre + sums / total
        level = self._each[0] if self.name == "quantile" else 0.5
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

    def bisected(
        self, low, high, group, y, weight, base, slopes_there=None
    ) -> np.ndarray:
        """Best constants (n_groups,), each where the sum of slopes changes its sign.

        They lie between ``low`` and ``high`` (n_groups,), which are infinite, the first
        above the second, for a group without rows. The first step, by false position,
        ends the search of a squared error. Then the group's targets are searched, where
        losses have kinks, and then what lies between two of them.
        """

        def slopes(constant):
            by_row = weight * self.slope(base + constant[group], y)
            return np.bincount(group, by_row, len(constant))

        is_empty = low > high
        low, high = np.where(is_empty, 0.0, low), np.where(is_empty, 0.0, high)
        below, above = slopes_there or (slopes(low), slopes(high))
        narrow = SMALLEST_RANGE * (high - low)
        flat = 1e-10 * np.maximum(abs(below), abs(above))
        order = np.lexsort([y - base, group])
        kinks = np.append((y - base)[order], 0.0)
        n_rows = np.bincount(group, minlength=len(low))
        last = np.cumsum(n_rows) - 1
        first = last - n_rows + 1
        value, found = (low + high) / 2, is_empty
        steps, rises = 0 * n_rows, np.zeros(len(low), dtype=bool)  # between two targets
        for step in range(MOST_STEPS):
            searched = (last - first > 1) & (step > 0)
            gap = np.where(above > below, above - below, np.inf)
            part = np.where(above > below, -below / gap, 0.5).clip(0, 1)
            part = np.where((step > 0) & (steps % 2 == 0), 0.5, part)
            tried = low + part * (high - low)
            # A loss that is straight between two targets is least at one of them.
            at_end = np.where(rises, low + narrow, high - narrow)
            tried = np.where(steps == 1, at_end, tried)
            middle = (first + last) // 2
            tried = np.where(searched, kinks[middle], tried)
            value = np.where(found, value, tried)
            slope = slopes(value)
            found = found | (abs(slope) <= flat)
            if step > 0:
                rises, steps = slope >= 0, steps + ~searched
                first = np.where(searched & ~rises, middle, first)
                last = np.where(searched & rises, middle, last)
                low, high = np.where(rises, low, value), np.where(rises, value, high)
                below = np.where(rises, below, slope)
                above = np.where(rises, slope, above)
            found = found | (high - low <= narrow)
            if found.all():
                break
        return np.where(is_empty, np.nan, value)

    def score(
        self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
    ) -> float:
        """Return D²: the fraction of the loss of the best constant that is saved.

        As scikit-learn's ``d2_pinball_score``, ``d2_tweedie_score`` and
        ``r2_score``; NaN where the constant costs nothing. Of several outputs the mean.
        """
        if self.levels and y.ndim == 1:
            y = np.repeat(y[:, None], len(self.levels), axis=1)
        if y.ndim == 2:
            pairs = enumerate(zip(predicted.T, y.T))
            return float(
                np.mean([self.of_output(j).score(*own, weight) for j, own in pairs])
            )
        weight = np.ones(len(y)) if weight is None else weight
        rows = weight > 0
        y, weight, predicted = y[rows], weight[rows], predicted[rows]
        constant = self.constants(np.zeros(len(y), dtype=np.int64), y, weight, 1)
        of_constant = np.average(self.rows(constant[0] + 0 * y, y), weights=weight)
        own = np.average(self.rows(predicted, y), weights=weight)
        # Equal targets cost a constant no more than its rounding.
        saved = 1 - own / of_constant if of_constant > 0 and np.ptp(y) else np.nan
        return float(saved)


SQUARED_ERROR = Loss()


def ranges(
    group: np.ndarray, y: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest value (n_groups,) of each group; infinite without rows."""
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, group, y)
    np.maximum.at(high, group, y)
    return low, high


def as_loss(given: Any) -> Loss | None:
    """Read a loss that was stored as plain values; None stays."""
    if given is None or isinstance(given, Loss):
        return given
    try:
        return Loss(**given)
    except TypeError as error:
        raise ValueError(f"There is no such loss: {given!r}.") from error
