"""From a trained argmin tree to the Tree that is drawn, and a predictor on top."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.common.base import TrainingData
from treelab.learners.common.target import TargetScale
from treelab.trees.feature import feature_matrix
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning import merge_equal
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import LEAF, OBLIQUE, Tree, leaf_of, sum_up, with_leaves


@dataclass(frozen=True)
class TrainedTree:
    """A network's tree as float64 arrays, breadth first, T nodes, N splits.

    ``weights`` (N, F), ``bias`` (N,): a row turns left where ``weights @ x + bias`` is
    at least 0; ``fixed`` (N,) as in ``ArgminTrees``. ``activity`` (T,). ``layers`` of
    the predictor are weight, bias, ...; the first reads T nodes, then perhaps F
    features.
    """

    weights: np.ndarray
    bias: np.ndarray
    fixed: np.ndarray
    activity: np.ndarray
    layers: tuple[np.ndarray, ...]

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Find the nodes that are left, the root first, and the children of each.

        Returns
        -------
        numbers : int array of shape (n_nodes,)
            In the complete tree.
        children : int array of shape (n_nodes, 2)
            Their places in ``numbers``, left and right; -1 for leaves.
        """
        numbers, children, n_found, waiting = [], [], 1, [0]
        for node in waiting:  # grows on the way
            while node < len(self.fixed) and abs(self.fixed[node]) == 1:
                node = 2 * node + (1 if self.fixed[node] > 0 else 2)
            numbers.append(node)
            is_split = node < len(self.fixed) and np.isnan(self.fixed[node])
            children.append((n_found, n_found + 1) if is_split else (-1, -1))
            if is_split:
                waiting += [2 * node + 1, 2 * node + 2]
                n_found += 2
        return np.array(numbers), np.array(children)


@torch.no_grad()
def trained_trees(network: ArgminTrees) -> list[TrainedTree]:
    """Return a network's trees with its current parameters."""
    weights, bias = _array(network.sparse_weights()), _array(network.bias)
    fixed, activity = _array(network.fixed), _array(network.activity())
    layers = [_array(layer) for layer in network.layers]
    return [
        TrainedTree(
            weights[e], bias[e], fixed[e], activity[e], tuple(a[e] for a in layers)
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
    scale : TargetScale or None
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
        self.class_weight = class_weight
        self.matrix = feature_matrix(data.encoder.features_, data.frame)

    def export(self, trained: TrainedTree) -> Tree:
        """Return the tree as it is drawn, whose leaves predict."""
        drawn = shown_tree(self.export_splits(trained))
        drawn = replace(drawn, between=None, missing_rows=None)
        return merge_equal(self._with_own_leaves(drawn))

    def export_with_predictor(self, trained: TrainedTree) -> tuple[Tree, NodePredictor]:
        """Return the tree with every node that the predictor on top reads, and it."""
        tree = self._with_own_leaves(self.export_splits(trained))
        return tree, self._predictor(trained)

    def export_splits(self, trained: TrainedTree) -> Tree:
        """Return the tree with its rows; its leaves predict nothing."""
        numbers, children = trained.nodes()
        is_split = children[:, 0] >= 0
        splits = numbers[is_split]
        weights = np.zeros((len(numbers), len(self.data.encoder.features_)))
        threshold = np.full(len(numbers), np.nan)
        # Left where weights @ x + bias >= 0, that is where -weights @ x <= bias.
        weights[is_split], threshold[is_split] = self.data.encoder.oblique_splits(
            -trained.weights[splits], trained.bias[splits]
        )
        tree = Tree(
            self.data.encoder.features_,
            left=children[:, 0],
            right=children[:, 1],
            feature=np.where(is_split, OBLIQUE, LEAF),
            threshold=threshold,
            missing_left=np.zeros(len(numbers), dtype=bool),
            value=np.zeros((len(numbers), self.data.n_outputs)),
            n_rows=np.zeros(len(numbers)),
            impurity=np.zeros(len(numbers)),
            classes=self.labels,
            weights=weights,
            activity=trained.activity[numbers],
        )
        rows = self.matrix, leaf_of(tree, self.matrix), self.data.y, self.data.weight
        return with_leaves(tree, *rows)

    def _with_own_leaves(self, tree: Tree) -> Tree:
        """The tree with what its training rows say at each node.

        Class probabilities, or means; a node without rows has its parent's.
        """
        leaf = leaf_of(tree, self.matrix)
        tree = with_leaves(tree, self.matrix, leaf, self.data.y, self.data.weight)
        if tree.class_counts is not None:
            weight = 1.0 if self.class_weight is None else self.class_weight
            total = tree.class_counts * weight
            size = total.sum(axis=1)
        else:
            y = (
                self.data.y
                if self.data.weight is None
                else self.data.weight * self.data.y
            )
            total = sum_up(tree, np.bincount(leaf, y, tree.n_nodes))[:, None]
            size = tree.mass
        value = total / np.where(size > 0, size, 1)[:, None]
        for node in np.flatnonzero(size == 0):  # parents come first
            value[node] = value[tree.parent[node]]
        return replace(tree, value=value)

    def _predictor(self, trained: TrainedTree) -> NodePredictor:
        """The predictor on the nodes that are left, and on columns in their units."""
        uses_x, encoder = self.settings.uses_x, self.data.encoder
        layers = [
            (weight, bias[:, 0])
            for weight, bias in zip(trained.layers[::2], trained.layers[1::2])
        ]
        weight, bias = layers[0]
        on_nodes = weight[:, trained.nodes()[0]]
        if uses_x:
            on_x, bias = encoder.linear_leaves(weight[:, len(trained.activity) :], bias)
            on_nodes = np.hstack([on_nodes, on_x])
        layers[0] = (on_nodes, bias)
        if self.labels is None:
            weight, bias = layers[-1]
            layers[-1] = (weight * self.scale.scale, self.scale.restore(bias))
        n_features = len(encoder.features_)
        return NodePredictor(
            layers=tuple(layers),
            uses_x=uses_x,
            x_mean=np.zeros(n_features) if uses_x else None,
            x_scale=np.ones(n_features) if uses_x else None,
        )


def _array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor as float64."""
    return tensor.detach().cpu().double().numpy()
