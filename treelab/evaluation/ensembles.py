"""What each estimator of an ensemble adds to a prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from treelab.evaluation.metrics import headline_score
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text import rule_text

# What single trees of an ensemble predict.


def estimator_predictions(
    ensemble: WeightedTrees, row: pd.DataFrame, estimators
) -> np.ndarray:
    """Return the class that each of k trees predicts by itself for one row, (k,).

    ``estimators`` are the numbers of the trees, of an ensemble of classes.
    """
    estimators = np.asarray(estimators)
    leaf = ensemble.leaves(row)[0, estimators]
    value = ensemble.leaf_value[estimators, leaf]  # (k, n_outputs)
    return _predicted(ensemble, value)


# The weights of an ensemble's trees, averaged over rows.


_BLOCK = 2_000  # rows at once; the weights of all rows and trees are large
_EQUAL = 1e-9  # weights that differ by no more are one


def mean_estimator_weights(
    ensemble: WeightedTrees, X: pd.DataFrame, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return each tree's mean weight over some rows, (n_estimators,); zero without any.

    A tree's weight on one row is its share of the prediction, in [0, 1]; the weights
    of a row add up to 1. Each row counts by ``weight`` (n_rows,); None: all alike.
    """
    each = np.ones(len(X)) if weight is None else weight
    total = np.zeros(ensemble.n_estimators)
    for start in range(0, len(X), _BLOCK):
        rows = slice(start, start + _BLOCK)
        # No matrix product: it rounds equal trees apart, and the first is no longer it.
        own = each[rows, None] * ensemble.estimator_weights(X.iloc[rows])
        total += own.sum(axis=0)
    return total / (each.sum() or 1)


def heaviest_estimators(
    ensemble: WeightedTrees,
    X: pd.DataFrame,
    most: int,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the trees of highest mean weight over some rows, and these weights.

    Both (k,), the heaviest first, and of equal ones the first; weights are in [0, 1].
    """
    mean = mean_estimator_weights(ensemble, X, weight)
    index = np.argsort(-mean, kind="stable")[:most]
    return index, mean[index]


def are_equal(weight: np.ndarray) -> bool:
    """Whether trees of these mean weights all count alike."""
    return bool(np.ptp(weight) <= _EQUAL)


# How few trees of an ensemble decide: the heaviest alone, and rows that one decides.
#
# Source: Marton et al., "GRANDE", ICLR 2024, arXiv:2309.17130, section 4.3 (case
# study).


COUNTS = (1, 2, 3, 5, 10, 20, 50)


@dataclass(frozen=True, eq=False)
class DecidedRows:
    """Rows of which one leaf of one tree has most of the prediction."""

    estimator: int  # number of the tree
    rule: str  # the leaf's path, in words
    # Label, or value in the target's unit, that the leaf alone predicts.
    prediction: object
    rows: np.ndarray  # places of the rows, from 0, ascending
    weight: float  # mean weight of the tree on these rows, in [0, 1]
    # Rows whose class the leaf predicts, and their fraction by weight; None for
    # regression.
    n_right: int | None = None
    accuracy: float | None = None
    # Of the leaf's value, in the target's unit; None for classes.
    mean_absolute_error: float | None = None


def counts_to_try(ensemble: WeightedTrees) -> tuple[int, ...]:
    """Return 1, 2, 3, 5, 10, 20, 50, as far as so many may decide, and all of these."""
    most = ensemble.n_deciding
    return (*(count for count in COUNTS if count < most), most)


def predictions_of_heaviest(
    ensemble: WeightedTrees, X: pd.DataFrame, counts: Sequence[int]
) -> dict[int, np.ndarray]:
    """Predict with each row's heaviest trees alone, their weights scaled up to 1.

    Labels or values (n_rows,) by how many trees decide: each count from 1 to all, else
    ValueError. With all that may decide they are ``ensemble.predict(X)``.
    """
    n_estimators = ensemble.n_estimators
    if bad := [count for count in counts if not 1 <= count <= n_estimators]:
        raise ValueError(
            f"counts must be from 1 to {n_estimators} (the trees), got {bad[0]!r}."
        )
    fewer = [count for count in counts if count < ensemble.n_deciding]
    found: dict[int, list[np.ndarray]] = {count: [] for count in counts}
    for first in range(0, len(X) if fewer else 0, _BLOCK):
        block = X.iloc[first : first + _BLOCK]
        index, weight = ensemble.top_estimators(block, max(fewer))
        leaf = np.take_along_axis(ensemble.leaves(block), index, axis=1)
        value = ensemble.leaf_value[index, leaf]  # (rows, k, n_outputs)
        total = np.cumsum(weight[..., None] * value, axis=1)
        held = np.cumsum(weight, axis=1)
        for count in fewer:
            mean = total[:, count - 1] / held[:, count - 1, None]
            found[count].append(_predicted(ensemble, mean))
    everyone = ensemble.predict(X) if not all(found.values()) else np.empty(0)
    return {
        count: np.concatenate(parts) if parts else everyone
        for count, parts in found.items()
    }


def scores_of_heaviest(
    ensemble: WeightedTrees,
    X: pd.DataFrame,
    y,
    counts: Sequence[int],
    row_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return the headline scores (n_counts,) of what each row's heaviest trees predict.

    Macro F1, or R², or D² of the ensemble's loss.
    """
    task, loss = ensemble.task, ensemble.loss
    predicted = predictions_of_heaviest(ensemble, X, counts)
    return np.array(
        [headline_score(task, y, predicted[n], row_weight, loss) for n in counts]
    )


def rows_decided_by_one(
    ensemble: WeightedTrees, X: pd.DataFrame, y, row_weight=None, *, share: float = 0.5
) -> list[DecidedRows]:
    """List the simple rules inside an ensemble: leaves that decide rows by themselves.

    Most rows first. A row's heaviest tree must have more than ``share`` of the weight,
    which is in [0, 1), else ValueError; rows count in means by ``row_weight``.
    """
    if not 0 <= share < 1:
        raise ValueError(f"share must be at least 0 and below 1, got {share!r}.")
    heaviest, weight = (found[:, 0] for found in ensemble.top_estimators(X))
    truth, found = np.asarray(y), []
    for estimator in np.unique(heaviest[weight > share]).tolist():
        rows = np.flatnonzero((heaviest == estimator) & (weight > share))
        tree = ensemble.estimator(estimator)
        leaf = tree.apply(X.iloc[rows])
        for node in np.unique(leaf).tolist():
            own = rows[leaf == node]
            predicted = tree.predict(X.iloc[own])
            each = None if row_weight is None else row_weight[own]
            mean_weight = float(np.average(weight[own], weights=each))
            measured = _measured(ensemble, predicted, truth[own], each)
            words, first = rule_text(tree, node), predicted[0]
            about = estimator, words, first, own, mean_weight
            found.append(DecidedRows(*about, **measured))
    return sorted(found, key=lambda decided: -len(decided.rows))


def weight_that_agrees(ensemble: WeightedTrees, row: pd.DataFrame) -> float:
    """Return the weight of the trees that alone predict the class of an ensemble."""
    leaf = ensemble.leaves(row)[0]
    value = ensemble.leaf_value[np.arange(ensemble.n_estimators), leaf]
    agrees = _predicted(ensemble, value) == ensemble.predict(row)[0]
    return float(ensemble.estimator_weights(row)[0] @ agrees)


def _predicted(ensemble: WeightedTrees, value: np.ndarray) -> np.ndarray:
    """Labels or values (n,) of raw outputs (n, n_outputs)."""
    if ensemble.classes is None:
        return value[:, 0]
    return ensemble.predicted_labels(ensemble.class_probabilities(value))


def _measured(ensemble, predicted, truth, weight) -> dict[str, Any]:
    """Rows that are right and their fraction by weight, or the mean absolute error."""
    if ensemble.classes is not None:
        right = predicted == truth
        accuracy = float(np.average(right, weights=weight))
        return {"n_right": int(right.sum()), "accuracy": accuracy}
    error = np.abs(predicted - truth.astype(float))
    return {"mean_absolute_error": float(np.average(error, weights=weight))}
