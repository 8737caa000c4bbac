"""How far answers should lean to rare classes, by macro F1 on held-out rows."""

import numpy as np

from treelab.evaluation.metrics import macro_f1

POWERS = np.linspace(0, 1.5, 31)  # of balanced class weights
SMOOTHED = 5  # neighbouring powers whose scores are averaged


def best_lean(log_share: np.ndarray, target: np.ndarray, balanced: np.ndarray) -> float:
    """Power of balanced class weights under which answers score best.

    Few held-out rows make their own score jumpy, so it is averaged over neighbouring
    powers and joined by the score that is expected if the shares are right.

    Parameters
    ----------
    log_share : ndarray of shape (m, C)
        Logarithms of the shares that each class gets in each row.
    target : ndarray of shape (m,), int64
        Class codes.
    balanced : ndarray of shape (C,)
        Logarithms of balanced class weights; their power times these is added.

    Returns
    -------
    float
        0 leaves the answers as they are, 1 weighs all classes alike.
    """
    n_classes = len(balanced)
    truth, share = np.eye(n_classes)[target], np.exp(log_share)
    measured, expected = [], []
    for power in POWERS:
        told = np.eye(n_classes)[(log_share + power * balanced).argmax(1)]
        measured.append(macro_f1(truth.T @ told))
        expected.append(macro_f1(share.T @ told))
    padded = np.pad(measured, SMOOTHED // 2, mode="edge")
    smooth = np.convolve(padded, np.full(SMOOTHED, 1 / SMOOTHED), "valid")
    return float(POWERS[np.argmax(smooth + expected)])
