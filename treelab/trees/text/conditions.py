"""Conditions on columns: of one split, or of all splits on a decision path."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isnan
from typing import ClassVar

import numpy as np
import pandas as pd

from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.text.names import quoted, short, with_unit
from treelab.trees.text.numerals import parse, threshold_text
from treelab.trees.text.sums import weighted_sum
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE


@dataclass
class NumberCondition:
    """An interval of a number column: above ``low``, at most ``high``.

    Without a ``low_text`` there is no lower bound: minus infinity passes, too.
    """

    feature: Feature
    low: float = -inf
    high: float = inf
    low_text: str = ""
    high_text: str = ""
    missing: bool = True

    @property
    def column(self) -> str:
        """Column that it is about."""
        return self.feature.column

    @property
    def is_empty(self) -> bool:
        """Whether no value passes."""
        return not self.missing and not self.has_numbers

    @property
    def has_numbers(self) -> bool:
        """Whether any number passes."""
        return not self.low_text or self.low < self.high

    def narrow(self, threshold: float, left: bool, missing_left: bool, text: str):
        """Narrow the interval by one split, its threshold shown with this text."""
        self.missing = self.missing and missing_left == left
        # The text has the bound that is tightest as shown: of two thresholds that are
        # rounded, that need not be the tightest one.
        if left:
            self.high = min(self.high, threshold)
            self.high_text = min(self.high_text or text, text, key=parse)
        else:
            self.low = max(self.low, threshold)
            self.low_text = max(self.low_text or text, text, key=parse)

    def holds(self, X: pd.DataFrame) -> np.ndarray:
        """Whether each row of the table passes, bool (n_rows,)."""
        x = feature_matrix([self.feature], X)[:, 0]
        above = (x > self.low) | (not self.low_text)
        return np.where(np.isnan(x), self.missing, above & (x <= self.high))

    def text(self, mention_missing: bool, most=None, length=None) -> str:
        """Return the condition in words, or "" where everything passes."""
        name, unit = short(self.feature.column, length), self.feature.unit
        # In words minus infinity is no number: nobody reads "at most minus infinity".
        if not self.low < self.high:
            return f"{name} is missing" if self.missing else f"no {name} passes"
        if self.low == -inf and self.high == inf:
            return "" if self.missing else f"{name} is known"
        if self.low == -inf:
            text = with_unit(f"{name} ≤ {self.high_text}", unit)
        elif self.high == inf:
            text = with_unit(f"{name} > {self.low_text}", unit)
        else:
            text = with_unit(f"{self.low_text} < {name} ≤ {self.high_text}", unit)
        return f"{text} (or missing)" if self.missing and mention_missing else text


@dataclass
class CategoryCondition:
    """The categories of a column that pass."""

    feature: Feature
    allowed: set = field(default_factory=set)
    new: bool = True
    missing: bool = True

    def __post_init__(self):
        self.allowed = set(self.feature.categories)

    @property
    def column(self) -> str:
        """Column that it is about."""
        return self.feature.column

    @property
    def is_empty(self) -> bool:
        """Whether no value passes."""
        return not (self.missing or self.new or self.allowed)

    def narrow(self, feature: Feature, threshold: float, left: bool, missing_left):
        """Narrow the categories by a split on the scores of ``feature``."""
        passes = {
            category
            for category, score in zip(feature.categories, feature.scores)
            if score_goes_left(score, threshold, missing_left) == left
        }
        self.allowed = self.allowed & passes
        self.new = (
            self.new
            and score_goes_left(feature.unseen, threshold, missing_left) == left
        )
        self.missing = self.missing and missing_left == left

    def holds(self, X: pd.DataFrame) -> np.ndarray:
        """Whether each row of the table passes, bool (n_rows,)."""
        known = self.feature.categories
        codes = tuple(range(len(known)))
        places = Feature(self.feature.column, "category", "", -1, known, codes, -2)
        x = feature_matrix([places], X)[:, 0]
        passes = [category in self.allowed for category in known]
        passes += [self.new, self.missing]  # places -2 and -1
        return np.array(passes)[np.where(np.isnan(x), -1, x).astype(int)]

    def text(self, mention_missing: bool, most=None, length=None) -> str:
        """Return the condition in words, or "" where everything passes.

        Parameters
        ----------
        mention_missing : bool
            Whether the text mentions rows with no category.
        most : int or None
            Categories that are listed before "... more"; None: all.
        length : int or None
            Letters of a name before it is shortened; None: all.
        """
        name = short(self.feature.column, length)
        known = self.feature.categories
        inside = [c for c in known if c in self.allowed]
        outside = [c for c in known if c not in self.allowed]
        if not inside and not self.new:
            return f"{name} is missing" if self.missing else f"no {name} passes"
        if not outside and self.new:
            return "" if self.missing else f"{name} is known"
        if not inside:
            text = f"{name} is a new category"
        elif self.new and len(outside) <= len(inside):
            text = self._listed(outside, most, length, no=True)
        else:
            text = self._listed(inside, most, length) + (
                " (or new)" if self.new else ""
            )
        return f"{text} (or missing)" if self.missing and mention_missing else text

    def _listed(self, categories: list, most, length, no: bool = False) -> str:
        """Return "name is A", "name in {A, B}", or with ``no`` their opposites."""
        name = short(self.feature.column, length)
        names, rare = rare_apart(self.feature, categories)
        shown = [*(quoted(name, length) for name in names), *rare]
        if len(shown) == 1:
            one = shown[0] if len(categories) == 1 else f"one of {shown[0]}"
            return f"{name} is {'not ' if no else ''}{one}"
        hidden = len(shown) - len(shown[:most])
        shown = [*shown[:most], *([f"{hidden} more"] if hidden else [])]
        return f"{name} {'not ' if no else ''}in {{{', '.join(shown)}}}"


@dataclass
class ObliqueCondition:
    """One side of an oblique split."""

    tree: Tree
    node: int
    left: bool
    column: ClassVar[None] = None  # it is about several
    is_empty: ClassVar[bool] = False  # as far as one split alone can say

    def holds(self, X: pd.DataFrame) -> np.ndarray:
        """Whether each row of the table passes, bool (n_rows,)."""
        return (self.tree.margin(X)[:, self.node] >= 0) == self.left

    def text(self, mention_missing: bool, most=None, length=None) -> str:
        """Return the condition in words."""
        sign = "≤" if self.left else ">"
        return weighted_sum(self.tree, self.node, sign, most, length)


Condition = NumberCondition | CategoryCondition | ObliqueCondition


def split_condition(tree: Tree, node: int, left: bool = True) -> Condition:
    """Return the condition under which a split sends a row left, or right."""
    found: dict = {}
    _add_split(found, tree, node, left)
    (condition,) = found.values()
    return condition


def path_conditions(tree: Tree, node: int) -> list[Condition]:
    """Return the conditions on the decision path to a node, one a column.

    Several splits of one column become one interval, or one set of categories; the
    order is that in which columns are first tested. Each oblique split stays on its
    own.
    """
    found: dict = {}
    for above, below in pairwise(tree.path_to(node)):
        _add_split(found, tree, above, bool(tree.left[above] == below))
    return list(found.values())


def leaf_conditions(tree: Tree) -> Iterator[tuple[int, list[Condition]]]:
    """Yield each leaf with the conditions on its decision path, one a column.

    A split narrows the conditions above it once, for all leaves below: paths of a
    deep tree have most of their splits in common.
    """
    waiting: list[tuple[int, dict]] = [(0, {})]
    while waiting:
        node, found = waiting.pop()
        if tree.is_leaf[node]:
            yield node, list(found.values())
            continue
        for child, left in ((tree.right[node], False), (tree.left[node], True)):
            waiting.append((int(child), narrowed(found, tree, node, left)))


def narrowed(found: dict, tree: Tree, node: int, left: bool) -> dict:
    """Return conditions by column, narrowed to one side of a split; none changes."""
    below = dict(found)
    if tree.feature[node] != OBLIQUE:
        column = tree.features[tree.feature[node]].column
        if column in below:
            below[column] = copy(below[column])
    _add_split(below, tree, node, left)
    return below


def _add_split(found: dict, tree: Tree, node: int, left: bool) -> None:
    """Narrow the conditions found so far, by column, to one side of a split."""
    if tree.feature[node] == OBLIQUE:
        found[("oblique split", node)] = ObliqueCondition(tree, node, left)
        return
    feature = tree.features[tree.feature[node]]
    threshold = float(tree.threshold[node])
    missing_left = bool(tree.missing_left[node])
    if feature.kind == "category":
        known = found.setdefault(feature.column, CategoryCondition(feature))
        known.narrow(feature, threshold, left, missing_left)
    else:
        known = found.setdefault(feature.column, NumberCondition(feature))
        known.narrow(threshold, left, missing_left, shown_threshold(tree, node))


def shown_threshold(tree: Tree, node: int) -> str:
    """Return the threshold of a split of a number column, as texts show it."""
    between = (np.nan, np.nan) if tree.between is None else tree.between[node]
    return threshold_text(float(tree.threshold[node]), *map(float, between))


def score_goes_left(score: float, threshold: float, missing_left: bool) -> bool:
    """Whether a score goes left; one that is NaN goes where missing values go."""
    return missing_left if isnan(score) else score <= threshold


def rare_apart(
    feature: Feature, categories: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return categories without the rare ones, and the rare ones in words.

    The words are "12 rare values", or nothing. Where some rare ones are not among the
    categories, as an edited split may have it, those that are stay by name.
    """
    rare = set(feature.rare)
    if not rare or not rare <= set(categories):
        return list(categories), []
    return [name for name in categories if name not in rare], [
        f"{len(rare):,} rare values"
    ]
