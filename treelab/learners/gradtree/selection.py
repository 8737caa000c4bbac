"""Which size and class weights are retained, and which of several trained trees.

Cross-validation scores each plan by the mean of its trees, pruned to every size; of the
trees trained on all rows, the one that agrees most with their vote is retained.

Shapes: R trees of one size, n rows, C classes (1 for regression), W weightings of the
classes, Z numbers of leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.evaluation.pruning import class_sums, value_sums
from treelab.learners.common.folds import N_PARTS
from treelab.learners.common.grown_tree import with_node_means
from treelab.learners.gradtree.encodings import Encoding
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.trees.constraints import Constraints, votes
from treelab.trees.pruning import cost_complexity_path, steps_at
from treelab.trees.statistics import with_leaves
from treelab.trees.walk import rows_through


@dataclass(frozen=True)
class TargetRows:
    """What trees are to predict.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Class codes, or values.
    classes : tuple or None
        Labels by code; None for regression.
    weights : ndarray of shape (W, n_classes)
        Weights of the classes in the leaves that are tried; (1, 1) for regression.
    constraints : Constraints, optional
        What the tree must keep.
    """

    y: np.ndarray
    classes: tuple | None
    weights: np.ndarray
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def n_outputs(self) -> int:
        """Classes, or 1."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def indicators(self) -> np.ndarray:
        """Indicators of the classes, or the values, (n, C)."""
        if self.classes is None:
            return self.y[:, None]
        return np.eye(self.n_outputs)[self.y]

    def chosen_class(self, fractions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Class (...,) that leaves with fractions of classes (..., C) predict."""
        values, own = votes(self.constraints, self.classes)
        return (fractions * own * weights @ values).argmax(-1)

    def leaf_means(self, tree: HardTree, leaf: np.ndarray, rows: np.ndarray):
        """Fractions of classes, or mean, of some rows in each node, (n_nodes, C)."""
        n_nodes, place = len(tree.left), leaf[rows]
        count = np.bincount(place, minlength=n_nodes)[:, None]
        if self.classes is None:
            total = np.bincount(place, self.y[rows], n_nodes)[:, None]
        else:
            cell = place * self.n_outputs + self.y[rows]
            total = np.bincount(cell, minlength=n_nodes * self.n_outputs)
            total = total.reshape(n_nodes, -1)
        return total / np.maximum(count, 1)


def medoids(
    target: TargetRows,
    trees: Sequence[HardTree],
    leaves: Sequence[np.ndarray],
    rows: np.ndarray,
    *,
    by_vote: bool,
) -> list[int]:
    """Choose, for each weighting, the tree that agrees most with the vote of all.

    Agreement is macro F1 of the tree's classes against the vote's, or minus the squared
    difference from the mean prediction. Without ``by_vote`` it is agreement with the
    truth: most random starts fail, and a vote of failures is worth nothing.

    Parameters
    ----------
    target : TargetRows
    trees : sequence of R HardTree
    leaves : sequence of R int arrays of shape (n,)
        Leaf that each row reaches.
    rows : int array
        Rows that the trees were trained on.

    Returns
    -------
    list of W int
    """
    predicted = np.stack(
        [
            target.leaf_means(tree, leaf, rows)[leaf[rows]]
            for tree, leaf in zip(trees, leaves)
        ]
    )  # (R, m, C)
    vote = predicted.mean(0)
    if not by_vote:
        vote = target.indicators[rows]
    if target.classes is None:
        return [int(((predicted - vote) ** 2).mean((1, 2)).argmin())]
    chosen = []
    for weights in target.weights:
        own = target.chosen_class(predicted, weights)
        common = target.chosen_class(vote, weights)
        agreement = [
            macro_f1(confusion_matrix(common, tree, target.n_outputs)) for tree in own
        ]
        chosen.append(int(np.argmax(agreement)))
    return chosen


def fold_sums(
    target: TargetRows,
    trees: Sequence[HardTree],
    encoding: Encoding,
    part: np.ndarray,
    sizes: np.ndarray,
    *,
    by_vote: bool,
) -> np.ndarray:
    """Sum up what the trees of one plan score by on held-out rows.

    ``by_vote`` takes the mean of all, which is steadier than their medoid; else it is
    the one that fits best.

    Parameters
    ----------
    target : TargetRows
    trees : sequence of HardTree
        Trained without the rows held out.
    encoding : Encoding
        The rows as this fold sees them.
    part : int array of shape (n,)
        Which rows are summed up apart, see ``folds.assign_parts``.
    sizes : int array of shape (Z,)
    by_vote : bool
        See ``medoids``.

    Returns
    -------
    ndarray of shape (N_PARTS, W, Z, 2, C)
        For ``pooled_scores``.
    """
    own = ~encoding.held_out
    closed = [
        tree.without_empty_branches(tree.apply(encoding.seen[own])) for tree in trees
    ]
    leaves = [tree.apply(encoding.seen) for tree in closed]

    def sums(place: int) -> np.ndarray:
        return _sums(target, trees[place], leaves[place], encoding, part, sizes)

    if by_vote:
        return np.mean([sums(place) for place in range(len(trees))], axis=0)
    rows = np.flatnonzero(~encoding.held_out)
    best = medoids(target, trees, leaves, rows, by_vote=False)
    of_tree = {place: sums(place) for place in set(best)}
    return np.stack([of_tree[place][:, w] for w, place in enumerate(best)], axis=1)


def _sums(target, tree, leaf, encoding, part, sizes) -> np.ndarray:
    """Sums (P, W, Z, 2, C) of the prunings of one tree."""
    own, held_out, y = ~encoding.held_out, encoding.held_out, target.y
    codes = None if target.classes is None else tuple(range(target.n_outputs))
    shape = tree.shape(encoding.encoder, target.n_outputs, codes)
    shape = with_leaves(shape, encoding.seen[own], leaf[own], y[own])
    path = cost_complexity_path(shape)
    steps = steps_at(path, sizes)
    if target.classes is None:
        values = y[own][:, None]
        shape = with_node_means(shape, leaf[own], values, np.ones(len(values)))
        path = replace(path, tree=shape)
        apart = [held_out & (part == place) for place in range(N_PARTS)]
        return np.stack(
            [value_sums(path, leaf[rows], y[rows])[steps][None] for rows in apart]
        )
    assert shape.class_counts is not None
    n_classes = target.n_outputs
    code = part[held_out] * n_classes + y[held_out]
    counts = rows_through(shape, leaf[held_out], code, N_PARTS * n_classes)
    counts = counts.reshape(-1, N_PARTS, n_classes)
    by_weighting = [
        class_sums(path, counts, target.chosen_class(shape.class_counts, weights))[
            steps
        ]
        for weights in target.weights
    ]  # of (Z, P, 2, C)
    return np.stack(by_weighting).transpose(2, 0, 1, 3, 4)
