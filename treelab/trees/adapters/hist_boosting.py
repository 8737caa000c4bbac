"""scikit-learn's histogram gradient boosting, read by its attributes alone.

They are private: written against scikit-learn 1.9, and tests fail where they change.
"""

import numpy as np

from treelab.trees.adapters.boosted import boosted_forest
from treelab.trees.adapters.columns import Columns
from treelab.trees.adapters.forest import Forest
from treelab.trees.labels import plain_label
from treelab.trees.walk import LEAF

_LINKS = {
    "IdentityLink": "identity",
    "LogLink": "exp",
    "LogitLink": "logistic",
    "MultinomialLogit": "softmax",
}


def from_hist_boosting(model, names: list[str], target: str, units: dict) -> Forest:
    """Return a fitted HistGradientBoosting estimator as a Forest.

    Parameters
    ----------
    model : estimator
    names : list of str
        Columns in the order of training.
    target : str
    units : dict of str to str

    Returns
    -------
    Forest
        Adds up in float64, as the model does.
    """
    order, categories = _encoded(model)
    columns = Columns([names[j] for j in order], units, categories)
    rounds = model._predictors
    grown = [_tree(one, columns) for trees in rounds for one in trees]
    classes = getattr(model, "classes_", None)
    return boosted_forest(
        grown,
        columns.features,
        target=target,
        classes=None if classes is None else tuple(map(plain_label, classes)),
        base=[float(value) for value in model._baseline_prediction[0]],
        output=[k for trees in rounds for k in range(len(trees))],
        link=_LINKS[type(model._loss.link).__name__],
        dtype="float64",
    )


def _encoded(model) -> tuple[np.ndarray, dict[int, list[str]]]:
    """Return the columns as the trees number them, and the names of categories."""
    is_category = model.is_categorical_
    if is_category is None:
        return np.arange(model.n_features_in_), {}
    # The model encodes categories as 0, 1, ... and puts their columns first.
    order = np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])
    found = model._preprocessor.named_transformers_["encoder"].categories_
    return order, {
        j: [_category_name(value) for value in known if value == value]
        for j, known in enumerate(found)
    }


def _category_name(value) -> str:
    """Return a category as text; 3.0 is 3, as a column of 3 with gaps holds floats."""
    value = plain_label(value)
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def _tree(predictor, columns: Columns) -> dict:
    """Return the arguments of ``Tree`` for one of its trees."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    feature = np.full(len(nodes), LEAF)
    threshold = np.where(leaf, np.nan, nodes["num_threshold"])
    for i in np.flatnonzero(~leaf):
        right, column = None, int(nodes["feature_idx"][i])
        if nodes["is_categorical"][i]:
            bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][i]]
            codes = range(len(columns.categories[column] or ()))
            right = frozenset(c for c in codes if not bits[c // 32] >> (c % 32) & 1)
            threshold[i] = 0.5
        feature[i] = columns.index(column, right)
    value = nodes["value"].copy()
    for i in np.flatnonzero(~leaf)[::-1]:  # children come after their parent
        below = [nodes["left"][i], nodes["right"][i]]
        value[i] = np.average(value[below], weights=nodes["count"][below])
    return {
        "left": np.where(leaf, -1, nodes["left"].astype(np.int64)),
        "right": np.where(leaf, -1, nodes["right"].astype(np.int64)),
        "feature": feature,
        "threshold": threshold,
        "missing_left": nodes["missing_go_to_left"].astype(bool) & ~leaf,
        "value": value[:, None],
        "n_rows": nodes["count"].astype(np.int64),
        "impurity": np.full(len(nodes), np.nan),
    }
