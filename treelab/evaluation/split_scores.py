"""Scores of finished models on the training, validation and test rows."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from treelab.data.split import SPLITS, DataSplit
from treelab.evaluation import metrics
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.labels import labels
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree


def split_scores(
    model: Tree | WeightedTrees | PruningPath, task: str, split: DataSplit
) -> dict[str, dict[str, float]]:
    """Score a model on each part of a data split that has rows.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    task : {"binary", "multiclass", "regression"}
    split : DataSplit

    Returns
    -------
    dict of str to dict
        Scores as in ``metrics.scores``, by "train", "valid" and "test"; and of classes
        the log loss of the training rows' class frequencies, ``metrics.BASELINE``.
    """
    scores = {}
    for name in SPLITS:
        X, y = split.rows(name)
        if len(y) == 0:
            continue
        probabilities = {}
        if task != "regression":
            probabilities = {
                "proba": model.predict_proba(X),
                "classes": labels(model.classes or ()),
            }
        scores[name] = metrics.scores(task, y, model.predict(X), **probabilities)
        y_train = split.rows("train")[1]
        if task != "regression" and len(y_train):
            baseline = metrics.baseline_loss(task, y_train, y)
            scores[name][metrics.BASELINE] = baseline
    return scores


def headline_scores(
    trees: Iterable[Tree], task: str, X: pd.DataFrame, y
) -> list[float]:
    """Return the headline score of each of some trees on the same rows.

    Parameters
    ----------
    trees : iterable of Tree
    task : {"binary", "multiclass", "regression"}
    X : DataFrame of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,)
        Labels, or values in the target's unit.
    """
    if task == "regression":
        return [metrics.scores(task, y, tree.predict(X))["r2"] for tree in trees]
    # Labels become codes once, not for every tree: sorting text takes longest.
    truth, known = pd.factorize(pd.Series(np.asarray(y)))
    code = {label: number for number, label in enumerate(known.tolist())}
    found = []
    for tree in trees:
        classes = tree.classes or ()
        of_class = np.array([code.setdefault(each, len(code)) for each in classes])
        predicted = of_class[tree.predicted_class[tree.apply(X)]]
        confusion = metrics.confusion_matrix(truth, predicted, len(code))
        found.append(float(metrics.macro_f1(confusion)))
    return found
