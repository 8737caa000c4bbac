"""Sentences below the picture of a tree, made from its rows."""

import numpy as np

from treelab.figures.viewer_nodes import NAME_LENGTH
from treelab.figures.words import count
from treelab.trees.feature import feature_matrix
from treelab.trees.numerals import with_unit
from treelab.trees.sums import rounded, term_name

FILLS = 6  # columns whose missing values are spoken of


def fills_note(trees, X) -> str | None:
    """Say as what a missing value counts in the sums of some trees.

    Parameters
    ----------
    trees : sequence of Tree
        All with the same features.
    X : DataFrame or None
        The rows that are shown; only what one of them misses is worth a word.

    Returns
    -------
    str or None
        "In a sum, a missing value counts as: age 38; bmi 24.1." None where no row
        misses what a sum reads.
    """
    features = trees[0].features
    if X is None or all(tree.weights is None for tree in trees):
        return None
    read_by = [
        (tree.weights != 0).any(axis=0) for tree in trees if tree.weights is not None
    ]
    used = np.flatnonzero(np.any(read_by, axis=0))
    matrix = feature_matrix(features, X, used)
    missed = [j for j in used if np.isnan(matrix[:, j]).any()]
    said = [
        f"{term_name(f, NAME_LENGTH)} {with_unit(rounded(f.fill), f.unit)}"
        for f in (features[j] for j in missed)
    ]
    said = list(dict.fromkeys(said))  # features of one column may be called alike
    words = said[:FILLS]
    if len(said) > FILLS:
        words.append(count(len(said) - FILLS, "more column"))
    return f"In a sum, a missing value counts as: {'; '.join(words)}." if said else None
