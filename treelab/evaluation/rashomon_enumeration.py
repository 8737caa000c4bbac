"""All trees of a few splits that score almost as well as the best."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.encoding import Candidates, candidate_thresholds, power_of_two
from treelab.evaluation.metrics import macro_f1_of_counts
from treelab.evaluation.pruning import pooled_scores
from treelab.trees.feature import FeatureReader
from treelab.trees.pruning import merge_equal, prune_empty
from treelab.trees.rashomon import Completeness, RashomonSet
from treelab.trees.shrinkage import with_shrunk_values
from treelab.trees.tree import LEAF, Tree, check_target, leaf_of, sum_up, with_leaves

# The score of a tree whose splits are given: leaf values refitted in folds.


N_FOLDS, N_REPEATS = 10, 3
N_PARTS = 20  # of all rows, by which a standard error is measured


class RefittedScorer:
    """Scores trees on rows that their leaf values were not fitted to.

    A tree's splits stay; its leaves are fitted without one fold after another, and the
    rows of that fold are predicted. All training rows shaped the splits, so the score
    is too high, the more so the larger the tree: it compares trees of one size and is
    no estimate for new rows. Folds of the same rows are the same ones each time.

    ``y`` (n_rows,) are class codes, or values; ``row_weight`` (n_rows,) what each row
    counts, None: all alike; ``weights`` (n_classes,) those of the classes in the
    leaves, (1,) for regression; costs (n_classes, n_classes) of each prediction
    (column) for a row of each class, None where errors have none: they choose the class
    of a leaf in the place of the weights.
    """

    def __init__(
        self,
        task: str,
        y: np.ndarray,
        row_weight: np.ndarray | None,
        weights: np.ndarray,
        costs: np.ndarray | None = None,
    ):
        self.task, self.y, self.costs = task, y, costs
        self._weight = np.ones(len(y)) if row_weight is None else row_weight
        random, n_rows = np.random.RandomState(0), len(y)
        self.folds = np.empty((N_REPEATS, n_rows), dtype=np.int64)
        for own in self.folds:
            shuffled = random.permutation(n_rows)
            order = shuffled[np.argsort(y[shuffled], kind="stable")]
            own[order] = np.arange(n_rows) % min(N_FOLDS, n_rows)
        # Of each part its rows, (N_PARTS, n_rows), to add up over them.
        part = random.permutation(n_rows) % min(N_PARTS, n_rows)
        self._parts = np.equal.outer(np.unique(part), part).astype(float)
        # What leaves average, (n_rows, C): weighted indicators, or the values.
        values, self._one_hot = y[:, None], np.eye(len(weights))
        if task != "regression":
            values = self._one_hot[y] * (1 if costs is not None else weights)
        self._values = self._weight[:, None] * values

    def score(self, tree: Tree, leaf: np.ndarray) -> tuple[float, float]:
        """Return macro F1, R² or the cost saved of a tree, and its standard error.

        ``leaf`` is the one that each row reaches, int (n_rows,).
        """
        sums = [self._sums(self._held_out(tree, leaf, fold)) for fold in self.folds]
        is_loss = self.costs is not None  # against that of one prediction, as R² is
        task = "regression" if is_loss else self.task
        by_part = pooled_scores(np.sum(sums, axis=0), task)
        n_parts = len(by_part)
        error = by_part.std(ddof=1) / np.sqrt(n_parts) if n_parts > 1 else 0.0
        return float(by_part.mean()), float(error)

    def _held_out(self, tree: Tree, leaf: np.ndarray, fold: np.ndarray) -> np.ndarray:
        """Predict each row (n_rows,) by leaves that were fitted without its fold."""
        n_folds, n_nodes = int(fold.max()) + 1, tree.n_nodes
        cell = fold * n_nodes + leaf
        columns = [np.ones(len(leaf)), self._weight, *self._values.T]
        own = np.stack(
            [np.bincount(cell, column, n_folds * n_nodes) for column in columns], -1
        ).reshape(n_folds, n_nodes, -1)
        fitted = own.sum(axis=0) - own  # (folds, nodes, 2 + C)
        fitted = sum_up(tree, fitted.transpose(1, 0, 2))  # (nodes, folds, 2 + C)
        total = fitted[..., 0]
        if self.task == "regression":
            predicted = fitted[..., 2] / np.where(total < 0.5, 1, fitted[..., 1])
        elif self.costs is not None:
            predicted = (fitted[..., 2:] @ self.costs).argmin(axis=-1)
        else:
            predicted = fitted[..., 2:].argmax(axis=-1)
        # Where a fold leaves nobody at a node, the node above it predicts.
        for node in tree.depth_first[(total[tree.depth_first] < 0.5).any(axis=1)]:
            above = predicted[tree.parent[node]] if node else predicted[0]
            predicted[node] = np.where(total[node] < 0.5, above, predicted[node])
        return predicted[leaf, fold]

    def _sums(self, predicted: np.ndarray) -> np.ndarray:
        """Sum up what the score needs in each part, (N_PARTS, 2, C)."""
        y, weight = self.y, self._weight
        if self.costs is not None:
            each = self.costs[y]
            alone = each[:, (weight @ each).argmin()]
            both = each[np.arange(len(y)), predicted], alone
        elif self.task == "regression":
            mean = np.average(y, weights=weight)
            both = (y - predicted) ** 2, (y - mean) ** 2
        else:
            truth, guess = self._one_hot[y], self._one_hot[predicted]
            both = truth * guess, truth + guess
        parts = self._parts * weight
        sums = [parts @ own.reshape(len(y), -1) for own in both]
        return np.stack(sums, axis=1)


# Rows that many trees are fitted to and scored on, and when two trees are the same.


def structure(tree: Tree, leaf: np.ndarray) -> bytes:
    """Return what two trees share only if they are the same tree to some rows.

    The nodes are numbered depth first; ``leaf`` (n_rows,) is what each row reaches.
    """
    names = [
        "" if tree.is_leaf[i] else "+" if j < 0 else tree.features[j].column
        for i, j in enumerate(tree.feature.tolist())
    ]
    return "\n".join(names).encode() + b"\0" + leaf.astype(np.int32).tobytes()


def splits_key(tree: Tree, cut: np.ndarray | None = None) -> tuple:
    """Return what two trees share only if their splits are the same to any row.

    The nodes are numbered depth first. Where ``cut``, bool (n_nodes,), they are taken
    for leaves, and all that is below them is left out.
    """
    is_leaf, retained = tree.is_leaf, np.ones(tree.n_nodes, dtype=bool)
    if cut is not None:
        retained[1:] = ~cut[tree.parent[1:]]
        is_leaf = is_leaf | cut
    is_split = retained & ~is_leaf
    arrays = [tree.feature, tree.threshold, tree.missing_left]
    if tree.weights is not None:
        arrays.append(tree.weights)
    parts = [is_leaf[retained].tobytes(), *(own[is_split].tobytes() for own in arrays)]
    return tuple(feature.reading for feature in tree.features), *parts


def unplaced(tree: Tree) -> Tree:
    """Return a tree that no longer knows what some rows leave free at its splits."""
    return replace(tree, between=None, missing_rows=None)


class TrainingRows:
    """Rows that trees of one target are fitted to and scored on, read once.

    Weights and costs are those of ``RefittedScorer``.
    """

    def __init__(
        self,
        own: Tree,
        X: pd.DataFrame,
        y,
        row_weight: np.ndarray | None,
        weights: np.ndarray,
        costs: np.ndarray | None = None,
    ):
        self.y = check_target(own, len(X), y)  # class codes, or values
        self.row_weight = row_weight
        self._reader = FeatureReader(own.features, X)
        self.weights = np.asarray(weights, dtype=float)
        self._shrinkage = own.shrinkage
        self._read: dict[tuple, np.ndarray] = {}
        self._fitted: dict[tuple, tuple[Tree, np.ndarray]] = {}
        rows = self.y, row_weight
        self.scorer = RefittedScorer(own.task, *rows, self.weights, costs)

    def matrix(self, tree: Tree) -> np.ndarray:
        """Return the numbers (n_rows, n_features) that a tree may test."""
        key = tuple(feature.reading for feature in tree.features)
        if key not in self._read:
            self._read[key] = self._reader.matrix(tree.features)
        return self._read[key]

    def fitted(self, tree: Tree) -> tuple[Tree, np.ndarray]:
        """Return a tree as small as can be, its leaves fitted, and each row's leaf."""
        key = splits_key(tree)
        if key not in self._fitted:
            tree = replace(tree, activity=None, leaf_weights=None, leaf_bias=None)
            leaf = self.leaf(tree)
            tree = self.finished(self.refitted(unplaced(tree), leaf), leaf)
            tree = prune_empty(tree)
            tree = merge_equal(tree, same_class=True)
            leaf = self.leaf(tree)
            self._fitted[key] = self.refitted(tree, leaf), leaf
        return self._fitted[key]

    def leaf(self, tree: Tree) -> np.ndarray:
        """Return the leaf (n_rows,) that each row reaches."""
        return leaf_of(tree, self.matrix(tree))

    def alike(self, trees: Sequence[Tree], leaves: Sequence[np.ndarray]) -> np.ndarray:
        """Number trees so that those which predict every row alike share a number.

        ``leaves`` are those that the rows reach, (n_rows,) for each tree.
        """
        known: dict[bytes, int] = {}
        numbers = []
        for tree, leaf in zip(trees, leaves):
            if tree.classes is None:
                predicted = (tree.value / power_of_two(self.y)).round(9)[leaf]
            else:
                predicted = tree.predicted_class.astype(np.int32)[leaf]
            numbers.append(known.setdefault(predicted.tobytes(), len(known)))
        return np.array(numbers)

    def finished(self, tree: Tree, leaf: np.ndarray) -> Tree:
        """Return a fitted tree that knows what the rows leave free at each split."""
        if tree.between is not None:
            return tree
        found = with_leaves(tree, self.matrix(tree), leaf, self.y, self.row_weight)
        return replace(found, value=tree.value)

    def refitted(self, tree: Tree, leaf: np.ndarray) -> Tree:
        """Let each node predict the weighted mean of its rows, and count them.

        What rows leave free around thresholds stays, as cutting branches leaves it;
        where it is unknown see ``finished``.
        """
        tree = replace(tree, decision=None, class_weights=None, shrinkage=None)
        tree = with_leaves(tree, None, leaf, self.y, self.row_weight)
        if tree.classes is None:
            weight = np.ones(len(leaf)) if self.row_weight is None else self.row_weight
            at_leaf = [
                np.bincount(leaf, own, tree.n_nodes)
                for own in (weight, weight * self.y)
            ]
            mass, total = sum_up(tree, np.stack(at_leaf, axis=1)).T[:, :, None]
            mean = total / np.where(mass > 0, mass, 1)
            return replace(tree, value=np.where(mass > 0, mean, tree.value))
        assert tree.class_counts is not None
        costs = self.scorer.costs
        value = tree.class_counts * (1 if costs is not None else self.weights)
        total = value.sum(axis=1, keepdims=True)
        mean = value / np.where(total > 0, total, 1)
        value = np.where(total > 0, mean, tree.value)
        decision = None if costs is None else (value @ costs).argmin(axis=1)
        return replace(tree, value=value, decision=decision, class_weights=self.weights)

    def shrunk(self, tree: Tree, *, same_class: bool = False) -> Tree:
        """Return a fitted tree with probabilities that are shrunk as the run's are.

        They choose the class where errors have costs, but where it is to be the same.
        """
        if self._shrinkage is None or tree.classes is None:
            return tree
        costs = None if same_class else self.scorer.costs
        return with_shrunk_values(tree, self._shrinkage, costs)


# What a leaf's rows add to a tree's training score, classes or values.
#
# ``columns`` (n_rows, 1 + C), of which the first counts rows and the others their
# weight, are summed up over the rows of each leaf; what rows sum up to makes sums (S,),
# which are added up over leaves and scored.


class ClassSums:
    """Macro F1 of leaves that predict the class with most weighted rows.

    Rows have codes (n_rows,) and weights or None, classes weights (n_classes,).
    """

    def __init__(
        self, codes: np.ndarray, row_weight: np.ndarray | None, weights: np.ndarray
    ):
        self._weights = np.asarray(weights, dtype=float)
        one_hot = np.eye(len(weights), dtype=np.float32)
        self.columns = np.insert(one_hot, 0, 1, axis=1)[codes]
        if row_weight is not None:
            counted = self.columns[:, 1:] * row_weight[:, None]
            self.columns = np.insert(counted, 0, 1, axis=1)
        self._rows = self.columns[:, 1:].sum(axis=0, dtype=np.float64)

    def leaf(self, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class of leaves (m,), and rows right and predicted (m, S)."""
        of_class = total[:, 1:]
        label = (of_class * self._weights).argmax(axis=1)
        is_class = np.eye(len(self._weights))[label]
        mass = of_class.sum(axis=1, keepdims=True)
        return label, np.hstack([of_class * is_class, mass * is_class])

    def perfect(self, total: np.ndarray) -> np.ndarray:
        """Return the sums (S,) of rows that are predicted without error."""
        return np.tile(total[1:], 2).astype(float)

    def score(self, sums: np.ndarray) -> np.ndarray:
        """Return macro F1 (...) of trees from their sums (..., S)."""
        right, predicted = np.split(sums, 2, axis=-1)
        return macro_f1_of_counts(right, predicted + self._rows)


class CostSums:
    """What leaves save that predict the class of least cost, against the best one.

    Rows have codes (n_rows,) and weights or None; costs are as of ``RefittedScorer``.
    """

    def __init__(
        self, codes: np.ndarray, row_weight: np.ndarray | None, costs: np.ndarray
    ):
        self.columns = ClassSums(codes, row_weight, np.ones(len(costs))).columns
        self._costs = costs
        total = self.columns[:, 1:].sum(axis=0, dtype=np.float64)
        self._alone = float((total @ costs).min()) or 1.0

    def leaf(self, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class of leaves (m,), and what their rows cost (m, 1)."""
        each = total[:, 1:] @ self._costs
        return each.argmin(axis=1), each.min(axis=1)[:, None]

    def perfect(self, total: np.ndarray) -> np.ndarray:
        """Return the sums of rows that are predicted without error."""
        return np.zeros(1)

    def score(self, sums: np.ndarray) -> np.ndarray:
        """Return the fraction of the cost that is saved."""
        return 1 - sums[..., 0] / self._alone


class ValueSums:
    """R² of leaves that predict the mean of their rows' values (n_rows,).

    These count by their weights (n_rows,), None: all alike.
    """

    def __init__(self, values: np.ndarray, row_weight: np.ndarray | None):
        one = np.ones(len(values))
        weight = one if row_weight is None else row_weight
        # From the mean, which keeps the squares small and exact.
        centred = values - np.average(values, weights=weight)
        each = (one, weight, weight * centred, weight * centred**2)
        self.columns = np.column_stack(each)
        self._variation = float(each[-1].sum()) or 1.0

    def leaf(self, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return -1 for each leaf, and its squared error."""
        n_rows, mass, first, second = total.T
        error = np.maximum(second - first**2 / np.where(n_rows > 0, mass, 1), 0.0)
        return np.full(len(total), -1), error[:, None]

    def perfect(self, total: np.ndarray) -> np.ndarray:
        """Return the sums of rows that are predicted without error."""
        return np.zeros(1)

    def score(self, sums: np.ndarray) -> np.ndarray:
        """Return R²."""
        return 1 - sums[..., 0] / self._variation


LeafSums = ClassSums | CostSums | ValueSums


# Every tree of a small depth over given splits, and those that score best.
#
# The score is that of the rows themselves. It is computed for each pair of subtrees
# below each root; of subtrees whose rows come out alike one is computed for all, and a
# subtree is passed over where the best conceivable one beside it would not be enough.


MOST_PAIRS = 200_000_000  # of subtrees that are scored; a few million take a second
BLOCK = 200_000  # pairs that are scored at once
ROUNDING = 1e-12


@dataclass(frozen=True)
class Splits:
    """What trees may be made of: K yes/no questions to n rows."""

    left: np.ndarray  # bool (K, n): rows that each sends left
    # int (K,): what it tests; of one feature, the rows of one split contain another's.
    feature: np.ndarray


@dataclass(frozen=True)
class Enumerated:
    """The best trees, and from which score on none is left out."""

    # int (T, 2**depth - 1), the best first: the split at the root, then those of its
    # left side, then those of its right one; -1 where there is none.
    trees: np.ndarray
    score: np.ndarray  # (T,)
    above: float  # every tree that scores more is among them
    n_trees: float  # trees there are in all, good and bad


def best_trees(
    splits: Splits,
    leaves: LeafSums,
    depth: int,
    *,
    tolerance: float,
    most: int,
    min_samples_leaf: int = 1,
) -> Enumerated:
    """Return all trees of at most a depth within a tolerance of the best one's score.

    Trees that differ in no row's leaf are one tree, and so are a split whose two leaves
    predict one class and a leaf. Where more than ``most`` are that good, ``above`` is
    the score from which on they fit. ``leaves`` say what the rows come to in a leaf,
    and in all; the depth is at least 1. ValueError if there are too many trees to look
    at, or too many that tie with the best, or none.
    """
    search = _Search(splits, leaves, depth, min_samples_leaf)
    found = _Found(tolerance, most)
    for split in search.roots():
        search.score_below(split, found)
    above = found.end()
    below: dict[int, list[list[int]]] = {}  # of each pair of groups, its trees
    for split in np.unique(found.pairs[:, 0]).tolist():
        sides = search.sides(split)
        for place in np.flatnonzero(found.pairs[:, 0] == split).tolist():
            groups = found.pairs[place, 1:].tolist()
            members = [own.members(group) for own, group in zip(sides, groups)]
            below[place] = [[split, *one, *other] for one, other in product(*members)]
    order = np.argsort(-found.score, kind="stable").tolist()
    trees = [tree for place in order for tree in below[place]]
    score = np.repeat(found.score[order], [len(below[place]) for place in order])
    return Enumerated(np.array(trees), score, above, search.n_trees)


@dataclass(frozen=True)
class _Subtrees:
    """All subtrees of some rows: what their rows come to, and their splits."""

    sums: np.ndarray  # (m, S)
    label: np.ndarray  # (m,): the class of a leaf, -1 for all else
    splits: np.ndarray  # int (m, 2**depth - 1): as of ``Enumerated``

    @cached_property
    def groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those whose rows come to the same: of each group the first and how many.

        Then the group of each subtree, (m,).
        """
        key = np.column_stack([self.sums, self.label])
        _, first, group = np.unique(key, True, True, axis=0)  # and index, inverse
        return first, np.bincount(group.ravel()), group.ravel()

    def members(self, group: int) -> list[list[int]]:
        """Return the splits of a group's subtrees."""
        return self.splits[self.groups[2] == group].tolist()


class _Found:
    """Pairs of groups that score well, and the score below which none is needed."""

    def __init__(self, tolerance: float, most: int):
        self._tolerance, self._most = tolerance, most
        self.floor = self._best = self._above = -np.inf
        self.pairs = np.empty((0, 3), dtype=np.int64)  # root, left and right group
        self.score, self._count = np.empty(0), np.empty(0)

    def add(self, pairs: np.ndarray, score: np.ndarray, count: np.ndarray) -> None:
        """Take in pairs (m, 3), their score, and how many trees each stands for."""
        self.pairs = np.concatenate([self.pairs, pairs])
        self.score = np.append(self.score, score)
        self._count = np.append(self._count, count)
        self._best = max(self._best, float(score.max(initial=-np.inf)))
        order = np.argsort(-self.score, kind="stable")
        too_many = order[np.cumsum(self._count[order]) > self._most][:1]
        self._above = self.score[too_many].max(initial=self._above)
        self.floor = max(self._best - self._tolerance, self._above)
        # Those that tie with the first one too many are needed no more.
        keep = self.score > self._above + ROUNDING
        keep &= self.score >= self.floor - ROUNDING
        self.pairs, self.score = self.pairs[keep], self.score[keep]
        self._count = self._count[keep]

    def end(self) -> float:
        """Return from which score on all trees are there; ValueError without any."""
        if self._best == -np.inf:
            raise ValueError("No split parts the rows as asked, so there is no tree.")
        if not len(self.score):
            raise ValueError(
                f"More than {self._most:,} trees score {self._best:.4g}, which is "
                "best; ask for fewer thresholds a column, or a smaller depth."
            )
        lowest = np.nextafter(self._best - self._tolerance, -np.inf)
        return float(max(lowest, self._above))


class _Search:
    """The trees over some splits, subtree by subtree."""

    def __init__(self, splits: Splits, leaves: LeafSums, depth: int, least: int):
        self._splits, self._leaves = splits, leaves
        self._depth, self._least = depth, least
        self._is_left = splits.left.astype(leaves.columns.dtype)
        self._n_pairs, self.n_trees = 0, 0.0

    def roots(self) -> list[int]:
        """Return the splits that part all rows."""
        everywhere = np.ones(self._splits.left.shape[1], dtype=bool)
        return self._parting(everywhere)[0].tolist()

    def sides(self, split: int) -> tuple[_Subtrees, _Subtrees]:
        """Return what may stand on either side of a root."""
        left = self._splits.left[split]
        depth = self._depth - 1
        return self._subtrees(left, depth), self._subtrees(~left, depth)

    def score_below(self, split: int, found: _Found) -> None:
        """Score all trees with this root; ``found`` takes the good ones."""
        one, other = self.sides(split)
        n_leaves = _are_one_leaf(one.label[:1], other.label[:1]).sum()  # no tree of two
        self.n_trees += float(len(one.sums)) * float(len(other.sums)) - n_leaves
        left = self._splits.left[split]
        (first, n_one, _), (second, n_other, _) = one.groups, other.groups
        some = self._hopeful(one.sums[first], ~left, found.floor)
        others = self._hopeful(other.sums[second], left, found.floor)
        self._n_pairs += len(some) * len(others)
        if self._n_pairs > MOST_PAIRS:
            raise ValueError(
                f"There are too many trees of depth {self._depth} over "
                f"{len(self._splits.left)} splits to look at them all; ask for fewer "
                "thresholds a column, or a smaller depth."
            )
        size, right = max(BLOCK // max(len(others), 1), 1), second[others]
        for start in range(0, len(some), size):
            block = some[start : start + size]
            here = first[block]
            score = self._leaves.score(one.sums[here][:, None] + other.sums[right])
            score[_are_one_leaf(one.label[here], other.label[right])] = -np.inf
            row, column = np.nonzero(score >= max(found.floor - ROUNDING, -1e300))
            a, b = block[row], others[column]
            pairs = np.column_stack([np.full(len(a), split), a, b])
            found.add(pairs, score[row, column], n_one[a] * n_other[b])

    def _hopeful(self, sums: np.ndarray, beside: np.ndarray, floor: float):
        """Which groups would score enough were all rows beside them predicted right."""
        hope = self._leaves.score(sums + self._leaves.perfect(self._total(beside)))
        return np.flatnonzero(hope >= floor - ROUNDING)

    def _total(self, inside: np.ndarray) -> np.ndarray:
        """Sum up what stands in some rows."""
        return self._leaves.columns[inside].sum(axis=0)

    def _parting(self, inside: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the splits that part some rows, no two alike, and the sums of both."""
        total = self._total(inside)
        left = self._is_left @ (self._leaves.columns * inside[:, None])
        n_left = left[:, 0]
        fits = (n_left >= self._least) & (total[0] - n_left >= self._least)
        # Splits of one feature with as many rows on the left have the same ones there.
        at = np.flatnonzero(fits)
        alike = np.column_stack([self._splits.feature[at], n_left[at]])
        at = at[np.sort(np.unique(alike, axis=0, return_index=True)[1])]
        return at, left[at], total - left[at]

    def _subtrees(self, inside: np.ndarray, depth: int) -> _Subtrees:
        """Return every subtree of some rows with at most so many levels of splits."""
        label, sums = self._leaves.leaf(self._total(inside)[None])
        leaf = sums, label, np.full((1, 2**depth - 1), -1)
        parts: list[tuple[np.ndarray, ...]] = [leaf]
        if depth == 1:
            parts.append(self._stumps(inside))
        elif depth > 1:
            for split in self._parting(inside)[0].tolist():
                left = self._splits.left[split]
                sides = (
                    self._subtrees(inside & left, depth - 1),
                    self._subtrees(inside & ~left, depth - 1),
                )
                parts.append(_joined(split, *sides))
        return _Subtrees(*map(np.concatenate, zip(*parts)))

    def _stumps(self, inside: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the subtrees of some rows with one split, whose leaves differ."""
        at, left, right = self._parting(inside)
        (one, sums), (other, more) = self._leaves.leaf(left), self._leaves.leaf(right)
        keep = (one != other) | (one < 0)
        return (sums + more)[keep], np.full(keep.sum(), -1), at[keep, None]


def _are_one_leaf(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether two subtrees of these labels are leaves of one class, for each two."""
    return (left[:, None] == right) & (left[:, None] >= 0)


def _joined(split: int, left: _Subtrees, right: _Subtrees) -> tuple[np.ndarray, ...]:
    """Put every pair of subtrees below a split, but for two leaves of one class."""
    one, other = np.nonzero(~_are_one_leaf(left.label, right.label))
    root = np.full((len(one), 1), split)
    splits = np.hstack([root, left.splits[one], right.splits[other]])
    return left.sums[one] + right.sums[other], np.full(len(one), -1), splits


# The complete Rashomon set: every good tree of a small depth over given thresholds.


FURTHEST = 0.05  # below the best tree: trees that are stored
MOST_TREES = 500


def all_trees(
    own: Tree,
    rows: tuple[pd.DataFrame, Any, np.ndarray | None],
    weights: np.ndarray,
    depth: int,
    n_thresholds: int,
    *,
    costs: np.ndarray | None = None,
    min_samples_leaf: int = 1,
    keeps: Callable[[Tree], bool] = lambda tree: True,
) -> RashomonSet:
    """Look at all trees of a depth, and return those near the best.

    A leaf predicts the class with most weighted rows, or of least cost, or their mean.
    The score is macro F1, what of the cost is saved, or R² on these very rows: all
    trees are small alike, so it does not favour any by its size; but it is no estimate
    for new rows. Trees within 0.05 of the best are in the set, of more than 500 the
    best. A missing value goes where the feature's ``fill`` goes.

    Source: Xin et al., "Exploring the whole Rashomon set of sparse decision trees",
    NeurIPS 2022, arXiv:2209.08040; ours needs no penalty on leaves, as all trees of the
    depth are looked at. The best comes first and is the chosen one.

    Trees may test the features of ``own`` and predict its target, from ``rows``, (X, y,
    weight or None), and ``weights`` (n_classes,) of the classes in the leaves, (1,) for
    regression, or costs as of ``RefittedScorer``.
    A feature has at most ``n_thresholds`` candidate thresholds, at its quantiles.
    ``keeps`` says whether a tree may stand in the set. ValueError if there are too many
    trees to look at, or none.
    """
    table = TrainingRows(own, *rows, weights, costs)
    matrix = table.matrix(own)
    fill = np.array([feature.fill for feature in own.features])
    matrix = np.where(np.isnan(matrix), fill, matrix)
    cutpoints = candidate_thresholds(matrix, n_thresholds)
    splits = Splits(~cutpoints.right(matrix).T.astype(bool), cutpoints.feature)
    leaves: LeafSums
    if own.classes is None:
        leaves = ValueSums(table.y, table.row_weight)
    elif costs is None:
        leaves = ClassSums(table.y, table.row_weight, table.weights)
    else:
        leaves = CostSums(table.y, table.row_weight, costs)
    found = best_trees(
        splits,
        leaves,
        depth,
        tolerance=FURTHEST,
        most=MOST_TREES,
        min_samples_leaf=min_samples_leaf,
    )
    seen: set[bytes] = set()
    kept: list[tuple[Tree, np.ndarray, float, float]] = []
    for splits_of, score in zip(found.trees.tolist(), found.score.tolist()):
        tree = _tree(own, cutpoints, splits_of)
        leaf = table.leaf(tree)
        key = structure(tree, leaf)
        if key in seen:
            continue
        seen.add(key)
        tree = table.finished(table.refitted(unplaced(tree), leaf), leaf)
        if keeps(tree):
            error = table.scorer.score(tree, leaf)[1]
            kept.append((table.shrunk(tree, same_class=True), leaf, score, error))
    if not kept:
        raise ValueError("No tree near the best one is within the run's constraints.")
    kept.sort(key=lambda one: (-one[2], one[0].n_leaves))
    trees, leaf_of_rows, scores, errors = zip(*kept)
    measured = {"score": scores, "standard_error": errors}
    measured["alike"] = table.alike(trees, leaf_of_rows)
    complete = Completeness(
        depth,
        n_thresholds,
        len(cutpoints.feature),
        found.n_trees,
        found.above,
        costs is not None,
    )
    return RashomonSet(trees, pd.DataFrame(measured), 0, len(seen), complete)


def _tree(own: Tree, cutpoints: Candidates, splits: list[int]) -> Tree:
    """Build a tree, its nodes numbered depth first; its leaves are not fitted."""
    nodes: list[list[int]] = []  # split, left and right child

    def add(splits: list[int]) -> int:
        """Add a node and all below it; return its number."""
        number, middle = len(nodes), 1 + len(splits) // 2
        nodes.append([LEAF, LEAF, LEAF])
        if splits and splits[0] >= 0:
            sides = add(splits[1:middle]), add(splits[middle:])
            nodes[number] = [splits[0], *sides]
        return number

    add(splits)
    at, left, right = np.array(nodes).T
    is_leaf = at < 0
    feature = np.where(is_leaf, LEAF, cutpoints.feature[at])
    threshold = np.where(is_leaf, np.nan, cutpoints.threshold[at])
    fill = np.array([own.features[j].fill for j in feature])
    n_outputs = own.value.shape[1]
    return Tree(
        own.features,
        left,
        right,
        feature,
        threshold,
        ~is_leaf & ~(fill > threshold),  # where nothing stands in for it, left
        np.full((len(at), n_outputs), 1 / n_outputs),
        np.zeros(len(at), dtype=np.int64),
        np.full(len(at), np.nan),
        own.classes,
        own.target,
        own.target_unit,
    )
