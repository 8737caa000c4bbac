"""An ensemble as teacher: what it says of rows that its trees did not see."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from treelab.learners.grande import GrandeClassifier, GrandeRegressor

TEACHERS = {  # as a tree's note names them
    "none": "",
    "forest": "a random forest",
    "grande": "a GRANDE ensemble",
}
N_TREES = 300
TRUST = 0.5  # the teacher's part in a target; the rest is the label


def taught_targets(teacher: str, data, x, y, *, n_classes, seed, device) -> np.ndarray:
    """Mix labels with what a teacher says of rows that it did not learn from.

    Parameters
    ----------
    teacher : {"forest", "grande"}
        A random forest and its out-of-bag answers, or a GRANDE ensemble and, for each
        row, the answer of the trees whose fold it is.
    data : TrainingData
        The rows to learn from; what comes after them in ``x`` keeps its label.
    x : ndarray of shape (n, F)
        Encoded rows, for the forest.
    y : ndarray of shape (n,)
        Class codes, or standardised values.
    n_classes : int
        0 for regression.

    Returns
    -------
    ndarray of shape (n, n_classes) or (n,), float32
        Shares of the classes, or values.
    """
    n_train = len(data.y)
    if teacher == "forest":
        told = _forest(x[:n_train], y[:n_train], n_classes, seed)
    else:
        told = _grande(data.frame, y[:n_train], n_classes, seed, device)
    target = np.eye(n_classes)[y] if n_classes else y.astype(np.float64)
    # A row that every tree saw has no answer and keeps its label.
    known = np.flatnonzero(np.isfinite(told).reshape(n_train, -1).all(1))
    target[known] += TRUST * (told[known] - target[known])
    return target.astype(np.float32)


def _forest(x, y, n_classes, seed) -> np.ndarray:
    """Out-of-bag answers, (n, n_classes) or (n,); NaN where there is none."""
    forest = RandomForestClassifier if n_classes else RandomForestRegressor
    forest = forest(N_TREES, oob_score=True, min_samples_leaf=2, random_state=seed)
    forest.fit(x, y)
    if not n_classes:
        return forest.oob_prediction_
    told = np.zeros((len(x), n_classes))
    told[:, forest.classes_] = forest.oob_decision_function_
    return told


def _grande(frame, y, n_classes, seed, device) -> np.ndarray:
    """Answers of the trees that hold a row out, (n, n_classes) or (n,)."""
    learner = GrandeClassifier if n_classes else GrandeRegressor
    fitted = learner(random_state=seed, device=str(device)).fit(frame, y)
    if not n_classes:
        return fitted.held_out_answers_[:, 0]
    told = np.zeros((len(y), n_classes))
    told[:, fitted.classes_] = fitted.held_out_answers_
    return told
