"""From GET's hard trees in encoded numbers to a Tree in the user's columns and units.

Shapes: N = 2**D - 1 splits, L = 2**D leaves, n rows, F features.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.encoding import TableEncoder
from treelab.learners.common.target import TargetScale
from treelab.learners.get.trees import HardTrees
from treelab.trees.losses import Loss
from treelab.trees.pruning import simplify
from treelab.trees.tree import OBLIQUE, Tree, with_midpoint_thresholds

UNSCALED = TargetScale()


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
    """Write the one tree of ``trees`` in the user's columns and units.

    Weights are divided by that of the leading column, the one whose weight times its
    standard deviation is largest: the sum then counts in units of that column.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    encoder : TableEncoder
        The affine encoding in which the tree was trained.
    frame : DataFrame
        Training rows as the user gave them.
    y : ndarray of shape (n,)
        Their labels, or values in the target's own unit.
    weight : ndarray of shape (n,) or None, default=None
        Of each row; None: all count alike.
    classes : tuple or None
        Labels in the order of the leaves' probabilities; None for regression.
    scale : TargetScale
        Of the leaves' values.
    notes : tuple of str
        More that a reader must know.
    loss : Loss or None, default=None
        What values are the best constants for, in the target's unit; None: means.
    outputs : tuple of str, default=()
        Names of several numbers that are predicted together.

    Returns
    -------
    Tree
        Without empty branches, with the rows of ``frame``.
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
