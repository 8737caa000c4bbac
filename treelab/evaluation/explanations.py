"""Why a model predicts what it predicts for one row."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.evaluation.counterfactuals import robust_spreads
from treelab.evaluation.metrics import chance_of_truth
from treelab.evaluation.node_report import LeafScore
from treelab.trees.ensemble import WeightedTrees, at_nodes
from treelab.trees.feature import as_table, feature_matrix
from treelab.trees.pruning_path import PruningPath
from treelab.trees.text import (
    Condition,
    ObliqueCondition,
    cell_text,
    fact_text,
    narrowed,
    path_conditions,
    sum_name,
    target_text,
    value_within,
)
from treelab.trees.tree import OBLIQUE, Tree, read_features, sum_up
from treelab.trees.words import clean, joined, signed

# Rows worth a look: those a model is least sure of, its worst errors, typical ones.


_BLOCK = 2_000  # rows at once; values of all rows and trees are large


def least_sure(model, X: pd.DataFrame, proba: np.ndarray | None = None) -> np.ndarray:
    """Return the places of all rows, those the model is least sure of first.

    Classes: by the smallest margin between the two largest of the model's probabilities
    ``proba`` (n_rows, n_classes). Regression: by the largest standard deviation in the
    leaf, or, of an ensemble, of its trees' weighted predictions.
    """
    if proba is not None:
        two = np.sort(proba, axis=1)[:, -2:]
        return np.argsort(two[:, -1] - two[:, 0], kind="stable")
    if isinstance(model, WeightedTrees):
        spread = _disagreement(model, X)
    else:
        tree: Tree = model.tree if isinstance(model, PruningPath) else model
        spread = np.sqrt(np.nan_to_num(tree.impurity))[tree.apply(X)]
    return np.argsort(-spread, kind="stable")


def _disagreement(model: WeightedTrees, X: pd.DataFrame) -> np.ndarray:
    """Weighted standard deviation of the trees' predictions, (n_rows,)."""
    spread = np.empty(len(X))
    for first in range(0, len(X), _BLOCK):
        here = slice(first, first + _BLOCK)
        weight, leaf = model.estimator_weights(X.iloc[here]), model.leaves(X.iloc[here])
        value = model.leaf_value[np.arange(model.n_estimators), leaf, 0]
        mean = (weight * value).sum(1, keepdims=True)
        spread[here] = np.sqrt((weight * (value - mean) ** 2).sum(1))
    return spread


def worst_errors(y, predicted, proba=None, classes=None) -> np.ndarray:
    """Return the places of all rows, the largest loss first.

    Classes: the log loss, by ``proba`` (n_rows, n_classes) with its columns in the
    order of ``classes``; a class that is not among them has probability 0. Regression,
    without ``proba``: the absolute error.
    """
    if proba is None:
        error = np.abs(np.asarray(y, float) - np.asarray(predicted, float))
        return np.argsort(-error, kind="stable")
    return np.argsort(chance_of_truth(y, proba, classes or ()), kind="stable")


def typical_rows(X: pd.DataFrame, candidates: np.ndarray) -> np.ndarray:
    """Return the places of the candidates, those nearest to their centre first.

    Candidates, bool (n_rows,), may be the rows of a class that are predicted correctly.
    The centre has the median of each number column and the most frequent category of
    each other one. Distances add up over columns: robust standard deviations of a
    number, 1 for another category or where just one of the two is missing.
    """
    places = np.flatnonzero(candidates)
    own = X.iloc[places]
    distance = np.zeros(len(own))
    spreads = robust_spreads(X)
    for column in X.columns:
        cells = own[column]
        missing = cells.isna().to_numpy()
        if missing.mean() > 0.5 if len(own) else True:
            distance += ~missing
        elif column_kind(X[column]) == "number":
            values = cells.to_numpy(float)
            away = np.abs(values - np.nanmedian(values)) / spreads[column]
            distance += np.where(missing, 1.0, away)
        else:
            distance += missing | (cells != cells.mode().iloc[0]).to_numpy(bool)
    return places[np.argsort(distance, kind="stable")]


def rows_where(values: pd.Series, low=None, high=None, among=None) -> np.ndarray:
    """Return which rows pass a condition on one column, bool (n_rows,).

    Bounds of a number are included, and a missing value passes none; ``among`` are
    categories, as text, that pass.
    """
    passes = pd.Series(True, values.index)
    if low is not None:
        passes &= values >= low
    if high is not None:
        passes &= values <= high
    if among is not None:
        passes &= values.notna() & values.astype(str).isin(list(among))
    return passes.to_numpy(bool, na_value=False)


# How much each column moves a tree's prediction for one row away from its mean.
#
# Two ways: along the path (Saabas, "Interpreting random forests", 2014), each split
# moving the mean of the rows that reach it to that of the rows on the row's side; and
# Shapley values of the columns (Lundberg et al., "From local explanations to global
# understanding with explainable AI for trees", Nature Machine Intelligence 2, 2020), by
# the rows that the tree was fitted to, which do not depend on the order of the splits.


LINEAR_LEAF = "leaf at usual values"  # of the features, as missing ones count there


@dataclass(frozen=True)
class Contributions:
    """What moves one prediction from the mean prediction to where it is."""

    # Mean prediction over the rows that the tree was fitted to; along a path to linear
    # leaves the root's own value, as how far these change that mean is not known.
    base: float
    # By column; largest absolute change first. Along a path each weighted sum counts by
    # itself, and so does what a leaf's linear model predicts for usual values.
    changes: dict[str, float]

    @property
    def prediction(self) -> float:
        """Base and all changes together."""
        return self.base + sum(self.changes.values())


def path_contributions(tree: Tree, row, output: int = 0) -> Contributions:
    """Return what each split on a row's path changes, added up by column (Saabas)."""
    means = node_means(tree)[:, output]
    path = tree.path(row)
    changes: dict[str, float] = {}
    for node, below in pairwise(path):
        name = split_name(tree, node)
        changes[name] = changes.get(name, 0.0) + float(means[below] - means[node])
    if tree.leaf_weights is not None and tree.leaf_weights[path[-1]].any():
        residual = float(tree.predict(row)[0] - means[path[-1]])
        x = read_features(tree, row, leaves=True)[0]
        for j in np.flatnonzero(tree.leaf_weights[path[-1]] * ~np.isnan(x)):
            feature = tree.features[j]
            usual = float(np.nan_to_num(feature.fill))
            by = float(tree.leaf_weights[path[-1], j] * (x[j] - usual))
            changes[feature.column] = changes.get(feature.column, 0.0) + by
            residual -= by
        changes[LINEAR_LEAF] = residual
    return ranked(float(means[0]), changes)


def shapley_contributions(
    model: Tree | WeightedTrees, row, output: int = 0
) -> Contributions:
    """Return the exact Shapley value of each column for one row (as TreeSHAP does).

    The value of a set of columns is the tree's mean prediction where the row is
    followed at splits of these columns, and at others all branches are taken, weighted
    by their rows (path-dependent). These are the rows that the model knows: what the
    file counts of a model read from xgboost, LightGBM or scikit-learn, as its own
    program's values go by, and the table's where it was imported as a run, or had
    ``with_rows``. The trees of an ensemble count by the weight that each has on this
    row; ``output`` is then that of ``decision_value``. ValueError if the tree has
    weighted sums or linear leaves.
    """
    if not has_shapley(model):
        raise ValueError("Shapley values need splits on one column, constant leaves.")
    columns = list(dict.fromkeys(feature.column for feature in model.features))
    place = np.array([columns.index(own.column) for own in model.features])
    if isinstance(model, WeightedTrees):
        paths, base = _ensemble_paths(model, row, output)
    else:
        paths, base = _tree_paths(model, row, output)
    player, follows, fraction, value = paths
    player = np.where(player < 0, -1, place[player])
    change = _shapley_values(player, follows, fraction, value, len(columns))
    return ranked(base, dict(zip(columns, change.tolist())))


# What Shapley values are made of: of each leaf (L) and level of its path (D) the
# feature that is tested, -1 beyond the leaf; whether the row goes the leaf's way there;
# the fraction of the rows there that do; and of each leaf its value.
Paths = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _tree_paths(tree: Tree, row, output: int) -> tuple[Paths, float]:
    """Return the paths to all leaves of a tree, and its mean prediction."""
    rows, means = _rows(tree), node_means(tree)[:, output]
    goes_left = np.nan_to_num(tree.margin(row)[0], nan=-1.0) >= 0
    leaves = np.flatnonzero(tree.is_leaf)
    below, steps = leaves, []
    while (below > 0).any():  # up, level by level; those that arrived at the root wait
        above = np.where(below > 0, tree.parent[below], 0)
        is_left = tree.left[above] == below
        here = below > 0
        tested = np.where(here, tree.feature[above], -1)
        follows = np.where(here, is_left == goes_left[above], True)
        fraction = np.where(here, rows[below] / rows[above], 1.0)
        steps.append((tested, follows, fraction))
        below = above
    if not steps:  # a leaf alone
        steps.append((np.array([-1]), np.array([True]), np.array([1.0])))
    player, follows, fraction = (np.stack(own, axis=1) for own in zip(*steps))
    return (player, follows, fraction, tree.value[leaves, output]), float(means[0])


def _ensemble_paths(model: WeightedTrees, row, output: int) -> tuple[Paths, float]:
    """Return the paths to all leaves of the trees that weigh on a row."""
    weight = model.estimator_weights(row)[0]
    trees = np.flatnonzero(weight > 0)
    weight = weight[trees]
    value = decision_value(model, model.leaf_value[trees], output)  # (E, L)
    rows = _node_rows(model)[trees]
    x = feature_matrix(model.features, row)[0][model.feature[trees]]  # (E, N)
    goes_left = np.where(
        np.isnan(x), model.missing_left[trees], x <= model.threshold[trees]
    )
    leaf, steps = np.arange(model.n_leaves), []
    for level in range(model.depth):
        node = 2**level - 1 + (leaf >> (model.depth - level))  # (L,)
        below = 2 ** (level + 1) - 1 + (leaf >> (model.depth - level - 1))
        follows = goes_left[:, node] == (below % 2 == 1)
        fraction = rows[:, below] / rows[:, node]
        steps.append((model.feature[trees][:, node], follows, fraction))
    player, follows, fraction = (
        np.stack(own, axis=-1).reshape(-1, model.depth) for own in zip(*steps)
    )
    base = float(weight @ _node_means(model, output)[trees, 0])
    own = (weight[:, None] * value).ravel()
    return (player, follows, fraction, own), base


def _shapley_values(
    player: np.ndarray,
    follows: np.ndarray,
    fraction: np.ndarray,
    value: np.ndarray,
    n_players: int,
) -> np.ndarray:
    """Return the Shapley value of each player (n_players,) of the sum over leaves.

    A leaf is a game of products: its value times, for each player on its path, 1 or 0
    (whether the row follows) where the player takes part, else a fraction. So the sum
    over coalitions of a size is a coefficient of a polynomial.
    """
    n_leaves, depth = player.shape
    follow, part = follows.astype(float), np.array(fraction, dtype=float)
    player = player.copy()
    for later in range(1, depth):  # a column that is tested twice is one player
        for earlier in range(later):
            same = (player[:, earlier] == player[:, later]) & (player[:, later] >= 0)
            follow[same, earlier] *= follow[same, later]
            part[same, earlier] *= part[same, later]
            player[same, later] = -1
    follow[player < 0], part[player < 0] = 1.0, 1.0  # plays no role in its leaf
    found = np.zeros(n_players)
    # 1 / (D * (D - 1 choose s)): how often a coalition of s others comes first.
    weight = [1 / (depth * comb(depth - 1, size)) for size in range(depth)]
    for own in range(depth):
        product = np.zeros((n_leaves, depth))
        product[:, 0] = value * (follow[:, own] - part[:, own])
        for other in range(depth):
            if other != own:
                more = product[:, :-1] * follow[:, [other]]
                product *= part[:, [other]]
                product[:, 1:] += more
        plays = player[:, own] >= 0
        np.add.at(found, player[plays, own], (product @ weight)[plays])
    return found


def has_shapley(model: Tree | WeightedTrees) -> bool:
    """Whether ``shapley_contributions`` takes this model."""
    if isinstance(model, WeightedTrees):
        return model.depth > 0
    return model.leaf_weights is None and not (model.feature == OBLIQUE).any()


def split_name(tree: Tree, node: int) -> str:
    """Return the column of a split, or those that matter most in its weighted sum.

    Of two sums on one path that these do not tell apart the lower one has its number.
    """
    if tree.feature[node] != OBLIQUE:
        return tree.features[tree.feature[node]].column
    name = sum_name(tree, node)
    above = [own for own in tree.path_to(node)[:-1] if tree.feature[own] == OBLIQUE]
    if name in {sum_name(tree, own) for own in above}:
        name += f" at node {node}"
    return f"sum of {name}"


def node_means(tree: Tree) -> np.ndarray:
    """Mean prediction of the rows that pass each node, (n_nodes, n_outputs).

    Where leaves are linear, each node's own value: what it would predict as a leaf.
    """
    if tree.leaf_weights is not None:
        return tree.value
    rows = _rows(tree)[:, None]
    return sum_up(tree, np.where(tree.is_leaf[:, None], tree.value * rows, 0)) / rows


def _rows(tree: Tree) -> np.ndarray:
    """Rows that pass each node; a leaf without any counts as next to none."""
    least = 1e-9 * (tree.mass[0] or 1.0)
    return sum_up(tree, np.where(tree.is_leaf, np.maximum(tree.mass, least), 0.0))


def ranked(base: float, changes: dict[str, float]) -> Contributions:
    """Return contributions, the largest change first; those of 0 are left out."""
    order = sorted(changes, key=lambda name: -abs(changes[name]))
    return Contributions(base, {name: changes[name] for name in order if changes[name]})


# The reasons for one prediction, in words, the strongest first.


MOST = 3  # reasons that a sentence gives
WORTH_SAYING = 0.2  # of the largest change


@dataclass(frozen=True)
class Reason:
    """One column, or weighted sum, and what it changes."""

    name: str  # column, or terms of the sum
    fact: str  # what the row holds: "age is 38 (> 30.5)"
    change: float  # of the prediction, in its own unit
    value: str = ""  # what the row holds, alone: "38"; "" of a linear model

    @property
    def text(self) -> str:
        """Name, value and change: "age, 38: +0.346"."""
        name = f"{clean(self.name)}, {self.value}" if self.value else clean(self.name)
        return f"{name}: {signed(self.change)}"


def reasons(
    model: Tree | WeightedTrees,
    row,
    contributions: Contributions,
    conditions: Sequence[Condition] | None = None,
) -> list[Reason]:
    """Put contributions to a prediction into words, the largest change first.

    The facts have the bounds of the conditions, by default those of a single tree's
    path; a column of conditions that are given is a reason also where it changes
    nothing by itself.
    """
    table = as_table(model.features, row)
    facts, values = {}, {}
    for feature in model.features:
        if (name := feature.column) in contributions.changes:
            values[name] = cell_text(feature, table[name].iloc[0])
            facts[name] = f"{clean(name)} is {values[name]}"
    changes = dict(contributions.changes)
    if LINEAR_LEAF in changes:
        by = signed(changes[LINEAR_LEAF])
        facts[LINEAR_LEAF] = f"the {LINEAR_LEAF} changes it by {by}"
    if isinstance(model, Tree):
        on_path = path_conditions(model, model.path(row)[-1])
        for condition in on_path if conditions is None else conditions:
            if isinstance(condition, ObliqueCondition):
                name = split_name(model, condition.node)
            else:
                name = condition.column
            values[name] = value_within(model, condition, row, table)
            facts[name] = fact_text(model, condition, values[name])
            if conditions is not None:
                changes.setdefault(name, 0.0)
    return [
        Reason(name, facts.get(name, name), own, values.get(name, ""))
        for name, own in changes.items()
    ]


def because(
    found: Sequence[Reason],
    rises: bool = True,
    needed: Collection[str] = (),
    most: int = MOST,
) -> str:
    """Return the strongest reasons as half a sentence.

    Such as "because age is 38 (> 30.5) and job is Sales, although bmi is 21"; "" where
    nothing speaks for the prediction. It is explained by what raises it, or else by
    what lowers it. Reasons come the largest change first; those ``needed``, by their
    names, together settle the prediction and are given also where one changes little by
    itself, as in an exclusive or. Where none are, at most so many are given.
    """
    sign = 1 if rises else -1
    largest = max((own.change * sign for own in found), default=0.0)
    if largest <= 0:
        return ""
    least = WORTH_SAYING * largest
    against = [own for own in found if own.change * sign <= -least]
    strong = [own for own in found if own.name in needed and own not in against]
    if not strong:
        strong = [own for own in found if own.change * sign >= least][:most]
    words = f"because {joined([own.fact for own in strong])}"
    return f"{words}, although {against[0].fact}" if against else words


# The part of a row's decision path that settles its class, whatever else it holds.
#
# A sufficient reason, or prime implicant, of the prediction: Izza, Ignatiev and
# Marques-Silva, "On tackling explanation redundancy in decision trees", JAIR 75, 2022.


Side = tuple[int, bool]  # a split, and whether the row goes left


@dataclass(frozen=True, eq=False)
class SufficientRule:
    """Conditions under which a tree predicts one class for every row."""

    conditions: list[Condition]  # one a column
    prediction: object  # the class
    n_dropped: int  # splits on the path that are not needed

    def holds(self, X: pd.DataFrame) -> np.ndarray:
        """Whether each row meets the conditions, bool (n_rows,)."""
        every = [np.ones(len(X), dtype=bool)]
        return np.all(every + [own.holds(X) for own in self.conditions], axis=0)

    def score(self, X: pd.DataFrame, y, weight=None) -> LeafScore:
        """Count the rows that meet the conditions, and how many are of the class."""
        here, is_weighted = self.holds(X), weight is not None
        right = np.asarray(y)[here] == self.prediction
        each = weight[here] if is_weighted else None
        accuracy = float(np.average(right, weights=each)) if len(right) else None
        return LeafScore(len(right), len(here), accuracy, None, is_weighted)


def sufficient_rule(tree: Tree, row) -> SufficientRule:
    """Drop splits from a row's path, the last first, while its class stays certain.

    A split can go where all leaves that rows meeting the others may reach predict the
    class. None of those that stay can go, but a smaller set of others may exist.
    ValueError if the tree is a regression or has weighted sums: their leaves are no
    boxes.
    """
    if tree.classes is None or (tree.feature == OBLIQUE).any():
        raise ValueError("A sufficient rule needs classes and no weighted sums.")
    path = tree.path(row)
    best = tree.predicted_class
    others = sum_up(tree, (tree.is_leaf & (best != best[path[-1]])).astype(int))
    sides = [(node, bool(tree.left[node] == below)) for node, below in pairwise(path)]
    needed = list(sides)
    for side in reversed(sides):
        rest = [own for own in needed if own != side]
        if _is_certain(tree, rest, others):
            needed = rest
    return SufficientRule(
        list(_conditions(tree, needed).values()),
        tree.classes[best[path[-1]]],
        len(sides) - len(needed),
    )


def _conditions(tree: Tree, sides: list[Side]) -> dict:
    """Conditions of these splits, by column."""
    found: dict = {}
    for node, left in sides:
        found = narrowed(found, tree, node, left)
    return found


def _is_certain(tree: Tree, sides: list[Side], others: np.ndarray) -> bool:
    """Whether rows that meet these splits reach no leaf of another class.

    ``others`` counts such leaves below each node, (n_nodes,).
    """
    waiting = [(0, _conditions(tree, sides))]
    while waiting:
        node, found = waiting.pop()
        if others[node] == 0:
            continue
        if tree.is_leaf[node]:
            return False
        column = tree.features[tree.feature[node]].column
        for child, left in ((tree.left[node], True), (tree.right[node], False)):
            below = narrowed(found, tree, node, left)
            if not below[column].is_empty:
                waiting.append((int(child), below))
    return True


# What each column changes in an ensemble's prediction for one row, over all trees.
#
# Each tree's changes along the row's path (Saabas, "Interpreting random forests", 2014)
# count by the weight that the tree has on this row.


def ensemble_contributions(model: WeightedTrees, row, output: int = 0) -> Contributions:
    """Return what each column changes on the row's paths through all trees.

    That is of ``decision_value``. The base is what the trees, weighted as on this row,
    predict on average.
    """
    weight, leaf = model.estimator_weights(row)[0], model.leaves(row)[0]
    means = _node_means(model, output)
    trees = np.arange(model.n_estimators)
    node = np.zeros(len(trees), dtype=int)
    moved = np.zeros(len(model.features))
    for level in range(model.depth):
        below = 2 ** (level + 1) - 1 + (leaf >> (model.depth - level - 1))
        change = weight * (means[trees, below] - means[trees, node])
        np.add.at(moved, model.feature[trees, node], change)
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
    rows = _node_rows(model)
    value = decision_value(model, model.leaf_value, output)
    return at_nodes(value * rows[:, -model.n_leaves :]) / rows


def _node_rows(model: WeightedTrees) -> np.ndarray:
    """What rows count at each node, (n_trees, n_nodes); no leaf has quite none."""
    if model.mass is None:
        return at_nodes(np.ones((model.n_estimators, model.n_leaves)))
    least = 1e-9 * (model.mass[0, 0] or 1)
    return at_nodes(np.maximum(model.mass[:, -model.n_leaves :], least))


# The contributions to a prediction of any model, and the sentence that they make.


def contributions(
    model: Tree | WeightedTrees, row, output: int = 0, *, along_path: bool = False
) -> Contributions:
    """Return what each column changes: Shapley values, or along the decision path.

    Where a model has no Shapley values, it is along the path anyway.
    """
    if has_shapley(model) and not along_path:
        return shapley_contributions(model, row, output)
    if isinstance(model, WeightedTrees):
        return ensemble_contributions(model, row, output)
    return path_contributions(model, row, output)


def because_sentence(model: Tree | WeightedTrees, row, output: int = 0) -> str:
    """Write which columns speak for the prediction of a row, the strongest first.

    ``output`` is the predicted class, in the order of ``classes``; 0 for regression.
    """
    if isinstance(model, Tree) and model.n_splits == 0 and model.leaf_weights is None:
        return "The tree has no split: it predicts the same for every row."
    found = contributions(model, row, output)
    conditions, needed = None, []
    if isinstance(model, Tree) and model.classes is not None and has_shapley(model):
        rule = sufficient_rule(model, row)
        if 0 < len(rule.conditions) <= MOST:
            conditions = rule.conditions
            needed = [str(condition.column) for condition in conditions]
    listed = reasons(model, row, found, conditions)
    most = MOST if has_shapley(model) else 1  # a weighted sum takes a line by itself
    if model.classes is not None:
        words = because(listed, needed=needed, most=most)
        if words:
            return f"B{words[1:]}." if needed else f"Mainly {words}."
        return "No feature speaks more for this class than it does on average."
    moved, changes = found.prediction - found.base, found.changes.values()
    words = because(listed, moved >= 0, most=most)
    base = target_text(model, found.base)
    is_same = abs(moved) <= 1e-9 * max(map(abs, changes), default=0.0)
    side = "At" if is_same else "Above" if moved > 0 else "Below"
    return f"{side} {base_words(model)} of {base} {words}".rstrip() + "."


def base_words(model: Tree | WeightedTrees) -> str:
    """Name what the base of a model's contributions is.

    Of trees whose weights differ by row it is another number for each row.
    """
    if isinstance(model, WeightedTrees) and np.ptp(model.leaf_weight, axis=1).any():
        return "the trees' weighted mean"
    is_linear = isinstance(model, Tree) and model.leaf_weights is not None
    if not is_linear:
        return "the mean prediction"
    has_means = model.loss is None or model.loss.has_means
    return "the mean" if has_means else "the best constant"
