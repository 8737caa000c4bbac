"""Weighted sums of columns in words: oblique splits and linear leaves."""

import numpy as np

from treelab.trees.text.names import quoted, short
from treelab.trees.text.numerals import counted, rounded
from treelab.trees.tree import Tree


def weighted_sum(tree: Tree, node: int, sign: str, most=None, length=None) -> str:
    """Return an oblique split as "0.61·age − 0.42·bmi ≤ 1.3"."""
    assert tree.weights is not None  # as of every tree with an oblique split
    terms = combination(tree.features, tree.weights[node], most, length)
    return f"{terms} {sign} {rounded(tree.threshold[node])}"


def term_fractions(features, weights: np.ndarray) -> np.ndarray:
    """Return the fraction of a weighted sum's spread that each of its terms has.

    By these fractions words, pictures and pruning rank the terms. A term moves the
    sum by its weight times its column's standard deviation among the training rows;
    where one of these is not known, weights are compared as they are.

    Parameters
    ----------
    features : sequence of Feature
    weights : float array of shape (..., n_features)
        Of one sum, or of many.

    Returns
    -------
    float64 array of shape (..., n_features)
        The terms of a sum add up to 1, or to 0 where nothing moves it.
    """
    spread = np.array([feature.spread for feature in features])
    size = np.abs(weights)
    known = np.isfinite(np.where(size > 0, spread, 0)).all(axis=-1, keepdims=True)
    size = np.where(known, size * np.nan_to_num(spread), size)
    total = size.sum(axis=-1, keepdims=True)
    return size / np.where(total > 0, total, 1)


def combination(features, weights, most=None, length=None, start: str = "") -> str:
    """Return a weighted sum in words, the term that moves it most first.

    See ``term_fractions``.

    Parameters
    ----------
    features : sequence of Feature
    weights : float array of shape (n_features,)
    most : int or None, default=None
        Terms that are written before "... 7 more columns"; None: all.
    length : int or None, default=None
        Letters of a name before it is shortened; None: all.
    start : str
        What the sum begins with, such as a constant.
    """
    used = np.flatnonzero(weights)
    fractions = term_fractions(features, weights)[used]
    order = used[np.argsort(-fractions, kind="stable")]
    text = start
    for j in order[:most]:
        size = rounded(abs(weights[j]))
        term = (
            term_name(features[j], length)
            if size == "1"
            else (f"{size}·{term_name(features[j], length)}")
        )
        if text:
            text += f" − {term}" if weights[j] < 0 else f" + {term}"
        else:
            text = f"−{term}" if weights[j] < 0 else term
    hidden = len(order) - len(order[:most])
    if hidden:
        text += f" + {counted(hidden, 'more column')}"
    return text or "0"


def term_name(feature, length: int | None = None) -> str:
    """Return how a feature is called within a sum."""
    name = short(feature.column, length)
    if feature.kind == "number":
        return name
    if has_scores(feature):
        return f"[score of {name}]"
    ones = [c for c, s in zip(feature.categories, feature.scores) if s == 1]
    one = quoted(ones[0], length)
    return f"[{name} is {one if len(ones) == 1 else 'a rare value'}]"


def has_scores(feature) -> bool:
    """Whether a category column counts by scores, not as one category or none."""
    if feature.kind == "number":
        return False
    ones = {c for c, s in zip(feature.categories, feature.scores) if s == 1}
    zeros = sum(s == 0 for s in feature.scores)
    together = len(ones) == 1 or (bool(ones) and ones == set(feature.rare))
    return not together or zeros != len(feature.scores) - len(ones)
