"""Curves of one class against the rest: ROC, precision-recall, calibration."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

N_BINS = 10  # of probabilities, for the calibration


@dataclass(frozen=True)
class ClassCurves:
    """How well probabilities of one class tell its rows from the rest.

    Attributes
    ----------
    roc : DataFrame
        ``x`` (false positive rate), ``y`` (true positive rate) and ``threshold``.
    precision_recall : DataFrame
        ``x`` (recall), ``y`` (precision) and ``threshold``, NaN at the last point.
    calibration : DataFrame
        As ``calibration`` returns it.
    roc_area, average_precision, brier : float
        Area under the ROC curve, mean precision over recall, mean squared error of
        the probabilities.
    """

    roc: pd.DataFrame
    precision_recall: pd.DataFrame
    calibration: pd.DataFrame
    roc_area: float
    average_precision: float
    brier: float


def class_curves(is_class: np.ndarray, probability: np.ndarray) -> ClassCurves:
    """Measure the probabilities of one class.

    Parameters
    ----------
    is_class : bool array of shape (n_rows,)
        Which rows are of the class.
    probability : float array of shape (n_rows,)

    Raises
    ------
    ValueError
        If all rows are of the class, or none.
    """
    if is_class.all() or not is_class.any():
        raise ValueError("Curves need rows of the class and rows of another one.")
    false_rate, true_rate, threshold = roc_curve(is_class, probability)
    precision, recall, cut = precision_recall_curve(
        is_class, probability, drop_intermediate=True
    )
    return ClassCurves(
        pd.DataFrame({"x": false_rate, "y": true_rate, "threshold": threshold}),
        pd.DataFrame(
            {"x": recall, "y": precision, "threshold": np.append(cut, np.nan)}
        ),
        calibration(is_class, probability),
        float(roc_auc_score(is_class, probability)),
        float(average_precision_score(is_class, probability)),
        float(brier_score_loss(is_class, np.clip(probability, 0, 1))),
    )


def calibration(
    is_class: np.ndarray, probability: np.ndarray, n_bins: int = N_BINS
) -> pd.DataFrame:
    """Compare probabilities with fractions, in bins of equal width.

    Parameters
    ----------
    is_class : bool array of shape (n_rows,)
    probability : float array of shape (n_rows,)
    n_bins : int, default=10

    Returns
    -------
    DataFrame
        A row a bin that has rows: ``predicted`` (mean probability), ``observed``
        (fraction of the class) and ``rows``.
    """
    edges = np.linspace(0, 1, n_bins + 1)
    place = np.searchsorted(edges[1:-1], probability)
    rows = np.bincount(place, minlength=n_bins)
    some = rows > 0
    means = [
        np.bincount(place, weights=own, minlength=n_bins)[some] / rows[some]
        for own in (probability, is_class.astype(float))
    ]
    return pd.DataFrame(
        {"predicted": means[0], "observed": means[1], "rows": rows[some]}
    )
