"""Where GRANDE's trees start: at random, or as greedy trees that were grown before.

The greedy trees are a random forest's and boosted ones. Both predict by the mean over
the trees, in logits or in the unit of the target, as does an ensemble whose estimator
weights are equal.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor

from treelab.data.split import some_rows
from treelab.learners.common.base import TrainingData
from treelab.learners.common.greedy import ColumnRules
from treelab.learners.common.objective import Objective, RegressionObjective
from treelab.learners.grande.network import Rows, WeightedTreesNetwork
from treelab.learners.grande.settings import GrandeSettings
from treelab.trees.constraints import Constraints
from treelab.trees.logits import softmax
from treelab.trees.losses import SQUARED_ERROR, Loss

MAX_COLUMNS = 64  # features that a tree grown before may use, where a table has more
FEWEST_COLUMNS = 5  # a tree is given no fewer features, where there are so many
SPREAD = 0.05  # standard deviation of random parameters (Keras' own)
SELECTOR_SPREAD = 0.5  # of selectors beside thresholds that rows have
# A chosen feature leads by this much. entmax15 gives a feature no weight, and so no
# gradient, once it lies 2 behind; a greedy choice must stay open to change.
LEAD = 1.0
NEVER = -1e9  # logit of a column that a split may not test: no weight, no gradient


def begin_network(
    fold: np.ndarray | None,
    *,
    data: TrainingData,
    objective: Objective,
    settings: GrandeSettings,
    generator: torch.Generator,
    seed: int,
) -> WeightedTreesNetwork:
    """Give the trees of every sub-ensemble their columns, initial splits and leaves.

    Each sub-ensemble has as many trees as the model: what it says of them holds for it.
    The ``seed`` draws the trees' features, and seeds the greedy ensembles; the
    ``generator``, on the device to train on, draws parameters. See ``Rows.of``, too.
    """
    rows = Rows.of(data, fold, objective, generator.device)
    random = np.random.RandomState(seed)
    n_trees = rows.n_folds * settings.n_estimators
    offered = [np.arange(rows.x.shape[1])] * n_trees
    rules, fraction = None, settings.selected_variables
    constraints = Constraints.read(settings.constraints)
    if constraints.limits_splits:
        rules = ColumnRules.of(constraints, data.encoder.features_, None)
        which = rows, objective, settings.depth, random
        offered = offered_columns(n_trees, rules, *which)
        # Every level finds a column that it allows.
        fraction = 1.0 if constraints.allowed else fraction
    columns = draw_columns(offered, fraction, random)
    return draw_starts(rows, columns, objective, settings, generator, random, rules)


def draw_starts(
    rows: Rows,
    columns: np.ndarray,
    objective: Objective,
    settings: GrandeSettings,
    generator: torch.Generator,
    random: np.random.RandomState,
    rules: ColumnRules | None = None,
) -> WeightedTreesNetwork:
    """Draw all parameters, and write greedy trees over them where these are asked.

    Of greedy trees each sub-ensemble has its own, grown without the rows that it holds
    out; splits below their leaves start at random. ``init="random"`` draws thresholds
    from the values of training rows, as greedy starts do; "normal" around 0, near the
    median of a feature that is a standard normal score. Columns (G * E, K) are those
    that each tree may test; of more than `MAX_COLUMNS` a greedy tree is left those that
    it does test and random others.
    """
    trees: list[GreedyTree] = []
    if settings.init in GROWERS:
        least = rules.min_samples_leaf if rules else 1
        trees = _grow(rows, columns, objective, settings, least, random)
    if trees and columns.shape[1] > MAX_COLUMNS:
        first = [
            np.concatenate([used, random.permutation(np.setdiff1d(own, used))])
            for own, used in zip(columns, (tree.used() for tree in trees))
        ]
        columns = np.sort([own[:MAX_COLUMNS] for own in first], axis=1)

    x = rows.x[: rows.n_train]
    own = torch.as_tensor(columns, device=x.device)
    n_trees, n_leaves = len(own), 2**settings.depth
    shape = (n_trees, n_leaves - 1, own.shape[1])  # (E, N, K)

    def normal(*shape: int, spread: float = SPREAD) -> Tensor:
        return spread * torch.randn(shape, generator=generator, device=x.device)

    if settings.init == "normal":
        logits, threshold = normal(*shape), normal(*shape)
    else:
        logits = normal(*shape, spread=SELECTOR_SPREAD)
        row = torch.randint(len(x), shape, generator=generator, device=x.device)
        threshold = x[row, own[:, None].expand(n_trees, 1, -1)]
    if trees:
        value = np.stack([tree.value for tree in trees])
        if isinstance(objective, RegressionObjective):
            value = objective.leaf_parameters(value)
        leaf_value = x.new_tensor(value)
        _write_splits(logits, threshold, trees, own)
    else:
        leaf_value = normal(n_trees, n_leaves, objective.n_outputs)
    leaf_weight = normal(n_trees, n_leaves if settings.leaf_weights else 1, 1)
    if rules is not None:
        logits = _forbid_by_level(logits, own, rules)
    uses_all = columns.shape[1] == x.shape[1]  # which is faster without a list
    return WeightedTreesNetwork(
        rows,
        objective,
        settings,
        generator,
        parameters=(logits, threshold, leaf_value, leaf_weight),
        columns=None if uses_all else own,
    )


def draw_columns(
    offered: Sequence[np.ndarray], fraction: float, random: np.random.RandomState
) -> np.ndarray:
    """Draw a fraction of the features on offer to each tree, (E, K), ascending.

    `FEWEST_COLUMNS` where there are, at least. Section 3.4 of arXiv:2309.17130, feature
    subset.
    """
    n_offered = min(len(own) for own in offered)
    n_columns = max(min(FEWEST_COLUMNS, n_offered), round(fraction * n_offered))
    drawn = [random.permutation(own)[:n_columns] for own in offered]
    return np.sort(drawn, axis=1)


# Greedy trees, and how they are written into the parameters.


@dataclass(frozen=True)
class GreedyTree:
    """A greedy tree laid into a complete one, breadth first."""

    # (N,): -1 below the tree's leaves, where nothing is split.
    feature: np.ndarray
    # (N,): splits float32 values as the tree does; NaN where nothing is split.
    threshold: np.ndarray
    value: np.ndarray  # (L, C): logits, one for two classes, or values

    @classmethod
    def of(
        cls, tree, depth: int, columns: np.ndarray, value: np.ndarray
    ) -> "GreedyTree":
        """Lay out scikit-learn's ``tree_``, grown on some columns, with node values."""
        feature = np.empty(2**depth - 1, dtype=np.int64)
        threshold = np.empty(2**depth - 1, dtype=np.float32)
        source = np.zeros(1, dtype=np.int64)  # node that each of a level stands for
        for level in range(depth):
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            ends = tree.children_left[source] < 0
            feature[nodes] = np.where(ends, -1, tree.feature[source])
            exact = tree.threshold[source]
            single = exact.astype(np.float32)
            below = np.nextafter(single, np.float32(-np.inf))
            threshold[nodes] = np.where(single > exact, below, single)
            threshold[nodes][ends] = np.nan
            children = np.stack([tree.children_left, tree.children_right], 1)[source]
            source = np.where(ends[:, None], source[:, None], children).ravel()
        feature = np.where(feature >= 0, columns[feature], -1)
        return cls(feature, threshold, value[source])

    def used(self) -> np.ndarray:
        """Features that it tests, ascending."""
        return np.unique(self.feature[self.feature >= 0])


def _write_splits(
    logits: Tensor, threshold: Tensor, trees: Sequence[GreedyTree], columns: Tensor
) -> None:
    """Write greedy trees' splits over random ones (E, N, K), in place."""
    for e, tree in enumerate(trees):
        node = torch.as_tensor(np.flatnonzero(tree.feature >= 0), device=logits.device)
        feature = torch.as_tensor(tree.feature, device=logits.device)[node]
        chosen = (columns[e] == feature[:, None]).long().argmax(1)
        logits[e, node, chosen] = logits[e, node].amax(1) + LEAD
        bounds = torch.as_tensor(tree.threshold, device=logits.device)
        threshold[e, node, chosen] = bounds[node]


MOST_ROWS = 10_000  # a tree, or a forest that judges columns, is grown on so many
MIN_SAMPLES_LEAF = 5
PRIOR = 1.0  # rows' worth of the overall mean that every leaf of a forest holds
SMALLEST_PROBABILITY = 1e-6  # before the logarithm
BOOST_COLUMNS = 0.5  # fraction of a tree's features that a boosted split tries
BOOST_ROWS = 0.8  # fraction of the rows that a boosted tree is grown on
BOOST_RIDGE = 1.0  # added to the curvature in a leaf
# Learning rates of all boosted trees together: on so many rows, and never more than.
BOOST_TOTAL, BOOST_UNIT_ROWS, BOOST_MOST = 4.0, 500, 12.0
BOOST_LARGEST = 0.3  # a single tree's learning rate


def _grow(
    rows: Rows,
    columns: np.ndarray,
    objective: Objective,
    settings: GrandeSettings,
    least: int,
    random: np.random.RandomState,
) -> list[GreedyTree]:
    """Grow the greedy trees of every fold, several folds at once."""
    train = slice(rows.n_train)
    loss = getattr(objective, "loss_of_rows", SQUARED_ERROR)
    grower = Grower(
        rows.x[train].cpu().numpy(),
        rows.target[train].cpu().numpy(),
        rows.weight[train].double().cpu().numpy(),
        objective.n_classes,
        settings.depth,
        max(least, MIN_SAMPLES_LEAF),
        loss,
    )
    grow = GROWERS["forest" if loss.is_positive else settings.init]
    fold = rows.fold[train].cpu().numpy()
    by_fold = np.split(columns, rows.n_folds)
    seeds = random.randint(2**31, size=rows.n_folds)
    grown = Parallel(n_jobs=torch.get_num_threads(), prefer="threads")(
        delayed(grow)(replace(grower, weight=grower.weight * (fold != g)), own, seed)
        for g, (own, seed) in enumerate(zip(by_fold, seeds))
    )
    return [tree for of_fold in grown for tree in of_fold]


@dataclass(frozen=True)
class Grower:
    """Grows greedy trees, a list of the features (K,) of each, from a seed."""

    x: np.ndarray  # (n, F), float32
    y: np.ndarray  # (n,): class codes or values
    weight: np.ndarray  # (n,): rows of weight 0 take no part
    n_classes: int  # 0 for regression
    depth: int  # splits on every path
    least: int = MIN_SAMPLES_LEAF  # rows of a leaf
    loss: Loss = SQUARED_ERROR  # of regression, whose best constants leaves hold

    @property
    def target(self) -> np.ndarray:
        """One column a class, or the values, (n, C)."""
        return np.eye(self.n_classes)[self.y] if self.n_classes else self.y[:, None]

    def forest(self, columns: np.ndarray, seed: int) -> list[GreedyTree]:
        """Grow a random forest: bootstrapped rows, a few random features a split."""
        random = np.random.RandomState(seed)
        x, y, weight, n_classes = self.x, self.y, self.weight, self.n_classes
        rows = np.flatnonzero(weight > 0)
        overall = weight @ self.target / weight.sum()
        if not self.loss.has_means:
            overall = self._constants(0 * rows, rows, 1)[0]
        grower = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
        trees = []
        for own in columns:
            drawn = rows[random.randint(len(rows), size=min(len(rows), MOST_ROWS))]
            fitted = grower(
                max_depth=self.depth,
                min_samples_leaf=self.least,
                max_features="sqrt" if n_classes else 1 / 3,
                random_state=random.randint(2**31),
            ).fit(x[np.ix_(drawn, own)], y[drawn], sample_weight=weight[drawn])
            mean = fitted.tree_.value[:, 0]  # (nodes, classes among the drawn rows)
            if n_classes:
                seen, mean = mean, np.zeros((len(mean), n_classes))
                mean[:, fitted.classes_] = seen
            elif not self.loss.has_means:
                leaf = fitted.apply(x[np.ix_(drawn, own)])
                mean = self._constants(leaf, drawn, len(mean))
                mean = np.where(np.isnan(mean), overall, mean)
            size = fitted.tree_.weighted_n_node_samples[:, None]
            value = (size * mean + PRIOR * overall) / (size + PRIOR)
            value = _logits(value) if n_classes else value
            trees.append(GreedyTree.of(fitted.tree_, self.depth, own, value))
        return trees

    def boosted(self, columns: np.ndarray, seed: int) -> list[GreedyTree]:
        """Boost trees, each a Newton step on the residuals of those before it.

        The learning rates of all trees together are larger for more rows, so that few
        rows are not overfitted. Source: Friedman, "Stochastic gradient boosting", 2002,
        doi:10.1016/S0167-9473(01)00065-2.
        """
        random = np.random.RandomState(seed)
        rows, n_classes, loss = (
            np.flatnonzero(self.weight > 0),
            self.n_classes,
            self.loss,
        )
        x, weight, target = self.x[rows], self.weight[rows], self.target[rows]
        base = weight @ target / weight.sum()
        if not loss.has_means:
            base = self._constants(0 * rows, rows, 1)[0]
        if n_classes:
            base = _logits(np.clip(base, 1e-3, None)[None])[0]
        if n_classes == 2:
            target = target[:, 1:]
        n_trees = len(columns)
        total = min(BOOST_MOST, BOOST_TOTAL * np.sqrt(len(rows) / BOOST_UNIT_ROWS))
        learning_rate = min(BOOST_LARGEST, total / n_trees)
        n_drawn = min(MOST_ROWS, max(1, round(BOOST_ROWS * len(rows))))
        output = np.tile(base, (len(rows), 1))  # (n, C)
        trees = []
        for own in columns:
            predicted = _probabilities(output) if n_classes else output
            residual, curvature = target - predicted, np.ones_like(output)
            if n_classes:
                curvature = predicted * (1 - predicted)
            slope = residual if loss.is_squared else -loss.slope(output, target)
            drawn = random.permutation(len(rows))[:n_drawn]
            fitted = DecisionTreeRegressor(
                max_depth=self.depth,
                min_samples_leaf=self.least,
                max_features=BOOST_COLUMNS,
                random_state=random.randint(2**31),
            ).fit(x[np.ix_(drawn, own)], slope[drawn], sample_weight=weight[drawn])
            node, n_nodes = fitted.apply(x[:, own]), fitted.tree_.node_count

            def sums(each: np.ndarray, node=node, n_nodes=n_nodes) -> np.ndarray:
                """Weighted sums (nodes, C) over the rows of each node."""
                own = [np.bincount(node, weight * column, n_nodes) for column in each.T]
                return np.stack(own, axis=1)

            step = sums(residual) / (sums(curvature) + BOOST_RIDGE)  # Newton's
            if not loss.has_means:
                best = self._constants(node, rows, n_nodes, output[:, 0])
                count = np.bincount(node, weight, n_nodes)[:, None]
                step = np.where(count > 0, best, 0.0) * count / (count + BOOST_RIDGE)
            output += learning_rate * step[node]
            # The sum of the steps as a mean over the trees.
            value = base + n_trees * learning_rate * step
            trees.append(GreedyTree.of(fitted.tree_, self.depth, own, value))
        return trees

    def both(self, columns: np.ndarray, seed: int) -> list[GreedyTree]:
        """Grow half of the trees as a forest, the others boosted."""
        half = len(columns) // 2
        return self.forest(columns[:half], seed) + self.boosted(columns[half:], seed)

    def _constants(self, leaf, rows, n_nodes: int, so_far=None) -> np.ndarray:
        """The loss's best constant (n_nodes, 1) of some rows at their leaves."""
        of_rows = self.y[rows].astype(float), self.weight[rows]
        return self.loss.constants(leaf, *of_rows, n_nodes, so_far)[:, None]


GROWERS = {"both": Grower.both, "forest": Grower.forest, "boosted": Grower.boosted}


def _logits(probability: np.ndarray) -> np.ndarray:
    """Logits (m, C), one for two classes, of class probabilities (m, n_classes)."""
    log_p = np.log(np.maximum(probability, SMALLEST_PROBABILITY))
    if probability.shape[1] == 2:
        return log_p[:, 1:] - log_p[:, :1]
    return log_p - log_p.mean(1, keepdims=True)


def _probabilities(logits: np.ndarray) -> np.ndarray:
    """Class probabilities (n, C) of logits (n, C); of the second class where C is 1."""
    return 1 / (1 + np.exp(-logits)) if logits.shape[1] == 1 else softmax(logits)


# Constraints: which columns the trees may test.


N_TREES = 32  # of the forest that judges columns


def offered_columns(
    n_trees: int,
    rules: ColumnRules,
    rows: Rows,
    objective: Objective,
    depth: int,
    random: np.random.RandomState,
) -> list[np.ndarray]:
    """Return the features that each tree may be given, all of one group of columns.

    Raises ValueError if no group has a column for every level, or no column is worth
    its cost.
    """
    among = _chosen_columns(rules, rows, objective, random)
    levels = [rules.by_level.get(level, rules.by_level[-1]) for level in range(depth)]
    groups = [
        group & among
        for group in rules.groups
        if all((group & among & level).any() for level in levels)
    ]
    if not groups:
        raise ValueError(
            "The constraints leave a level of GRANDE's trees without any column: "
            "allow more columns there, or more columns in all."
        )
    dealt = random.permutation(np.resize(np.arange(len(groups)), n_trees))
    own = [np.flatnonzero(groups[g][rules.column]) for g in dealt]
    # Trees are one tensor: one with fewer features has some of them twice.
    width = max(len(features) for features in own)
    return [np.resize(features, width) for features in own]


def _forbid_by_level(logits: Tensor, columns: Tensor, rules: ColumnRules) -> Tensor:
    """Logits (E, N, K) by which no split chooses what its level may not test."""
    levels = np.floor(np.log2(np.arange(1, logits.shape[1] + 1))).astype(int)
    may = np.stack([rules.may_test(level, ()) for level in levels])  # (N, F)
    allowed = torch.as_tensor(may, device=logits.device)[:, columns].transpose(0, 1)
    if not bool(allowed.any(-1).all()):
        raise ValueError(
            "A tree of GRANDE was given no column that a level allows; set "
            "selected_variables to 1."
        )
    return logits.masked_fill(~allowed, NEVER)


def _chosen_columns(
    rules: ColumnRules, rows: Rows, objective: Objective, random: np.random.RandomState
) -> np.ndarray:
    """Return which columns are worth their cost, and no more than asked, bool.

    One after the other, the dearest first, is left out without which a forest loses no
    more than it costs: on rows out of the bag, as a fraction of the root's impurity. Of
    too many those stay that a forest of all finds most important.
    """
    n_columns = rules.groups.shape[1]
    forest_of = partial(_forest, rows, objective.n_classes)
    cost = np.zeros(n_columns)
    cost[rules.column] = rules.cost
    worth = np.ones(n_columns, dtype=bool)
    if cost.any():
        seed = random.randint(2**31)
        _, loss = forest_of(worth[rules.column], seed)
        for column in np.argsort(-cost, kind="stable")[: np.count_nonzero(cost)]:
            without = worth & (np.arange(n_columns) != column)
            features = without[rules.column]
            other = forest_of(features, seed)[1] if features.any() else 1.0
            if other - loss <= cost[column]:
                worth, loss = without, other
        if not worth.any():
            raise ValueError("No column saves what it costs; lower column_costs.")
    seed = random.randint(2**31)
    if rules.max_columns >= n_columns:
        return worth
    forest, _ = forest_of(np.ones(len(rules.column), dtype=bool), seed)
    importance = np.bincount(rules.column, forest.feature_importances_, n_columns)
    may = np.any([*rules.by_level.values()], axis=0) & worth
    best = np.argsort(-np.where(may, importance, -1), kind="stable")
    return worth & np.isin(np.arange(n_columns), best[: rules.max_columns])


def _forest(
    rows: Rows, n_classes: int, features: np.ndarray, seed: int
) -> tuple[RandomForestRegressor, float]:
    """Grow a random forest on the features that are True; with its loss out of the bag.

    On training rows; the squared error is that of the classes' probabilities, where
    there are classes, as a fraction of the root's.
    """
    most = some_rows(rows.n_train, MOST_ROWS)
    x, y = rows.x.cpu().numpy()[most], rows.target.cpu().numpy()[most]
    target = np.eye(n_classes)[y] if n_classes else y[:, None]
    weight = None if rows.own_weight is None else rows.own_weight[most]
    forest = RandomForestRegressor(
        N_TREES,
        min_samples_leaf=5,
        max_features="sqrt" if n_classes else 1.0,
        random_state=seed,
        oob_score=True,
    )
    with warnings.catch_warnings():  # a row that each tree was grown on has no vote
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        forest.fit(x[:, features], target if n_classes else y, weight)
    mean = np.average(target, axis=0, weights=weight)
    own, of_root = (
        np.average(((target - each) ** 2).sum(axis=1), weights=weight)
        for each in (forest.oob_prediction_.reshape(target.shape), mean)
    )
    return forest, float(own / of_root)
