"""From a trained argmin tree to the Tree that is drawn, and a predictor on top."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.common.base import TrainingData
from treelab.learners.common.target_scale import TargetScale
from treelab.trees.feature import feature_matrix
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning.shown_tree import shown_tree
from treelab.trees.pruning.simplify import merge_equal
from treelab.trees.statistics import with_leaves
from treelab.trees.tree import Tree
from treelab.trees.walk import LEAF, OBLIQUE, leaf_of, rows_through, sum_up


@dataclass(frozen=True)
class TrainedTree:
    """One tree of the batch as float64 arrays, breadth first, T nodes, N splits.

    ``split_weights`` (N, F), ``split_bias`` (N,): a row turns left where
    ``split_weights @ x + split_bias >= 0``. ``activity`` (T,). ``layers`` of the
    predictor as (weight, bias) pairs; the first reads T nodes, then perhaps F features.
    """

    split_weights: np.ndarray
    split_bias: np.ndarray
    activity: np.ndarray
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]


def trained_trees(network: ArgminTrees) -> list[TrainedTree]:
    """Return the trees of all strengths with the network's current parameters."""
    with torch.no_grad():
        activity = _array(network.reference_activity())
        parameters = [_array(layer) for layer in network.layers]
        weights, bias = _array(network.sparse_weights()), _array(network.bias)
    return [
        TrainedTree(
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


class TreeExporter:
    """Exports trained trees to the user's columns and units.

    Parameters
    ----------
    data : TrainingData
        Encoded by z-scores.
    settings : ArgminSettings
    labels : tuple or None
        Classes; None for regression.
    scale : TargetScale
        Of the target in training.
    class_weight : ndarray of shape (n_classes,) or None
        Weight of a row of each class; None: all count alike.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: ArgminSettings,
        labels: tuple | None = None,
        scale: TargetScale | None = None,
        class_weight: np.ndarray | None = None,
    ):
        self.data, self.settings, self.labels = data, settings, labels
        self.scale = scale or TargetScale()
        self.class_weight = 1.0 if class_weight is None else class_weight
        self.encoder = data.encoder
        self.matrix = feature_matrix(self.encoder.features_, data.frame)

    def export(self, trained: TrainedTree) -> Tree:
        """Return the tree as it is drawn, whose leaves predict."""
        drawn = shown_tree(self.export_splits(trained))
        drawn = replace(drawn, between=None, missing_rows=None)
        return merge_equal(self._with_own_leaves(drawn))

    def export_with_predictor(self, trained: TrainedTree) -> tuple[Tree, NodePredictor]:
        """Return the tree with every node that the predictor on top reads, and it."""
        tree, nodes = self._prune(trained)
        return self._with_own_leaves(tree), self._predictor(trained, nodes)

    def export_splits(self, trained: TrainedTree) -> Tree:
        """Return the pruned tree with its rows; its leaves predict nothing."""
        return self._prune(trained)[0]

    def _complete(self, trained: TrainedTree) -> Tree:
        """The complete tree, T nodes that predict nothing."""
        # Left where weights @ x + bias >= 0, that is where -weights @ x <= bias.
        weights, threshold = self.encoder.oblique_splits(
            -trained.split_weights, trained.split_bias
        )
        n_splits = len(threshold)
        return Tree.complete(
            self.encoder.features_,
            None,
            threshold,
            np.zeros(n_splits, dtype=bool),
            np.zeros((n_splits + 1, self.data.n_outputs)),
            weights=weights,
            classes=self.labels,
            activity=trained.activity,
        )

    def _prune(self, trained: TrainedTree) -> tuple[Tree, np.ndarray]:
        """The active nodes as a tree, and their numbers in the complete one."""
        complete = self._complete(trained)
        assert complete.weights is not None
        leaf = leaf_of(complete, self.matrix)
        # Where no training row comes, nothing was learned: rows stop above.
        activity = np.where(rows_through(complete, leaf) > 0, trained.activity, 0.0)
        nodes = _retained_nodes(activity)
        place = np.full(complete.n_nodes + 1, -1, dtype=np.int32)  # the last: no child
        place[nodes] = np.arange(len(nodes))
        left, right = place[complete.left[nodes]], place[complete.right[nodes]]
        is_split = left >= 0
        for node in range(1, complete.n_nodes):  # a row stops at the last node retained
            if place[node] < 0:
                place[node] = place[(node - 1) // 2]
        tree = replace(
            complete,
            left=left,
            right=right,
            feature=np.where(is_split, OBLIQUE, LEAF),
            threshold=np.where(is_split, complete.threshold[nodes], np.nan),
            missing_left=np.zeros(len(nodes), dtype=bool),
            value=complete.value[nodes],
            n_rows=np.zeros(len(nodes)),
            impurity=np.zeros(len(nodes)),
            weights=np.where(is_split[:, None], complete.weights[nodes], 0.0),
            activity=activity[nodes],
        )
        return with_leaves(tree, self.matrix, place[leaf], self.data.y), nodes

    def _with_own_leaves(self, tree: Tree) -> Tree:
        """The tree with what its training rows say at each node.

        Class probabilities, or means; a node without rows has its parent's.
        """
        leaf = leaf_of(tree, self.matrix)
        tree = with_leaves(tree, self.matrix, leaf, self.data.y)
        if tree.class_counts is not None:
            total = tree.class_counts * self.class_weight
            size = total.sum(axis=1)
        else:
            total = sum_up(tree, np.bincount(leaf, self.data.y, tree.n_nodes))[:, None]
            size = tree.n_rows
        value = total / np.where(size > 0, size, 1)[:, None]
        for node in np.flatnonzero(size == 0):  # parents come first
            value[node] = value[tree.parent[node]]
        return replace(tree, value=value)

    def _predictor(self, trained: TrainedTree, nodes: np.ndarray) -> NodePredictor:
        """The predictor on these nodes, and on columns in their own units."""
        uses_x = self.settings.uses_x
        layers = list(trained.layers)
        weight, bias = layers[0]
        n_nodes = len(trained.activity)
        on_nodes = weight[:, nodes]
        if uses_x:
            on_x, bias = self.encoder.linear_leaves(weight[:, n_nodes:], bias)
            on_nodes = np.hstack([on_nodes, on_x])
        layers[0] = (on_nodes, bias)
        if self.labels is None:
            weight, bias = layers[-1]
            layers[-1] = (weight * self.scale.scale, self.scale.restore(bias))
        n_features = len(self.encoder.features_)
        return NodePredictor(
            layers=tuple(layers),
            uses_x=uses_x,
            x_mean=np.zeros(n_features) if uses_x else None,
            x_scale=np.ones(n_features) if uses_x else None,
        )


def _retained_nodes(activity: np.ndarray) -> np.ndarray:
    """Nodes (breadth first, ascending) of the pruned tree.

    A split is retained while one child is active; its other child then is a leaf where
    rows stop. With both children pruned the split itself is a leaf.
    """
    retained = np.zeros(len(activity), dtype=bool)
    retained[0] = True
    for node in range(len(activity) // 2):
        children = slice(2 * node + 1, 2 * node + 3)
        retained[children] = retained[node] and (activity[children] > 0).any()
    return np.flatnonzero(retained)


def _array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor as float64."""
    return tensor.detach().cpu().double().numpy()
