"""What single trees of an ensemble predict."""

import numpy as np
import pandas as pd

from treelab.trees.ensemble import WeightedTrees


def estimator_predictions(
    ensemble: WeightedTrees, row: pd.DataFrame, estimators
) -> np.ndarray:
    """Return the class that each of some trees predicts by itself for one row.

    Parameters
    ----------
    ensemble : WeightedTrees
        Of classes.
    row : DataFrame of one row
    estimators : array-like of int of shape (k,)
        Numbers of the trees.

    Returns
    -------
    ndarray of shape (k,)
        Labels.
    """
    estimators = np.asarray(estimators)
    leaf = ensemble.leaves(row)[0, estimators]
    value = ensemble.leaf_value[estimators, leaf]  # (k, n_outputs)
    return ensemble.predicted_labels(ensemble.class_probabilities(value))
