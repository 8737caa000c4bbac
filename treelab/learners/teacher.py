"""A random forest as teacher: what it says of rows that its trees did not see."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

N_TREES = 300
TRUST = 0.5  # the teacher's part in a target; the rest is the label


def forest_targets(
    x: np.ndarray, y: np.ndarray, n_train: int, *, n_classes: int, seed: int
) -> np.ndarray:
    """Mix labels with a forest's out-of-bag answers.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded rows.
    y : ndarray of shape (n,)
        Class codes, or standardised values.
    n_train : int
        The first rows, from which the forest learns; the others keep their labels.
    n_classes : int
        0 for regression.

    Returns
    -------
    ndarray of shape (n, n_classes) or (n,), float32
        Shares of the classes, or values.
    """
    forest = RandomForestClassifier if n_classes else RandomForestRegressor
    forest = forest(N_TREES, oob_score=True, min_samples_leaf=2, random_state=seed)
    forest.fit(x[:n_train], y[:n_train])
    target = np.eye(n_classes)[y] if n_classes else y.astype(np.float64)
    if n_classes:
        told = np.zeros((n_train, n_classes))
        told[:, forest.classes_] = forest.oob_decision_function_
    else:
        told = forest.oob_prediction_
    # A row that every tree saw has no out-of-bag answer.
    known = np.isfinite(told).reshape(n_train, -1).all(1)
    rows = np.flatnonzero(known)
    target[rows] += TRUST * (told[rows] - target[rows])
    return target.astype(np.float32)
