"""What errors cost: a threshold for two classes, a cost matrix for more."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CostCurve:
    """Mean cost of a row by the threshold from which a class is predicted.

    Attributes
    ----------
    threshold : float64 array of shape (k,)
        Ascending from 0 to 1; the cost is the same from just above one of them up to
        the next.
    cost : float64 array of shape (k,)
        At each threshold.
    """

    threshold: np.ndarray
    cost: np.ndarray

    def at(self, threshold: float) -> float:
        """Return the cost at any threshold in [0, 1]."""
        return float(self.cost[np.searchsorted(self.threshold, threshold)])

    @property
    def cheapest(self) -> float:
        """Middle of the stretch of thresholds that costs least."""
        place = int(self.cost.argmin())
        low = 0.0 if place == 0 else self.threshold[place - 1]
        return float((low + self.threshold[place]) / 2)


def cost_curve(
    is_class: np.ndarray,
    probability: np.ndarray,
    false_positive: float,
    false_negative: float,
) -> CostCurve:
    """Return the mean cost of a row at every threshold that makes a difference.

    A row is predicted as the class where its probability is at least the threshold.

    Parameters
    ----------
    is_class : bool array of shape (n_rows,)
    probability : float array of shape (n_rows,)
    false_positive, false_negative : float
        Cost of a row of the rest that is predicted as the class, and the reverse.
    """
    threshold = np.unique(np.concatenate([[0.0], probability, [1.0]]))
    of_class, of_rest = (np.sort(probability[own]) for own in (is_class, ~is_class))
    n_missed = np.searchsorted(of_class, threshold)
    n_false = len(of_rest) - np.searchsorted(of_rest, threshold)
    cost = false_positive * n_false + false_negative * n_missed
    return CostCurve(threshold, cost / len(probability))


def calibrated_threshold(false_positive: float, false_negative: float) -> float:
    """Return the cheapest threshold for probabilities that are right; 0.5 for free."""
    total = false_positive + false_negative
    return false_positive / total if total > 0 else 0.5


def cheapest_classes(probabilities: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return for each row the class whose expected cost is least.

    Parameters
    ----------
    probabilities : float array of shape (n_rows, n_classes)
    costs : float array of shape (n_classes, n_classes)
        True classes down, predicted classes across.

    Returns
    -------
    int64 array of shape (n_rows,)
        Of equal ones the most probable, then the first.
    """
    expected = probabilities @ costs
    least = expected.min(axis=1, keepdims=True)
    ties = np.isclose(expected, least, rtol=1e-12, atol=1e-12)
    return np.where(ties, probabilities, -1).argmax(axis=1)


def mean_cost(truth: np.ndarray, predicted: np.ndarray, costs: np.ndarray) -> float:
    """Return the mean cost of a row, of class codes (n_rows,) by a cost matrix."""
    return float(costs[truth, predicted].mean())
