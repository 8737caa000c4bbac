"""Where GRANDE's trees start: at random, or as greedy trees that were grown before.

The greedy trees are a random forest's and boosted ones. Both predict by the mean over
the trees, in logits or in the unit of the target, as does an ensemble whose estimator
weights are equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor

from treelab.learners.common.objective import Objective, RegressionObjective
from treelab.learners.grande.rows import Rows
from treelab.trees.logits import softmax
from treelab.trees.losses import SQUARED_ERROR, Loss

MAX_COLUMNS = 64  # features that a tree grown before may use, where a table has more
FEWEST_COLUMNS = 5  # a tree is given no fewer features, where there are so many
SPREAD = 0.05  # standard deviation of random parameters (Keras' own)
SELECTOR_SPREAD = 0.5  # of selectors beside thresholds that rows have
# A chosen feature leads by this much. entmax15 gives a feature no weight, and so no
# gradient, once it lies 2 behind; a greedy choice must stay open to change.
LEAD = 1.0

MOST_ROWS = 10_000  # a tree is grown on so many rows at most
MIN_SAMPLES_LEAF = 5
PRIOR = 1.0  # rows' worth of the overall mean that every leaf of a forest holds
SMALLEST_PROBABILITY = 1e-6  # before the logarithm
BOOST_COLUMNS = 0.5  # fraction of a tree's features that a boosted split tries
BOOST_ROWS = 0.8  # fraction of the rows that a boosted tree is grown on
BOOST_RIDGE = 1.0  # added to the curvature in a leaf
# Learning rates of all boosted trees together: on so many rows, and never more than.
BOOST_TOTAL, BOOST_UNIT_ROWS, BOOST_MOST = 4.0, 500, 12.0
BOOST_LARGEST = 0.3  # a single tree's learning rate


@dataclass(frozen=True)
class Starts:
    """Parameters of E trees before the first step."""

    # (E, N, K): I and T of arXiv:2309.17130, selectors of the K features that a tree
    # may use, and a threshold for each.
    logits: Tensor
    threshold: Tensor
    leaf_value: Tensor  # (E, L, C): L of the paper, raw outputs of each leaf
    # (E, K): features that each tree may use; None: all, in order.
    columns: Tensor | None


@dataclass(frozen=True)
class GreedyTree:
    """A greedy tree laid into a complete one."""

    # (N,): breadth first; -1 below the tree's leaves, where nothing is split.
    feature: np.ndarray
    # (N,): splits float32 values as the tree does; NaN where nothing is split.
    threshold: np.ndarray
    value: np.ndarray  # (L, C): logits, one for two classes, or values

    @classmethod
    def of(cls, tree, depth: int, columns: np.ndarray, value: np.ndarray):
        """Lay out scikit-learn's ``tree_``, grown on some columns, with node values."""
        feature, threshold, source = lay_out(tree, depth)
        feature = np.where(feature >= 0, columns[feature], -1)
        return cls(feature, threshold, value[source])

    def used(self) -> np.ndarray:
        """Features that it tests, ascending."""
        return np.unique(self.feature[self.feature >= 0])


def draw_columns(
    offered: Sequence[np.ndarray], fraction: float, random: np.random.RandomState
) -> np.ndarray:
    """Draw which of the features on offer each tree may use, (E, K), ascending.

    Section 3.4 of arXiv:2309.17130, feature subset.

    Parameters
    ----------
    offered : sequence of E ndarrays
        Features that each tree may be given.
    fraction : float
        Fraction of them that it is given; `FEWEST_COLUMNS` where there are, at least.
    random : RandomState
    """
    n_offered = min(len(own) for own in offered)
    n_columns = max(min(FEWEST_COLUMNS, n_offered), round(fraction * n_offered))
    drawn = [random.permutation(own)[:n_columns] for own in offered]
    return np.sort(drawn, axis=1)


def draw_starts(
    init: str,
    rows: Rows,
    columns: np.ndarray,
    objective: Objective | None = None,
    *,
    depth: int,
    least: int = 1,
    generator: torch.Generator,
    random: np.random.RandomState,
) -> Starts:
    """Draw all parameters, and write greedy trees over them where these are asked.

    Parameters
    ----------
    init : {"both", "forest", "boosted", "random", "normal"}
        Of greedy trees each sub-ensemble has its own, grown without the rows that it
        holds out; splits below their leaves start at random. "random" draws thresholds
        from the values of training rows, as greedy starts do; "normal" around 0, near
        the median of a feature that is a standard normal score.
    rows : Rows
    columns : ndarray of shape (G * E, K)
        Features that each tree may test. Of more than `MAX_COLUMNS` a greedy tree is
        left those that it does test and random others.
    objective : Objective or None, default=None
        Of another loss than the squared error, greedy trees of it.
    depth : int
    least : int, default=1
        Fewest rows in a leaf of a greedy tree; `MIN_SAMPLES_LEAF` at least.
    generator : torch.Generator
        On the device of the rows; draws the parameters.
    random : RandomState
        Seeds the growing and draws the other features.
    """
    trees = []
    loss = SQUARED_ERROR
    if isinstance(objective, RegressionObjective):
        loss = objective.loss_of_rows
    if init in GROWERS:
        size = depth, max(least, MIN_SAMPLES_LEAF)
        trees = _grow(init, rows, columns, *size, random, loss)
    if trees and columns.shape[1] > MAX_COLUMNS:
        first = [
            np.concatenate([used, random.permutation(np.setdiff1d(own, used))])
            for own, used in zip(columns, (tree.used() for tree in trees))
        ]
        columns = np.sort([own[:MAX_COLUMNS] for own in first], axis=1)

    x = rows.x[: rows.n_train]
    own = torch.as_tensor(columns, device=x.device)
    shape = (len(own), 2**depth - 1, own.shape[1])  # (E, N, K)

    def normal(shape: tuple[int, ...], spread: float = SPREAD) -> Tensor:
        return spread * torch.randn(shape, generator=generator, device=x.device)

    if init == "normal":
        logits, threshold = normal(shape), normal(shape)
    else:
        logits = normal(shape, SELECTOR_SPREAD)
        row = torch.randint(len(x), shape, generator=generator, device=x.device)
        threshold = x[row, own[:, None].expand(shape[0], 1, -1)]
    if trees:
        value = np.stack([tree.value for tree in trees])
        if isinstance(objective, RegressionObjective):
            value = objective.leaf_parameters(value)
        leaf_value = x.new_tensor(value)
        _write_splits(logits, threshold, trees, own)
    else:
        leaf_value = normal((shape[0], 2**depth, rows.n_outputs))
    uses_all = columns.shape[1] == x.shape[1]  # which is faster without a list
    return Starts(logits, threshold, leaf_value, None if uses_all else own)


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


def _grow(
    init: str,
    rows: Rows,
    columns: np.ndarray,
    depth: int,
    least: int,
    random,
    loss: Loss = SQUARED_ERROR,
) -> list[GreedyTree]:
    """Grow the greedy trees of every fold, several folds at once."""
    train = slice(rows.n_train)
    x, y = rows.x[train].cpu().numpy(), rows.target[train].cpu().numpy()
    weight = rows.weight[train].double().cpu().numpy()
    fold = rows.fold[train].cpu().numpy()
    seeds = random.randint(2**31, size=rows.n_folds)
    by_fold = zip(np.split(columns, rows.n_folds), seeds)
    grown = Parallel(n_jobs=torch.get_num_threads(), prefer="threads")(
        delayed(GROWERS["forest" if loss.is_positive else init])(
            x,
            y,
            weight * (fold != held_out),
            own,
            depth=depth,
            least=least,
            n_classes=rows.n_classes,
            seed=seed,
            loss=loss,
        )
        for held_out, (own, seed) in enumerate(by_fold)
    )
    return [tree for of_fold in grown for tree in of_fold]


def grow_forest(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    columns: np.ndarray,
    *,
    depth: int,
    n_classes: int,
    seed: int,
    least: int = MIN_SAMPLES_LEAF,
    loss: Loss = SQUARED_ERROR,
) -> list[GreedyTree]:
    """Grow a random forest: bootstrapped rows, a few random features a split.

    Parameters
    ----------
    x : ndarray of shape (n, F), float32
    y : ndarray of shape (n,)
        Class codes or values.
    weight : ndarray of shape (n,)
        Rows of weight 0 take no part.
    columns : ndarray of shape (E, K)
        Features that each of the E trees may test.
    depth : int
        Splits on every path.
    n_classes : int
        0 for regression.
    seed : int
        Draws rows and features.
    least : int, default=MIN_SAMPLES_LEAF
        Fewest rows in a leaf.
    loss : Loss, default=SQUARED_ERROR
        Of regression, whose best constants leaves hold.
    """
    random = np.random.RandomState(seed)
    rows = np.flatnonzero(weight > 0)
    target = np.eye(n_classes)[y] if n_classes else y[:, None]
    overall = weight @ target / weight.sum()
    if not loss.has_means:
        overall = loss.constants(0 * rows, y[rows].astype(float), weight[rows], 1)
    grower = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    trees = []
    for own in columns:
        drawn = rows[random.randint(len(rows), size=min(len(rows), MOST_ROWS))]
        fitted = grower(
            max_depth=depth,
            min_samples_leaf=least,
            max_features="sqrt" if n_classes else 1 / 3,
            random_state=random.randint(2**31),
        ).fit(x[np.ix_(drawn, own)], y[drawn], sample_weight=weight[drawn])
        mean = fitted.tree_.value[:, 0]  # (nodes, classes among the drawn rows)
        if n_classes:
            seen, mean = mean, np.zeros((len(mean), n_classes))
            mean[:, fitted.classes_] = seen
        elif not loss.has_means:
            leaf, n_nodes = fitted.apply(x[np.ix_(drawn, own)]), len(mean)
            of_drawn = y[drawn].astype(float), weight[drawn]
            mean = loss.constants(leaf, *of_drawn, n_nodes)[:, None]
            mean = np.where(np.isnan(mean), overall, mean)
        size = fitted.tree_.weighted_n_node_samples[:, None]
        value = (size * mean + PRIOR * overall) / (size + PRIOR)
        value = _logits(value) if n_classes else value
        trees.append(GreedyTree.of(fitted.tree_, depth, own, value))
    return trees


def grow_boosted(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    columns: np.ndarray,
    *,
    depth: int,
    n_classes: int,
    seed: int,
    least: int = MIN_SAMPLES_LEAF,
    loss: Loss = SQUARED_ERROR,
) -> list[GreedyTree]:
    """Boost trees, each a Newton step on the residuals of those before it.

    Parameters as for `grow_forest`. The learning rates of all trees together are
    larger for more rows, so that few rows are not overfitted.

    Source: Friedman, "Stochastic gradient boosting", 2002,
    doi:10.1016/S0167-9473(01)00065-2.
    """
    random = np.random.RandomState(seed)
    rows = np.flatnonzero(weight > 0)
    x, weight = x[rows], weight[rows]
    target = np.eye(n_classes)[y[rows]] if n_classes else y[rows, None]
    base = weight @ target / weight.sum()
    if not loss.has_means:
        base = loss.constants(0 * rows, target[:, 0].astype(float), weight, 1)
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
        residual = target - predicted
        curvature = predicted * (1 - predicted) if n_classes else np.ones_like(output)
        slope = residual if loss.is_squared else -loss.slope(output, target)
        drawn = random.permutation(len(rows))[:n_drawn]
        offered = x[:, own]
        fitted = DecisionTreeRegressor(
            max_depth=depth,
            min_samples_leaf=least,
            max_features=BOOST_COLUMNS,
            random_state=random.randint(2**31),
        ).fit(offered[drawn], slope[drawn], sample_weight=weight[drawn])
        node, n_nodes = fitted.apply(offered), fitted.tree_.node_count
        step = np.stack(  # Newton's, (nodes, C)
            [
                np.bincount(node, weight * r, n_nodes)
                / (np.bincount(node, weight * c, n_nodes) + BOOST_RIDGE)
                for r, c in zip(residual.T, curvature.T)
            ],
            axis=1,
        )
        if not loss.has_means:
            truth, so_far = target[:, 0].astype(float), output[:, 0]
            best = loss.constants(node, truth, weight, n_nodes, so_far)
            count = np.bincount(node, weight, n_nodes)
            best = np.where(count > 0, best, 0.0) * count / (count + BOOST_RIDGE)
            step = best[:, None]
        output += learning_rate * step[node]
        # The sum of the steps as a mean over the trees.
        value = base + n_trees * learning_rate * step
        trees.append(GreedyTree.of(fitted.tree_, depth, own, value))
    return trees


def grow_both(x, y, weight, columns, **settings) -> list[GreedyTree]:
    """Grow half of the trees as a forest, the others boosted."""
    half = len(columns) // 2
    forest = grow_forest(x, y, weight, columns[:half], **settings)
    return forest + grow_boosted(x, y, weight, columns[half:], **settings)


GROWERS = {"both": grow_both, "forest": grow_forest, "boosted": grow_boosted}


def lay_out(tree, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay scikit-learn's ``tree_`` of at most `depth` levels into a complete tree.

    Returns
    -------
    feature : ndarray of shape (N,), int64
        Breadth first; -1 below the tree's leaves, where nothing is split.
    threshold : ndarray of shape (N,), float32
        Splits float32 values as the tree does; NaN where nothing is split.
    source : ndarray of shape (L,), int64
        Node of `tree` that each leaf of the complete tree stands for.
    """
    feature = np.empty(2**depth - 1, dtype=np.int64)
    threshold = np.empty(2**depth - 1, dtype=np.float32)
    source = np.zeros(1, dtype=np.int64)
    for level in range(depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        ends = tree.children_left[source] < 0
        feature[nodes] = np.where(ends, -1, tree.feature[source])
        exact = tree.threshold[source]
        single = exact.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
        single = np.where(single > exact, below, single)
        threshold[nodes] = np.where(ends, np.nan, single)
        left = np.where(ends, source, tree.children_left[source])
        right = np.where(ends, source, tree.children_right[source])
        source = np.stack([left, right], 1).ravel()
    return feature, threshold, source


def _logits(probability: np.ndarray) -> np.ndarray:
    """Logits (m, C), one for two classes, of class probabilities (m, n_classes)."""
    log_p = np.log(np.maximum(probability, SMALLEST_PROBABILITY))
    if probability.shape[1] == 2:
        return log_p[:, 1:] - log_p[:, :1]
    return log_p - log_p.mean(1, keepdims=True)


def _probabilities(logits: np.ndarray) -> np.ndarray:
    """Class probabilities (n, C) of logits (n, C); of the second class where C is 1."""
    if logits.shape[1] == 1:
        return 1 / (1 + np.exp(-logits))
    return softmax(logits)
