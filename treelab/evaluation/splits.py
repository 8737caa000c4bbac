"""What one split does, and what the terms of its sum add."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.split import SPLITS, DataSplit
from treelab.evaluation import metrics
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.losses import Loss
from treelab.trees.pruning_path import PruningPath
from treelab.trees.text import score_numbers, term_fractions, term_name
from treelab.trees.tree import (
    OBLIQUE,
    Tree,
    filled,
    knows_interval,
    labels,
    predicts_several,
    read_features,
    rows_at,
)

# The columns that a split adds up: their weights, and how much each matters.


@dataclass(frozen=True)
class SplitTerms:
    """The weighted sum that a split compares with its threshold."""

    columns: list[str]
    weights: np.ndarray  # float64 (k,): in raw units
    fractions: np.ndarray  # float64 (k,): of the sum's spread; see ``term_fractions``
    # float64 (n_rows, k): of the rows that reach the split, missing ones filled.
    values: np.ndarray

    @property
    def sums(self) -> np.ndarray:
        """Weighted sum of each row, (n_rows,)."""
        return (self.values * self.weights).sum(axis=1)

    def table(self) -> pd.DataFrame:
        """Return column, weight and fraction, the largest fraction first."""
        table = pd.DataFrame(
            {"column": self.columns, "weight": self.weights, "fraction": self.fractions}
        )
        return table.sort_values(
            "fraction", ascending=False, kind="stable", ignore_index=True
        )


def split_terms(tree: Tree, node: int, X: pd.DataFrame) -> SplitTerms:
    """Return what a split of a weighted sum adds up for those rows that reach it.

    ValueError if the node adds up no columns, or the tree has no such node.
    """
    tree.check_node(node)
    if tree.feature[node] != OBLIQUE or tree.weights is None:
        raise ValueError(f"Node {node} is no split of a weighted sum.")
    used = np.flatnonzero(tree.weights[node])
    matrix = read_features(tree, X)
    rows = rows_at(tree, matrix, node)
    values = np.empty((len(rows), len(used)))
    for k, j in enumerate(used.tolist()):
        values[:, k] = filled(tree.features, matrix, j, rows)
    numbers = score_numbers(tree.features)
    return SplitTerms(
        [term_name(tree.features[j], number=numbers[j]) for j in used],
        tree.weights[node, used],
        term_fractions(tree.features, tree.weights[node])[used],
        values,
    )


# Scores of finished models on the training, validation and test rows.


def split_scores(
    model: Tree | WeightedTrees | PruningPath, task: str, split: DataSplit
) -> dict[str, dict[str, float]]:
    """Score a model on each part of a data split that has rows.

    By "train", "valid" and "test", scores as in ``metrics.scores``. Of a mean rate also
    ``predicted_total`` and ``total``, the amounts of all rows. Of another loss than the
    squared error its ``d2``, see ``Loss.score``; of one with an interval its
    ``coverage``; of several outputs the scores of each by its name, as ``outputs``; and
    of classes the log loss of the training rows' class frequencies,
    ``metrics.BASELINE``.
    """
    scores: dict[str, dict[str, Any]] = {}
    # Medians and other quantiles do not add up to a total.
    has_total = split.is_rate and (model.loss is None or model.loss.has_means)
    for name in SPLITS:
        X, y, weight = split.rows(name)
        if len(y) == 0:
            continue
        own: dict[str, Any] = {"sample_weight": weight}
        if task != "regression":
            own |= {"proba": model.predict_proba(X)}
            own |= {"classes": labels(model.classes or ())}
        predicted = model.predict(X)
        scores[name] = metrics.scores(task, y, predicted, loss=model.loss, **own)
        if has_total and weight is not None:
            scores[name]["predicted_total"] = float(weight @ predicted)
            scores[name]["total"] = float(weight @ np.asarray(y))
        if knows_interval(model):
            scores[name]["coverage"] = metrics.coverage(
                y, model.predict_interval(X), weight
            )
        if predicts_several(model):
            each = metrics.output_scores(np.asarray(y), predicted, model.loss, weight)
            scores[name]["outputs"] = dict(zip(model.outputs, each))
        _, y_train, weight_train = split.rows("train")
        if task != "regression" and len(y_train):
            baseline = metrics.baseline_loss(task, y_train, y, weight_train, weight)
            scores[name][metrics.BASELINE] = baseline
    return scores


def headline_scores(
    trees: Iterable[Tree],
    task: str,
    X: pd.DataFrame,
    y,
    weight=None,
    *,
    loss: Loss | None = None,
) -> list[float]:
    """Return the headline score of each of some trees on the same rows.

    ``y`` (n_rows,) are labels, or values in the target's unit. The loss is what the
    trees were trained for; None: squared error, or classes.
    """
    each = (
        metrics.scores(task, y, tree.predict(X), sample_weight=weight, loss=loss)
        for tree in trees
    )
    return [found[metrics.headline(task, loss)] for found in each]
