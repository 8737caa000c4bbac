"""Hard oblique trees as plain arrays: their rows, their leaves, and as a ``Tree``.

Shapes: E trees, N = 2**D - 1 splits breadth first, L = 2**D leaves, n rows,
F features, C outputs (classes, or 1).
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import torch

from treelab.data.encoding import TableEncoder
from treelab.learners.common.greedy import as_columns
from treelab.learners.common.target import TargetScale
from treelab.ops.oblique import hard_leaf
from treelab.trees.losses import SQUARED_ERROR, Loss, ranges
from treelab.trees.pruning import simplify
from treelab.trees.tree import OBLIQUE, Tree, with_midpoint_thresholds

SHRINKAGE = 1.0  # pseudo-rows with the parent's prediction, added to a node's own
N_REWEIGHTINGS = 15  # of rows, for linear leaves of another loss than the squared error
SMALLEST_RESIDUAL = 1e-3  # in standardised units; smaller ones weigh as this one
LEAST_OF_CONSTANT = 0.1  # that a linear leaf of positive values may predict
UNSCALED = TargetScale()


@dataclass(frozen=True)
class Rows:
    """Rows as GET sees them, and how leaves predict them."""

    x: np.ndarray  # (n, F): encoded features
    # (n,): standardised values, of several outputs (n, C), or class codes (int64).
    y: np.ndarray
    weight: np.ndarray  # (n,): of each row
    n_classes: int  # 0 for regression
    linear: bool = False  # whether leaves hold linear models
    # On which they train.
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    # Of standardised values; of classes the squared error of their fractions.
    loss_of_rows: Loss = SQUARED_ERROR

    @property
    def target(self) -> np.ndarray:
        """What constant leaves average: values or classes as 0 and 1, (n, C)."""
        if self.n_classes:
            return np.eye(self.n_classes)[self.y]
        return as_columns(self.y)

    @property
    def n_targets(self) -> int:
        """Numbers whose mean loss is that of a row; the classes' losses are summed."""
        return 1 if self.n_classes else as_columns(self.y).shape[1]

    def of_output(self, place: int) -> "Rows":
        """Return the rows with one of several targets."""
        loss = self.loss_of_rows.of_output(place)
        return replace(self, y=self.y[:, place], loss_of_rows=loss)

    def row_loss(self, predicted: np.ndarray) -> np.ndarray:
        """Weighted loss (..., n) of predictions (..., n, C): equation 3.

        Of classes it is the squared error of their fractions, Brier's score.
        """
        error = self.loss_of_rows.rows(predicted, self.target).sum(axis=-1)
        return error * self.weight / self.n_targets

    def loss(self, predicted: np.ndarray) -> np.ndarray:
        """Mean loss (E,) of the predictions (E, n, C) of E trees."""
        return self.row_loss(predicted).sum(axis=-1) / self.weight.sum()

    def take(self, which: np.ndarray) -> "Rows":
        """Return some of the rows."""
        return replace(
            self, x=self.x[which], y=self.y[which], weight=self.weight[which]
        )

    def join(self, other: "Rows") -> "Rows":
        """Return these rows and others."""
        return replace(
            self,
            x=np.concatenate([self.x, other.x]),
            y=np.concatenate([self.y, other.y]),
            weight=np.concatenate([self.weight, other.weight]),
        )

    def rounded(self) -> "Rows":
        """Return the rows with few digits: 2^-24 of a column's range, values to 2^-13.

        Training is chaotic in the last digits, which are others in each unit: the same
        table in meters, or with 1e9 added to its target, shall train the same tree.
        Where 0 has a meaning values are rounded by their size.
        """
        y = self.y
        if self.loss_of_rows.counts_from_zero:
            y = y.astype(np.float32).astype(np.float64)
        elif not self.n_classes:
            y = np.round(y * 2.0**13) / 2.0**13
        return replace(self, x=np.round(self.x * 2.0**24) / 2.0**24, y=y)


@dataclass(frozen=True)
class HardTrees:
    """Splits of E complete trees and what their leaves predict, in encoded units.

    A split that sends all rows left has no weights and an infinite threshold.
    """

    weights: np.ndarray  # (E, N, F): a_t of section 2
    threshold: np.ndarray  # (E, N): b_t of section 2
    # (E, L, C): what each leaf predicts where leaves are constant: h_t.
    constants: np.ndarray
    # (E, L, 1 + F): linear models of the leaves, h_t and k_t, which then replace
    # ``constants``.
    models: np.ndarray | None = None

    @classmethod
    def fit(cls, weights: np.ndarray, threshold: np.ndarray, rows: Rows) -> "HardTrees":
        """Compute every leaf from the rows that reach it (appendix C).

        The paper takes plain means and least squares; ours are shrunk towards the
        nodes above.
        """
        leaf = hard_leaf(rows.x, weights, threshold)
        n_leaves, models = threshold.shape[1] + 1, None
        constants = leaf_constants(leaf, rows, n_leaves)
        if rows.linear:
            both = zip(leaf, constants[..., 0])
            models = np.stack([leaf_models(*each, rows) for each in both])
        return cls(weights, threshold, constants, models)

    @property
    def n_splits(self) -> int:
        """Places of splits, N."""
        return self.threshold.shape[1]

    @property
    def depth(self) -> int:
        """Splits on every path to a leaf."""
        return self.n_splits.bit_length()

    @property
    def n_leaves(self) -> int:
        """Leaves of the first tree, where each of its splits has rows on both sides."""
        return 1 + int(np.isfinite(self.threshold[0]).sum())

    def refit(self, rows: Rows) -> "HardTrees":
        """Return the same splits, leaves recomputed from other rows."""
        return HardTrees.fit(self.weights, self.threshold, rows)

    def with_splits(self, splits, weights, threshold, rows: Rows) -> "HardTrees":
        """Return a batch of one tree with some splits exchanged, leaves recomputed."""
        new_weights, new_threshold = self.weights.copy(), self.threshold.copy()
        new_weights[0, splits], new_threshold[0, splits] = weights, threshold
        return HardTrees.fit(new_weights, new_threshold, rows)

    def cut_to(self, retained: np.ndarray, rows: Rows) -> "HardTrees":
        """Return a batch of one tree with no splits but these, (N,) of its first."""
        n_splits = len(retained)
        weights = np.where(retained[:, None], self.weights[:, :n_splits], 0.0)
        threshold = np.where(retained, self.threshold[:, :n_splits], np.inf)
        return HardTrees.fit(weights, threshold, rows)

    def take(self, index: int) -> "HardTrees":
        """Return one tree as a batch of its own."""
        at = slice(index, index + 1)
        models = None if self.models is None else self.models[at]
        return HardTrees(
            self.weights[at], self.threshold[at], self.constants[at], models
        )

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Values or class probabilities (E, n, C) for encoded rows (n, F)."""
        leaf = hard_leaf(x, self.weights, self.threshold)
        if self.models is None:
            return np.take_along_axis(self.constants, leaf[..., None], axis=1)
        found = [models[at] for models, at in zip(self.models, leaf)]  # (n, 1 + F) each
        slopes = [np.einsum("nf,nf->n", own[:, 1:], x) for own in found]
        return np.stack([own[:, 0] + of for own, of in zip(found, slopes)])[..., None]

    def nodes_at(self, x: np.ndarray, level: int) -> np.ndarray:
        """Node (n,) of a level, from 0, that rows (n, F) reach in a batch of one."""
        leaf = hard_leaf(x, self.weights, self.threshold)[0]
        return leaf >> (self.depth - level)

    def node_losses(self, rows: Rows, level: int) -> np.ndarray:
        """Summed loss (2**level,) of the rows under each node, in a batch of one."""
        losses = rows.row_loss(self.predict(rows.x))[0]
        return np.bincount(self.nodes_at(rows.x, level), losses, 2**level)


def leaf_constants(leaf: np.ndarray, rows: Rows, n_leaves: int) -> np.ndarray:
    """Predictions (E, L, C) of constant leaves, shrunk towards the nodes above them.

    From the root down, a node predicts what costs its rows least, joined by a
    pseudo-row whose target is its parent's prediction. ``leaf`` is (E, n).
    """
    loss, n_trees = rows.loss_of_rows, len(leaf)
    if loss.has_means:
        return leaf_means(leaf, rows, n_leaves)
    if rows.y.ndim == 2:
        by_output = map(rows.of_output, range(rows.n_targets))
        each = [leaf_constants(leaf, own, n_leaves) for own in by_output]
        return np.concatenate(each, axis=-1)
    slot = (leaf + np.arange(n_trees)[:, None] * n_leaves).ravel()
    y, weight = np.tile(rows.y, n_trees), np.tile(rows.weight, n_trees)
    value = np.repeat(loss.constants(0 * leaf[0], rows.y, rows.weight, 1), n_trees)
    count, width = np.bincount(slot // n_leaves, weight, n_trees), 1
    while width < n_leaves:
        width *= 2
        node, n_nodes = slot // (n_leaves // width), n_trees * width
        parent, above = np.repeat(value, 2), np.repeat(count, 2)
        count = np.bincount(node, weight, n_nodes)
        value = loss.constants(
            np.append(node, np.arange(n_nodes)),
            np.append(y, parent),
            np.append(weight, np.full(n_nodes, SHRINKAGE)),
            n_nodes,
        )
        # A split that sends all rows one way changes nothing.
        value = np.where(count == above, parent, value)
    return value.reshape(n_trees, n_leaves, 1)


def leaf_means(leaf: np.ndarray, rows: Rows, n_leaves: int) -> np.ndarray:
    """Mean target (E, L, C) of every leaf, shrunk towards those of the nodes above it.

    From the root down, a node predicts the mean of its rows joined by a pseudo-row with
    its parent's prediction; so no class has probability zero (hierarchical shrinkage,
    Agarwal et al., arXiv:2202.00858, in another weighting), and an empty leaf predicts
    as the last node with rows. ``leaf`` is (E, n); fractions of classes sum to 1.
    """
    n_trees = len(leaf)
    slot = (leaf + np.arange(n_trees)[:, None] * n_leaves).ravel()
    both = np.column_stack([rows.weight[:, None] * rows.target, rows.weight])
    sums = [np.bincount(slot, np.tile(v, n_trees), n_trees * n_leaves) for v in both.T]
    levels = [np.stack(sums, axis=-1).reshape(n_trees, n_leaves, -1)]
    while levels[-1].shape[1] > 1:  # sums of the levels above, up to the root
        levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
    mean = levels[-1][..., :-1] / levels[-1][..., -1:]
    for above, here in zip(levels[:0:-1], levels[-2::-1]):
        parent, count = np.repeat(mean, 2, axis=1), here[..., -1:]
        shrunk = (here[..., :-1] + SHRINKAGE * parent) / (count + SHRINKAGE)
        # A split that sends all rows one way changes nothing.
        same = count == np.repeat(above[..., -1:], 2, axis=1)
        mean = np.where(same, parent, shrunk)
    return mean


def leaf_models(leaf: np.ndarray, constants: np.ndarray, rows: Rows) -> np.ndarray:
    """Linear models (L, 1 + F) in every leaf of one tree: h_t and k_t of section 2.

    A node's linear model is that of its parent plus a ridge regression on the parent's
    residuals, whose penalty is that of a pseudo-row that varies like all rows. Where
    a node's own columns hardly vary, or its rows are few, its slopes so remain its
    parent's. ``leaf`` is (n,), ``constants`` (L,) what constant leaves predict.

    Other losses than the squared error are regressed by iteratively reweighted least
    squares: a row weighs the slope of its loss by its residual, of which a quantile's
    loss, say, makes Koenker and Bassett's (doi:10.2307/1913643) and a mean's the
    method of scoring.
    """
    loss, n_leaves = rows.loss_of_rows, len(constants)
    order = np.argsort(leaf, kind="stable")
    centre = rows.x.mean(axis=0)
    design = np.hstack([np.ones((len(leaf), 1)), rows.x - centre])[order]
    y, weight, leaf = rows.y[order], rows.weight[order], leaf[order]
    penalty = SHRINKAGE * np.append(1.0, rows.x.var(axis=0) + 1e-9)
    models = np.zeros((1, design.shape[1]))  # of the level above, bias first
    if not loss.is_squared:
        models[0, 0] = loss.constants(0 * leaf, y, weight, 1)[0]
    n_rows_above, width = np.array([-1]), 1
    while width <= n_leaves:
        parent = np.arange(width) // 2
        bounds = np.searchsorted(leaf, np.arange(width + 1) * (n_leaves // width))
        above, n_rows = models[parent], np.diff(bounds)
        models, node = above.copy(), leaf // (n_leaves // width)
        changed = np.flatnonzero((n_rows != n_rows_above[parent]) & (n_rows > 0))
        for _ in range(1 if loss.is_squared else N_REWEIGHTINGS):
            if not len(changed):
                break
            factor = np.ones(len(y))
            if not loss.is_squared:
                predicted = np.einsum("nf,nf->n", design, models[node])
                factor = least_squares_weights(loss, predicted, y)
            inverse, equations = 1 / factor, []
            for own in changed:
                at = slice(bounds[own], bounds[own + 1])
                equations.append(
                    normal_equations(
                        design[at],
                        y[at] - design[at] @ above[own],
                        penalty / (inverse[at].sum() / n_rows[own]),
                        weight[at] * factor[at],
                    )
                )
            grams, sums = map(np.stack, zip(*equations))
            found = np.linalg.solve(grams, sums[..., None])[..., 0]
            models[changed] = above[changed] + found
        n_rows_above, width = n_rows, 2 * width
    models[:, 0] -= models[:, 1:] @ centre
    if loss.is_squared:
        return models
    return _checked_models(
        models, constants, replace(rows, x=rows.x[order], y=y, weight=weight), leaf
    )


def least_squares_weights(
    loss: Loss, predicted: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Weights (n,) by which squared residuals have the slopes of a loss.

    Residuals count as at least ``SMALLEST_RESIDUAL``, where a loss may have a kink.
    """
    if loss.is_positive:
        predicted = np.maximum(predicted, SMALLEST_RESIDUAL)
    error = predicted - y
    error = np.where(error < 0, -1.0, 1.0) * np.maximum(abs(error), SMALLEST_RESIDUAL)
    if loss.is_positive:
        error = np.maximum(error, SMALLEST_RESIDUAL - y)
    return np.maximum(loss.slope(y + error, y) / error, 1e-9)


def _checked_models(
    models: np.ndarray, constants: np.ndarray, rows: Rows, leaf: np.ndarray
) -> np.ndarray:
    """Models (L, 1 + F), flatter or constant where they cost more or leave their range.

    Of losses of positive values a model stays at ``LEAST_OF_CONSTANT`` of the leaf's
    constant or more wherever the leaf's rows lie, column by column.
    """
    loss, n_leaves = rows.loss_of_rows, len(constants)
    flat = np.zeros_like(models)
    flat[:, 0] = constants
    if loss.is_positive:
        columns = [ranges(leaf, column, n_leaves) for column in rows.x.T]
        low, high = (np.stack(side, axis=1) for side in zip(*columns))
        filled = np.isfinite(low)
        slopes = models[:, 1:]
        ends = [slopes * np.where(filled, side, 0.0) for side in (low, high)]
        least = models[:, 0] + np.minimum(*ends).sum(axis=1)
        room = (1 - LEAST_OF_CONSTANT) * constants
        drop = np.maximum(constants - least, room)
        models = flat + (room / drop)[:, None] * (models - flat)
    costs = []
    for each in (models, flat):
        own = each[leaf]
        predicted = own[:, 0] + np.einsum("nf,nf->n", own[:, 1:], rows.x)
        lost = rows.weight * loss.rows(predicted, rows.y)
        costs.append(np.bincount(leaf, lost, n_leaves))
    return np.where((costs[0] < costs[1])[:, None], models, flat)


def ridge(
    design: np.ndarray,
    y: np.ndarray,
    penalty: float | np.ndarray,
    weight: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Coefficients (P,) of a ridge regression on rows (n, P), each with a penalty."""
    return np.linalg.solve(*normal_equations(design, y, penalty, weight))


def normal_equations(
    design: np.ndarray,
    y: np.ndarray,
    penalty: float | np.ndarray,
    weight: np.ndarray | float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Matrix (P, P) and right side (P,) of the equations that ``ridge`` solves."""
    weighted = design.T * weight
    gram = weighted @ design
    gram.flat[:: len(gram) + 1] += penalty  # its diagonal
    return gram, weighted @ y


# A tree in the user's columns and units.


def to_tree(
    trees: HardTrees,
    encoder: TableEncoder,
    frame: pd.DataFrame,
    y: np.ndarray,
    *,
    weight: np.ndarray | None = None,
    classes: tuple | None,
    scale: TargetScale = UNSCALED,
    notes: tuple[str, ...] = (),
    loss: Loss | None = None,
    outputs: tuple[str, ...] = (),
) -> Tree:
    """Write a batch of one tree in the user's columns and units.

    Weights are divided by that of the leading column, the one whose weight times its
    standard deviation is largest: the sum then counts in units of that column. The tree
    was trained in this encoding, its leaves' values in this scale; ``frame``, ``y`` and
    ``weight`` are the training rows as the user gave them, which it knows, without
    empty branches. ``loss`` is what values are the best constants for, None: means.
    """
    weights, threshold = encoder.oblique_splits(trees.weights[0], trees.threshold[0])
    # A leading column is one that matters: its variation as encoded, not its unit.
    std = encoder.transform(frame).std(axis=0)
    lead = np.argmax(np.abs(trees.weights[0]) * (std + 1e-12), axis=1)  # (N,)
    unit = weights[np.arange(len(weights)), lead]
    no_weight = unit == 0
    unit = np.where(no_weight, 1.0, unit)
    # Without weights 0 <= threshold holds or not for all rows.
    threshold = np.where(no_weight & (threshold >= 0), np.inf, threshold)
    threshold = np.where(no_weight & (threshold < 0), -np.inf, threshold)
    weights, threshold = weights / unit[:, None], threshold / unit
    single = (weights != 0).sum(axis=1) <= 1
    fill = np.array([feature.fill for feature in encoder.features_])
    linear = {}
    if trees.models is not None:
        models = trees.models[0]
        leaf_weights, leaf_bias = encoder.linear_leaves(
            models[:, 1:] * scale.scale, scale.restore(models[:, 0])
        )
        linear = {"leaf_weights": leaf_weights, "leaf_bias": leaf_bias[:, None]}
    tree = Tree.complete(
        encoder.features_,
        np.where(single, lead, OBLIQUE),
        threshold,
        single & (fill[lead] <= threshold),
        scale.restore(trees.constants[0]),
        weights=np.where(single[:, None], 0.0, weights),
        classes=classes,
        outputs=outputs,
        **linear,
    )
    tree = replace(tree, loss=loss)
    tree = _with_children_swapped(tree, np.flatnonzero(unit < 0))
    tree = simplify(tree.with_rows(frame, y, weight)).with_rows(frame, y, weight)
    tree = with_midpoint_thresholds(tree)
    return replace(tree, notes=notes)


def _with_children_swapped(tree: Tree, nodes: np.ndarray) -> Tree:
    """Swap left and right at splits that were divided by a negative number."""
    left, right = tree.left.copy(), tree.right.copy()
    left[nodes], right[nodes] = tree.right[nodes], tree.left[nodes]
    return replace(tree, left=left, right=right)
