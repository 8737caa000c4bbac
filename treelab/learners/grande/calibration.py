"""How sure an ensemble may be, measured on the rows that it holds out.

Temperature scaling (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017,
arXiv:1706.04599), around the frequencies of the classes instead of equal ones: log-odds
against these are multiplied by one number. 0 predicts the frequencies, 1 the trained
probabilities.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

SCALES = (0.02, 5.0)  # that are searched; 0 itself would forget the classes


def measured_scale(
    log_odds: np.ndarray, target: np.ndarray, log_prior: np.ndarray
) -> float:
    """Return the factor of log-odds with the lowest log loss.

    Parameters
    ----------
    log_odds : ndarray of shape (m, n_classes)
        Logarithms of probabilities of held-out rows, up to a constant a row, less those
        of the classes' frequencies.
    target : int array of shape (m,)
        Class codes.
    log_prior : ndarray of shape (n_classes,)
        Logarithms of the classes' frequencies.
    """
    rows = np.arange(len(target))

    def loss(log_scale: float) -> float:
        log_p = log_softmax(np.exp(log_scale) * log_odds + log_prior, axis=1)
        return float(-log_p[rows, target].mean())

    # The loss is convex in the factor, so it has one minimum in its logarithm, too.
    found = minimize_scalar(loss, bounds=np.log(SCALES), method="bounded")
    return float(np.exp(found.x))
