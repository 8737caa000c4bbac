"""Soft targets of a random forest, on the training rows and on synthetic ones.

A single tree that is grown on labels chases their noise. A forest averages the noise
away; a tree that is grown on its predictions, and on many more rows than there are,
can have more leaves before it overfits. The forest is not part of the model.

Sources: Breiman and Shang, "Born again trees", 1996, for a tree grown on an ensemble's
predictions for rows made by mixing others; Bucila, Caruana and Niculescu-Mizil, "Model
compression", KDD 2006.

Shapes: n rows, m rows to grow on, F features, C classes (1 for regression).
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

N_TREES = 100
COLUMNS, MOST_COLUMNS = 0.5, 100  # fraction of the columns open to a split, and at most
FOREST_PART = 0.5  # of the forest in a real row's target; the rest is its label
# Synthetic rows for each real one, the fewest and the most.
SYNTHETIC, FEWEST_SYNTHETIC, MOST_SYNTHETIC = 3, 2000, 10_000
SWAPPED = 1.5  # columns of a synthetic row that come from another row, on average
REAL = 1 / 3  # weight of all real rows together, where the synthetic ones have 1


@dataclass(frozen=True)
class SoftTargets:
    """Rows to grow a tree on.

    Attributes
    ----------
    x : ndarray of shape (m, F), float32
        Real rows, then synthetic ones.
    target : ndarray of shape (m, C)
        Class probabilities, or values.
    weight : ndarray of shape (m,)
        Weight of a row, all classes alike.
    columns : ndarray of int
        Features that the forest used most; the others matter little.
    """

    x: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    columns: np.ndarray


def soft_targets(
    x: np.ndarray,
    y: np.ndarray,
    *,
    n_classes: int,
    n_columns: int,
    random: np.random.RandomState,
) -> SoftTargets:
    """Grow a forest; take its predictions for its rows and for rows like them.

    A real row's prediction is out of bag: by the trees that did not draw it.

    Parameters
    ----------
    x : ndarray of shape (n, F), float32
        Encoded rows.
    y : ndarray of shape (n,)
        Class codes, or values.
    n_classes : int
        0 for regression.
    n_columns : int
        Features to name as most used, at most.
    random : RandomState
        Seeds the forest and draws the synthetic rows.
    """
    grower = RandomForestClassifier if n_classes else RandomForestRegressor
    forest = grower(
        N_TREES,
        max_features=min(max(1, round(COLUMNS * x.shape[1])), MOST_COLUMNS),
        bootstrap=True,
        oob_score=True,
        n_jobs=torch.get_num_threads(),
        random_state=random.randint(2**31),
    ).fit(x, y)
    target = blend(y, out_of_bag(forest, n_classes), FOREST_PART, n_classes=n_classes)
    n_synthetic = int(np.clip(SYNTHETIC * len(x), FEWEST_SYNTHETIC, MOST_SYNTHETIC))
    made = synthetic_rows(x, n_synthetic, random)
    if n_classes:
        made_target = _of_all_classes(forest.predict_proba(made), forest, n_classes)
    else:
        made_target = forest.predict(made)[:, None]
    most_used = np.argsort(-forest.feature_importances_, kind="stable")[:n_columns]
    return SoftTargets(
        x=np.concatenate([x, made]),
        target=np.concatenate([target, made_target]),
        weight=np.repeat([REAL * n_synthetic / len(x), 1.0], [len(x), n_synthetic]),
        columns=np.sort(most_used),
    )


def synthetic_rows(
    x: np.ndarray, number: int, random: np.random.RandomState
) -> np.ndarray:
    """Make rows (number, F): rows of ``x`` (n, F) with a few columns of others."""
    n_rows, n_features = x.shape
    made = x[random.randint(n_rows, size=number)]
    swapped = random.random_sample(made.shape) < min(0.5, SWAPPED / n_features)
    row, column = np.nonzero(swapped)
    made[row, column] = x[random.randint(n_rows, size=len(row)), column]
    return made


def out_of_bag(forest, n_classes: int) -> np.ndarray:
    """Predict rows by the trees that did not draw them, (n, C); NaN where all did."""
    if not n_classes:
        return forest.oob_prediction_[:, None]
    return _of_all_classes(forest.oob_decision_function_, forest, n_classes)


def blend(
    y: np.ndarray, predicted: np.ndarray, part: float, *, n_classes: int
) -> np.ndarray:
    """Mix labels (n,) with ``part`` of what is predicted of them (n, C), (n, C).

    A row without a prediction (NaN) has its label alone.
    """
    target = np.eye(n_classes)[y] if n_classes else y[:, None].astype(np.float64)
    known = np.isfinite(predicted).all(1)
    target[known] += part * (predicted[known] - target[known])
    return target


def _of_all_classes(proba: np.ndarray, forest, n_classes: int) -> np.ndarray:
    """Probabilities (n, n_classes) of all classes, from those the forest has met."""
    full = np.zeros((len(proba), n_classes))
    full[:, forest.classes_] = proba
    return full
