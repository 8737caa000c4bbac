"""How far predictions shift towards rare classes, by macro F1 on held-out rows."""

import numpy as np

from treelab.evaluation.metrics import macro_f1

POWERS = np.linspace(0, 1.5, 31)  # of balanced class weights
SMOOTHED = 5  # neighbouring powers whose scores are averaged


def best_weight_power(
    log_proba: np.ndarray, target: np.ndarray, log_weights: np.ndarray
) -> float:
    """Power of balanced class weights that shifts the class prior best.

    Few held-out rows make their own score jumpy, so it is averaged over neighbouring
    powers and joined by the score that is expected if the probabilities are right.

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
    n_classes = len(log_weights)
    truth, proba = np.eye(n_classes)[target], np.exp(log_proba)
    measured, expected = [], []
    for power in POWERS:
        predicted = np.eye(n_classes)[(log_proba + power * log_weights).argmax(1)]
        measured.append(macro_f1(truth.T @ predicted))
        expected.append(macro_f1(proba.T @ predicted))
    padded = np.pad(measured, SMOOTHED // 2, mode="edge")
    smooth = np.convolve(padded, np.full(SMOOTHED, 1 / SMOOTHED), "valid")
    return float(POWERS[np.argmax(smooth + expected)])
