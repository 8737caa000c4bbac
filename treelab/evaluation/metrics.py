"""Scores of predictions, the same names and the same formulas everywhere."""

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
}


def headline(task: str) -> str:
    """Name the one score by which models of a task are compared."""
    return "r2" if task == "regression" else "macro_f1"


def scores(task, y_true, y_pred, proba=None, classes=None) -> dict[str, float]:
    """Score predictions against the truth.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    y_true, y_pred : array-like of shape (n_rows,)
        Labels, or values in the units of the target; at least one row.
    proba : ndarray of shape (n_rows, n_classes), optional
        Class probabilities in the order of ``classes``; adds the log loss.
    classes : sequence of length n_classes, optional
        Needed with ``proba``.

    Returns
    -------
    dict of str to float
        ``accuracy``, ``balanced_accuracy``, ``macro_f1`` (and ``log_loss``), or
        ``r2`` (a fraction; NaN for a single row), ``rmse`` and ``mae`` in the
        units of the target. And ``n_rows``.
    """
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    if len(y_true) == 0:
        raise ValueError("There is no row to score; give at least one.")
    if task == "regression":
        found = {
            "r2": r2_score(y_true, y_pred) if len(y_true) > 1 else np.nan,
            "rmse": root_mean_squared_error(y_true, y_pred),
            "mae": mean_absolute_error(y_true, y_pred),
        }
    else:
        found = {
            "accuracy": accuracy_score(y_true, y_pred),
            "balanced_accuracy": _balanced_accuracy(y_true, y_pred),
            "macro_f1": f1_score(y_true, y_pred, average="macro", zero_division=0),
        }
        if proba is not None:
            found["log_loss"] = _log_loss(y_true, proba, classes)
    return {**{name: float(value) for name, value in found.items()}} | {
        "n_rows": len(y_true)
    }


def _balanced_accuracy(y_true, y_pred) -> float:
    """Mean recall over the classes that occur in the truth, without a warning."""
    present = np.isin(y_pred, np.unique(y_true))
    if present.all():
        return balanced_accuracy_score(y_true, y_pred)
    recalls = [np.mean(y_pred[y_true == label] == label) for label in np.unique(y_true)]
    return float(np.mean(recalls))


def _log_loss(y_true, proba, classes) -> float:
    """Mean negative log probability of the true class; a class never seen counts 0."""
    if classes is None:
        raise ValueError("scores needs classes, in the order of proba's columns.")
    if np.isin(y_true, classes).all():
        order = np.argsort(np.asarray(classes))
        return log_loss(
            y_true, np.asarray(proba)[:, order], labels=np.asarray(classes)[order]
        )
    column = {label: index for index, label in enumerate(classes)}
    chance = [
        row[column[label]] if label in column else 0.0
        for row, label in zip(proba, y_true)
    ]
    return float(-np.mean(np.log(np.clip(chance, np.finfo(float).eps, 1))))


def guessing_loss(task: str, y_train, y) -> float:
    """Loss of answering every row of ``y`` alike, with what the training rows say.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    y_train, y : array-like of shape (n_rows,)
        At least one row each.

    Returns
    -------
    float
        Cross-entropy with the training rows' class shares, in nats; for regression
        the squared error of their mean, in variances of the training rows.
    """
    y_train, y = np.asarray(y_train), np.asarray(y)
    if task == "regression":
        variance = np.var(y_train)
        return float(np.mean((y - y_train.mean()) ** 2) / variance) if variance else 1.0
    classes, counts = np.unique(y_train, return_counts=True)
    shares = dict(zip(classes.tolist(), counts / len(y_train)))
    least = np.finfo(float).eps
    return float(-np.mean([np.log(shares.get(label, least)) for label in y.tolist()]))


def dendrogram_purity(parent, leaf, y) -> float:
    """Score a hierarchy of clusters against labels that it never saw.

    For two rows of one class, drawn at random, the share of that class among all rows
    under the lowest node that holds both: 1 where every class is a subtree by itself.

    Source: Heller and Ghahramani, "Bayesian hierarchical clustering", ICML 2005.

    Parameters
    ----------
    parent : int array of shape (n_nodes,)
        Node above each node; -1 at the root. ``Tree.parent`` is one.
    leaf : int array of shape (n_rows,)
        Node at which each row ends, as ``Tree.apply`` says.
    y : array of shape (n_rows,)
        Labels.

    Returns
    -------
    float
        In [0, 1]; NaN where no class has two rows.
    """
    parent, leaf = np.asarray(parent), np.asarray(leaf)
    classes, code = np.unique(np.asarray(y), return_inverse=True)
    rows = np.zeros((len(parent), len(classes)))  # of each class that pass each node
    node = leaf.copy()
    while len(node):
        np.add.at(rows, (node, code), 1)
        node = parent[node]
        node, code = node[node >= 0], code[node >= 0]
    pairs = rows * (rows - 1) / 2
    met = pairs.copy()  # pairs that meet here: not in one child already
    below = np.flatnonzero(parent >= 0)
    np.subtract.at(met, parent[below], pairs[below])
    if met.sum() == 0:
        return float("nan")
    share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    return float((met * share).sum() / met.sum())
