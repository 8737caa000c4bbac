"""Trees of another program as WeightedTrees, which can be kept as a run."""

import numpy as np

from treelab.trees.ensemble import WeightedTrees

MOST_VALUES = 2**22  # at the leaves of all trees: 32 MB


def weighted_trees(forest) -> WeightedTrees:
    """Return an ensemble that answers as a forest does, each tree with the same say.

    Trees of a forest that answers by its mean hold what they say: probabilities, or a
    value of the target. Boosted trees are added up, and an ensemble's answer is a mean:
    a leaf then holds what it adds times the number of trees, on top of what the sum
    starts from. Answers agree up to rounding, as an ensemble adds up in float64.

    Parameters
    ----------
    forest : Forest

    Returns
    -------
    WeightedTrees

    Raises
    ------
    ValueError
        If no mean of leaves gives the forest's answer, or its trees are too deep to be
        kept as complete ones.
    """
    _check_link(forest)
    n_trees, depth = len(forest), max(tree.depth for tree in forest)
    shares = forest.classes is not None and not forest.added
    n_leaves = 2**depth
    n_outputs = len(forest.classes) if shares else len(forest.base)
    if n_trees * n_leaves * n_outputs > MOST_VALUES:
        deepest = (MOST_VALUES // (n_trees * n_outputs)).bit_length() - 1
        raise ValueError(
            f"{n_trees:,} trees of depth {depth} are too large to be kept as complete "
            f"trees. Train fewer trees, or trees of depth {max(1, deepest)} at most "
            "(max_depth)."
        )
    # Below a leaf all rows go left, by a column that the forest reads anyway.
    tested = max((int(tree.feature.max()) for tree in forest), default=0)
    feature = np.full((n_trees, n_leaves - 1), max(tested, 0), dtype=np.int32)
    threshold = np.full((n_trees, n_leaves - 1), np.inf)
    missing_left = np.ones((n_trees, n_leaves - 1), dtype=bool)
    leaf_value = np.empty((n_trees, n_leaves, n_outputs))
    leaf_value[:] = 0.0 if shares else forest.base
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
            if shares:
                here[:] = tree.value[leaf]
            else:
                here[:, k] += tree.value[leaf, 0] * (n_trees if forest.added else 1)
    how = (
        "are added up; each is drawn as if all others answered like it"
        if forest.added
        else "answer by their mean"
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
        notes=(f"The {n_trees:,} trees of this model {how}.",),
        leaf_output="probabilities" if shares else "logits",
    )


def _check_link(forest) -> None:
    """Raise ValueError where the answer is no function of a mean over the trees."""
    if forest.classes is None and forest.link != "identity":
        raise ValueError(
            "This model bends the sum of its trees (a logistic or an exponential "
            "function of a number), and a run's ensemble does not. Train it with "
            "objective='reg:squarederror', or with one tree."
        )


def _places(tree) -> np.ndarray:
    """Return each node's place in a complete tree, breadth first, int64 (n_nodes,)."""
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in np.argsort(tree.level, kind="stable"):
        if not tree.is_leaf[node]:
            place[tree.left[node]] = 2 * place[node] + 1
            place[tree.right[node]] = 2 * place[node] + 2
    return place
