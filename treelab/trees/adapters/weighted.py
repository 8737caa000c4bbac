"""Trees of another program as WeightedTrees, which a run can store."""

from typing import TYPE_CHECKING

import numpy as np

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

if TYPE_CHECKING:
    from treelab.trees.adapters.forest import Forest

MOST_VALUES = 2**22  # at the leaves of all trees: 32 MB


def weighted_trees(forest: "Forest") -> WeightedTrees:
    """Return an ensemble that predicts as a forest does, its trees weighted equally.

    Leaves of a forest that predicts by its mean hold probabilities, or a value of the
    target. Boosted trees are added up, and an ensemble's prediction is a mean: a leaf
    then holds what it adds times the number of trees, on top of what the sum starts
    from. Predictions agree up to rounding, as an ensemble adds up in float64.

    Parameters
    ----------
    forest : Forest

    Returns
    -------
    WeightedTrees

    Raises
    ------
    ValueError
        If no mean of leaves gives the forest's prediction, or its trees are too deep
        to be stored as complete ones.
    """
    _check_link(forest)
    n_trees, depth = len(forest), max(tree.depth for tree in forest)
    probabilities = forest.classes is not None and not forest.is_sum
    n_leaves = 2**depth
    n_outputs = len(forest.classes or ()) if probabilities else len(forest.base)
    if n_trees * n_leaves * n_outputs > MOST_VALUES:
        deepest = (MOST_VALUES // (n_trees * n_outputs)).bit_length() - 1
        raise ValueError(
            f"{n_trees:,} trees of depth {depth} are too large to be stored as "
            f"complete trees. Train fewer trees, or trees of depth {max(1, deepest)} "
            "at most (max_depth)."
        )
    # Below a leaf all rows go left, by a column that the forest tests anyway.
    tested = max((int(tree.feature.max()) for tree in forest), default=0)
    feature = np.full((n_trees, n_leaves - 1), max(tested, 0), dtype=np.int32)
    threshold = np.full((n_trees, n_leaves - 1), np.inf)
    missing_left = np.ones((n_trees, n_leaves - 1), dtype=bool)
    leaf_value = np.empty((n_trees, n_leaves, n_outputs))
    leaf_value[:] = 0.0 if probabilities else forest.base
    outputs = forest.output or (0,) * n_trees
    for e, (tree, k) in enumerate(zip(forest, outputs)):
        split, place = ~tree.is_leaf, _places(tree)
        feature[e, place[split]] = tree.feature[split]
        threshold[e, place[split]] = tree.threshold[split]
        missing_left[e, place[split]] = tree.missing_left[split]
        for leaf in np.flatnonzero(tree.is_leaf):
            below = 2 ** (depth - tree.level[leaf])
            first = (place[leaf] + 1) * below - n_leaves
            here = leaf_value[e, first : first + below]
            if probabilities:
                here[:] = tree.value[leaf]
            else:
                here[:, k] += tree.value[leaf, 0] * (n_trees if forest.is_sum else 1)
    how = (
        "are added up; each is drawn as if all others predicted the same"
        if forest.is_sum
        else "predict by their mean"
    )
    return WeightedTrees(
        forest.features,
        feature,
        threshold,
        missing_left,
        leaf_value,
        np.zeros((n_trees, n_leaves)),
        classes=forest.classes,
        target=forest.target,
        notes=(f"The {n_trees:,} trees of this model {how}.", *forest.notes),
        leaf_output="probabilities" if probabilities else "logits",
    )


def _check_link(forest: "Forest") -> None:
    """Raise ValueError where no mean over the trees gives the prediction."""
    if forest.classes is None and forest.link != "identity":
        raise ValueError(
            "This model predicts a logistic or an exponential function of the sum of "
            "its trees, and a run's ensemble predicts the sum itself. Train it with "
            "objective='reg:squarederror', or with one tree."
        )


def _places(tree: Tree) -> np.ndarray:
    """Return each node's place in a complete tree, breadth first, int64 (n_nodes,)."""
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in np.argsort(tree.level, kind="stable"):
        if not tree.is_leaf[node]:
            place[tree.left[node]] = 2 * place[node] + 1
            place[tree.right[node]] = 2 * place[node] + 2
    return place
