"""From a trained argmin tree to the Tree that is drawn and the predictor on top."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import softmax

from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.common.base import TrainingData
from treelab.trees.feature import feature_matrix
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning.simplify import simplify
from treelab.trees.statistics import with_leaves
from treelab.trees.tree import Tree
from treelab.trees.walk import LEAF, OBLIQUE, leaf_of, rows_through, sum_up


@dataclass(frozen=True)
class OneTree:
    """One candidate as float64 arrays, breadth first, T nodes of which N split.

    ``split_weights`` (N, F), ``split_bias`` (N,): a row turns left where
    ``split_weights @ x + split_bias >= 0``. ``activity`` (T,). ``layers`` of the
    predictor as (weight, bias) pairs; the first reads T nodes, then perhaps F features.
    """

    split_weights: np.ndarray
    split_bias: np.ndarray
    activity: np.ndarray
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]


def candidates(network: ArgminTrees) -> list[OneTree]:
    """The trees of all strengths, as they are at this moment."""
    with torch.no_grad():
        activity = _array(network.reference_activity())
        parameters = [_array(layer) for layer in network.layers]
        weights, bias = _array(network.weights), _array(network.bias)
    return [
        OneTree(
            weights[e],
            bias[e],
            activity[e],
            tuple(
                (weight[e], offset[e])
                for weight, offset in zip(parameters[::2], parameters[1::2])
            ),
        )
        for e in range(network.n_candidates)
    ]


class TreeWriter:
    """Writes candidates in the user's columns and units.

    Parameters
    ----------
    data : TrainingData
        Encoded by z-scores.
    labels : tuple or None
        Classes; None for regression.
    center, scale : float
        The value that 0 stands for and the length of 1, in units of the target.
    reads_leaf, uses_x : bool
        As in ``ArgminTrees``.
    """

    def __init__(
        self,
        data: TrainingData,
        labels: tuple | None,
        *,
        center: float,
        scale: float,
        reads_leaf: bool,
        uses_x: bool,
    ):
        self.data, self.labels = data, labels
        self.center, self.scale = center, scale
        self.reads_leaf, self.uses_x = reads_leaf, uses_x
        self.encoder = data.encoder
        self.matrix = feature_matrix(self.encoder.features_, data.frame)

    def write(self, one: OneTree) -> tuple[Tree, NodePredictor | None]:
        """Return the pruned tree and its predictor; None where leaves say it all."""
        whole = self._whole(one)
        leaf = leaf_of(whole, self.matrix)
        # Where no training row comes, nothing was learned: rows stop above.
        activity = np.where(rows_through(whole, leaf) > 0, one.activity, 0.0)
        kept = _kept_nodes(activity)
        tree = self._pruned(whole, kept, activity[kept], leaf)
        if self.reads_leaf:
            return simplify(tree), None
        return tree, self._predictor(one, kept)

    def _whole(self, one: OneTree) -> Tree:
        """The complete tree; it answers with the constants that it learned, if any."""
        # Left where weights @ x + bias >= 0, that is where -weights @ x <= bias.
        weights, threshold = self.encoder.oblique_splits(
            -one.split_weights, one.split_bias
        )
        n_splits = len(threshold)
        told = self._told(one)
        tree = Tree.complete(
            self.encoder.features_,
            None,
            threshold,
            np.zeros(n_splits, dtype=bool),
            told[n_splits:],
            weights=weights,
            classes=self.labels,
            activity=one.activity,
        )
        return replace(tree, value=told)

    def _told(self, one: OneTree) -> np.ndarray:
        """What a row hears that ends at a node, where nodes hold constants, (T, C)."""
        if not self.reads_leaf:
            return np.zeros((len(one.activity), self.data.n_outputs))
        ((weight, bias),) = one.layers
        told = weight.T + np.pad(bias[None], ((0, len(one.activity) - 1), (0, 0)))
        for node in range(1, len(told)):  # a row adds up what lies on its path
            told[node] += told[(node - 1) // 2]
        if self.labels is None:
            return self.center + self.scale * told
        return softmax(told, axis=1)

    def _pruned(
        self, whole: Tree, kept: np.ndarray, activity: np.ndarray, leaf: np.ndarray
    ) -> Tree:
        """The kept nodes (breadth first) as a tree of their own.

        ``leaf`` (n_rows,) is each training row's leaf in the whole tree.
        """
        place = np.full(whole.n_nodes + 1, -1, dtype=np.int32)  # the last: no child
        place[kept] = np.arange(len(kept))
        left, right = place[whole.left[kept]], place[whole.right[kept]]
        is_split = left >= 0
        value = whole.value[kept]
        for node in range(1, len(kept)):  # a node that is off adds nothing to its path
            if activity[node] == 0:
                value[node] = whole.value[(kept[node] - 1) // 2]
        for node in range(1, whole.n_nodes):  # a row stops at the last node that stays
            if place[node] < 0:
                place[node] = place[(node - 1) // 2]
        leaf = place[leaf]
        tree = replace(
            whole,
            left=left,
            right=right,
            feature=np.where(is_split, OBLIQUE, LEAF),
            threshold=np.where(is_split, whole.threshold[kept], np.nan),
            missing_left=np.zeros(len(kept), dtype=bool),
            value=value,
            n_rows=np.zeros(len(kept)),
            impurity=np.zeros(len(kept)),
            weights=np.where(is_split[:, None], whole.weights[kept], 0.0),
            activity=activity,
        )
        tree = with_leaves(tree, self.matrix, leaf, self.data.y)
        if self.reads_leaf:
            return tree
        return replace(tree, value=self._means(tree, leaf))

    def _means(self, tree: Tree, leaf: np.ndarray) -> np.ndarray:
        """Class shares, or the mean, of each node's rows; empty nodes: the parent's."""
        if self.labels is not None:
            total = tree.class_counts
        else:
            at_leaf = np.bincount(leaf, self.data.y, minlength=tree.n_nodes)
            total = sum_up(tree, at_leaf)[:, None]
        mean = total / np.maximum(tree.n_rows, 1)[:, None]
        for node in np.flatnonzero(tree.n_rows == 0):  # parents come first
            mean[node] = mean[tree.parent[node]]
        return mean

    def _predictor(self, one: OneTree, kept: np.ndarray) -> NodePredictor:
        """The predictor on the kept nodes, and on columns in their own units."""
        layers = list(one.layers)
        weight, bias = layers[0]
        n_nodes = len(one.activity)
        on_nodes = weight[:, kept]
        if self.uses_x:
            on_x, bias = self.encoder.linear_leaves(weight[:, n_nodes:], bias)
            on_nodes = np.hstack([on_nodes, on_x])
        layers[0] = (on_nodes, bias)
        if self.labels is None:
            weight, bias = layers[-1]
            layers[-1] = (weight * self.scale, bias * self.scale + self.center)
        n_features = len(self.encoder.features_)
        return NodePredictor(
            layers=tuple(layers),
            uses_x=self.uses_x,
            x_mean=np.zeros(n_features) if self.uses_x else None,
            x_scale=np.ones(n_features) if self.uses_x else None,
        )


def _kept_nodes(activity: np.ndarray) -> np.ndarray:
    """Nodes (breadth first, ascending) of the pruned tree.

    A split stays while one child lives; its other child then is a leaf where rows
    stop. With both children gone the split itself is a leaf.
    """
    kept = np.zeros(len(activity), dtype=bool)
    kept[0] = True
    for node in range(len(activity) // 2):
        children = slice(2 * node + 1, 2 * node + 3)
        kept[children] = kept[node] and (activity[children] > 0).any()
    return np.flatnonzero(kept)


def _array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor as float64."""
    return tensor.detach().cpu().double().numpy()
