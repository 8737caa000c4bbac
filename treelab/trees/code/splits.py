"""What a split tests, free of any language."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.text.conditions import score_goes_left
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, used_features


@dataclass(frozen=True)
class Input:
    """A column that the code reads: its name, "number" or "category", its unit.

    Numbers from the first to the second of ``missing_range`` count as missing.
    """

    column: str
    kind: str
    unit: str
    missing_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class NumberTest:
    """Left where a number is at most ``threshold``, or missing and ``missing_left``."""

    source: Input
    threshold: float
    missing_left: bool


@dataclass(frozen=True)
class CategoryTest:
    """Left where a category is one of ``listed``, or, not ``inside``, where it is none.

    Categories that no training row held are among those that are not listed.
    """

    source: Input
    listed: tuple[str, ...]
    inside: bool
    missing_left: bool


@dataclass(frozen=True)
class Term:
    """A weight times a number column, or times the score of a category.

    Attributes
    ----------
    index : int
        Place of the feature in the tree.
    fill : float
        Number that stands for a missing value; NaN where none is known.
    scores : dict of str to float, or None
        Category columns: the number of each known category, never NaN unless
        ``fill`` is.
    unseen : float
        Category columns: the number of every other category.
    """

    index: int
    source: Input
    weight: float
    fill: float
    scores: dict[str, float] | None = None
    unseen: float = float("nan")

    @property
    def may_fail(self) -> bool:
        """Whether a row may have no number here."""
        return isnan(self.fill)


@dataclass(frozen=True)
class SumTest:
    """Left where the terms, added up in their order, are at most ``threshold``."""

    terms: tuple[Term, ...]
    threshold: float


Test = NumberTest | CategoryTest | SumTest


def source_of(feature: Feature) -> Input:
    """Return the column that a feature reads."""
    return Input(feature.column, feature.kind, feature.unit, feature.missing_interval)


def inputs(model: Tree | WeightedTrees) -> list[Input]:
    """Return the columns that a model reads, in the order of its features."""
    if isinstance(model, WeightedTrees):
        used = np.unique(model.feature)
    else:
        used = used_features(model, leaves=True)
    return list(dict.fromkeys(source_of(model.features[j]) for j in used))


def split_test(tree: Tree, node: int) -> Test:
    """Return what one split of a tree tests."""
    j = tree.feature[node]
    threshold = float(tree.threshold[node])
    if j == OBLIQUE:
        assert tree.weights is not None  # as of every tree with an oblique split
        return SumTest(terms(tree, tree.weights[node]), threshold)
    feature = tree.features[j]
    missing_left = bool(tree.missing_left[node])
    if feature.kind == "number":
        return NumberTest(source_of(feature), threshold, missing_left)
    sides = {
        category: score_goes_left(score, threshold, missing_left)
        for category, score in zip(feature.categories, feature.scores)
    }
    inside = not score_goes_left(feature.unseen, threshold, missing_left)
    listed = tuple(category for category, left in sides.items() if left == inside)
    return CategoryTest(source_of(feature), listed, inside, missing_left)


def terms(tree: Tree, weights: np.ndarray) -> tuple[Term, ...]:
    """Return the terms of a weighted sum, in the order in which the tree adds them."""
    return tuple(
        _term(int(j), tree.features[j], float(weights[j]))
        for j in np.flatnonzero(weights)
    )


def _term(index: int, feature: Feature, weight: float) -> Term:
    """Return one term; a score that is NaN is missing, so ``fill`` stands for it."""
    source, fill = source_of(feature), feature.fill
    if feature.kind == "number":
        return Term(index, source, weight, fill)
    scores = {
        category: fill if isnan(score) else score
        for category, score in zip(feature.categories, feature.scores)
    }
    unseen = fill if isnan(feature.unseen) else feature.unseen
    return Term(index, source, weight, fill, scores, unseen)
