"""Smaller trees of a tree, and trees by their number of leaves."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from treelab.trees.io import Stored
from treelab.trees.text import term_fractions
from treelab.trees.tree import LEAF, OBLIQUE, PER_NODE, Tree, knows_impurity, sum_up
from treelab.trees.words import counted, significant

# ScoredTrees: several trees of one problem, each with its scores, one chosen.


class StoredTrees(Stored):
    """Base of a frozen dataclass with trees of one target, of which one is chosen."""

    trees: tuple[Tree, ...]
    chosen: int  # which tree is the run's own

    def __post_init__(self):
        object.__setattr__(self, "trees", tuple(self.trees))
        if self.trees and not 0 <= self.chosen < len(self.trees):
            raise ValueError(
                f"chosen must be from 0 to {len(self.trees) - 1}, got {self.chosen}."
            )

    def __len__(self):
        return len(self.trees)

    @property
    def tree(self) -> Tree:
        """The chosen tree."""
        return self.trees[self.chosen]

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        packed = [tree.pack() for tree in self.trees]
        trees, arrays = [own for own, _ in packed], numbered(own for _, own in packed)
        for own, tree in zip(trees[1:], self.trees[1:]):
            if tree.features == self.trees[0].features:  # they may be thousands
                del own["features"]
        return vars(self) | {"trees": trees}, arrays

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> Self:
        """Rebuild what ``pack`` took apart."""
        trees: list[Tree] = []
        for own, named in zip(settings["trees"], by_number(settings["trees"], arrays)):
            shared = {"features": trees[0].features} if trees else {}
            trees.append(Tree.unpack(shared | own, named))
        return cls(**(settings | {"trees": tuple(trees)}))


@dataclass(frozen=True, eq=False)
class ScoredTrees(StoredTrees):
    """Trees that predict one target from one table, each with its scores.

    ValueError if the parts do not fit each other.
    """

    columns: ClassVar[tuple[str, ...]] = ()
    noun: ClassVar[str] = "A set of trees"

    trees: tuple[Tree, ...]
    scores: pd.DataFrame  # a row a tree, with ``columns`` among its columns
    chosen: int

    def __post_init__(self):
        super().__post_init__()
        if not self.trees or len(self.scores) != len(self.trees):
            raise ValueError(
                f"{self.noun} needs one row of scores for each tree, got "
                f"{len(self.scores)} rows for {len(self.trees)} trees."
            )
        missing = [name for name in self.columns if name not in self.scores]
        if missing:
            raise ValueError(f"scores lacks the columns {', '.join(missing)}.")

    def with_target(self, target: str, **facts) -> Self:
        """Return the same with the name and other facts of what the trees predict."""
        trees = (replace(tree, target=target, **facts) for tree in self.trees)
        return replace(self, trees=tuple(trees))


def numbered(parts: Iterable[dict]) -> dict[str, np.ndarray]:
    """Return arrays of several things as one's: "0.left" is "left" of the first."""
    return {f"{i}.{name}": a for i, own in enumerate(parts) for name, a in own.items()}


def by_number(things: Sequence, arrays: dict[str, np.ndarray]) -> list[dict]:
    """Return the arrays of each thing that ``numbered`` named."""
    parts: list[dict] = [{} for _ in things]
    for name, array in arrays.items():
        i, _, part = name.partition(".")
        parts[int(i)][part] = array
    return parts


# SizePath: the best tree at each number of leaves, with its cross-validated score.


COLUMNS = ("n_leaves", "score", "standard_error")
SMALLEST = "smallest within one standard error"


@dataclass(frozen=True, eq=False)
class SizePath(ScoredTrees):
    """One tree for each size, ascending, of one learner and one fit.

    Trees ascend in leaves; of ``scores`` ``n_leaves`` is the most at which the tree was
    the best, ``score`` cross-validated macro F1 or R², NaN where none was measured, and
    ``standard_error`` that over the folds. ``chosen`` is the learner's ``tree_``.
    """

    # By which rule training chose it, as a mark has it; "" by none of these.
    rule: str = SMALLEST

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    noun: ClassVar[str] = "A path"

    def __post_init__(self):
        super().__post_init__()
        leaves = [tree.n_leaves for tree in self.trees]
        if sorted(leaves) != leaves:
            raise ValueError(f"Trees of a path must ascend in leaves, got {leaves}.")

    def __repr__(self):
        leaves = [tree.n_leaves for tree in self.trees]
        return f"SizePath(n_leaves={leaves}, chosen={self.chosen})"

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> Self:
        """Rebuild what ``pack`` took apart; older files say less of how it chose."""
        rule = SMALLEST if settings.get("is_smallest") else ""
        settings = {"rule": rule} | settings
        settings.pop("is_smallest", None)
        return super().unpack(settings, arrays)

    def at(self, n_leaves: int) -> Tree:
        """Return the largest tree with at most ``n_leaves``; ValueError without one."""
        small = [tree for tree in self.trees if tree.n_leaves <= n_leaves]
        if not small:
            raise ValueError(
                f"The smallest tree of the path has {self.trees[0].n_leaves} leaves; "
                f"none has at most {n_leaves}."
            )
        return small[-1]


def within_one_standard_error(fold_scores: np.ndarray) -> tuple[int, np.ndarray]:
    """Choose the smallest size within one standard error of the best.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees",
    1984, section 3.4.3. The error is that of the difference from the best size: the
    same folds score both, so what makes a fold hard or easy cancels out.

    ``fold_scores`` (n_sizes, n_folds), higher is better, ascend in size. Returned with
    the standard error (n_sizes,) of each size's mean over the folds; 0 with one fold.
    """
    n_folds = fold_scores.shape[1]
    mean = fold_scores.mean(1)
    best = int(mean.argmax())
    if n_folds == 1:
        return best, np.zeros(len(mean))
    behind = fold_scores[best] - fold_scores
    allowed = behind.std(1, ddof=1) / np.sqrt(n_folds)
    chosen = int((behind.mean(1) <= allowed).argmax())
    return chosen, fold_scores.std(1, ddof=1) / np.sqrt(n_folds)


# A tree with nodes taken out, the last step of every pruning.


_BY_NODE = tuple(name for name in PER_NODE if name not in ("left", "right"))


def cut_at(tree: Tree, nodes: np.ndarray) -> Tree:
    """Make leaves of these nodes, bool (n_nodes,); each predicts its own value.

    Nodes are numbered anew, depth first.
    """
    if tree.leaf_weights is None or tree.leaf_bias is None:
        return rebuild(tree, cut=nodes)
    new_leaf = nodes & ~tree.is_leaf
    leaf_weights, leaf_bias = tree.leaf_weights.copy(), tree.leaf_bias.copy()
    leaf_weights[new_leaf] = 0
    leaf_bias[new_leaf] = tree.value[new_leaf]
    changed = replace(tree, leaf_weights=leaf_weights, leaf_bias=leaf_bias)
    return rebuild(changed, cut=nodes)


def rebuild(
    tree: Tree, replacement: np.ndarray | None = None, cut: np.ndarray | None = None
) -> Tree:
    """Return the tree with nodes replaced and branches cut, numbered depth first.

    ``replacement`` (n_nodes,) is the node that takes each node's place, itself where it
    stays; nodes with ``cut`` (n_nodes,) become leaves.
    """
    if replacement is None:
        replacement = np.arange(tree.n_nodes)
    is_leaf = tree.is_leaf if cut is None else tree.is_leaf | cut
    retained: list[int] = []
    left: list[int] = []
    right: list[int] = []
    # Node, the new number of its parent, and the parent's list of children it is in.
    waiting: list[tuple[int, int, list[int]]] = [(int(replacement[0]), -1, [])]
    while waiting:
        node, parent, children = waiting.pop()
        number = len(retained)
        if parent >= 0:
            children[parent] = number
        retained.append(node)
        left.append(-1)
        right.append(-1)
        if not is_leaf[node]:
            waiting.append((int(replacement[tree.right[node]]), number, right))
            waiting.append((int(replacement[tree.left[node]]), number, left))
    return _take(tree, np.array(retained), np.array(left), np.array(right))


def _take(tree: Tree, nodes: np.ndarray, left: np.ndarray, right: np.ndarray) -> Tree:
    """Return the tree of these nodes with these children."""
    arrays: dict[str, Any] = {}
    for name in _BY_NODE:
        array = getattr(tree, name)
        arrays[name] = None if array is None else array[nodes]
    leaf = left < 0
    arrays["feature"] = np.where(leaf, LEAF, arrays["feature"])
    arrays["threshold"] = np.where(leaf, np.nan, arrays["threshold"])
    arrays["missing_left"] = arrays["missing_left"] & ~leaf
    for name, empty in {"weights": 0, "between": np.nan, "missing_rows": 0}.items():
        if arrays[name] is not None:
            at = leaf if arrays[name].ndim == 1 else leaf[:, None]
            arrays[name] = np.where(at, empty, arrays[name])
    return replace(tree, left=left, right=right, **arrays)


# Minimal cost-complexity pruning: the weakest link is cut first.
#
# Source: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984,
# chapter 3; the same numbers as scikit-learn's ``cost_complexity_pruning_path``.


_TIE = 1e-12  # alphas that differ by less than this, relative to the root, are one


@dataclass(frozen=True, eq=False)
class CostComplexityPath(Sequence[Tree]):
    """All subtrees that minimise ``R(T) + alpha |T|`` for some alpha (section 3.3).

    Each is made when it is read: ``path[3]``.
    """

    tree: Tree  # the tree that is pruned
    # float64 (n_steps,): ascending complexity parameter (``ccp_alpha``), in units of
    # impurity, from which each subtree is the minimal one; the first, 0, is the tree
    # itself.
    alphas: np.ndarray
    # float64 (n_steps,): R(T) of each subtree: impurity of its leaves, weighted by
    # their rows.
    impurities: np.ndarray
    n_leaves: np.ndarray  # int64 (n_steps,): leaves |T| of each subtree
    # int64 (n_nodes,): first step at which each node is a leaf or pruned; ``n_steps``
    # where never (a leaf of the tree counts from the step at which a node above it is
    # cut).
    step: np.ndarray

    def __len__(self):
        return len(self.alphas)

    def __getitem__(self, index):
        step = range(len(self))[index]
        return self.tree if step == 0 else cut_at(self.tree, self.step <= step)


def cost_complexity_path(tree: Tree) -> CostComplexityPath:
    """Find the order in which the weakest links of a tree are cut.

    ValueError unless it has rows and their impurities, as ``with_rows`` gives them.
    """
    if not knows_impurity(tree):
        raise ValueError(
            "Cost-complexity pruning needs rows and impurities at each node. "
            "Call tree.with_rows(X, y) with the training rows first."
        )
    # R(t), the impurity of each node by its rows, or their weights; R(T_t), that of the
    # leaves under it; and |T_t|, how many these are.
    own = tree.mass / tree.mass[0] * np.where(tree.n_rows > 0, tree.impurity, 0.0)
    below = sum_up(tree, np.where(tree.is_leaf, own, 0.0)).tolist()
    n_below = sum_up(tree, tree.is_leaf.astype(np.int64)).tolist()
    risk, parent = own.tolist(), tree.parent.tolist()
    left, right = tree.left.tolist(), tree.right.tolist()

    def strength(node: int) -> float:
        """Strength g(t) = (R(t) - R(T_t)) / (|T_t| - 1) of a link: its alpha."""
        return (risk[node] - below[node]) / (n_below[node] - 1)

    tie = _TIE * max(risk[0], np.finfo(float).tiny)
    alphas, impurities, n_leaves = [0.0], [below[0]], [n_below[0]]
    step = [-1] * tree.n_nodes
    links = [(strength(node), node) for node in np.flatnonzero(~tree.is_leaf).tolist()]
    heapify(links)
    while links:
        alpha, node = heappop(links)
        if step[node] >= 0 or alpha != strength(node):
            continue  # it was pruned, or something below it was cut
        if len(alphas) == 1 or alpha > alphas[-1] + tie:
            alphas.append(max(alpha, alphas[-1]))
            impurities.append(0.0)
            n_leaves.append(0)
        waiting = [node]
        while waiting:
            pruned = waiting.pop()
            if step[pruned] < 0:
                step[pruned] = len(alphas) - 1
                waiting += [left[pruned], right[pruned]] if left[pruned] >= 0 else []
        gained, n_lost = risk[node] - below[node], n_below[node] - 1
        below[node], n_below[node] = risk[node], 1
        while (node := parent[node]) >= 0:
            below[node] += gained
            n_below[node] -= n_lost
            heappush(links, (strength(node), node))
        impurities[-1], n_leaves[-1] = below[0], n_below[0]
    steps = np.array(step)
    steps[steps < 0] = len(alphas)
    return CostComplexityPath(
        tree, np.array(alphas), np.array(impurities), np.array(n_leaves), steps
    )


# Trees by size: which numbers of leaves are tried, and the pruning for each.
#
# A fold's tree is pruned by cost-complexity to each size, its held-out rows are counted
# (``class_sums`` and ``value_sums`` in ``evaluation/pruning.py``), the folds' scores
# (``pooled_scores`` there) choose a size (``within_one_standard_error``), and the tree
# of all rows is pruned to it.


_EVERY_SIZE = 16  # up to here each number of leaves is tried
_READABLE = 1000  # up to here each size is about an eighth larger than the one before


def size_grid(max_leaves: int) -> np.ndarray:
    """Return the numbers of leaves to try, ascending, the last one ``max_leaves``.

    Each from 1, the root alone, to 16, then in steps of an eighth, and beyond 1,000 of
    a half.
    """
    sizes = [1]
    while (size := sizes[-1]) < max_leaves:
        step = 1 if size < _EVERY_SIZE else size // (8 if size < _READABLE else 2)
        sizes.append(min(size + step, max_leaves))
    return np.array(sizes)


def steps_at(path: CostComplexityPath, sizes: np.ndarray) -> np.ndarray:
    """Return the step of the largest subtree with at most that many leaves, (S,)."""
    # Leaves fall along the path, so the first step that is small enough is the one.
    return np.searchsorted(-path.n_leaves, -np.asarray(sizes), side="left")


def prune_to_size(tree: Tree, n_leaves: int) -> Tree:
    """Return the largest cost-complexity pruning with at most ``n_leaves`` leaves.

    ``tree`` has rows and impurities at its nodes; a tree that is small enough comes
    back as it is.
    """
    if tree.n_leaves <= n_leaves:
        return tree
    path = cost_complexity_path(tree)
    return path[int(steps_at(path, np.array([n_leaves]))[0])]


def path_of_sizes(
    trees: Sequence[Tree],
    sizes: np.ndarray,
    scores: np.ndarray,
    standard_errors: np.ndarray,
    chosen: int,
    *,
    rule: str = SMALLEST,
) -> SizePath:
    """Bind the trees of all sizes; of several with equally many leaves the best.

    Of S trees each has at most as many leaves as its size; ``sizes``, cross-validated
    ``scores`` and their ``standard_errors`` over the folds are (S,). The tree that is
    ``chosen`` is the learner's own; it stays, whatever its score.
    """
    best: dict[int, int] = {}
    for i in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(trees[i].n_leaves, i)
    best[trees[chosen].n_leaves] = chosen
    order = [best[n_leaves] for n_leaves in sorted(best)]
    columns = zip(COLUMNS, (sizes, scores, standard_errors))
    table = pd.DataFrame({name: np.asarray(own)[order] for name, own in columns})
    own = tuple(trees[i] for i in order)
    return SizePath(own, table, order.index(chosen), rule)


def unscored_path(tree: Tree, most_leaves: int) -> SizePath:
    """Return a tree and its cost-complexity prunings, none of which was scored.

    The tree has rows and impurities at its nodes and is the chosen one, be it larger
    than ``most_leaves``, which bound the prunings.
    """
    sizes = size_grid(min(tree.n_leaves, most_leaves))
    if tree.n_leaves > sizes[-1]:
        sizes = np.append(sizes, tree.n_leaves)
    path = cost_complexity_path(tree)
    trees = [path[step] for step in steps_at(path, sizes)]
    unknown = np.full(len(trees), np.nan)
    return path_of_sizes(trees, sizes, unknown, unknown, len(trees) - 1)


# Smaller trees of the same predictions: no empty branches, no two equal leaves.


TOLERANCE = 1e-9  # of the range of a tree's values: what differs by less is equal
ROUNDED = 1e-6  # of the largest value: what a range of rounding errors falls below


def simplify(tree: Tree) -> Tree:
    """Drop empty branches, then merge sibling leaves of equal predictions."""
    return merge_equal(prune_empty(tree))


def prune_empty(tree: Tree) -> Tree:
    """Drop branches that no training row takes; the other branch moves up.

    So is a split that sends every possible row to one side (an infinite threshold). The
    prediction for every training row stays the same. A tree without rows loses only
    splits of that second kind. Nodes are numbered anew, depth first.
    """
    has_rows = tree.n_rows[0] > 0
    replacement = np.arange(tree.n_nodes)  # the node that takes each node's place
    for node in tree.splits[::-1]:
        left, right = tree.left[node], tree.right[node]
        only = _only_branch(tree, node)
        if only is None and has_rows and not tree.n_rows[[left, right]].all():
            only = left if tree.n_rows[right] == 0 else right
        if only is not None:
            replacement[node] = replacement[only]
    return rebuild(tree, replacement)


def _only_branch(tree: Tree, node: int) -> int | None:
    """Return the child that every possible row takes, or None where it depends."""
    threshold = tree.threshold[node]
    oblique = tree.feature[node] == OBLIQUE
    if oblique and tree.weights is not None and not tree.weights[node].any():
        goes_left = threshold >= 0  # a sum of nothing is 0
    elif np.isfinite(threshold):
        return None
    else:
        goes_left = threshold > 0
        is_number = tree.features[tree.feature[node]].kind == "number"
        if not oblique and not goes_left and is_number:
            return None  # minus infinity itself goes left
        if not oblique and tree.missing_left[node] != goes_left:
            return None  # it tests whether the value is missing
    return tree.left[node] if goes_left else tree.right[node]


def merge_equal(
    tree: Tree, *, same_class: bool = False, tolerance: float = TOLERANCE
) -> Tree:
    """Merge sibling leaves of equal predictions, from the bottom up.

    Values that differ by at most the fraction ``tolerance`` of the range of all are
    equal. With ``same_class`` leaves merge that predict the same class with whatever
    probabilities; the merged leaf predicts their mean, weighted by rows. Nodes are
    numbered anew, depth first.
    """
    names = ("value", "decision", "leaf_weights", "leaf_bias")
    given = {name: getattr(tree, name) for name in names}
    own = {name: array.copy() for name, array in given.items() if array is not None}
    value, decision, leaf = own["value"], own.get("decision"), tree.is_leaf.copy()
    linear = _linear_leaves(tree)
    axis = 0 if tree.outputs else None  # each has a range of its own
    close = tolerance * (np.ptp(value, axis) + ROUNDED * np.abs(value).max(axis))
    for node in tree.splits[::-1]:
        pair = [tree.left[node], tree.right[node]]
        if not leaf[pair].all():
            continue
        first, second = value[pair]
        same = (np.abs(first - second) <= close).all()
        if linear is not None and same:
            same = np.abs(np.subtract(*linear[pair])).max() <= close
        if tree.classes is not None:
            chosen = value[pair].argmax(axis=1) if decision is None else decision[pair]
            class_is_same = chosen[0] == chosen[1]
            same = class_is_same and (same or same_class)
        if not same:
            continue
        leaf[node] = True
        for array in (*own.values(), *([] if linear is None else [linear])):
            array[node] = array[pair[0]]
        # Leaves that agree to the last bit stay so: rounding a mean could move them.
        if not (first == second).all():
            fraction = tree.mass[pair] / (tree.mass[pair].sum() or 1)
            fraction = fraction if fraction.any() else np.array([0.5, 0.5])
            value[node] = fraction[0] * first + fraction[1] * second
    return rebuild(replace(tree, **own), cut=leaf)


def _linear_leaves(tree: Tree) -> np.ndarray | None:
    """Return linear leaves as numbers in the unit of the target, or None.

    What they add for one spread of each column, and predict for usual values.
    """
    if tree.leaf_weights is None or tree.leaf_bias is None:
        return None
    usual = np.nan_to_num([feature.fill for feature in tree.features])
    spread = np.array([feature.spread for feature in tree.features])
    by_column = tree.leaf_weights * np.where(spread > 0, spread, 1.0)
    at_usual = tree.leaf_bias + (tree.leaf_weights @ usual)[:, None]
    return np.concatenate([by_column, at_usual], axis=1)


# A tree whose weighted sums lack their small terms.


def without_small_terms(tree: Tree, fraction: float) -> Tree:
    """Drop the terms of each weighted sum that matter less than a fraction of it.

    A term counts by ``term_fractions``. What is dropped counts as the number that
    stands for a missing value, so that the split stays where it was for a row of usual
    values; the largest term always stays. ValueError unless ``fraction`` is in [0, 1].
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be in [0, 1], got {fraction!r}.")
    if tree.weights is None:
        return tree
    fill = np.nan_to_num([feature.fill for feature in tree.features])
    own = term_fractions(tree.features, tree.weights)
    is_largest = np.arange(own.shape[1]) == own.argmax(axis=1)[:, None]
    small = (own < fraction) & ~is_largest
    small &= (tree.feature == OBLIQUE)[:, None]
    dropped = np.where(small, tree.weights, 0.0)
    if dropped.any():  # new rows fell into the leaves as they were
        tree = replace(tree, interval=None, interval_level=None)
    return replace(
        tree, weights=tree.weights - dropped, threshold=tree.threshold - dropped @ fill
    )


def terms_per_split(tree: Tree) -> float:
    """Return the mean number of terms in the weighted sums; NaN without any."""
    oblique = (tree.feature == OBLIQUE) & ~tree.is_leaf
    if tree.weights is None or not oblique.any():
        return float("nan")
    return float((tree.weights[oblique] != 0).sum(1).mean())


# Weighted sums with fewer columns: what an oblique split is replaced by.
#
# Shapes: n rows, F features.


N_COLUMNS = (1, 2, 3, 5, 8, 13, 21)  # that a split may be left with, fewest first


def approximations(
    x: np.ndarray, weights: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """Approximate a weighted sum (F,) with 1, 2, 3, 5, ... of its columns.

    Orthogonal matching pursuit: the column that explains most of the residual enters
    next, and all weights are fitted again, on the rows ``x`` (n, F).

    Returned for each number in ``N_COLUMNS`` below that of the sum's own columns:
    weights (F,), and what the approximation lacks to the sum on average.
    """
    used = np.flatnonzero(weights)
    x, own = x[:, used], weights[used]
    mean = x.mean(axis=0)
    gram = (x - mean).T @ (x - mean)
    norm = np.sqrt(np.diag(gram))
    usable = norm > 1e-9
    scale = np.where(usable, norm, 1.0)
    gram = gram / np.outer(scale, scale)
    wanted = gram @ (own * scale)
    chosen: list[int] = []
    found = []
    for n_columns in range(1, int(usable.sum())):
        fitted = np.zeros(len(own))
        if chosen:
            fitted[chosen] = _solve(gram, wanted, chosen)
        residual = np.where(usable, np.abs(wanted - gram @ fitted), -1.0)
        residual[chosen] = -1.0
        chosen.append(int(residual.argmax()))
        if n_columns in N_COLUMNS:
            sparse = np.zeros(len(weights))
            sparse[used[chosen]] = _solve(gram, wanted, chosen) / scale[chosen]
            found.append((sparse, float(mean @ (own - sparse[used]))))
        if n_columns == N_COLUMNS[-1]:
            break
    return found


def _solve(gram: np.ndarray, wanted: np.ndarray, chosen: list[int]) -> np.ndarray:
    """Weights of the chosen columns that fit best; a touch of ridge for twins."""
    part = gram[np.ix_(chosen, chosen)] + 1e-9 * np.eye(len(chosen))
    return np.linalg.solve(part, wanted[chosen])


def dropped_words(
    tree: Tree, smaller: Tree, before: np.ndarray, after: np.ndarray
) -> str:
    """Write how many terms a tree without small ones has, and what that changes.

    ``before`` and ``after`` are what both predict for the same test rows.
    """
    changed = (before != after).reshape(len(before), -1).any(axis=1)
    now, was = (significant(terms_per_split(own), 2) for own in (smaller, tree))
    return (
        f"Splits name {now} features on average instead of {was}; the leaves' "
        f"prediction changes on {int(changed.sum()):,} of "
        f"{counted(len(before), 'test row')}"
    )
