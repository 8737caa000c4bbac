"""Targets that follow what the initial trees predicted of rows they had not seen.

Where few trees decide, training on labels alone fits their noise: on some tables the
initial trees, of nearly equal weight, predict held-out rows better than trained ones.
There the loss on all rows partly follows those predictions, as in Hinton et al.,
"Distilling the Knowledge in a Neural Network", arXiv:1503.02531; that they are made for
rows that the trees had not seen keeps labels out of them.
"""

import numpy as np

from treelab.learners.grande.objective import Objective

CLEARLY = 3.0  # standard errors


def distilled_targets(
    objective: Objective,
    y: np.ndarray,
    initial: np.ndarray,
    trained: np.ndarray,
    share: float,
) -> np.ndarray | None:
    """Mix targets with the initial trees' predictions, where these are clearly better.

    Better is a lower squared error on held-out rows (the Brier score of classes),
    clearly is by three standard errors of the mean difference.

    Parameters
    ----------
    objective : Objective
    y : ndarray of shape (n,)
        Class codes, or values in the unit of the target.
    initial, trained : ndarray of shape (n, n_classes or 1)
        Predictions of each row by trees that it was held out of, before and after
        training: class probabilities, or values in the unit of the target.
    share : float
        Of the predictions in the mixture, 0 to 1.

    Returns
    -------
    ndarray of shape (n, n_classes) or (n,), float32, or None
        Targets to train on; None where labels alone are better.
    """
    target = objective.as_predictions(y)
    gain = ((trained - target) ** 2 - (initial - target) ** 2).sum(1)
    gain = gain * objective.row_weights(y)[:, 0]
    if not gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)):
        return None
    return objective.encode_mixture((1 - share) * target + share * initial)
