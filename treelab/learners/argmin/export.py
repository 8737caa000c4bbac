"""From a trained argmin tree to the Tree that is drawn and the predictor on top."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import softmax

from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.common.base import TrainingData
from treelab.learners.common.target_scale import TargetScale
from treelab.trees.feature import feature_matrix
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning.simplify import simplify
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
    """

    def __init__(
        self,
        data: TrainingData,
        settings: ArgminSettings,
        labels: tuple | None = None,
        scale: TargetScale | None = None,
    ):
        self.data, self.settings, self.labels = data, settings, labels
        self.scale = scale or TargetScale()
        self.encoder = data.encoder
        self.matrix = feature_matrix(self.encoder.features_, data.frame)

    def export(self, trained: TrainedTree) -> tuple[Tree, NodePredictor | None]:
        """Return the pruned tree and its predictor; None where the leaves predict."""
        if self.settings.reads_leaf:
            pruned = self._prune(trained, self._node_values(trained))
            return simplify(pruned.tree), None
        tree, nodes = self._tree_of_means(trained)
        return tree, self._predictor(trained, nodes)

    def export_drawn(self, trained: TrainedTree) -> Tree:
        """Return the tree of ``export``, without the predictor."""
        return self.export(trained)[0]

    def export_means(self, trained: TrainedTree) -> Tree:
        """Return the pruned tree; each node predicts the mean of its training rows."""
        return self._tree_of_means(trained)[0]

    def _tree_of_means(self, trained: TrainedTree) -> tuple[Tree, np.ndarray]:
        """The pruned tree, and its nodes' numbers in the complete one."""
        value = np.zeros((len(trained.activity), self.data.n_outputs))
        pruned = self._prune(trained, value)
        tree = replace(pruned.tree, value=self._means(pruned.tree, pruned.leaf))
        return tree, pruned.nodes

    def _complete(self, trained: TrainedTree, value: np.ndarray) -> Tree:
        """The complete tree, T nodes that predict ``value`` (T, C)."""
        # Left where weights @ x + bias >= 0, that is where -weights @ x <= bias.
        weights, threshold = self.encoder.oblique_splits(
            -trained.split_weights, trained.split_bias
        )
        n_splits = len(threshold)
        tree = Tree.complete(
            self.encoder.features_,
            None,
            threshold,
            np.zeros(n_splits, dtype=bool),
            value[n_splits:],
            weights=weights,
            classes=self.labels,
            activity=trained.activity,
        )
        return replace(tree, value=value)

    def _node_values(self, trained: TrainedTree) -> np.ndarray:
        """Prediction (T, C) for a row that ends at a node, where nodes hold constants.

        A row adds up the weights of the nodes on its path.
        """
        ((weight, bias),) = trained.layers
        output = weight.T + np.pad(bias[None], ((0, len(weight.T) - 1), (0, 0)))
        for node in range(1, len(output)):
            output[node] += output[(node - 1) // 2]
        if self.labels is None:
            return self.scale.restore(output)
        return softmax(output, axis=1)

    def _prune(self, trained: TrainedTree, value: np.ndarray) -> "_Pruned":
        """The nodes that are active as a tree of their own; ``value`` is (T, C)."""
        complete = self._complete(trained, value)
        assert complete.weights is not None
        leaf = leaf_of(complete, self.matrix)
        # Where no training row comes, nothing was learned: rows stop above.
        activity = np.where(rows_through(complete, leaf) > 0, trained.activity, 0.0)
        nodes = _retained_nodes(activity)
        place = np.full(complete.n_nodes + 1, -1, dtype=np.int32)  # the last: no child
        place[nodes] = np.arange(len(nodes))
        left, right = place[complete.left[nodes]], place[complete.right[nodes]]
        is_split = left >= 0
        value = complete.value[nodes]
        inactive = np.flatnonzero(activity[nodes] == 0)
        inactive = inactive[inactive > 0]  # all but the root add nothing to their path
        value[inactive] = complete.value[(nodes[inactive] - 1) // 2]
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
            value=value,
            n_rows=np.zeros(len(nodes)),
            impurity=np.zeros(len(nodes)),
            weights=np.where(is_split[:, None], complete.weights[nodes], 0.0),
            activity=activity[nodes],
        )
        leaf = place[leaf]
        tree = with_leaves(tree, self.matrix, leaf, self.data.y)
        return _Pruned(tree, nodes, leaf)

    def _means(self, tree: Tree, leaf: np.ndarray) -> np.ndarray:
        """Class fractions, or mean, of each node's rows; empty nodes: the parent's."""
        if self.labels is not None:
            total = tree.class_counts
        else:
            at_leaf = np.bincount(leaf, self.data.y, minlength=tree.n_nodes)
            total = sum_up(tree, at_leaf)[:, None]
        mean = total / np.maximum(tree.n_rows, 1)[:, None]
        for node in np.flatnonzero(tree.n_rows == 0):  # parents come first
            mean[node] = mean[tree.parent[node]]
        return mean

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


@dataclass(frozen=True)
class _Pruned:
    """A pruned tree.

    ``nodes`` are the numbers of its nodes in the complete tree, breadth first;
    ``leaf`` (n_rows,) is the leaf of each training row.
    """

    tree: Tree
    nodes: np.ndarray
    leaf: np.ndarray


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
