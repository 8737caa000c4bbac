"""An ensemble as teacher: what it says of rows that its trees did not see."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from treelab.learners.gradtree.soft_targets import blended, out_of_bag
from treelab.learners.grande.estimators import GrandeClassifier, GrandeRegressor

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
    apart = np.full((len(y), told.shape[1]), np.nan)  # later rows keep their label
    apart[:n_train] = told
    target = blended(y, apart, TRUST, n_classes=n_classes).astype(np.float32)
    return target if n_classes else target[:, 0]


def _forest(x, y, n_classes, seed) -> np.ndarray:
    """Out-of-bag answers, (n, n_classes or 1); NaN where there is none."""
    forest = RandomForestClassifier if n_classes else RandomForestRegressor
    forest = forest(N_TREES, oob_score=True, min_samples_leaf=2, random_state=seed)
    return out_of_bag(forest.fit(x, y), n_classes)


def _grande(frame, y, n_classes, seed, device) -> np.ndarray:
    """Answers of the trees that hold a row out, (n, n_classes or 1)."""
    learner = GrandeClassifier if n_classes else GrandeRegressor
    fitted = learner(random_state=seed, device=str(device)).fit(frame, y)
    if not n_classes:
        return fitted.held_out_predictions_[:, :1]
    told = np.zeros((len(y), n_classes))
    told[:, fitted.classes_] = fitted.held_out_predictions_
    return told
