"""In numbers: how few trees of an ensemble decide test rows."""

import numpy as np
import pandas as pd

from treelab.trees.ensemble import WeightedTrees

SHARE = 0.9  # of a prediction, for which trees are counted


def decider_facts(ensemble: WeightedTrees, X: pd.DataFrame) -> dict[str, float]:
    """Return medians over rows: the highest weight, and trees that hold 90% of it all.

    Parameters
    ----------
    ensemble : WeightedTrees
    X : DataFrame of shape (n_rows, n_columns)
        Test rows.

    Returns
    -------
    dict
        ``trees``, ``top weight`` and ``trees for 90%``.
    """
    return {
        "trees": float(ensemble.n_estimators),
        "top weight": float(np.median(ensemble.top_estimators(X)[1])),
        "trees for 90%": float(np.median(ensemble.n_estimators_for_share(X, SHARE))),
    }
