"""scikit-learn's trees, forests and boosted trees, read by attributes alone."""

from dataclasses import replace

import numpy as np

from treelab.trees.adapters.forest import (
    Columns,
    Forest,
    boosted_forest,
    column_names,
    float32_thresholds,
    refuse_wrapped,
    tree_arguments,
    with_means,
)
from treelab.trees.cells import value_text
from treelab.trees.feature import Feature
from treelab.trees.tree import LEAF, Tree, plain_label

# scikit-learn's histogram gradient boosting, read by its attributes alone.
#
# They are private: written against scikit-learn 1.9, and tests fail where they change.


_LINKS = {
    "IdentityLink": "identity",
    "LogLink": "exp",
    "LogitLink": "logistic",
    "MultinomialLogit": "softmax",
}


def from_hist_boosting(model, names: list[str], target: str, units: dict) -> Forest:
    """Return a fitted HistGradientBoosting estimator as a Forest.

    It adds up in float64, as the model does; names are in the order of training.
    ValueError if it was fitted to rows of one class.
    """
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"The model knows the class {plain_label(classes[0])!r} alone: it has no "
            "trees. Fit it to rows of two classes or more."
        )
    order, categories = _encoded(model)
    columns = Columns(names, units, categories)
    rounds = model._predictors
    grown = [_tree(one, columns, order) for trees in rounds for one in trees]
    return boosted_forest(
        grown,
        columns.features,
        target=target,
        classes=None if classes is None else tuple(map(plain_label, classes)),
        base=tuple(map(float, model._baseline_prediction[0])),
        output=[k for trees in rounds for k in range(len(trees))],
        link=_LINKS[type(model._loss.link).__name__],
        dtype="float64",
    )


def _encoded(model) -> tuple[np.ndarray, dict[int, list[str]]]:
    """Return the columns as the trees number them, and their names of categories."""
    is_category = model.is_categorical_
    if is_category is None:
        return np.arange(model.n_features_in_), {}
    # The model encodes categories as 0, 1, ... and puts their columns first.
    order = np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])
    found = model._preprocessor.named_transformers_["encoder"].categories_
    return order, {
        int(j): [value_text(plain_label(value)) for value in known if value == value]
        for j, known in zip(order, found)
    }


def _tree(predictor, columns: Columns, order: np.ndarray) -> dict:
    """Return the arguments of ``Tree`` for one of its trees."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    feature = np.full(len(nodes), LEAF)
    threshold = nodes["num_threshold"].copy()
    for i in np.flatnonzero(~leaf):
        inside, column = None, int(order[nodes["feature_idx"][i]])
        if nodes["is_categorical"][i]:
            bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][i]]
            codes = range(len(columns.categories[column] or ()))
            inside = frozenset(c for c in codes if not bits[c // 32] >> (c % 32) & 1)
            threshold[i] = 0.5
        feature[i] = columns.index(column, inside)
    left = np.where(leaf, -1, nodes["left"].astype(np.int64))
    right, n_rows = nodes["right"].astype(np.int64), nodes["count"].astype(np.int64)
    missing_left = nodes["missing_go_to_left"].astype(bool)
    value = with_means(nodes["value"], left, right, n_rows)
    return tree_arguments(left, right, feature, threshold, missing_left, value, n_rows)


# scikit-learn's fitted trees and forests, read by their attributes alone.
#
# Works for DecisionTree, ExtraTree, RandomForest, ExtraTrees and HistGradientBoosting,
# classifiers and regressors.


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
            f"The model predicts {model.n_outputs_} targets, and models of one are "
            "read. Fit one model a target, or treelab's CartRegressor to all."
        )
    if classes is not None:
        classes = tuple(plain_label(label) for label in classes)
    if hasattr(getattr(model, "tree_", None), "children_left"):
        return _read_tree(model, features, classes, target)
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
    trees = [_read_tree(member, features, classes, target) for member in members]
    note = f"One of {len(trees):,} trees; the forest predicts by their mean."
    # Bootstrap samples hold a row several times.
    weights = [member.tree_.weighted_n_node_samples for member in members]
    noted = tuple(
        replace(tree, notes=(note,), weight=weight)
        for tree, weight in zip(trees, weights)
    )
    return Forest(noted, classes, target)


def _names(model, names) -> list[str]:
    """Return the names of the columns, in the order of training."""
    n = getattr(model, "n_features_in_", None)
    if n is None:
        raise ValueError(f"{type(model).__name__} is not fitted; call fit first.")
    stored = getattr(model, "feature_names_in_", [f"x{i}" for i in range(n)])
    return column_names(names, stored)


def _read_tree(model, features, classes, target: str) -> Tree:
    """Return one of scikit-learn's trees as ours."""
    grown = model.tree_
    leaf = grown.children_left < 0
    threshold = np.full(grown.node_count, np.nan)
    threshold[~leaf] = float32_thresholds(grown.threshold[~leaf], strict=False)
    value = grown.value[:, 0, :]
    n_rows = np.asarray(grown.n_node_samples)
    impurity, counts = np.full(grown.node_count, np.nan), None
    # Rows, and classes, that were weighted; "n_rows" counts rows as they are.
    is_weighted = not np.array_equal(grown.weighted_n_node_samples, n_rows)
    if getattr(model, "criterion", "") in ("squared_error", "friedman_mse"):
        impurity = grown.impurity
    if classes is not None:
        value = value[:, : len(classes)]
        impurity = 1 - (value**2).sum(axis=1)
        if not is_weighted:
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
        weight=grown.weighted_n_node_samples if is_weighted else None,
    )
