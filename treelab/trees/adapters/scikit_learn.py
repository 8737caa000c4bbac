"""scikit-learn's fitted trees and forests, read by their attributes alone.

Works for DecisionTree, ExtraTree, RandomForest, ExtraTrees and HistGradientBoosting,
classifiers and regressors.
"""

from dataclasses import replace

import numpy as np

from treelab.trees.adapters.float32 import float32_thresholds
from treelab.trees.adapters.forest import Forest
from treelab.trees.adapters.hist_boosting import from_hist_boosting
from treelab.trees.adapters.wrapped import refuse_wrapped
from treelab.trees.feature import Feature
from treelab.trees.labels import plain_label
from treelab.trees.tree import Tree
from treelab.trees.walk import LEAF


def from_sklearn(
    model, feature_names=None, *, target: str = "target", units: dict | None = None
) -> Tree | Forest:
    """Read a fitted tree or forest of scikit-learn.

    It predicts as the model does on every row of float64: most of these round a table
    to float32 before they compare, so thresholds move to where that rounding splits.

    Parameters
    ----------
    model : estimator
        A fitted DecisionTree, ExtraTree, RandomForest, ExtraTrees or
        HistGradientBoosting estimator of one target.
    feature_names : sequence of str or None
        Columns in the order of training; by default those that the model was given,
        else x0, x1, ...
    target : str, default="target"
    units : dict of str to str or None
        Unit of each column that has one.

    Returns
    -------
    Tree or Forest
        A forest is the list of its trees, and predicts by their mean or their sum.

    Raises
    ------
    ValueError
        If the model is not fitted, has several targets, or is none of these.
    """
    refuse_wrapped(model)
    units = units or {}
    names = _names(model, feature_names)
    if hasattr(model, "_baseline_prediction"):
        return from_hist_boosting(model, names, target, units)
    features = [Feature(name, unit=units.get(name, "")) for name in names]
    classes = getattr(model, "classes_", None)
    if getattr(model, "n_outputs_", 1) != 1:
        raise ValueError(
            f"The model predicts {model.n_outputs_} targets; a Tree predicts one. "
            "Fit one model a target."
        )
    if classes is not None:
        classes = tuple(plain_label(label) for label in classes)
    if hasattr(getattr(model, "tree_", None), "children_left"):
        return _tree(model, features, classes, target)
    members = getattr(model, "estimators_", None)
    # Voting, stacking and one-vs-rest have members, too, but no mean of their trees.
    averages = hasattr(model, "bootstrap") and not hasattr(
        model, "estimators_features_"
    )
    if (
        not isinstance(members, list)
        or not all(hasattr(member, "tree_") for member in members)
        or not averages
        or not hasattr(model, "predict")
    ):
        raise ValueError(
            f"from_sklearn reads fitted DecisionTree, ExtraTree, RandomForest, "
            f"ExtraTrees and HistGradientBoosting estimators; {type(model).__name__} "
            "is none, or not fitted. from_xgboost and from_lightgbm read those."
        )
    trees = [_tree(member, features, classes, target) for member in members]
    note = f"One of {len(trees):,} trees; the forest predicts by their mean."
    noted = tuple(replace(tree, notes=(note,)) for tree in trees)
    return Forest(noted, classes, target)


def _names(model, names) -> list[str]:
    """Return the names of the columns, in the order of training."""
    n = getattr(model, "n_features_in_", None)
    if n is None:
        raise ValueError(f"{type(model).__name__} is not fitted; call fit first.")
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(n)])
    names = [str(name) for name in names]
    if len(names) != n:
        raise ValueError(
            f"feature_names has {len(names)} names, the model {n} columns."
        )
    return names


def _tree(model, features, classes, target: str) -> Tree:
    """Return one of scikit-learn's trees as ours."""
    grown = model.tree_
    leaf = grown.children_left < 0
    threshold = np.full(grown.node_count, np.nan)
    threshold[~leaf] = float32_thresholds(grown.threshold[~leaf], strict=False)
    value = grown.value[:, 0, :]
    n_rows = np.asarray(grown.n_node_samples)
    impurity, counts = _impurity(model, grown), None
    if classes is not None:
        value = value[:, : len(classes)]
        impurity = 1 - (value**2).sum(axis=1)
        if np.array_equal(grown.weighted_n_node_samples, n_rows):
            counts = np.round(value * n_rows[:, None])
    return Tree(
        features=features,
        left=grown.children_left,
        right=grown.children_right,
        feature=np.where(leaf, LEAF, grown.feature),
        threshold=threshold,
        missing_left=grown.missing_go_to_left.astype(bool) & ~leaf,
        value=value,
        n_rows=n_rows,
        impurity=impurity,
        classes=classes,
        target=target,
        class_counts=counts,
    )


def _impurity(model, grown) -> np.ndarray:
    """Return the variance at each node of a regression; NaN where it is not known."""
    if getattr(model, "criterion", "") in ("squared_error", "friedman_mse"):
        return grown.impurity
    return np.full(grown.node_count, np.nan)
