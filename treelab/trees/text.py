"""A tree in words: cells, conditions, nodes and rules."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from math import inf, isclose, isnan
from operator import gt, lt
from typing import ClassVar

import numpy as np
import pandas as pd

from treelab.trees.dates import first_moment_after, moment_text, parse_moment
from treelab.trees.feature import Feature, as_table, feature_matrix
from treelab.trees.tree import (
    OBLIQUE,
    Tree,
    check_single,
    knows_interval,
    plain_label,
    read_features,
    weighted_sums,
)
from treelab.trees.words import (
    clean,
    clock_text,
    counted,
    evened,
    grouped,
    joined,
    last_time,
    named_with_unit,
    parse,
    percent,
    probability,
    quoted,
    range_text,
    short,
    short_names,
    short_time,
    shortest,
    significant,
    threshold_text,
    value_text,
    with_unit,
)

# Weighted sums of columns in words: oblique splits and linear leaves.


def _weights(tree: Tree, node: int) -> np.ndarray:
    """Return the weights (n_features,) of an oblique split."""
    assert tree.weights is not None  # as of every tree with an oblique split
    return tree.weights[node]


def term_fractions(features, weights: np.ndarray) -> np.ndarray:
    """Return the fraction of a weighted sum's spread that each of its terms has.

    By these fractions words, pictures and pruning rank the terms. A term moves the sum
    by its weight times its column's standard deviation among the training rows; where
    one of these is not known, weights are compared as they are. ``weights`` may be of
    many sums, (..., n_features); fractions add up to 1, or to 0 where nothing moves it.
    """
    spread = np.array([feature.spread for feature in features])
    size = np.abs(weights)
    known = np.isfinite(np.where(size > 0, spread, 0)).all(axis=-1, keepdims=True)
    size = np.where(known, size * np.nan_to_num(spread), size)
    total = size.sum(axis=-1, keepdims=True)
    return size / np.where(total > 0, total, 1)


def sum_nears(features, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return by how much a sum may be off as it is written, and each of its weights.

    A two-hundredth of what the column that moves it most does; a weight is multiplied
    by what its column usually holds, as a date some 2,000. Infinity where not known.
    """
    spread = np.array([feature.spread for feature in features])
    usual = np.abs([feature.fill for feature in features])
    near = np.nanmax(np.abs(weights) * spread, initial=0.0) / 200 or np.inf
    return near, near / np.maximum(np.nan_to_num(np.fmax(usual, spread)), 1e-300)


def bound_text(tree: Tree, node: int) -> str:
    """Return the threshold of an oblique split, as ``sum_nears`` allows."""
    near, _ = sum_nears(tree.features, _weights(tree, node))
    return near_text(float(tree.threshold[node]), near)


@dataclass(frozen=True)
class WrittenTerm:
    """A term of a weighted sum, as words and pictures write it."""

    feature: Feature
    weight: float
    size: str  # the weight without its sign, as ``sum_nears`` allows
    fraction: float  # of the sum's spread, see ``term_fractions``
    number: str  # which score of its column it is, see ``score_numbers``

    def name(self, length: int | None = None) -> str:
        """Return how it is called within the sum."""
        return term_name(self.feature, length, self.number)


def written_terms(
    features: Sequence[Feature], weights: np.ndarray
) -> list[WrittenTerm]:
    """Return the terms of a weighted sum, the one that moves it most first."""
    fractions, (_, nears) = (
        term_fractions(features, weights),
        sum_nears(features, weights),
    )
    numbers, used = score_numbers(features), np.flatnonzero(weights)
    return [
        WrittenTerm(
            features[j],
            float(weights[j]),
            near_text(abs(weights[j]), nears[j]),
            float(fractions[j]),
            numbers[j],
        )
        for j in used[np.argsort(-fractions[used], kind="stable")].tolist()
    ]


def combination(features, weights, most=None, length=None, start: str = "") -> str:
    """Return a weighted sum in words, the term that moves it most first.

    ``most`` terms are written before "... 7 more terms", ``length`` letters of a name,
    None being all. A ``start`` is a constant ahead of it.
    """
    terms, text = written_terms(features, weights), start
    for own in terms[:most]:
        name = own.name(length)
        term = name if own.size == "1" else f"{own.size}·{name}"
        if text:
            text += f" − {term}" if own.weight < 0 else f" + {term}"
        else:
            text = f"−{term}" if own.weight < 0 else term
    if hidden := len(terms) - len(terms[:most]):
        text += f" + {counted(hidden, 'more term')}"
    return text or "0"


def score_numbers(features) -> list[str]:
    """Return which score of its column each feature is: "1", "2"; "" of one alone.

    Of more than two classes a category has a score for each.
    """
    if len({feature.column for feature in features}) == len(features):
        return [""] * len(features)
    scored = [own.column if has_scores(own) else None for own in features]
    numbers: Counter = Counter()
    several = Counter(scored)
    found = []
    for column in scored:
        numbers[column] += 1
        is_one = column is None or several[column] == 1
        found.append("" if is_one else str(numbers[column]))
    return found


def term_name(feature, length: int | None = None, number: str = "") -> str:
    """Return how a feature is called within a sum; ``number`` is of its score."""
    name = short(feature.column, length)
    if feature.kind == "number":
        return name
    if has_scores(feature):
        return f"[score {number} of {name}]" if number else f"[score of {name}]"
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


# Conditions on columns: of one split, or of all splits on a decision path.


@dataclass(frozen=True, eq=False)
class _ColumnCondition(ABC):
    """What passes of one column."""

    feature: Feature
    missing: bool = field(default=True, kw_only=True)  # whether rows without a value do

    @property
    def column(self) -> str:
        """Column that it is about."""
        return self.feature.column

    def text(self, mention_missing: bool, most=None, length=None) -> str:
        """Return the condition in words, or "" where everything passes.

        ``mention_missing``: whether the text mentions rows without a value. ``most``
        categories are listed before "... more", ``length`` letters of a name; None:
        all.
        """
        name = short(self.feature.column, length)
        some, every = self._known()
        if not some:
            return f"{name} is missing" if self.missing else f"no {name} passes"
        if every:
            return "" if self.missing else f"{name} is known"
        text = self._text(name, most, length)
        return f"{text} (or missing)" if self.missing and mention_missing else text

    @abstractmethod
    def _known(self) -> tuple[bool, bool]:
        """Whether some of the values that are known pass, and whether all do."""

    @abstractmethod
    def _text(self, name: str, most, length) -> str:
        """Return in words which of the values that are known pass."""


@dataclass(frozen=True, eq=False)
class NumberCondition(_ColumnCondition):
    """An interval of a number column: above ``low``, at most ``high``.

    Without a ``low_text`` there is no lower bound: minus infinity passes, too.
    """

    low: float = -inf
    high: float = inf
    low_text: str = ""
    high_text: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether no value passes."""
        return bool(not self.missing and self.low_text and self.low >= self.high)

    def narrowed(self, tree: Tree, node: int, left: bool) -> "NumberCondition":
        """Return the interval narrowed by one split."""
        threshold, text = float(tree.threshold[node]), shown_threshold(tree, node)
        missing = self.missing and bool(tree.missing_left[node]) == left
        # The text has the bound that is tightest as shown: of two thresholds that are
        # rounded, that need not be the tightest one.
        shown = parse_moment if self.feature.is_date else parse
        if left:
            text = min(self.high_text or text, text, key=shown)
            high = min(self.high, threshold)
            return replace(self, missing=missing, high=high, high_text=text)
        text = max(self.low_text or text, text, key=shown)
        low = max(self.low, threshold)
        return replace(self, missing=missing, low=low, low_text=text)

    def holds(self, X: pd.DataFrame) -> np.ndarray:
        """Whether each row of the table passes, bool (n_rows,)."""
        x = feature_matrix([self.feature], X)[:, 0]
        above = (x > self.low) | (not self.low_text)
        return np.where(np.isnan(x), self.missing, above & (x <= self.high))

    def _known(self) -> tuple[bool, bool]:
        # In words minus infinity is no number: nobody reads "at most minus infinity".
        return self.low < self.high, self.low == -inf and self.high == inf

    def _text(self, name: str, most, length) -> str:
        is_date, low, high = self.feature.is_date, self.low_text, self.high_text
        if self.low == -inf or self.high == inf:
            return with_unit(f"{name} {self.bound}", self.feature.unit)
        signs = ("≤", "<") if is_date else ("<", "≤")
        low, high = (low, high) if is_date else evened(low, high)
        between = f" {signs[0]} {name} {signs[1]} "
        return range_text(low, between, high, self.feature.unit)

    @property
    def bound(self) -> str:
        """Its one bound, or both, without the column: "≤ 45", "before 12 May 2019"."""
        is_date = self.feature.is_date
        bounds = []
        if self.low != -inf:
            bounds.append(f"{'on or after' if is_date else '>'} {self.low_text}")
        if self.high != inf:
            bounds.append(f"{'before' if is_date else '≤'} {self.high_text}")
        return ", ".join(bounds)


@dataclass(frozen=True, eq=False)
class CategoryCondition(_ColumnCondition):
    """The categories of a column that pass; ``new`` ones no training row held."""

    allowed: frozenset[str]
    new: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether no value passes."""
        return not (self.missing or self.new or self.allowed)

    def narrowed(self, tree: Tree, node: int, left: bool) -> "CategoryCondition":
        """Return the categories narrowed by a split on scores of the column."""
        feature = tree.features[tree.feature[node]]
        missing_left = bool(tree.missing_left[node])

        def passes(score: float) -> bool:
            threshold = float(tree.threshold[node])
            return score_goes_left(score, threshold, missing_left) == left

        allowed = {category for category, s in feature.scored.items() if passes(s)}
        return CategoryCondition(
            self.feature,
            self.allowed & allowed,
            self.new and passes(feature.unseen),
            missing=self.missing and missing_left == left,
        )

    def holds(self, X: pd.DataFrame) -> np.ndarray:
        """Whether each row of the table passes, bool (n_rows,)."""
        known = self.feature.categories
        places = replace(self.feature, scores=tuple(range(len(known))), unseen=-2)
        x = feature_matrix([places], X)[:, 0]
        passes = [category in self.allowed for category in known]
        passes += [self.new, self.missing]  # places -2 and -1
        return np.array(passes)[np.where(np.isnan(x), -1, x).astype(int)]

    def _known(self) -> tuple[bool, bool]:
        every = self.allowed >= set(self.feature.categories)
        return bool(self.allowed or self.new), self.new and every

    def _text(self, name: str, most, length) -> str:
        known = self.feature.categories
        inside = [c for c in known if c in self.allowed]
        outside = [c for c in known if c not in self.allowed]
        if not inside:
            return f"{name} is a new category"
        if len(known) == 2:  # the other one is named, not what it is not
            return self._listed(inside, most, length)
        if self.new and len(outside) <= len(inside):
            return self._listed(outside, most, length, no=True)
        return self._listed(inside, most, length) + " (or new)" * self.new

    def _listed(self, categories: list, most, length, no: bool = False) -> str:
        """Return "name is A", "name in {A, B}", or with ``no`` their opposites."""
        name = short(self.feature.column, length)
        names, rare = rare_apart(self.feature, categories)
        known = short_names(self.feature.categories, length)
        shown = [*(f"“{known[name]}”" for name in names), *rare]
        if len(shown) == 1:
            one = shown[0] if len(categories) == 1 else f"one of {shown[0]}"
            return f"{name} is {'not ' if no else ''}{one}"
        hidden = len(shown) - len(shown[:most])
        shown = [*shown[:most], *([f"{hidden} more"] if hidden else [])]
        return f"{name} {'not ' if no else ''}in {{{', '.join(shown)}}}"


@dataclass(frozen=True, eq=False)
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
        """Return the condition in words, as "0.61·age − 0.42·bmi ≤ 1.3"."""
        weights = _weights(self.tree, self.node)
        return f"{combination(self.tree.features, weights, most, length)} {self.bound}"

    @property
    def bound(self) -> str:
        """What its sum is held against: "≤ 1.3"."""
        return f"{'≤' if self.left else '>'} {bound_text(self.tree, self.node)}"


Condition = NumberCondition | CategoryCondition | ObliqueCondition


def split_condition(tree: Tree, node: int, left: bool = True) -> Condition:
    """Return the condition under which a split sends a row left, or right.

    ValueError if the node is no split.
    """
    tree.check_node(node)
    if tree.is_leaf[node]:
        raise ValueError(f"Node {node} is a leaf, not a split.")
    (condition,) = narrowed({}, tree, node, left).values()
    return condition


def path_conditions(tree: Tree, node: int) -> list[Condition]:
    """Return the conditions on the decision path to a node, one a column.

    Several splits of one column become one interval, or one set of categories; the
    order is that in which columns are first tested. Each oblique split stays on its
    own.
    """
    found: dict = {}
    for above, below in pairwise(tree.path_to(node)):
        found = narrowed(found, tree, above, bool(tree.left[above] == below))
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
    if tree.feature[node] == OBLIQUE:
        return found | {("oblique split", node): ObliqueCondition(tree, node, left)}
    feature = tree.features[tree.feature[node]]
    known = found.get(feature.column) or (
        CategoryCondition(feature, frozenset(feature.categories))
        if feature.kind == "category"
        else NumberCondition(feature)
    )
    return found | {feature.column: known.narrowed(tree, node, left)}


def shown_threshold(tree: Tree, node: int) -> str:
    """Return the threshold of a split of a number column, as texts show it."""
    between = (np.nan, np.nan) if tree.between is None else tree.between[node]
    threshold, low, high = map(float, (tree.threshold[node], *between))
    feature = tree.features[tree.feature[node]]
    near = _threshold_near(tree, node)
    return written_threshold(feature, threshold, low, high, near)


def written_threshold(
    feature: Feature, threshold: float, low: float, high: float, near: float = inf
) -> str:
    """Return a threshold of a number column in its own words, without its unit.

    A date is the first moment after it, a time the last that is not; ``low``, ``high``
    and ``near`` are as of ``threshold_text``.
    """
    if feature.is_date and np.isfinite(threshold):
        return first_moment_after(threshold, low, high)
    if feature.is_clock and np.isfinite(threshold):
        return last_time(threshold, low, high)
    return threshold_text(threshold, low, high, near)


def _threshold_near(tree: Tree, node: int) -> float:
    """By how much a threshold may be off as texts show it, of rows not known.

    Few rows lie so near, and no other threshold of the column is shown alike.
    """
    feature = tree.feature[node]
    others = tree.threshold[tree.feature == feature]
    gaps = abs(others[np.isfinite(others)] - np.nan_to_num(tree.threshold[node]))
    gap = gaps[gaps > 0].min(initial=inf)
    return float(np.fmin(tree.features[feature].spread / 200, gap / 20))


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
    others = [name for name in categories if name not in rare]
    return others, [f"{len(rare):,} rare values"]


# Splits, predictions and decision paths in words, those of the user's table.


def split_text(tree: Tree, node: int, *, most=None, length=None, missing=True) -> str:
    """Return the condition of a split; where it holds is left.

    "petal width ≤ 0.8 cm", "occupation in {Sales, Tech}", or "0.61·age − 0.42·bmi ≤
    1.3". A threshold has three significant digits, or as many more as keep every
    training row on its side; for the numbers of an oblique split see ``sum_nears``.
    "(or missing)" follows, unless ``missing`` is False, where training rows with a
    missing value reached the split and went left. ``most`` categories, or columns of an
    oblique split, are listed, and ``length`` letters of a name; None: all. ValueError
    if the node is no split.
    """
    condition = split_condition(tree, node)
    mention = missing and condition.column in tree.missing_columns
    # An infinite threshold may let everything pass.
    some = condition.text(mention, most, length)
    return some or f"any {short(condition.column, length)}"


def left_categories(tree: Tree, node: int) -> tuple[str, ...]:
    """Return the known categories that go left at a split of a category column.

    ValueError at any other node.
    """
    condition = split_condition(tree, node)
    if not isinstance(condition, CategoryCondition):
        raise ValueError(f"Node {node} does not split a column of categories.")
    return tuple(c for c in condition.feature.categories if c in condition.allowed)


def node_title(tree: Tree, node: int) -> str:
    """Return what a node asks or predicts: "age ≤ 30.5?" or "Leaf: setosa (0.98)"."""
    if tree.is_leaf[node]:
        return f"Leaf: {prediction_text(tree, node, most=3, length=40)}"
    return f"{split_text(tree, node, most=3)}?"


def prediction_text(tree: Tree, node: int, *, most=None, length=None) -> str:
    """Return the prediction for a row that ends at a node.

    "setosa (0.98)", with its probability; "bad (0.31; good 0.69)" where weights of the
    classes choose another than the most probable one; "152 mm", or the sum of a linear
    leaf, written as ``split_text`` does.
    """
    tree.check_node(node)
    if tree.classes is not None:
        own = tree.value[node]
        chosen = int(tree.predicted_class[node])
        sure = probability(own[chosen])
        if own.max() > own[chosen]:
            likelier = short(tree.classes[int(own.argmax())], length)
            sure += f"; {likelier} {probability(own.max())}"
        return f"{short(tree.classes[chosen], length)} ({sure})"
    weights, bias = tree.leaf_weights, tree.leaf_bias
    if weights is not None and bias is not None and weights[node].any():
        near, _ = sum_nears(tree.features, weights[node])
        start = near_text(bias[node, 0], near)
        return combination(tree.features, weights[node], most, length, start=start)
    return number_text(tree, node)


def value_word(tree: Tree) -> str:
    """Return what the number is that a regression tree predicts, as "median"."""
    return "mean" if tree.loss is None else tree.loss.value_word


def number_text(tree: Tree, node: int) -> str:
    """Return the number that a node predicts, say "152 mm".

    It is rounded by no more than 0.5% of the range of the tree's values. Several are
    written with their names: "width: 152; height: 20.5".
    """
    texts = output_texts(tree, node)
    if not tree.outputs:
        return texts[0]
    return "; ".join(f"{clean(n)}: {text}" for n, text in zip(tree.outputs, texts))


def output_texts(tree: Tree, node: int) -> list[str]:
    """Return each number that a node predicts, rounded as ``number_text`` has it."""
    texts = []
    axis = None if tree.levels else 0
    nears = np.broadcast_to(np.ptp(tree.value, axis=axis) / 200, tree.value.shape[1])
    for value, near in zip(tree.value[node].tolist(), nears.tolist()):
        if predicts_times(tree):
            text = short_time(value, near)
        else:
            text = grouped(near_text(value, near or np.inf))
        texts.append(with_unit(text, tree.target_unit))
    return texts


def near_text(value: float, near: float) -> str:
    """Write a number that is off by so much at most, as short as that allows."""
    return shortest(value, lambda shown: abs(shown - value) <= near)


def interval_text(model: object, X: pd.DataFrame) -> str:
    """Return between which values most rows like the first one lie.

    "80% between 7.0 and 12.6 mm" or "80% are 0"; "" where the model knows no interval.
    """
    if not knows_interval(model):
        return ""
    low, high = model.predict_interval(X.iloc[:1])[0].tolist()
    near = (high - low) / 200 or np.inf
    share = percent(model.interval_fraction or 0)
    is_time = predicts_times(model)
    write = short_time if is_time else near_text
    texts = write(low, near), write(high, near)
    n_decimals = max(len(text.partition(".")[2]) for text in texts)
    if (
        n_decimals and not is_time and "e" not in "".join(texts)
    ):  # decimals of both are true
        near = min(near, 0.51 * 10.0**-n_decimals)
        texts = near_text(low, near), near_text(high, near)
    ends = [*map(grouped, evened(*texts))]
    unit = model.target_unit
    if low == high:  # of counts, say, of which nearly all are 0
        return with_unit(f"{share} are {ends[0]}", unit)
    return f"{share} between {range_text(ends[0], ' and ', ends[1], unit)}"


def likelier_text(model, X: pd.DataFrame) -> str:
    """Return a class that is likelier than the one predicted of the first row, and why.

    "kept, 0.671, counts less"; "" where none is. It may be weighed less, by costs too;
    or the leaf's own rows chose, before probabilities were shrunk.
    """
    X = X.iloc[:1]
    proba = model.predict_proba(X)[0]
    chosen = model.classes.index(plain_label(model.predict(X)[0]))
    best = int(proba.argmax())
    if proba[best] <= proba[chosen]:
        return ""
    why, tree = "counts less", getattr(model, "tree", model)  # also of a path
    if getattr(tree, "shrinkage", None) is not None:
        weights = np.ones(len(proba))
        if tree.class_weights is not None:
            weights = tree.class_weights
        own_rows = tree.class_counts[tree.apply(X)[0]] * weights
        if own_rows.argmax() == chosen != (proba * weights).argmax():
            why = "by the nodes above"
    return f"“{model.classes[best]}”, {probability(proba[best])}, {why}"


def prediction_label(tree: Tree, node: int) -> str:
    """Return the class or value that a node predicts alone: "setosa", "152 mm"."""
    if tree.classes is not None:
        return str(tree.classes[tree.predicted_class[node]])
    return number_text(tree, node)


def rows_text(tree: Tree, node: int) -> str:
    """Return "1,024 rows, 31.4%", or "" where the tree knows no rows.

    Where they do not count alike, what they weigh follows: ", weight 380".
    """
    if tree.n_rows[0] == 0:
        return ""
    share = percent(tree.n_rows[node] / tree.n_rows[0])
    words = f"{counted(int(tree.n_rows[node]), 'row')}, {share}"
    if tree.weight is None:
        return words
    return f"{words}, weight {significant(float(tree.weight[node]))}"


def node_text(tree: Tree, node: int) -> str:
    """Return a node in words: its condition or its prediction, and its rows.

    "petal width ≤ 0.8 cm? · 150 rows, 100%" or "setosa (1.00) · 50 rows, 33.3%".
    """
    tree.check_node(node)
    is_leaf = tree.is_leaf[node]
    text = prediction_text(tree, node) if is_leaf else f"{split_text(tree, node)}?"
    rows = rows_text(tree, node)
    return f"{text} · {rows}" if rows else text


def path_sentences(tree: Tree, row, *, most: int | None = None) -> list[str]:
    """Return the decision path of one row, a sentence a node.

    Such as "petal width ≤ 0.8 cm? Yes: it is 0.2 cm." and, last, the prediction;
    ``most`` as in ``split_text``.
    """
    nodes, sentences = tree.path(row), []
    for node, value in zip(nodes, path_values(tree, row)):
        side = "Yes" if tree.left[node] in nodes else "No"
        condition = split_text(tree, node, most=most)
        sentences.append(f"{condition}? {side}: it is {value}.")
    last = nodes[-1]
    prediction = prediction_text(tree, last)
    if tree.leaf_weights is not None and tree.leaf_weights[last].any():
        number = float(tree.predict(row)[0])
        text = short_time(number) if predicts_times(tree) else shortest(number)
        prediction = f"{prediction} = {with_unit(text, tree.target_unit)}"
    sentences.append(f"{clean(tree.target)}: {prediction}.")
    return sentences


def path_values(tree: Tree, row) -> list[str]:
    """Return what each split on a row's path tests: "0.2 cm", "Sales", "missing"."""
    table = as_table(tree.features, row)
    return [
        value_within(
            tree, split_condition(tree, node, below == tree.left[node]), row, table
        )
        for node, below in pairwise(tree.path(row))
    ]


# A tree as rules, one a leaf, and as indented text.


MOST_CONDITIONS = 200  # in a text: nobody reads more, and those of all leaves add up


def rule_text(tree: Tree, node: int, *, most: int | None = None) -> str:
    """Return the conditions on the decision path to a node, one a column.

    Such as "2.1 < petal length ≤ 4.9 cm and sepal width > 3 cm"; "every row" at the
    root; ``most`` as in ``split_text``.
    """
    return conditions_text(tree, path_conditions(tree, node), most)


def conditions_text(
    tree: Tree, conditions: Iterable[Condition], most: int | None = None
) -> str:
    """Return conditions of a tree as one text; see ``rule_text``."""
    return _joined(list(conditions), lambda each: condition_text(tree, each, most))


def _joined(conditions: list[Condition], write: Callable[[Condition], str]) -> str:
    """Return the conditions of a path as one text."""
    texts = list(filter(None, map(write, conditions[:MOST_CONDITIONS])))
    if len(conditions) > MOST_CONDITIONS:
        texts.append(f"{len(conditions) - MOST_CONDITIONS:,} more conditions")
    return " and ".join(texts) or "every row"


def leaf_rules(tree: Tree, most: int | None = None) -> dict[int, str]:
    """Return the rule of each leaf, by its number; ``most`` as in ``split_text``."""
    # What leaves have in common is written once, so that deep trees take no longer.
    write = cache(lambda each: condition_text(tree, each, most))
    return {leaf: _joined(own, write) for leaf, own in leaf_conditions(tree)}


def condition_text(tree: Tree, condition: Condition, most: int | None = None) -> str:
    """Return one condition of a tree in words, or "" where everything passes."""
    return condition.text(condition.column in tree.missing_columns, most)


def to_rules(tree: Tree, *, most: int | None = None) -> pd.DataFrame:
    """Return a tree as rules, one a leaf, the most frequent first.

    Parameters
    ----------
    tree : Tree
    most : int or None, default=None
        Categories, or columns of an oblique split, that are listed; None: all.

    Returns
    -------
    DataFrame
        Columns leaf, rule, n_rows, share, prediction, confidence; weight where rows
        do not count alike, and formula where leaves are linear; in the place of
        prediction one column for each of several outputs. Share and confidence
        are of training rows; confidence is the predicted class's probability, or NaN
        for regression.
    """
    check_single(tree)
    leaves = np.flatnonzero(tree.is_leaf)
    n_rows = tree.n_rows[leaves]
    if tree.classes is None:
        predictions = dict(zip(tree.output_columns, tree.value[leaves].T))
        confidence = np.full(len(leaves), np.nan)
    else:
        best = tree.predicted_class[leaves]
        predictions = {"prediction": pd.Series([tree.classes[i] for i in best])}
        confidence = tree.value[leaves, best]
    share = n_rows / tree.n_rows[0] if tree.n_rows[0] else np.full(len(leaves), np.nan)
    rule = leaf_rules(tree, most)
    texts = [rule[leaf] for leaf in leaves.tolist()]
    columns = {"leaf": leaves, "rule": texts, "n_rows": n_rows, "share": share}
    table = pd.DataFrame({**columns, **predictions, "confidence": confidence})
    if tree.weight is not None:
        table["weight"] = tree.weight[leaves]
    if tree.leaf_weights is not None:
        table["formula"] = [prediction_text(tree, leaf) for leaf in leaves.tolist()]
    return table.sort_values(
        "n_rows", ascending=False, kind="stable", ignore_index=True
    )


def to_text(tree: Tree) -> str:
    """Return a tree as indented text, a line a node.

    Returns
    -------
    str
        Such as::

            petal width ≤ 0.8 cm?
            ├─ yes: setosa (1.00) · 50 rows, 33.3%
            └─ no: petal width ≤ 1.75 cm?
               ├─ yes: versicolor (0.907) · 54 rows, 36%
               └─ no: virginica (0.978) · 46 rows, 30.7%
    """
    check_single(tree)
    lines = []
    waiting = [(0, "", "")]  # node, what stands before it, before its children
    while waiting:
        node, before, below = waiting.pop()
        if tree.is_leaf[node]:
            text = node_text(tree, node)
        else:
            text = f"{split_text(tree, node)}?"
            sides = int(tree.right[node]), int(tree.left[node])
            waiting.append((sides[0], f"{below}└─ no: ", f"{below}   "))
            waiting.append((sides[1], f"{below}├─ yes: ", f"{below}│  "))
        lines.append(f"{before}{text}")
    return "\n".join([*lines, *tree.notes])


# What one row holds, in words: a value, and where it lies within a condition.


def path_lines(tree: Tree, row, *, most: int | None = None) -> list[str]:
    """Return the decision path of one row, a line a column.

    Several splits of one column are one interval, or one set of categories, such as
    "0.8 < petal width ≤ 1.75 cm: it is 1.3 cm"; an oblique split each has a line with
    its sum. ``most`` as in ``split_text``.
    """
    lines, table = [], as_table(tree.features, row)
    for condition in path_conditions(tree, tree.path(row)[-1]):
        if text := condition_text(tree, condition, most):
            value = value_within(tree, condition, row, table)
            is_said = text.endswith(f" is {value}")  # one category passes
            lines.append(text if is_said else f"{text}: it is {value}")
    return lines


def fact_text(tree: Tree, condition: Condition, value: str) -> str:
    """Return what a row holds where a condition asks, as a person would say it.

    Such as "age is 38 (> 30.5, ≤ 45)", "job is Sales", "bmi is missing", or of an
    oblique split "the weighted sum of age and bmi is 1.2 (≤ 1.3)"; ``value`` is what
    ``value_within`` writes.
    """
    if isinstance(condition, ObliqueCondition):
        name = f"the weighted sum of {sum_name(tree, condition.node)}"
        return f"{name} is {value} ({condition.bound})"
    bound = condition.bound if isinstance(condition, NumberCondition) else ""
    shown = f" ({bound})" if bound and value != "missing" else ""
    return f"{clean(condition.column)} is {value}{shown}"


def sum_name(tree: Tree, node: int) -> str:
    """Return the columns of an oblique split, those that move its sum most first."""
    terms = written_terms(tree.features, _weights(tree, node))
    names = [term.name() for term in terms[:3]]
    if rest := len(terms) - len(names):
        names.append(counted(rest, "more term"))
    return joined(names)


def value_within(
    tree: Tree, condition: Condition, row, table: pd.DataFrame | None = None
) -> str:
    """Return the value of one row, so that as shown it lies within the condition.

    One that lies between a bound and the text of that is "about" that. ``table`` is
    what ``as_table`` makes of the row, where that is known.
    """
    if isinstance(condition, ObliqueCondition):
        node, matrix = condition.node, read_features(tree, row)
        total = float(weighted_sums(tree, matrix, np.array([node]))[0, 0])
        threshold = float(tree.threshold[node])
        return value_text(total, threshold, parse(bound_text(tree, node)))
    table = as_table(tree.features, row) if table is None else table
    cell = table[condition.column].iloc[0]
    feature = condition.feature
    if isinstance(condition, CategoryCondition) or feature.is_date:
        return cell_text(feature, cell)
    value = float(feature.cell(cell))
    if isnan(value):
        return "missing"
    low, high = condition.low_text or "−∞", condition.high_text or "∞"
    text = number_in_words(feature, value)
    if value <= parse(low) or value > parse(high):
        text = f"about {low if value <= parse(low) else high}"
    elif not parse(low) < parse(text) <= parse(high):
        text = shortest(value, lambda shown: parse(low) < shown <= parse(high))
    return with_unit(text, feature.unit)


def change_text(feature: Feature, before, now, tree: Tree | None, row) -> str:
    """Return what to do with one cell of a row, as a person would say it.

    Such as "lower age from 38 to 30.5 years or less", "change job from “Sales” to
    “Tech”" or "leave bmi empty", where the cell ``before`` becomes ``now``, as the
    ``row`` has it already. With a ``tree``, the words say how far other values lead to
    the same leaf.
    """
    name = clean(feature.column)
    before, now = feature.cell(before), feature.cell(now)
    if pd.isna(now):
        return f"leave {name} empty"
    if feature.kind == "category" or pd.isna(before):
        now_text = cell_text(feature, now)
        if pd.isna(before):
            return f"set {name}, which is missing, to {now_text}"
        return f"change {name} from {cell_text(feature, before)} to {now_text}"
    falls, is_date = float(now) < float(before), feature.is_date
    start = number_in_words(feature, float(before))
    verb = "move" if is_date else "lower" if falls else "raise"
    found = f"{verb} {name} from {start} to"
    leads = path_conditions(tree, tree.apply(row)[0]) if tree is not None else []
    for condition in leads:
        is_own = condition.column == feature.column
        if is_own and isinstance(condition, NumberCondition):
            low, high = condition.low_text, condition.high_text
            if falls and high and not low:
                high = _kept(feature, high, condition.high, gt)
                text = f"{with_unit(high, feature.unit)} or less"
                return f"{found} {f'before {high}' if is_date else text}"
            if not falls and low and not high:
                low = _kept(feature, low, condition.low, lt)
                text = f"more than {with_unit(low, feature.unit)}"
                return f"{found} {f'{low} or later' if is_date else text}"
    return f"{found} {cell_text(feature, now)}"


def _kept(feature: Feature, text: str, bound: float, misses: Callable) -> str:
    """Return a bound as texts show it, or more exactly where a value there misses it.

    A threshold of 3.325 is shown as 3.33 where no training row is between.
    """
    if feature.is_date or feature.is_clock or not misses(parse(text), bound):
        return text
    return shortest(bound, lambda own: isclose(own, bound) or not misses(own, bound))


def cell_text(feature, cell) -> str:
    """Return a cell of a feature's column: "0.2 cm", "Sales" or "missing"."""
    value = feature.cell(cell)
    if pd.isna(value):
        return "missing"
    if feature.kind == "number":
        text = number_in_words(feature, float(value))
        return text if feature.is_date else with_unit(text, feature.unit)
    text, known = quoted(value), value in feature.categories
    return text if known else f"{text}, which no training row held"


def predicts_times(model) -> bool:
    """Whether what a model predicts was written as times, and is so in words."""
    return model.target_form is not None and model.target_form.is_clock


def target_unit(model) -> str:
    """Return the unit behind the target's numbers; times are written without one."""
    return "" if predicts_times(model) else model.target_unit


def target_title(model) -> str:
    """Return what a model predicts as an axis is called: "price (€)"."""
    return named_with_unit(model.target, target_unit(model))


def target_number(model, value: float, digits: int = 3) -> str:
    """Write a value of the target, or a distance between two, without its unit."""
    return short_time(value) if predicts_times(model) else significant(value, digits)


def target_text(model, value: float) -> str:
    """Write a value of the target with its unit."""
    return with_unit(target_number(model, value), target_unit(model))


def error_text(model, value: float) -> str:
    """Write a distance between two values of the target with its unit.

    That of percentages is no percentage: 12% is 2 percentage points above 10%.
    """
    unit = target_unit(model)
    unit = "percentage points" if unit == "%" else unit
    return with_unit(target_number(model, value), unit)


def number_in_words(feature: Feature, value: float) -> str:
    """Return a number of a feature's column, without its unit: a date, a time or 0.2.

    Not NaN.
    """
    if feature.is_date:
        return moment_text(value)
    return clock_text(value) if feature.is_clock else shortest(value)
