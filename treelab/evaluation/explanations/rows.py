"""Rows worth a look: those a model is least sure of, its worst errors, typical ones."""

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.evaluation.counterfactuals.changes import robust_spreads
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree

_BLOCK = 2_000  # rows at once; values of all rows and trees are large


def least_sure(model, X: pd.DataFrame, proba: np.ndarray | None = None) -> np.ndarray:
    """Return the places of all rows, those the model is least sure of first.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    X : DataFrame of shape (n_rows, n_columns)
    proba : array of shape (n_rows, n_classes) or None, default=None
        The model's probabilities; for classification.

    Returns
    -------
    int array of shape (n_rows,)
        Classes: by the smallest margin between the two largest probabilities.
        Regression: by the largest standard deviation in the leaf, or, of an ensemble,
        of its trees' weighted predictions.
    """
    if proba is not None:
        two = np.sort(proba, axis=1)[:, -2:]
        return np.argsort(two[:, -1] - two[:, 0], kind="stable")
    if isinstance(model, WeightedTrees):
        spread = _disagreement(model, X)
    else:
        tree: Tree = model.tree if isinstance(model, PruningPath) else model
        spread = np.sqrt(np.nan_to_num(tree.impurity))[tree.apply(X)]
    return np.argsort(-spread, kind="stable")


def _disagreement(model: WeightedTrees, X: pd.DataFrame) -> np.ndarray:
    """Weighted standard deviation of the trees' predictions, (n_rows,)."""
    spreads = [np.empty(0)]
    for first in range(0, len(X), _BLOCK):
        rows = X.iloc[first : first + _BLOCK]
        weight, leaf = model.estimator_weights(rows), model.leaves(rows)
        value = model.leaf_value[np.arange(model.n_estimators), leaf, 0]
        mean = (weight * value).sum(1, keepdims=True)
        spreads.append(np.sqrt((weight * (value - mean) ** 2).sum(1)))
    return np.concatenate(spreads)


def worst_errors(y, predicted, proba=None, classes=None) -> np.ndarray:
    """Return the places of all rows, the largest loss first.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    predicted : array-like of shape (n_rows,)
    proba : array of shape (n_rows, n_classes) or None, default=None
        Classes: the loss is the log loss, a class that ``classes`` lacks having
        probability 0. Regression (None): the absolute error.
    classes : tuple or None, default=None
        In the order of the columns of ``proba``.
    """
    if proba is None:
        error = np.abs(np.asarray(y, float) - np.asarray(predicted, float))
        return np.argsort(-error, kind="stable")
    place = {label: k for k, label in enumerate(classes or ())}
    known = pd.Series(np.asarray(y)).map(place)
    code = known.fillna(0).to_numpy(int)
    chance = np.where(known.isna(), 0.0, proba[np.arange(len(code)), code])
    return np.argsort(chance, kind="stable")


def typical_rows(X: pd.DataFrame, candidates: np.ndarray) -> np.ndarray:
    """Return the places of the candidates, those nearest to their centre first.

    The centre has the median of each number column and the most frequent category of
    each other one. Distances add up over columns: robust standard deviations of a
    number, 1 for another category or where just one of the two is missing.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
    candidates : bool array of shape (n_rows,)
        Such as the rows of a class that are predicted correctly.
    """
    places = np.flatnonzero(candidates)
    own = X.iloc[places]
    distance = np.zeros(len(own))
    spreads = robust_spreads(X)
    for column in X.columns:
        cells = own[column]
        missing = cells.isna().to_numpy()
        if missing.mean() > 0.5 if len(own) else True:
            distance += ~missing
        elif column_kind(X[column]) == "number":
            values = cells.to_numpy(float)
            away = np.abs(values - np.nanmedian(values)) / spreads[column]
            distance += np.where(missing, 1.0, away)
        else:
            distance += missing | (cells != cells.mode().iloc[0]).to_numpy(bool)
    return places[np.argsort(distance, kind="stable")]


def rows_where(values: pd.Series, low=None, high=None, among=None) -> np.ndarray:
    """Return which rows pass a condition on one column, bool (n_rows,).

    Parameters
    ----------
    values : Series of shape (n_rows,)
    low, high : float or None, default=None
        Bounds of a number, both included; a missing value passes no bound.
    among : collection of str or None, default=None
        Categories, as text, that pass.
    """
    passes = np.ones(len(values), dtype=bool)
    if low is not None:
        passes &= (values >= low).to_numpy(bool, na_value=False)
    if high is not None:
        passes &= (values <= high).to_numpy(bool, na_value=False)
    if among is not None:
        known = values.notna() & values.astype(str).isin(list(among))
        passes &= known.to_numpy(bool)
    return passes
