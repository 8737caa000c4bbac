"""What each column changes in an ensemble's prediction for one row, over all trees.

Each tree's changes along the row's path (Saabas, "Interpreting random forests", 2014)
count by the weight that the tree has on this row.
"""

import numpy as np

from treelab.evaluation.explanations.contributions import Contributions, ranked
from treelab.trees.ensemble import WeightedTrees


def ensemble_contributions(model: WeightedTrees, row, output: int = 0) -> Contributions:
    """Return what each column changes on the row's paths through all trees.

    Parameters
    ----------
    model : WeightedTrees
        With rows.
    row : DataFrame or array of one row
    output : int, default=0
        Which class, in the order of ``classes``; 0 for regression.

    Returns
    -------
    Contributions
        Of ``decision_value``. The base is what the trees, weighted as on this row,
        predict on average.
    """
    weight, leaf = model.estimator_weights(row)[0], model.leaves(row)[0]
    means = _node_means(model, output)
    trees = np.arange(model.n_estimators)
    node = np.zeros(len(trees), dtype=int)
    moved = np.zeros(len(model.features))
    for level in range(model.depth):
        feature = model.feature[trees, node]
        below = 2 ** (level + 1) - 1 + (leaf >> (model.depth - level - 1))
        change = weight * (means[trees, below] - means[trees, node])
        np.add.at(moved, feature, change)
        node = below
    changes: dict[str, float] = {}
    for own, change in zip(model.features, moved.tolist()):
        changes[own.column] = changes.get(own.column, 0.0) + change
    return ranked(float(weight @ means[:, 0]), changes)


def decision_value(model: WeightedTrees, raw: np.ndarray, output: int) -> np.ndarray:
    """Return one number (...,) of raw outputs (..., n_outputs): what is explained.

    A value of the target, a class's probability where leaves hold these, and else its
    log-odds: against the other class, or against the mean of all of them.
    """
    if model.classes is None or model.leaf_output == "probabilities":
        return raw[..., output]
    if raw.shape[-1] == 1:
        return raw[..., 0] if output else -raw[..., 0]
    if raw.shape[-1] == 2:
        return raw[..., output] - raw[..., 1 - output]
    return raw[..., output] - raw.mean(axis=-1)


def _node_means(model: WeightedTrees, output: int) -> np.ndarray:
    """Mean decision value of the rows at each node, (n_trees, n_nodes)."""
    value = decision_value(model, model.leaf_value, output)
    rows = np.ones_like(value)
    if model.n_rows is not None:  # a leaf without any counts as next to none
        rows = np.maximum(model.n_rows[:, -model.n_leaves :], 1e-9)
    levels, total = [value], value * rows
    while total.shape[1] > 1:
        total = total[:, 0::2] + total[:, 1::2]
        rows = rows[:, 0::2] + rows[:, 1::2]
        levels.append(total / rows)
    return np.concatenate(levels[::-1], axis=1)
