"""How far predictions shift towards rare classes, by macro F1 on held-out rows."""

import numpy as np

from treelab.evaluation.metrics import macro_f1

POWERS = np.linspace(0, 1.5, 31)  # of balanced class weights
N_RESAMPLES = 50


def best_weight_power(
    log_proba: np.ndarray, target: np.ndarray, log_weights: np.ndarray
) -> float:
    """Power of balanced class weights that shifts the class prior best.

    Few held-out rows make the best power jumpy, so it is bagged: the mean of the best
    powers of resampled rows (Breiman, "Bagging Predictors", 1996).

    Parameters
    ----------
    log_proba : ndarray of shape (m, C)
        Logarithms of the predicted class probabilities of each row.
    target : ndarray of shape (m,), int64
        Class codes.
    log_weights : ndarray of shape (C,)
        Logarithms of balanced class weights; the shift is their power times these.

    Returns
    -------
    float
        0 leaves the predictions as they are, 1 weights all classes alike.
    """
    n_rows, n_classes = log_proba.shape
    rng = np.random.default_rng(0)
    times = np.empty((N_RESAMPLES, n_rows), np.uint16)  # that each row is drawn
    for drawn in times:
        drawn[:] = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
    scores = []
    for power in POWERS:
        cell = target * n_classes + (log_proba + power * log_weights).argmax(1)
        confusions = [np.bincount(cell, n, minlength=n_classes**2) for n in times]
        scores.append(macro_f1(np.reshape(confusions, (-1, n_classes, n_classes))))
    return float(POWERS[np.argmax(scores, axis=0)].mean())
