"""Many trees that score almost alike, and how they differ."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from treelab.evaluation.rashomon_enumeration import (
    TrainingRows,
    splits_key,
    structure,
    unplaced,
)
from treelab.trees.constraints import Constraints, violations
from treelab.trees.feature import FeatureReader
from treelab.trees.pruning import (
    SizePath,
    cost_complexity_path,
    cut_at,
    merge_equal,
    size_grid,
    steps_at,
)
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree, leaf_of, used_features

# Which of many trees differ, and how each scores: the Rashomon set of a problem.


MOST_TREES = 300  # of a set
NEAR = 0.01  # below the run's own tree: trees that are tried with one split less
ENOUGH = 50  # such trees; where there are so many, no more are looked for
FURTHEST = 0.05  # below the run's own tree: trees that are stored
MOST_LEAVES = 2  # times the run's own leaves; a tree of eight is always looked at


def gather(
    own: Tree,
    others: Sequence[Tree],
    rows: tuple[pd.DataFrame, Any, np.ndarray | None],
    weights: np.ndarray,
    path: SizePath | None = None,
    *,
    costs: np.ndarray | None = None,
    keeps: Callable[[Tree], bool] = lambda tree: True,
    most: int = MOST_TREES,
) -> RashomonSet:
    """Score trees that differ, in all their sizes, and return the good ones.

    Each tree and each of its cost-complexity prunings is made as small as its
    predictions allow: without branches that no row takes, sibling leaves of one class
    merged. Where few score well, these are looked at with one split less, too. A tree
    is fitted to the rows and scored as ``RefittedScorer`` does, against the run's tree
    of the same size, whose score is the cross-validated one: so the rows that shaped a
    tree's splits do not favour larger trees. The best comes first, of equal scores the
    smaller tree.

    The run's tree, ``own``, stays as it is; ``rows`` are (X, y, weight or None) that
    all of them were trained on, ``weights`` (n_classes,) those of the classes in the
    leaves, (1,) for regression, and ``path`` the run's trees by size, with their
    cross-validated scores. Costs of errors (n_classes, n_classes) are those by which
    these were scored: the score is then what a tree saves. ``keeps`` says whether a
    tree may stand in the set, once its leaves are fitted.
    """
    table = TrainingRows(own, *rows, weights, costs)
    merged, leaf = table.fitted(own)
    seen = {structure(merged, leaf)}
    trees, scores = [own], [table.scorer.score(merged, leaf)]
    leaves = [table.leaf(own)]

    def look_at(tree: Tree) -> None:
        """Score a tree, unless it was looked at before."""
        leaf = table.leaf(tree)
        key = structure(tree, leaf)
        if key in seen:
            return
        seen.add(key)
        tree = table.refitted(tree, leaf)
        if tree.n_splits and keeps(tree):
            trees.append(tree)
            scores.append(table.scorer.score(tree, leaf))
            leaves.append(leaf)

    for tree in _every_size(table, others, max(MOST_LEAVES * own.n_leaves, 8)):
        look_at(tree)
    correction = _correction(table, path)
    least = scores[0][0] + correction(own.n_leaves) - NEAR

    def good() -> list[Tree]:
        """Return the trees that score well so far."""
        pairs = zip(trees, scores)
        return [t for t, (s, _) in pairs if s + correction(t.n_leaves) >= least]

    for tree in good():
        if len(good()) >= ENOUGH:
            break
        for smaller in _one_split_less(unplaced(tree) if tree is own else tree):
            look_at(smaller)
    before, error = np.array(scores).T
    size = np.array([tree.n_leaves for tree in trees])
    score = before + correction(size)
    near = np.lexsort((size, -score))
    near = near[score[near] >= score[0] - FURTHEST]
    if len(near) > most:
        near = np.append(near[near != 0][: most - 1], 0)
        near = near[np.lexsort((size[near], -score[near]))]
    retained = [
        table.shrunk(table.finished(trees[i], leaves[i])) if i else own for i in near
    ]
    found = pd.DataFrame(
        {
            "score": score[near],
            "standard_error": error[near],
            "alike": table.alike(retained, [leaves[i] for i in near]),
        }
    )
    chosen = int(np.flatnonzero(near == 0)[0])
    return RashomonSet(tuple(retained), found, chosen, len(seen))


def _every_size(
    rows: TrainingRows, trees: Sequence[Tree], most_leaves: int
) -> Iterator[Tree]:
    """Return trees and their merged prunings, one a size of ``size_grid``."""
    seen: set[bytes] = set()
    pruned: set[tuple] = set()  # the trees of a path share most of their prunings
    for tree in trees:
        tree, leaf = rows.fitted(tree)
        key = structure(tree, leaf)
        if key in seen or not tree.n_splits:
            continue
        seen.add(key)
        path = cost_complexity_path(tree)
        sizes = size_grid(max(min(most_leaves, tree.n_leaves), 2))[1:]
        for step in dict.fromkeys(steps_at(path, sizes).tolist()):
            splits = splits_key(tree, path.step <= step)
            if splits not in pruned:
                pruned.add(splits)
                yield merge_equal(path[step], same_class=True)


def _one_split_less(tree: Tree) -> Iterator[Tree]:
    """Return the trees in which one split above two leaves is a leaf."""
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        if node and tree.is_leaf[[tree.left[node], tree.right[node]]].all():
            smaller = cut_at(tree, np.arange(tree.n_nodes) == node)
            yield merge_equal(smaller, same_class=True)


def _correction(
    rows: TrainingRows, path: SizePath | None
) -> Callable[[Any], np.ndarray]:
    """Return what the cross-validated score of each size lacks of the refitted one.

    0 where no score was cross-validated.
    """
    gap, at = [], []
    known = () if path is None else zip(path.trees, path.scores["score"].tolist())
    for tree, score in known:
        if np.isfinite(score) and tree.n_splits:
            merged, leaf = rows.fitted(tree)
            gap.append(score - rows.scorer.score(merged, leaf)[0])
            at.append(tree.n_leaves)
    return lambda size: np.interp(size, at, gap) if gap else np.zeros(np.shape(size))


# How alike the trees of a Rashomon set are: rows they agree on, columns they test.


def predictions(trees: Sequence[Tree], X: pd.DataFrame) -> tuple[np.ndarray, ...]:
    """Predict rows by each of T trees, with constant leaves; the table is read once.

    The class codes, or values, (T, n_rows), and the probabilities of the classes, or
    the values, (T, n_rows, n_outputs).
    """
    reader = FeatureReader(trees[0].features, X)
    used: dict[int, list[np.ndarray]] = {}  # by the features that trees share
    for tree in trees:
        used.setdefault(id(tree.features), []).append(used_features(tree))
    matrices: dict[int, np.ndarray] = {}
    values, chosen = [], []
    for tree in trees:
        if (key := id(tree.features)) not in matrices:
            both = np.unique(np.concatenate(used[key]))
            matrices[key] = reader.matrix(tree.features, both)
        leaf = leaf_of(tree, matrices[key])
        values.append(tree.value[leaf])
        chosen.append(tree.predicted_class[leaf])
    value = np.stack(values)
    if trees[0].classes is None:
        return value[..., 0], value
    return np.stack(chosen), value


def likeness(predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Return how alike every two trees predict, (T, T), 1 on the diagonal.

    ``predicted`` (T, n_rows) are class codes, or values, of which ``n_classes`` is 0:
    then it is 1 minus the mean squared difference in variances of all predictions, at
    least 0.
    """
    if not n_classes:
        predicted = predicted - predicted.mean()  # keeps the squares small and exact
        square = (predicted**2).mean(axis=1)
        cross = predicted @ predicted.T / predicted.shape[1]
        gap = np.maximum(square[:, None] + square[None] - 2 * cross, 0)
        variance = predicted.var()
        return np.clip(1 - gap / (variance if variance > 0 else 1), 0, 1)
    total = np.zeros((len(predicted), len(predicted)), dtype=np.float32)
    for code in range(n_classes):
        is_class = (predicted == code).astype(np.float32)
        total += is_class @ is_class.T
    return total / predicted.shape[1]


def places(alike: np.ndarray) -> np.ndarray:
    """Lay trees out so that those which differ more lie further apart, (T, 2).

    Classical multidimensional scaling of 1 minus likeness. Source: Torgerson,
    "Multidimensional scaling: I. Theory and method", Psychometrika 17(4), 1952.
    """
    square = (1 - alike.astype(float)) ** 2
    centred = square - square.mean(0) - square.mean(1)[:, None] + square.mean()
    length, direction = np.linalg.eigh(-centred / 2)
    length, direction = length[::-1][:2], direction[:, ::-1][:, :2]
    # An eigenvector has no sign of its own; its largest entry points up.
    largest = np.abs(direction).argmax(axis=0)
    sign = np.sign(direction[largest, np.arange(direction.shape[1])])
    found = direction * sign * np.sqrt(np.maximum(length, 0))
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))


def column_use(trees: Sequence[Tree], columns: Sequence[str]) -> pd.Series:
    """Count the trees that test each of the columns, the most used first."""
    used = [set(tree.columns) for tree in trees]
    counts = {name: sum(name in own for own in used) for name in columns}
    return pd.Series(counts, dtype=int).sort_values(ascending=False, kind="stable")


# Which trees of a Rashomon set a visitor wants to see.


@dataclass(frozen=True)
class TreeFilter:
    """What a tree must be like, by its splits and leaves alone."""

    without: tuple[str, ...] = ()  # columns that it must not test
    most_leaves: int | None = None
    # Columns and "up" or "down": on every possible row the prediction (in classes the
    # probability of the last one) never moves the other way.
    monotone: tuple[tuple[str, str], ...] = field(default=())

    def passes(self, tree: Tree) -> bool:
        """Whether a tree is like that."""
        if set(self.without) & set(tree.columns):
            return False
        if self.most_leaves is not None and tree.n_leaves > self.most_leaves:
            return False
        return not violations(tree, Constraints(monotone=dict(self.monotone)))


def passing(trees: Sequence[Tree], wanted: TreeFilter) -> np.ndarray:
    """Return which trees pass, bool (n_trees,)."""
    return np.array([wanted.passes(tree) for tree in trees], dtype=bool)


# Predictive multiplicity: how much trees that score alike differ on single rows.


@dataclass(frozen=True)
class RowMultiplicity:
    """What the trees of a set predict for one row."""

    n_trees: int
    # Those that predict another class than the run's own tree; in regression those that
    # differ from it by more than a tenth of the target's standard deviation.
    n_otherwise: int
    # Probability of the class that the run's tree predicts, or the value, by tree.
    lowest: float
    highest: float

    def sentence(self, differ: str) -> str:
        """Say how many of the trees differ, which is put so."""
        if self.n_otherwise:
            return f"{self.n_otherwise:,} of {self.n_trees:,} comparable trees {differ}"
        which = "Both" if self.n_trees == 2 else f"All {self.n_trees:,}"
        return f"{which} comparable trees agree"


def row_multiplicity(
    predicted: np.ndarray, value: np.ndarray, own: int, near: float = 0.0
) -> RowMultiplicity:
    """Hold what all trees predict for one row against the run's own tree.

    ``predicted`` (T,) are class codes, or values; ``value`` (T, n_outputs)
    probabilities of the classes, or the values. Values that differ by at most ``near``
    are alike; 0 for classes.
    """
    if value.shape[1] > 1:
        chance = value[:, int(predicted[own])]
        otherwise = predicted != predicted[own]
    else:
        chance = value[:, 0]
        otherwise = np.abs(predicted - predicted[own]) > near
    return RowMultiplicity(
        len(predicted), int(otherwise.sum()), float(chance.min()), float(chance.max())
    )


def otherwise(predicted: np.ndarray, own: int, near: float = 0.0) -> np.ndarray:
    """Return the share of trees that predict otherwise than the run's own, (n_rows,).

    The share of rows where it is above 0 is the ambiguity of Marx, Calmon and Ustun,
    "Predictive multiplicity in classification", ICML 2020, arXiv:1909.06677.
    ``predicted`` is (T, n_rows); see ``row_multiplicity``.
    """
    return (np.abs(predicted - predicted[own].astype(float)) > near).mean(axis=0)
