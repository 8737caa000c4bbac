"""Sentences below the picture of a tree, made from its rows."""

import numpy as np

from treelab.figures.viewer.wording import NAME_LENGTH, brief_name
from treelab.trees.feature import feature_matrix
from treelab.trees.text.names import quoted, with_unit
from treelab.trees.text.numerals import counted, rounded
from treelab.trees.text.sums import has_scores

MOST_COLUMNS = 8  # that a sentence names
MOST_CATEGORIES = 12  # of a column, with their scores
CATEGORY_LENGTH = 30  # letters


def sum_notes(trees, X) -> list[str]:
    """Return what one must know to add up the sums of some trees by hand.

    Parameters
    ----------
    trees : sequence of Tree
        All with the same features.
    X : DataFrame or None
        The rows that are shown; of missing values, only what one of them misses is
        worth a word.

    Returns
    -------
    list of str
        "† counts by its category: sex Female 0.11, Male 0.31." and "In a sum, a missing
        value counts as: age 38; bmi 24.1." Empty where sums need neither.
    """
    features = trees[0].features
    read_by = [
        (tree.weights != 0).any(axis=0) for tree in trees if tree.weights is not None
    ]
    if not read_by:
        return []
    used = np.flatnonzero(np.any(read_by, axis=0))
    scored = [_scores(features[j]) for j in used if has_scores(features[j])]
    notes = [_listed("† counts by its category: ", scored)] if scored else []
    if X is not None:
        matrix = feature_matrix(features, X, used)
        missed = [features[j] for j in used if np.isnan(matrix[:, j]).any()]
        filled = [
            f"{brief_name(f, NAME_LENGTH)} {with_unit(rounded(f.fill), f.unit)}"
            for f in missed
        ]
        if filled:
            notes.append(_listed("In a sum, a missing value counts as: ", filled))
    return notes


def _scores(feature) -> str:
    """Write the scores of a column's categories, the lowest first."""
    order = np.argsort(feature.scores, kind="stable")
    shown = [
        f"{quoted(feature.categories[i], CATEGORY_LENGTH)} {rounded(feature.scores[i])}"
        for i in order[:MOST_CATEGORIES]
    ]
    if len(order) > MOST_CATEGORIES:
        shown.append(f"{len(order) - MOST_CATEGORIES} more")
    return f"{brief_name(feature, NAME_LENGTH)[:-1]} {', '.join(shown)}"


def _listed(start: str, words: list[str]) -> str:
    """Return a sentence that lists something of each column."""
    words = list(dict.fromkeys(words))  # features of one column may be called alike
    shown = words[:MOST_COLUMNS]
    if len(words) > MOST_COLUMNS:
        shown.append(counted(len(words) - MOST_COLUMNS, "more column"))
    return f"{start}{'; '.join(shown)}."
