"""xgboost's boosted trees, read from JSON, with no need for xgboost itself.

Source: the model's format at xgboost.readthedocs.io, "Introduction to Model IO";
written against xgboost 3.2.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from treelab.trees.adapters.boosted import boosted_forest
from treelab.trees.adapters.columns import MOST_COLUMNS, Columns
from treelab.trees.adapters.forest import Forest
from treelab.trees.adapters.xgboost_nodes import (
    Nodes,
    dumped_nodes,
    saved_nodes,
    tree_arguments,
)
from treelab.trees.io import MOST_BYTES, read_regular_file
from treelab.trees.labels import plain_label
from treelab.trees.tree import Tree

_LINKS = {
    "binary:logistic": "logistic",
    "reg:logistic": "logistic",
    "multi:softmax": "softmax",
    "multi:softprob": "softmax",
    "reg:squarederror": "identity",
    "reg:absoluteerror": "identity",
    "reg:pseudohubererror": "identity",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
}


@dataclass
class _Model:
    """What a file holds."""

    nodes: list[Nodes]
    names: list[str]
    output: list[int]
    base: list[float]  # margins
    link: str = "identity"
    n_classes: int = 0
    categories: dict[int, list[str] | None] = field(default_factory=dict)


def from_xgboost(
    model,
    feature_names=None,
    *,
    classes=None,
    categories: dict | None = None,
    target: str = "target",
    units: dict | None = None,
) -> Tree | Forest:
    """Read a model of xgboost.

    xgboost compares and adds up in float32; thresholds move so that every float64 row
    takes the same decision path, and a Forest adds up in float32 as well.

    Parameters
    ----------
    model : str, Path, dict, list, or a model of xgboost
        A JSON file of ``save_model`` or ``dump_model``, or what it holds. A dump knows
        no objective and no base score: a Forest of it predicts its trees' plain sum.
        Where early stopping recorded a best round, later rounds are left out, as
        xgboost's scikit-learn estimators do.
    feature_names : sequence of str or None
        Columns in the order of training; by default those in the file, else x0, x1, ...
    classes : sequence or None
        Labels in the order of xgboost's numbers; by default 0, 1, ...
    categories : dict of str to sequence, or None
        Names of a category column's categories, in the order of their codes; by
        default those in the file, else the codes as text.
    target : str, default="target"
    units : dict of str to str or None
        Unit of each column that has one.

    Returns
    -------
    Tree or Forest
        One tree that predicts alone, or the trees of margins that are added up.

    Raises
    ------
    ValueError
        If the model is not of trees, has several targets or an objective that is not
        read, or is damaged.
    """
    with _refusing_damage():
        stored = _load(model)
        read = _dump(stored) if isinstance(stored, list) else _saved(stored)
    if not read.nodes:
        raise ValueError("This xgboost model holds no tree.")
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        if len(names) < len(read.names):
            raise ValueError(
                f"feature_names has {len(names)} names, the model "
                f"{len(read.names)} columns."
            )
        read.names = names
    _name_categories(read, categories or {})
    with _refusing_damage():
        return _to_trees(read, classes, target, units or {})


@contextmanager
def _refusing_damage() -> Iterator[None]:
    """Turn what a damaged file may lead to into a ValueError."""
    try:
        yield
    except (
        *(KeyError, TypeError, IndexError, AttributeError, OverflowError),
        RecursionError,
    ) as error:
        raise ValueError(
            f"This is not an xgboost model in JSON, or it is damaged: {error!r}. "
            "Write one with booster.save_model('model.json')."
        ) from error


def _name_categories(read: _Model, given: dict) -> None:
    """Put the given names of categories in the place of those in the file."""
    for name, known in given.items():
        if name not in read.names:
            raise ValueError(f"The model has no column {name!r} with categories.")
        read.categories[read.names.index(name)] = [str(value) for value in known]
    lost = [
        read.names[column] for column, known in read.categories.items() if not known
    ]
    if lost:
        raise ValueError(
            f"xgboost saves category names of plain ASCII only, and those of column "
            f"{lost[0]!r} are lost. Pass categories={{{lost[0]!r}: [...]}}, in the "
            "order of the training table's categories."
        )


def _load(model):
    """Return what the JSON holds."""
    if hasattr(model, "get_booster"):
        model = model.get_booster()
    if hasattr(model, "save_raw"):
        model = bytes(model.save_raw("json"))
    if isinstance(model, str | Path):
        model = read_regular_file(Path(model), MOST_BYTES)
    if isinstance(model, bytes | bytearray):
        try:
            model = json.loads(model)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                "This file is not JSON. xgboost writes JSON where the file's name ends "
                "in .json: booster.save_model('model.json')."
            ) from error
    return model


def _dump(stored: list) -> _Model:
    """Read a dump: a list of trees, each a dict or its JSON."""
    names: list[str] = []
    trees = [json.loads(tree) if isinstance(tree, str) else tree for tree in stored]
    nodes = [dumped_nodes(tree, names) for tree in trees]
    _check_columns(len(names))
    return _Model(nodes, names, [0] * len(nodes), [0.0])


def _saved(stored: dict) -> _Model:
    """Read a saved model."""
    learner = stored["learner"]
    booster, parameters = learner["gradient_booster"], learner["learner_model_param"]
    objective = learner["objective"]["name"]
    if booster["name"] not in ("gbtree", "dart"):
        raise ValueError(f"This xgboost model is a {booster['name']}, not of trees.")
    if objective not in _LINKS:
        raise ValueError(
            f"treelab does not read xgboost's objective {objective!r}; it reads "
            f"{', '.join(_LINKS)}. A dump (dump_model) is read without its objective."
        )
    if int(parameters.get("num_target", 1)) > 1:
        raise ValueError("This xgboost model has several targets; treelab reads one.")
    scale = booster.get("weight_drop")  # dart: how much of each tree counts
    model = (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]
    nodes = [saved_nodes(tree) for tree in model["trees"]]
    for i, factor in enumerate(scale or ()):
        nodes[i].value[...] *= np.float32(factor)
    n_used = _n_used_trees(learner.get("attributes", {}), model, len(nodes))
    link = _LINKS[objective]
    n_outputs = int(parameters["num_class"]) if link == "softmax" else 1
    output = [int(k) for k in model["tree_info"][:n_used]]
    if len(output) != len(nodes[:n_used]) or not all(
        0 <= k < n_outputs for k in output
    ):
        raise ValueError(
            f"This xgboost model has {n_outputs:,} outputs, and trees of others: it "
            "is damaged."
        )
    if n_outputs > max(len(nodes), 1):
        raise ValueError(
            f"This xgboost model has {n_outputs:,} classes but {len(nodes):,} trees, "
            "and each class has trees of its own: it is damaged."
        )
    classes = {"binary:logistic": 2}.get(objective, n_outputs * (link == "softmax"))
    return _Model(
        nodes[:n_used],
        _column_names(learner.get("feature_names"), parameters),
        output,
        _margins(parameters["base_score"], link, n_outputs),
        link,
        classes,
        _category_names(model.get("cats", {})),
    )


def _column_names(stored: list | None, parameters: dict) -> list[str]:
    """Return the names of a saved model's columns; x0, x1, ... where it has none."""
    n_columns = len(stored) if stored else int(parameters["num_feature"])
    _check_columns(n_columns)
    return [str(name) for name in stored or (f"x{i}" for i in range(n_columns))]


def _check_columns(n_columns: int) -> None:
    """Raise ValueError for a model with more columns than a table may have."""
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"This xgboost model has {n_columns:,} columns; treelab reads at most "
            f"{MOST_COLUMNS:,}."
        )


def _n_used_trees(attributes: dict, model: dict, n_trees: int) -> int:
    """Return how many trees predict: all, or those up to the best round."""
    best, starts = attributes.get("best_iteration"), model.get("iteration_indptr")
    return n_trees if best is None or starts is None else starts[int(best) + 1]


def _margins(text: str, link: str, n_outputs: int) -> list[float]:
    """Return what the sums start from, in float32 as xgboost computes it."""
    base = np.array(json.loads(text), dtype=np.float32).reshape(-1)
    if link == "logistic":
        base = -np.log(np.float32(1) / base - np.float32(1))
    elif link == "exp":
        base = np.log(base)
    return [float(value) for value in np.broadcast_to(base, n_outputs)]


def _category_names(stored: dict) -> dict[int, list[str] | None]:
    """Return the names of each category column's categories; None where damaged."""
    found: dict[int, list[str] | None] = {}
    for column, entry in enumerate(stored.get("enc", [])):
        values = entry.get("values", [])
        if not values:
            continue
        if "offsets" in entry:
            # Signed bytes. xgboost 3.2 cuts names between letters as if each were
            # one byte, so beyond ASCII they are lost.
            offsets = entry["offsets"]
            if sorted(offsets) != offsets:
                raise ValueError("This xgboost model's category names are damaged.")
            if min(values) >= 0:
                text = bytes(values).decode()
                found[column] = [text[a:b] for a, b in pairwise(offsets)]
            else:
                found[column] = None
        else:
            found[column] = [str(value) for value in values]
    return found


def _to_trees(read: _Model, classes, target: str, units: dict) -> Tree | Forest:
    """Return what was read as a Tree or a Forest."""
    if read.n_classes:
        classes = range(read.n_classes) if classes is None else classes
        classes = tuple(plain_label(label) for label in classes)
        if len(classes) != read.n_classes:
            raise ValueError(
                f"The model has {read.n_classes} classes, got {len(classes)} labels."
            )
    elif classes is not None:
        raise ValueError(
            "This model predicts numbers (or is a dump); it has no labels."
        )
    columns = Columns(read.names, units, read.categories)
    if len(read.nodes) == 1:
        arguments = tree_arguments(read.nodes[0], columns, _predictions_alone(read))
        return Tree(
            tuple(columns.features), classes=classes, target=target, **arguments
        )
    grown = [tree_arguments(n, columns, n.value[:, None]) for n in read.nodes]
    return boosted_forest(
        grown,
        columns.features,
        target=target,
        classes=classes,
        base=read.base,
        output=read.output,
        link=read.link,
        dtype="float32",
    )


def _predictions_alone(read: _Model) -> np.ndarray:
    """Return what the nodes of a single tree predict."""
    sums = np.float32(read.base[0]) + read.nodes[0].value  # float32 (n_nodes,)
    total = sums.astype(np.float64)
    if read.link == "logistic":
        total = 1 / (1 + np.exp(-total))
        if read.n_classes:
            return np.column_stack([1 - total, total])
    return (np.exp(total) if read.link == "exp" else total)[:, None]
