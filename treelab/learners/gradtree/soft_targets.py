"""What a forest tells a tree: its answers on real rows and on rows it imagines.

A single tree that grows on labels chases their noise. A forest averages the noise away;
a tree that grows on its answers, and on many more rows than there are, copes with more
leaves before it errs. Only the tree is kept.

Sources: Breiman and Shang, "Born again trees", 1996, for a tree grown on an ensemble's
answers to rows made by mixing others; Bucila, Caruana and Niculescu-Mizil, "Model
compression", KDD 2006.

Shapes: n rows, m rows of a lesson, F features, C classes (1 for regression).
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

N_TREES = 100
COLUMNS, MOST_COLUMNS = 0.5, 100  # share of the columns open to a split, and at most
BELIEVED = 0.5  # the forest's part in what is told of a real row; the rest is its label
# Imagined rows for each real one, the fewest and the most.
IMAGINED, FEWEST_IMAGINED, MOST_IMAGINED = 3, 2000, 10_000
SWAPPED = 1.5  # columns of an imagined row that come from another row, on average
REAL = 1 / 3  # what the real rows count together, where the imagined ones count one


@dataclass(frozen=True)
class Lesson:
    """Rows to grow a tree on.

    Attributes
    ----------
    x : ndarray of shape (m, F), float32
        Real rows, then imagined ones.
    told : ndarray of shape (m, C)
        Class shares, or values.
    weight : ndarray of shape (m,)
        What a row counts, all classes alike.
    columns : ndarray of int
        Features that the forest used most; the others say little.
    """

    x: np.ndarray
    told: np.ndarray
    weight: np.ndarray
    columns: np.ndarray


def lesson(
    x: np.ndarray,
    y: np.ndarray,
    *,
    n_classes: int,
    n_columns: int,
    random: np.random.RandomState,
) -> Lesson:
    """Grow a forest and ask it about its rows and about rows like them.

    Of a real row those trees are asked that did not draw it.

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
    told = blended(y, out_of_bag(forest, n_classes), BELIEVED, n_classes=n_classes)
    number = int(np.clip(IMAGINED * len(x), FEWEST_IMAGINED, MOST_IMAGINED))
    made = imagined(x, number, random)
    if n_classes:
        of_made = _spread(forest.predict_proba(made), forest, n_classes)
    else:
        of_made = forest.predict(made)[:, None]
    most_used = np.argsort(-forest.feature_importances_, kind="stable")[:n_columns]
    return Lesson(
        x=np.concatenate([x, made]),
        told=np.concatenate([told, of_made]),
        weight=np.repeat([REAL * number / len(x), 1.0], [len(x), number]),
        columns=np.sort(most_used),
    )


def imagined(x: np.ndarray, number: int, random: np.random.RandomState) -> np.ndarray:
    """Rows (number, F), each a row of ``x`` (n, F) with a few columns of others."""
    n_rows, n_features = x.shape
    made = x[random.randint(n_rows, size=number)]
    swapped = random.random_sample(made.shape) < min(0.5, SWAPPED / n_features)
    row, column = np.nonzero(swapped)
    made[row, column] = x[random.randint(n_rows, size=len(row)), column]
    return made


def out_of_bag(forest, n_classes: int) -> np.ndarray:
    """What trees that did not draw a row say of it, (n, C); NaN where all drew it."""
    if not n_classes:
        return forest.oob_prediction_[:, None]
    return _spread(forest.oob_decision_function_, forest, n_classes)


def blended(y: np.ndarray, told: np.ndarray, trust: float, *, n_classes: int):
    """Labels (n,) drawn by ``trust`` towards what is told of them (n, C), (n, C).

    A row of which nothing is told (NaN) keeps its label.
    """
    target = np.eye(n_classes)[y] if n_classes else y[:, None].astype(np.float64)
    known = np.isfinite(told).all(1)
    target[known] += trust * (told[known] - target[known])
    return target


def _spread(share: np.ndarray, forest, n_classes: int) -> np.ndarray:
    """Shares (n, n_classes) of all classes, from those that the forest has met."""
    spread = np.zeros((len(share), n_classes))
    spread[:, forest.classes_] = share
    return spread
