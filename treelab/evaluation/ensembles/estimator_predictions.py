"""What single trees of an ensemble predict."""

import numpy as np
import pandas as pd

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.labels import most_probable
from treelab.trees.logits import class_probabilities


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
    logits = ensemble.leaf_value[estimators, leaf]  # (k, n_outputs)
    classes = ensemble.classes or ()
    return most_probable(classes, class_probabilities(logits, len(classes)))
