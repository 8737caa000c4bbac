"""What matters overall: by impurity at the splits, and by shuffling columns.

Source: Breiman, "Random forests", Machine Learning 45, 2001, for the shuffling.
"""

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance

from treelab.evaluation.metrics import headline, scores
from treelab.trees.text.sums import term_fractions
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE

REPEATS = 5
MOST_ROWS = 1_000


class _AsEstimator:
    """A model as scikit-learn's functions take it; it is fitted already."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y=None):
        """Return self."""
        return self

    def predict(self, X) -> np.ndarray:
        """Return the model's predictions."""
        return self.model.predict(X)


def permutation_importances(
    model, X: pd.DataFrame, y, task: str, *, n_repeats: int = REPEATS, seed: int = 0
) -> pd.DataFrame:
    """Return how much the score falls when a column's values are shuffled.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    X : DataFrame of shape (n_rows, n_columns)
        Rows that did not train the model; of more than ``MOST_ROWS`` a sample is used.
    y : array-like of shape (n_rows,)
    task : {"binary", "multiclass", "regression"}
        Macro F1 of classes, or R² of numbers, is the score.
    n_repeats : int, default=5
        Shuffles of each column.
    seed : int, default=0

    Returns
    -------
    DataFrame
        column, importance and std (over the shuffles), the largest first. Columns
        that the model does not read have 0.
    """
    y = np.asarray(y)
    if len(X) > MOST_ROWS:
        rows = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
        X, y = X.iloc[rows], y[rows]
    used = [column for column in X.columns if str(column) in set(model.columns)]
    mean, std = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if used:
        others = X.drop(columns=used)
        found = permutation_importance(
            _AsEstimator(model),
            X[used],
            y,
            scoring=lambda own, rows, truth: _score(own, rows, truth, others, task),
            n_repeats=n_repeats,
            random_state=seed,
        )
        places = X.columns.isin(used)
        mean[places], std[places] = found.importances_mean, found.importances_std
    return _ranked(X.columns, mean, std)


def _score(model: _AsEstimator, rows, truth, others, task: str) -> float:
    """The headline score; ``others`` are columns that stay as they are."""
    predicted = model.predict(pd.concat([rows, others], axis=1))
    return scores(task, truth, predicted)[headline(task)]


def impurity_importances(tree: Tree) -> pd.DataFrame:
    """Return the fraction of the root's impurity that each column's splits remove.

    A weighted sum's gain is shared among its terms by ``term_fractions``.

    Parameters
    ----------
    tree : Tree
        With rows and impurities.

    Returns
    -------
    DataFrame
        column and importance, the largest first; columns that are tested alone. All
        together they are the fraction that the tree removes.
    """
    total = tree.n_rows * np.nan_to_num(tree.impurity)
    found: dict[str, float] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        gain = total[node] - total[tree.left[node]] - total[tree.right[node]]
        fractions = {int(tree.feature[node]): 1.0}
        if tree.feature[node] == OBLIQUE and tree.weights is not None:
            shares = term_fractions(tree.features, tree.weights[node])
            fractions = {j: shares[j] for j in np.flatnonzero(shares).tolist()}
        for j, fraction in fractions.items():
            column = tree.features[j].column
            found[column] = found.get(column, 0.0) + float(gain * fraction)
    importance = np.array(list(found.values())) / (total[0] if total[0] > 0 else 1.0)
    return _ranked(list(found), importance)


def _ranked(columns, importance, std=None) -> pd.DataFrame:
    """A row a column, the largest importance first."""
    table = pd.DataFrame({"column": list(map(str, columns)), "importance": importance})
    if std is not None:
        table["std"] = std
    return table.sort_values(
        "importance", ascending=False, kind="stable", ignore_index=True
    )
