"""Where a greedy tree fails: a split that gains little at once and much in the end."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.encoding import Affine, Scale, ranks, zscore
from treelab.evaluation.metrics import SURE, standard_error
from treelab.trees.feature import feature_matrix
from treelab.trees.leaf_codes import RowsAt
from treelab.trees.text import split_text, term_fractions
from treelab.trees.tree import (
    AXIS,
    Tree,
    check_target,
    goes_left,
    leaf_of,
    midpoint,
    sum_up,
)
from treelab.trees.words import counted, percent

FAR_BELOW = 0.5  # of the best greedy split's gain
CORNER = 0.05  # of a node's rows, that each corner of an exclusive or holds
MOSTLY = 0.5  # of the largest gain in the end, for which fewer leaves are preferred
LEAST = 0.01  # of the root's impurity, that the whole tree must gain by the split


@dataclass(frozen=True)
class Gains:
    """What a split removes of the impurity at its node, as a fraction."""

    now: float  # by the split alone, training rows
    final: float  # by all splits of the subtree, training rows
    # The same on test rows, with the class fractions or means of the training rows; may
    # be negative.
    test: float


@dataclass(frozen=True)
class GreedyGap:
    """A split that no greedy tree makes, and what is reached by it."""

    node: int  # the split
    n_rows: int  # training rows that pass the node
    # Below the node; as many as the greedy tree that is grown from there has.
    n_leaves: int
    # Of the split, and of the best greedy split at the same node.
    gains: Gains
    greedy: Gains
    greedy_split: str  # the best greedy split, in words
    # Features to draw the rows by: that of the split, and that of the best split below
    # it that tests another one.
    axes: tuple[int, int]
    # Whether these two splits cut four corners of which opposite ones are alike.
    is_xor: bool

    def sentences(self, tree: Tree, name: str, rows: str) -> str:
        """Write the gains of the tree of this name and of greedy, immediate and final.

        ``rows`` names the rows at the node.
        """
        kind = "variance" if tree.classes is None else "Gini impurity"
        leaves = counted(self.n_leaves, "leaf", "leaves")
        text = (
            f"Immediate gain: of the {kind} of {rows} the split removes "
            f"{gain_text(self.gains.now)}, the best greedy split, {self.greedy_split}, "
            f"{gain_text(self.greedy.now)}. Final gain, with {leaves}: {name} removes "
            f"{gain_text(self.gains.final)}, a greedy tree "
            f"{gain_text(self.greedy.final)}."
        )
        if not self.is_xor:
            return text
        first, second = (tree.features[j].column for j in self.axes)
        return (
            f"{text} Columns {first} and {second} predict {tree.target} only "
            "together, an exclusive or (XOR): opposite corners of the picture are "
            "alike, so greedy passes over both."
        )


def gain_text(fraction: float) -> str:
    """Write a fraction of the impurity, that of a loss with its sign."""
    return percent(fraction) if fraction >= 0 else f"−{percent(-fraction)}"


@dataclass(frozen=True)
class _Rows:
    """Rows as a tree reads them: numbers, targets, and who passes which node."""

    matrix: np.ndarray  # (n_rows, n_features)
    ranks: np.ndarray  # the same, as places among the training rows' values
    target: np.ndarray  # (n_rows, n_outputs): one-hot classes, or values
    weight: np.ndarray  # (n_rows,): what each counts
    leaf: np.ndarray
    at: RowsAt


def greedy_gap(tree: Tree, train: tuple, test: tuple) -> GreedyGap | None:
    """Find a split by which a tree gains much more than greedy reaches from there.

    At each split, a greedy tree is grown best-first on the training rows that pass, to
    as many leaves as the tree has below. A split counts where its gain at once is below
    half of the greedy one's, and the subtree in the end removes more impurity (Gini
    impurity, or variance) than the greedy tree: on training rows at least one hundredth
    of that of the whole table, and on test rows by more than chance does in 5% of
    tables. Of those that gain half as much as the best or more, the one with the fewest
    leaves is returned. None where no split counts.

    Linear leaves count by their rows' mean. Rows are (X, y) or (X, y, weight): those
    that the tree was fitted to, and others that it never saw.
    """
    known = feature_matrix(tree.features, train[0])
    scales = [ranks(own) for own in known.T]
    unit = Affine() if tree.classes else zscore(np.asarray(train[1], float))
    fitted = _read(tree, train, scales, unit)
    held_out = _read(tree, test, scales, unit)
    if len(fitted.leaf) == 0 or len(held_out.leaf) == 0:
        return None
    least = LEAST * _impurity(fitted.target, fitted.weight) * fitted.weight.sum()
    n_leaves = sum_up(tree, tree.is_leaf.astype(np.int64))
    found = []
    for node in np.flatnonzero(n_leaves > 2).tolist():
        # With two leaves the end is now, where greedy is best.
        gap, advantage = _gap_at(tree, node, int(n_leaves[node]), fitted, held_out)
        if gap is not None and advantage >= least:
            found.append((gap, advantage))
    if not found:
        return None
    # A split above it gains as much in the end, with splits that do not matter.
    most = max(advantage for _, advantage in found)
    kept = [own for own in found if own[1] >= MOSTLY * most]
    return min(kept, key=lambda own: (own[0].n_leaves, -own[1]))[0]


def _read(tree: Tree, rows: tuple, scales: Sequence[Scale], unit: Scale) -> _Rows:
    """Read rows once for all nodes, in no unit of their own where greedy reads them."""
    X, y, weight = (*rows, None)[:3]
    matrix = feature_matrix(tree.features, X)
    truth = check_target(tree, len(X), y)
    classes = tree.classes
    truth = unit(truth) if classes is None else np.eye(len(classes))[truth]
    leaf = leaf_of(tree, matrix)
    places = np.stack([scale(own) for scale, own in zip(scales, matrix.T)], axis=1)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    target = truth.reshape(len(X), -1)
    return _Rows(matrix, places, target, weight, leaf, RowsAt(tree, leaf))


def _gap_at(tree: Tree, node: int, n_leaves: int, fitted: _Rows, held_out: _Rows):
    """Compare one split with greedy; return the gap and how much impurity it is."""
    rows, test_rows = fitted.at[node], held_out.at[node]
    here, weight = own = fitted.target[rows], fitted.weight[rows]
    impurity = _impurity(*own) if len(rows) else 0.0
    if impurity <= 0 or len(test_rows) == 0:
        return None, 0.0
    test = held_out.target[test_rows], held_out.weight[test_rows]
    overall = np.average(here, axis=0, weights=weight)
    test_impurity = _loss(*test, overall)

    def gained(left: np.ndarray, leaf: np.ndarray, test_leaf: np.ndarray):
        """Hold a split, and the leaves below it, against the mean of all rows.

        Returned is also the squared distance of each test row, (n_rows,).
        """
        mean, total = _means(*own, leaf, int(max(leaf.max(), test_leaf.max())) + 1)
        mean[total == 0] = overall
        on_test = _loss(*test, mean[test_leaf])
        gains = Gains(
            1 - _impurity(*own, left) / impurity,
            1 - _loss(*own, mean[leaf]) / impurity,
            1 - on_test / test_impurity if test_impurity > 0 else 0.0,
        )
        return gains, ((test[0] - mean[test_leaf]) ** 2).sum(axis=1)

    left = _goes_left(tree, node, fitted, rows)
    gains, losses = gained(left, fitted.leaf[rows], held_out.leaf[test_rows])
    ranks, test_ranks = fitted.ranks[rows], held_out.ranks[test_rows]
    grown = _grow(tree, ranks, here, weight, n_leaves)
    if grown.tree_.node_count == 1:
        return None, 0.0
    first = grown.decision_path(ranks)[:, grown.tree_.children_left[0]]
    left = first.toarray()[:, 0].astype(int)
    greedy, of_greedy = gained(left, grown.apply(ranks), grown.apply(test_ranks))
    is_far = gains.now < FAR_BELOW * greedy.now
    if not (is_far and gains.final > greedy.final and gains.test > greedy.test):
        return None, 0.0
    if not _is_clear(of_greedy - losses, test[1]):
        return None, 0.0
    partner = _partner(tree, node, fitted)
    gap = GreedyGap(
        node,
        len(rows),
        n_leaves,
        gains,
        greedy,
        _stump_text(tree, grown.tree_, fitted, rows),
        _axes(tree, node, partner, int(grown.tree_.feature[0])),
        _is_xor(tree, node, partner, fitted, rows),
    )
    return gap, (gains.final - greedy.final) * impurity * weight.sum()


def _is_clear(difference: np.ndarray, weight: np.ndarray) -> bool:
    """Whether the mean of test rows (n_rows,) is above 0 by more than chance."""
    error = standard_error(difference, weight)
    return bool(np.average(difference, weights=weight) > SURE * error)


def _grow(
    tree: Tree,
    matrix: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    n_leaves: int,
):
    """Grow scikit-learn's greedy tree best-first on some rows."""
    # Here, as it takes a moment, and pages import this module to be shown.
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    is_number = tree.classes is None
    grower = DecisionTreeRegressor if is_number else DecisionTreeClassifier
    grown = grower(max_leaf_nodes=n_leaves, random_state=0)
    y = target[:, 0] if is_number else target.argmax(axis=1)
    return grown.fit(matrix, y, sample_weight=weight)


def _impurity(target: np.ndarray, weight: np.ndarray, group=None) -> float:
    """Gini impurity, or variance; that within groups where these are given."""
    group = np.zeros(len(target), dtype=int) if group is None else group
    mean, _ = _means(target, weight, group, int(group.max()) + 1)
    return _loss(target, weight, mean[group])


def _loss(target: np.ndarray, weight: np.ndarray, predicted: np.ndarray) -> float:
    """Mean squared distance; of one-hot classes from their means the Gini impurity."""
    return float(weight @ ((target - predicted) ** 2).sum(axis=1) / weight.sum())


def _means(target, weight, group, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each group's mean (n, n_outputs), 0 without rows, and its weight (n,)."""
    sums = [np.bincount(group, weight * own, minlength=n_groups) for own in target.T]
    total = np.bincount(group, weight, minlength=n_groups)
    return np.stack(sums, axis=1) / np.where(total > 0, total, 1)[:, None], total


def main_feature(tree: Tree, node: int) -> int:
    """Return the feature of a split; of an oblique one that which moves it most."""
    if tree.feature[node] >= AXIS or tree.weights is None:
        return int(tree.feature[node])
    return int(term_fractions(tree.features, tree.weights[node]).argmax())


def _partner(tree: Tree, node: int, fitted: _Rows) -> int | None:
    """Return the split below a split that gains most by another feature."""
    most, partner = 0.0, None
    waiting = [int(tree.left[node]), int(tree.right[node])]
    while waiting:
        below = waiting.pop()
        if tree.is_leaf[below]:
            continue
        waiting += [int(tree.left[below]), int(tree.right[below])]
        rows = fitted.at[below]
        if main_feature(tree, below) == main_feature(tree, node) or not len(rows):
            continue
        own = fitted.target[rows], fitted.weight[rows]
        left = _goes_left(tree, below, fitted, rows)
        gain = (_impurity(*own) - _impurity(*own, left)) * own[1].sum()
        if gain > most:
            most, partner = gain, below
    return partner


def _axes(
    tree: Tree, node: int, partner: int | None, otherwise: int
) -> tuple[int, int]:
    """Return the features of a split and of its partner, else another one."""
    first = main_feature(tree, node)
    second = otherwise if partner is None else main_feature(tree, partner)
    if second == first and len(tree.features) > 1:
        second = 1 if first == 0 else 0
    return first, second


def _is_xor(
    tree: Tree, node: int, partner: int | None, fitted: _Rows, rows: np.ndarray
) -> bool:
    """Whether two splits cut a node's rows into corners of which opposite are alike.

    A corner is described by its most frequent class, or by whether its mean is above
    that of the node.
    """
    if partner is None:
        return False
    target = fitted.target[rows]
    first = _goes_left(tree, node, fitted, rows)
    corner = 2 * first + _goes_left(tree, partner, fitted, rows)
    weight = fitted.weight[rows]
    mean, total = _means(target, weight, corner, 4)
    if total.min() < CORNER * weight.sum():
        return False
    of_one = target.shape[1] == 1
    average = np.average(target, axis=0, weights=weight)
    kind = mean[:, 0] > average[0] if of_one else mean.argmax(axis=1)
    return bool(kind[0] == kind[3] != kind[1] == kind[2])


def _goes_left(tree: Tree, node: int, fitted: _Rows, rows: np.ndarray) -> np.ndarray:
    """Which rows a split sends left, as 0 and 1, whether or not they reach it."""
    return goes_left(tree, fitted.matrix, np.full(len(rows), node), rows).astype(int)


def _stump_text(tree: Tree, nodes, fitted: _Rows, rows: np.ndarray) -> str:
    """Write the root of scikit-learn's tree in the words of ours."""
    feature = int(nodes.feature[0])
    used, column = tree.features[feature], fitted.matrix[rows, feature]
    ranks, bound = fitted.ranks[rows, feature], nodes.threshold[0]
    low = np.max(column[ranks <= bound], initial=-np.inf)
    threshold = midpoint(low, np.min(column[ranks > bound], initial=np.inf))
    stump = Tree.complete(
        (used,),
        np.zeros(1, dtype=int),
        threshold[None],
        nodes.missing_go_to_left[:1].astype(bool),
        np.zeros((2, 1)),
    )
    if used.kind == "number":  # numbers are rounded as far as its rows allow
        table = pd.DataFrame({used.column: column})
        stump = stump.with_rows(table, np.zeros(len(column)))
    return split_text(stump, 0, most=4, length=32)
