"""A prediction in words: what decided it, and rows that are worth a look."""

import numpy as np
import pandas as pd

from treelab.evaluation.ensembles.deciders import weight_that_agrees
from treelab.evaluation.explanations.rows import (
    least_sure,
    typical_rows,
    worst_errors,
)
from treelab.evaluation.leaf_scores import score_leaf
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.labels import plain_label
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.shown_tree import ON_TOP, Model, shown_tree
from treelab.trees.text.nodes import path_sentences
from treelab.trees.text.numerals import counted, percent, probability, significant
from treelab.trees.text.rules import rule_text
from treelab.trees.tree import Tree

MOST_TREES = 5  # whose weight is named
MOST_OF_IT = 0.9  # of the weight


def chosen_rows(model: Model, X: pd.DataFrame, y) -> dict[str, int]:
    """Choose rows that tell much about a model, by what they are.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    X : DataFrame of shape (n_rows, n_columns)
        At least one row.
    y : array-like of shape (n_rows,)

    Returns
    -------
    dict of str to int
        Places of the rows, from 0: the one it is least sure of, a typical one that is
        predicted well, and its worst error, as the Explain page ranks them.
    """
    y, predicted = np.asarray(y), model.predict(X)
    if model.classes is None:
        error = np.abs(predicted - y.astype(float))
        proba, well = None, error <= np.median(error)
        typical = "A typical row, its error below the median"
    else:
        proba, well = model.predict_proba(X), predicted == y
        typical = "A typical row, predicted correctly"
    found = {
        "The least sure prediction": least_sure(model, X, proba),
        typical: typical_rows(X, well),
        "The worst error": worst_errors(y, predicted, proba, model.classes),
    }
    return {title: int(places[0]) for title, places in found.items() if len(places)}


def prediction_words(model: Model, row: pd.DataFrame) -> str:
    """Write the prediction for one row, with its probability or unit."""
    words = value_words(model, model.predict(row)[0])
    if model.classes is None:
        return words
    proba = model.predict_proba(row)[0]
    best = int(proba.argmax())
    chosen = model.classes.index(plain_label(model.predict(row)[0]))
    sure = probability(float(proba[chosen]))
    if proba[best] > proba[chosen]:
        sure += f"; {model.classes[best]} {probability(float(proba[best]))}"
    return f"{words}, {sure}"


def value_words(model: Model, value) -> str:
    """Write a label, or a value with its unit."""
    if model.classes is not None:
        return str(value)
    return f"{significant(float(value))} {model.target_unit}".rstrip()


def decision_words(model: Model, row: pd.DataFrame, X: pd.DataFrame, y) -> list[str]:
    """Write what decided the prediction for one row, a sentence an item.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    row : DataFrame of one row
    X : DataFrame of shape (n_rows, n_columns)
        Test rows, on which the row's leaf is scored.
    y : array-like of shape (n_rows,)

    Returns
    -------
    list of str
        Of a tree the decision path; of an ensemble the weights of the heaviest trees
        and the rule of the first. Then how good that leaf is on the test rows.
    """
    if isinstance(model, WeightedTrees):
        return _ensemble(model, row, X, np.asarray(y))
    return _single_tree(model, row, X, np.asarray(y))


def _single_tree(model: Tree | PruningPath, row, X, y) -> list[str]:
    """Write the decision path, and how good its leaf is on test rows."""
    tree = shown_tree(model)
    steps = path_sentences(tree, row, most=3)
    predicted = None
    if isinstance(model, PruningPath) and model.has_predictor:
        predicted = model.predict(X)
        steps[-1] = ON_TOP
    return [*steps, _leaf_words(tree, row, X, y, predicted)]


def _ensemble(model: WeightedTrees, row, X, y) -> list[str]:
    """Write the weights of the heaviest trees, and the rule of the first."""
    index, weight = model.top_estimators(row, min(MOST_TREES, model.n_estimators))
    heaviest = int(index[0, 0])
    n_most = int(model.n_estimators_for_share(row, MOST_OF_IT)[0])
    tree = shown_tree(model, estimator=heaviest)
    weights = ", ".join(
        f"tree {estimator} {percent(share)}"
        for estimator, share in zip(index[0], weight[0])
    )
    lines = [
        f"Weights: {weights}; {counted(n_most, 'tree')} of {model.n_estimators:,} have "
        f"{MOST_OF_IT:.0%}.",
        f"Tree {heaviest}: {rule_text(tree, tree.path(row)[-1])}, so "
        f"{value_words(model, tree.predict(row)[0])}.",
        _leaf_words(tree, row, X, y),
    ]
    if model.classes is not None:
        agrees = percent(weight_that_agrees(model, row))
        lines.append(f"Trees with {agrees} of the weight predict the same class.")
    return lines


def _leaf_words(tree, row, X, y, predicted=None) -> str:
    """Write how many test rows reach the row's leaf, and how good predictions are."""
    score = score_leaf(tree, tree.path(row)[-1], X, y, predicted)
    words = f"This leaf: {score.n_rows:,} of {counted(score.n_total, 'test row')}"
    if score.accuracy is not None:
        return f"{words}, accuracy {percent(score.accuracy)}."
    if score.mean_absolute_error is None:  # no test row reaches it
        return f"{words}."
    error = value_words(tree, score.mean_absolute_error)
    return f"{words}, mean absolute error {error}."
