"""A tree whose weighted sums lack their small terms."""

from dataclasses import replace

import numpy as np

from treelab.trees.text.sums import term_fractions
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE


def without_small_terms(tree: Tree, fraction: float) -> Tree:
    """Drop the terms of each weighted sum that matter less than a fraction of it.

    A term counts by ``term_fractions``. What is dropped counts as
    the number that stands for a missing value, so that the split stays where it was
    for a row of usual values; the largest term always stays.

    Parameters
    ----------
    tree : Tree
        A tree without weighted sums comes back as it is.
    fraction : float
        In [0, 1].

    Raises
    ------
    ValueError
        If ``fraction`` is not in [0, 1].
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be in [0, 1], got {fraction!r}.")
    if tree.weights is None:
        return tree
    fill = np.nan_to_num([feature.fill for feature in tree.features])
    own = term_fractions(tree.features, tree.weights)
    is_largest = np.arange(own.shape[1]) == own.argmax(axis=1)[:, None]
    small = (own < fraction) & ~is_largest
    small &= (tree.feature == OBLIQUE)[:, None]
    dropped = np.where(small, tree.weights, 0.0)
    return replace(
        tree,
        weights=tree.weights - dropped,
        threshold=tree.threshold - dropped @ fill,
    )


def terms_per_split(tree: Tree) -> float:
    """Return the mean number of terms in the weighted sums; NaN without any."""
    oblique = (tree.feature == OBLIQUE) & ~tree.is_leaf
    if tree.weights is None or not oblique.any():
        return float("nan")
    return float((tree.weights[oblique] != 0).sum(1).mean())
