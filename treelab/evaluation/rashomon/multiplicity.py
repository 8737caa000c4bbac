"""Predictive multiplicity: how much trees that score alike differ on single rows."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RowMultiplicity:
    """What the trees of a set predict for one row.

    Attributes
    ----------
    n_trees : int
    n_otherwise : int
        Those that predict another class than the run's own tree; in regression those
        that differ from it by more than a tenth of the target's standard deviation.
    lowest, highest : float
        Probability of the class that the run's tree predicts, or the value, by tree.
    """

    n_trees: int
    n_otherwise: int
    lowest: float
    highest: float


def row_multiplicity(
    predicted: np.ndarray, value: np.ndarray, own: int, near: float = 0.0
) -> RowMultiplicity:
    """Hold what all trees predict for one row against the run's own tree.

    Parameters
    ----------
    predicted : ndarray of shape (T,)
        Class codes, or values.
    value : ndarray of shape (T, n_outputs)
        Probabilities of the classes, or the values.
    own : int
        Which tree is the run's own.
    near : float, default=0.0
        Values that differ by at most this are alike; 0 for classes.
    """
    if value.shape[1] > 1:
        chance = value[:, int(predicted[own])]
        otherwise = predicted != predicted[own]
    else:
        chance = value[:, 0]
        otherwise = np.abs(predicted - predicted[own]) > near
    return RowMultiplicity(
        len(predicted), int(otherwise.sum()), float(chance.min()), float(chance.max())
    )


def otherwise(predicted: np.ndarray, own: int, near: float = 0.0) -> np.ndarray:
    """Return the share of the trees that predict otherwise than the run's own.

    The share of rows where it is above 0 is the ambiguity of Marx, Calmon and Ustun,
    "Predictive multiplicity in classification", ICML 2020, arXiv:1909.06677.

    Parameters
    ----------
    predicted : ndarray of shape (T, n_rows)
        Class codes, or values.
    own : int
    near : float, default=0.0
        As in ``row_multiplicity``.

    Returns
    -------
    float64 array of shape (n_rows,)
    """
    return (np.abs(predicted - predicted[own].astype(float)) > near).mean(axis=0)
