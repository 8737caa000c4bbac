"""An ensemble as a Python module that needs nothing but the standard library."""

import numpy as np

from treelab.trees.code.ensembles.heading import FAR_BELOW, ensemble_heading
from treelab.trees.code.python_helpers import (
    PREDICT_CLASS,
    WEIGHTED_CLASS,
    category_keys,
    needed_helpers,
    reading,
)
from treelab.trees.code.splits import inputs, source_of
from treelab.trees.ensemble import WeightedTrees


def ensemble_to_python(model: WeightedTrees) -> str:
    """Write an ensemble as ``to_python`` writes a tree."""
    used = np.unique(model.feature).tolist()
    functions = [_features(model, used), _LEAF, _WEIGHTS[model.weighting]]
    limited = model.n_deciding < model.n_estimators
    if limited:
        functions.append(_LIMIT.format(limit=model.n_deciding, low=FAR_BELOW))
    functions.append(_LIMITED_MEAN if limited else _MEAN)
    if model.classes is None:
        functions.append(_PREDICT)
    else:
        is_mean = model.leaf_output == "probabilities"
        single = model.leaf_value.shape[2] == 1
        logits = _ONE_LOGIT if single else _LOGITS
        functions.append(_PROBABILITIES if is_mean else logits)
        functions.append(
            PREDICT_CLASS if model.class_weights is None else WEIGHTED_CLASS
        )
    tables = "\n".join([*_scores(model, used), *_trees(model, used)])
    body = "\n\n\n".join(functions)
    helpers = needed_helpers(body)
    words = "\n".join([body, tables, *helpers])
    names = ("exp", "inf", "isnan", "nan", "sqrt")  # one too many does no harm
    needed = [name for name in names if name in words]
    top = [f"# {line}" for line in ensemble_heading(model)]
    if needed:
        top += ["", f"from math import {', '.join(needed)}"]
    if model.classes is not None:
        top += ["", f"CLASSES = {tuple(model.classes)!r}"]
    if model.class_weights is not None:
        top.append(f"_CLASS_WEIGHTS = {tuple(model.class_weights.tolist())!r}")
    parts = ["\n".join([*top, "", tables]), *helpers, *functions]
    return "\n\n\n".join(parts) + "\n"


def _features(model: WeightedTrees, used: list[int]) -> str:
    """Write the function that reads a row."""
    read = inputs(model)
    lines = ["def _features(row):", '    """Return the numbers that splits test."""']
    names = {source: f"column_{i}" for i, source in enumerate(read)}
    for source, name in names.items():
        lines.append(f"    {name} = {reading(source)}")
    values = []
    for j in used:
        feature = model.features[j]
        name = names[source_of(feature)]
        scored = f"_SCORES_{j}.get({name}, {feature.unseen!r})"
        values.append(name if feature.kind == "number" else scored)
    return "\n".join([*lines, f"    return [{', '.join(values)}]"])


def _scores(model: WeightedTrees, used: list[int]) -> list[str]:
    """Write the number of each category."""
    lines = []
    for j in used:
        feature = model.features[j]
        if feature.kind != "number":
            scores: dict = {None: float("nan")}
            for category, score in zip(feature.categories, feature.scores):
                scores |= dict.fromkeys(category_keys(category), float(score))
            lines.append(f"_SCORES_{j} = {scores!r}")
    return lines


def _trees(model: WeightedTrees, used: list[int]) -> list[str]:
    """Write each tree as four lists: what it tests, where it goes, what it holds."""
    lines = [
        "# Of each tree (feature, threshold, whether missing values go left) of its",
        "# splits, breadth first, and (weight, values) of its leaves, left to right.",
        "_TREES = [",
    ]
    place = np.searchsorted(used, model.feature)
    for e in range(model.n_estimators):
        splits = zip(
            place[e].tolist(),
            model.threshold[e].tolist(),
            model.missing_left[e].tolist(),
        )
        leaves = zip(model.leaf_weight[e].tolist(), model.leaf_value[e].tolist())
        lines.append(f"    ({list(splits)!r}, {list(leaves)!r}),")
    return [*lines, "]"]


_LEAF = '''def _leaf(x, splits, leaves):
    """Return the weight and the values of the leaf that a row reaches in a tree."""
    node = 0
    while node < len(splits):
        feature, threshold, missing_left = splits[node]
        left = missing_left if isnan(x[feature]) else x[feature] <= threshold
        node = 2 * node + (1 if left else 2)
    return leaves[node - len(splits)]'''
_WEIGHTS = {
    "softmax": '''def _weights(scores):
    """Return the trees' weights, a softmax up to a factor."""
    top = max(scores)
    return [exp(score - top) for score in scores]''',
    "entmax15": '''def _weights(scores):
    """Return the trees' weights, a 1.5-entmax: (score / 2 - tau) squared, or 0."""
    half = sorted((score / 2 for score in scores), reverse=True)
    total = squares = 0.0
    tau = half[0] - 1
    for k, score in enumerate(half, start=1):  # of the k largest
        total += score - half[0]
        squares += (score - half[0]) ** 2
        room = (1 - squares + total * total / k) / k
        if room < 0:
            break
        found = half[0] + total / k - sqrt(room)
        if found > score:
            break
        tau = found
    return [max(score / 2 - tau, 0.0) ** 2 for score in scores]''',
}
_MEAN = '''def _mean(row):
    """Return the weighted mean of the values that a row reaches."""
    x = _features(row)
    reached = [_leaf(x, *tree) for tree in _TREES]
    weights = _weights([weight for weight, _ in reached])
    total = sum(weights)
    columns = zip(*(values for _, values in reached))
    return [
        sum(weight * value for weight, value in zip(weights, column)) / total
        for column in columns
    ]'''
_LIMIT = '''def _limited(scores):
    """Return the scores; all but the {limit} highest so low that they weigh nothing."""
    last = sorted(scores)[-{limit}]
    return [{low} if score < last else score for score in scores]'''
_LIMITED_MEAN = _MEAN.replace(
    "_weights([weight for weight, _ in reached])",
    "_weights(_limited([weight for weight, _ in reached]))",
)
_PREDICT = '''def predict(row):
    """Return the value for one row."""
    return _mean(row)[0]'''
_PROBABILITIES = '''def predict_proba(row):
    """Return the probability of each of CLASSES for one row."""
    return tuple(_mean(row))'''
_LOGITS = '''def predict_proba(row):
    """Return the probability of each of CLASSES for one row."""
    logits = _mean(row)
    raised = [exp(logit - max(logits)) for logit in logits]
    return tuple(each / sum(raised) for each in raised)'''
_ONE_LOGIT = _LOGITS.replace("_mean(row)", "[0.0, *_mean(row)]")
