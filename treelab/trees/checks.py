"""Checks that arrays really are a tree, so that no walk through it is endless.

An ensemble's trees are complete: their arrays need the right shapes and numbers.
"""

from typing import TYPE_CHECKING

import numpy as np

from treelab.trees.cells import LARGEST_NUMBER
from treelab.trees.logits import WEIGHTINGS
from treelab.trees.walk import AXIS, LEAF, OBLIQUE

if TYPE_CHECKING:
    from treelab.trees.ensemble import WeightedTrees
    from treelab.trees.tree import Tree

LEAF_OUTPUTS = ("logits", "probabilities")
PER_NODE = (
    *("left", "right", "feature", "threshold", "missing_left", "n_rows", "impurity"),
    *("value", "class_counts", "weights", "leaf_weights", "leaf_bias", "activity"),
    *("between", "missing_rows", "decision"),
)


def check_tree(tree: "Tree") -> None:
    """Raise ValueError unless the arrays of ``tree`` are one tree with root 0."""
    n = len(tree.left)
    if n == 0:
        raise ValueError("A tree needs at least one node, its root.")
    _check_shapes(tree, n)
    _check_children(tree, n)
    _check_splits(tree)
    _check_values(tree)
    if tree.classes is None and tree.value.shape[1] != 1:
        raise ValueError(
            f"A regression tree has one number at each node, but value has "
            f"{tree.value.shape[1]} columns. For classes, pass their labels."
        )


def _check_shapes(tree: "Tree", n: int) -> None:
    """Check that every array has one row a node, and the columns that it needs."""
    n_features = len(tree.features)
    n_outputs = tree.value.shape[1] if tree.value.ndim == 2 else -1
    n_classes = 0 if tree.classes is None else len(tree.classes)
    columns = {
        "value": n_classes or n_outputs,
        "class_counts": n_classes,
        "weights": n_features,
        "leaf_weights": n_features,
        "leaf_bias": n_outputs,
        "between": 2,
    }
    for name in PER_NODE:
        array = getattr(tree, name)
        if array is None:
            continue
        wanted = (n, columns[name]) if name in columns else (n,)
        if array.shape != wanted:
            raise ValueError(
                f"{name} must have the shape {wanted}, got {array.shape}: "
                f"the tree has {n} nodes."
            )


def _check_children(tree: "Tree", n: int) -> None:
    """Every node but the root is the child of one node, and the root reaches all."""
    left, right = tree.left, tree.right
    split = left >= 0
    if ((right >= 0) != split).any():
        node = int(((right >= 0) != split).argmax())
        raise ValueError(f"Node {node} has one child; a split has two, a leaf none.")
    children = np.concatenate([left[split], right[split]])
    if (children >= n).any() or (children == 0).any():
        raise ValueError(f"Children must be nodes 1 to {n - 1}; some are not.")
    if len(np.unique(children)) != len(children) or len(children) != n - 1:
        raise ValueError(
            "Every node but the root must be the child of exactly one node."
        )
    reached, here = 1, np.array([0])
    while len(here := here[split[here]]):
        here = np.concatenate([left[here], right[here]])
        reached += len(here)
    if reached != n:
        raise ValueError(
            f"{n - reached} nodes cannot be reached from the root: they form a circle."
        )


def _check_splits(tree: "Tree") -> None:
    """Every split tests a known feature or a weighted sum, against a threshold."""
    split = tree.left >= 0
    feature = tree.feature
    if (feature[~split] != LEAF).any():
        raise ValueError("A leaf tests nothing: its feature must be -1.")
    tests = feature[split]
    wrong = ((tests < AXIS) & (tests != OBLIQUE)) | (tests >= len(tree.features))
    if wrong.any():
        raise ValueError(
            f"Splits must test a feature from 0 to {len(tree.features) - 1} "
            f"(or be oblique, -2), got {int(tests[wrong][0])}."
        )
    if np.isnan(tree.threshold[split]).any():
        node = int(np.flatnonzero(split & np.isnan(tree.threshold))[0])
        raise ValueError(f"Node {node} is a split, but its threshold is NaN.")
    oblique = feature == OBLIQUE
    if oblique.any():
        if tree.weights is None:
            raise ValueError("An oblique split (feature -2) needs weights.")
        if not np.isfinite(tree.weights[oblique]).all():
            raise ValueError("The weights of oblique splits must be finite numbers.")
    if (tree.leaf_weights is None) != (tree.leaf_bias is None):
        raise ValueError("Linear leaves need both leaf_weights and leaf_bias.")
    if tree.leaf_weights is not None and tree.classes is not None:
        raise ValueError("Linear leaves are for regression; this tree has classes.")


def _check_values(tree: "Tree") -> None:
    """Every node predicts numbers, or probabilities, and counts rows."""
    check_predictions("value", tree.value, proba=False)
    if tree.classes is not None and not _are_probabilities(tree.value):
        raise ValueError("value must hold class probabilities, from 0 to 1.")
    if tree.leaf_bias is not None and tree.leaf_weights is not None:
        check_predictions("leaf_bias", tree.leaf_bias, proba=False)
        if not np.isfinite(tree.leaf_weights).all():
            raise ValueError("leaf_weights must hold finite numbers.")
    for name in ("n_rows", "class_counts", "missing_rows"):
        counts = getattr(tree, name)
        if counts is not None and not (counts >= 0).all():
            raise ValueError(f"{name} counts rows, so it cannot be negative.")
    _check_decisions(tree)
    if tree.activity is not None and not (tree.activity >= 0).all():
        raise ValueError("activity must be at least 0 at each node.")


def _check_decisions(tree: "Tree") -> None:
    """Every node predicts one of the classes, by weights that make sense."""
    n_classes = len(tree.classes or ())
    chosen = tree.decision
    if chosen is not None and not ((chosen >= 0) & (chosen < n_classes)).all():
        raise ValueError(f"decision must hold places of the {n_classes} classes.")
    check_class_weights(tree.class_weights, n_classes)
    if tree.shrinkage is not None and not tree.shrinkage >= 0:
        raise ValueError(f"shrinkage must be at least 0, got {tree.shrinkage!r}.")


def check_class_weights(weights: np.ndarray | None, n_classes: int) -> None:
    """Raise ValueError unless there is a finite weight of each class, none below 0."""
    if weights is None:
        return
    if (
        weights.shape != (n_classes,)
        or not (np.isfinite(weights) & (weights >= 0)).all()
    ):
        raise ValueError(
            f"class_weights must hold {n_classes} numbers of at least 0, one a class."
        )


def check_ensemble(ensemble: "WeightedTrees") -> None:
    """Raise ValueError unless arrays and settings of ``ensemble`` fit each other."""
    _check_ensemble_shapes(ensemble)
    _check_ensemble_values(ensemble)
    _check_outputs(ensemble)
    check_class_weights(ensemble.class_weights, len(ensemble.classes or ()))
    limit = ensemble.max_deciders
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ValueError(f"max_deciders must be at least 1, got {limit!r}.")


def _check_ensemble_shapes(ensemble: "WeightedTrees") -> None:
    """Check that every array has one row a tree, and the columns that it needs."""
    shape = ensemble.leaf_value.shape
    if len(shape) != 3 or 0 in shape:
        raise ValueError(
            "leaf_value must have the shape (trees, leaves, outputs), none of "
            f"them 0, got {shape}."
        )
    n_trees, n_leaves, _ = shape
    if n_leaves & (n_leaves - 1):
        raise ValueError(f"A complete tree has 1, 2, 4, 8, ... leaves, got {n_leaves}.")
    splits = (n_trees, n_leaves - 1)
    shapes = dict.fromkeys(("feature", "threshold", "missing_left"), splits)
    shapes["leaf_weight"] = (n_trees, n_leaves)
    shapes["n_rows"] = (n_trees, 2 * n_leaves - 1)
    for name, wanted in shapes.items():
        array = getattr(ensemble, name)
        if array is not None and array.shape != wanted:
            raise ValueError(f"{name} must have the shape {wanted}, got {array.shape}.")


def _check_ensemble_values(ensemble: "WeightedTrees") -> None:
    """Splits and leaves hold numbers that make sense."""
    n_features = len(ensemble.features)
    if ((ensemble.feature < 0) | (ensemble.feature >= n_features)).any():
        raise ValueError(f"Splits must test a feature from 0 to {n_features - 1}.")
    proba = ensemble.classes is not None and ensemble.leaf_output == "probabilities"
    check_predictions("leaf_value", ensemble.leaf_value, proba=proba)
    check_predictions("leaf_weight", ensemble.leaf_weight, proba=False)
    if ensemble.n_rows is not None and (ensemble.n_rows < 0).any():
        raise ValueError("n_rows counts rows, so it cannot be negative.")
    if np.isnan(ensemble.threshold).any():
        raise ValueError("threshold must not be NaN.")


def _check_outputs(ensemble: "WeightedTrees") -> None:
    """Leaves hold what ``leaf_output`` names."""
    known = {"weighting": WEIGHTINGS, "leaf_output": LEAF_OUTPUTS}
    for name, choices in known.items():
        if (given := getattr(ensemble, name)) not in choices:
            raise ValueError(f"{name} must be one of {choices}, got {given!r}.")
    n_outputs = ensemble.leaf_value.shape[2]
    wanted = {1} if ensemble.classes is None else {len(ensemble.classes)}
    if len(ensemble.classes or ()) == 2 and ensemble.leaf_output == "logits":
        wanted.add(1)
    if n_outputs not in wanted:
        raise ValueError(
            f"leaf_value must have {max(wanted)} output(s), got {n_outputs}."
        )


def check_predictions(name: str, value: np.ndarray, *, proba: bool) -> None:
    """Raise ValueError unless values (..., n_outputs) can be predictions.

    Parameters
    ----------
    name : str
        What the values are called in the message.
    value : float array of shape (..., n_outputs)
    proba : bool
        Whether they are class probabilities, which sum to 1.
    """
    bad = ~(np.abs(value) <= LARGEST_NUMBER)
    if bad.any():
        raise ValueError(
            f"{name} must hold finite numbers up to {LARGEST_NUMBER:g}, got "
            f"{value[bad][0]:g}."
        )
    if proba and not (_are_probabilities(value) and np.allclose(value.sum(axis=-1), 1)):
        raise ValueError(
            f"{name} must hold class probabilities, from 0 to 1, with the sum 1."
        )


def _are_probabilities(value: np.ndarray) -> bool:
    """Whether values are from 0 to 1, up to rounding."""
    return bool(((value >= -1e-9) & (value <= 1 + 1e-9)).all())
