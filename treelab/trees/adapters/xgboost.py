"""xgboost's models, from their JSON."""

import json
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path

import numpy as np

from treelab.trees.adapters.forest import (
    Columns,
    Forest,
    alone,
    boosted_forest,
    check_columns,
    column_names,
    float32_thresholds,
    given_categories,
    known_classes,
    refuse_wrapped,
    refusing_other,
    tree_arguments,
    used_rounds,
    with_means,
)
from treelab.trees.io import MOST_BYTES, read_regular_file
from treelab.trees.tree import LEAF, Tree, exact_copy

# The nodes of xgboost's trees, as saved or as dumped, and what a Tree needs.


@dataclass(frozen=True)
class Nodes:
    """One of xgboost's trees."""

    # int (n_nodes,): -1 at leaves.
    left: np.ndarray
    right: np.ndarray
    column: np.ndarray  # int (n_nodes,)
    # float32 (n_nodes,): a row goes left where ``float32(x) < condition``.
    condition: np.ndarray
    missing_left: np.ndarray  # bool (n_nodes,)
    # float32 (n_nodes,): what a leaf adds; above the leaves, what the node would add.
    value: np.ndarray
    # float (n_nodes,): the sum of the hessians of the rows that pass, their cover; 0
    # where a dump does not tell.
    cover: np.ndarray
    # Splits of category columns: the codes that go right.
    categories: dict[int, frozenset[int]] = field(default_factory=dict)


def saved_nodes(tree: dict) -> Nodes:
    """Read a tree of ``save_model``'s JSON."""
    if tree["tree_param"].get("size_leaf_vector", "1") not in ("0", "1"):
        raise ValueError(
            "This xgboost model has leaves of several outputs (multi_strategy="
            "'multi_output_tree'); treelab reads one output a leaf."
        )
    left = _whole(tree, "left_children")
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    weight = np.array(tree["base_weights"], dtype=np.float32)
    codes = _codes(tree.get("categories", []))
    if sum(tree.get("categories_sizes", [])) > len(codes):
        raise ValueError("This xgboost model's sets of categories are damaged.")
    categories = {
        node: frozenset(codes[start : start + size])
        for node, start, size in zip(
            tree.get("categories_nodes", []),
            tree.get("categories_segments", []),
            tree.get("categories_sizes", []),
        )
    }
    right, column = _whole(tree, "right_children"), _whole(tree, "split_indices")
    missing_left = np.array(tree["default_left"]).astype(bool)
    value = np.where(left < 0, condition, weight)
    cover = np.array(tree["sum_hessian"], dtype=np.float64)
    own = (left, right, column, condition, missing_left, value, cover)
    nodes = Nodes(*own, categories)
    arrays = (right, column, condition, missing_left, weight, cover)
    if any(array.shape != (len(left),) for array in (left, *arrays)):
        raise ValueError("A tree of this xgboost model lacks nodes: it is damaged.")
    n_deleted = int(tree["tree_param"].get("num_deleted", 0))
    return _without_pruned(nodes) if n_deleted else nodes


def _without_pruned(nodes: Nodes) -> Nodes:
    """Leave out the nodes that pruning cut off, which xgboost saves as well."""
    reached, place = [0], np.full(len(nodes.left), -1)
    for node in reached:  # grows as it is walked
        if len(reached) > len(place):
            raise ValueError("A tree of this xgboost model is a circle.")
        if nodes.left[node] >= 0:
            reached += [int(nodes.left[node]), int(nodes.right[node])]
    place[reached] = np.arange(len(reached))
    own = {each.name: getattr(nodes, each.name) for each in fields(nodes)}
    sets = own.pop("categories").items()
    held = {int(place[node]): codes for node, codes in sets if place[node] >= 0}
    own = {name: array[reached] for name, array in own.items()}
    for side in ("left", "right"):
        own[side] = np.where(own[side] < 0, -1, place[own[side]])
    return Nodes(**own, categories=held)


def _whole(tree: dict, name: str) -> np.ndarray:
    """Return an array of whole numbers, one a node."""
    return exact_copy(name, tree[name], np.int64)


def _codes(stored: list) -> list[int]:
    """Return the codes of categories, checked to be such."""
    codes = [int(code) for code in stored]
    if min(codes, default=0) < 0:
        raise ValueError(f"A code of an xgboost category is negative: {min(codes)}.")
    return codes


def dumped_nodes(tree: dict, names: dict[str, int]) -> Nodes:
    """Read a tree of ``get_dump(dump_format="json")``; new columns join ``names``."""
    found: dict[int, dict] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        found[node["nodeid"]] = node
        waiting += node.get("children", [])
    place = {number: i for i, number in enumerate(sorted(found))}
    n = len(place)
    left, right, column = np.full(n, -1), np.full(n, -1), np.zeros(n, dtype=int)
    condition = np.full(n, np.nan, dtype=np.float32)
    missing_left, value = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.float32)
    categories, cover = {}, np.zeros(n)
    for number, node in found.items():
        i = place[number]
        cover[i] = node.get("cover", 0.0)
        if "leaf" in node:
            value[i] = node["leaf"]
            continue
        column[i] = names.setdefault(str(node["split"]), len(names))
        yes, no = node["yes"], node["no"]
        condition_of = node.get("split_condition", 1)
        if isinstance(condition_of, list):  # yes is where the category is among them
            categories[i] = frozenset(_codes(condition_of))
            yes, no = no, yes
        elif "split_condition" in node:
            condition[i] = condition_of
        else:  # a column of 0 and 1: yes is where it is 1
            condition[i] = 1
            yes, no = no, yes
        left[i], right[i] = place[yes], place[no]
        missing_left[i] = node["missing"] == yes
    value = with_means(value, left, right, np.zeros(n))
    own = (left, right, column, condition, missing_left, value, cover)
    return Nodes(*own, categories)


def _arguments(nodes: Nodes, columns: Columns) -> dict:
    """Return the arguments of ``Tree`` for these nodes; new sets join ``columns``."""
    feature, threshold = np.full(len(nodes.left), LEAF), np.full(len(nodes.left), 0.5)
    splits = np.flatnonzero(nodes.left >= 0)
    for node in splits.tolist():
        right = nodes.categories.get(node)
        feature[node] = columns.index(int(nodes.column[node]), right)
    numbers = np.setdiff1d(splits, list(nodes.categories))
    threshold[numbers] = float32_thresholds(nodes.condition[numbers], strict=True)
    if not np.isfinite(nodes.cover).all():
        raise ValueError("A cover of this xgboost model is not a finite number.")
    arguments = tree_arguments(
        nodes.left, nodes.right, feature, threshold, nodes.missing_left, nodes.value
    )
    return {**arguments, "weight": nodes.cover} if nodes.cover.any() else arguments


# xgboost's boosted trees, read from JSON, with no need for xgboost itself.
#
# Source: the model's format at xgboost.readthedocs.io, "Introduction to Model IO";
# written against xgboost 3.2.


_LINKS = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "logistic"),
    **dict.fromkeys(("multi:softmax", "multi:softprob"), "softmax"),
    **dict.fromkeys(("reg:squarederror", "reg:absoluteerror"), "identity"),
    "reg:pseudohubererror": "identity",
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exp"),
}

_NO_TREE = "This xgboost model holds no tree."
_MEANT = ("an xgboost model in JSON", "model.json")  # what a file should be


@dataclass(frozen=True)
class _Model:
    """What a file holds."""

    nodes: list[Nodes]
    names: list[str]
    output: list[int]
    base: list[float]  # margins
    link: str = "identity"
    n_classes: int = 0
    categories: dict[int, list[str] | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def from_xgboost(
    model,
    feature_names=None,
    *,
    classes=None,
    categories: dict | None = None,
    missing: float | None = None,
    iteration_range: tuple[int, int] | None = None,
    target: str = "target",
    units: dict | None = None,
) -> Tree | Forest:
    """Read a model of xgboost.

    xgboost compares and adds up in float32; thresholds move so that every float64 row
    takes the same decision path, and a Forest adds up in float32 as well. The
    ``weight`` of a node is its cover: the sum of its rows' hessians.

    Parameters
    ----------
    model : str, Path, dict, list, or a model of xgboost
        A JSON file of ``save_model`` or ``dump_model``, or what it holds. A dump knows
        no objective and no base score: a Forest of it predicts its trees' plain sum.
    feature_names : sequence of str or None
        Columns in the order of training; by default those in the file, else x0, x1, ...
    classes : sequence or None
        Labels in the order of xgboost's numbers; by default 0, 1, ...
    categories : dict of str to sequence, or None
        Names of a category column's categories, in the order of their codes; by
        default those in the file, else the codes as text.
    missing : float or None, default=None
        Number that counts as missing, as xgboost's ``missing``. An estimator knows its
        own; a file or a booster does not, and a note says so where None is given.
    iteration_range : tuple of (int, int) or None, default=None
        First round that predicts, and the one behind the last; 0 is behind them all.
        None: what the model itself predicts with. That is all rounds, or, of a
        scikit-learn estimator and its file, those up to the best that early stopping
        recorded.
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
    refuse_wrapped(model)
    of_estimator = hasattr(model, "get_booster")
    if of_estimator and missing is None:
        missing = np.nan if model.missing is None else model.missing
    with refusing_other(*_MEANT):
        stored = _load(model)
        if isinstance(stored, list):
            read = _dump(stored)
        else:
            read = _saved(stored, iteration_range, of_estimator=of_estimator)
    if isinstance(stored, list) and iteration_range is not None:
        raise ValueError("A dump of xgboost does not say which trees are one round.")
    names = column_names(feature_names, read.names, may_be_more=True)
    known = read.categories | given_categories(categories or {}, names)
    if lost := [names[column] for column, own in known.items() if not own]:
        raise ValueError(
            "xgboost saves category names of plain ASCII only, and those of column "
            f"{lost[0]!r} are lost. Pass categories={{{lost[0]!r}: [...]}}, in the "
            "order of the training table's categories."
        )
    labels = known_classes(classes, read.n_classes, "numbers (or is a dump)")
    marked = np.nan if missing is None else float(missing)
    with refusing_other(*_MEANT):
        columns = Columns(names, units or {}, known, marked)
        forest = boosted_forest(
            [_arguments(nodes, columns) for nodes in read.nodes],
            columns.features,
            target=target,
            classes=labels,
            base=tuple(read.base),
            output=read.output,
            link=read.link,
            dtype="float32",
            notes=(*read.notes, *_missing_notes(missing)),
        )
        return alone(forest)


def _missing_notes(missing: float | None) -> tuple[str, ...]:
    """Say what counts as missing, or that the file does not tell."""
    if missing is None:
        return (
            "An xgboost file does not tell which number counted as missing in "
            "training; here only empty values do. If one did, read the file with "
            "missing=-999, or whichever it was.",
        )
    if np.isnan(missing):
        return ()
    return (f"{missing:g} counts as missing, as in the training of this model.",)


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
    if not stored:
        raise ValueError(_NO_TREE)
    names: dict[str, int] = {}  # and their places
    trees = [json.loads(tree) if isinstance(tree, str) else tree for tree in stored]
    nodes = [dumped_nodes(tree, names) for tree in trees]
    check_columns(len(names), "xgboost")
    return _Model(nodes, [*names], [0] * len(nodes), [0.0])


def _saved(
    stored: dict, iteration_range: tuple[int, int] | None, *, of_estimator: bool
) -> _Model:
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
    if not model["trees"]:
        raise ValueError(_NO_TREE)
    nodes = [saved_nodes(tree) for tree in model["trees"]]
    for i, factor in enumerate(scale or ()):
        nodes[i].value[...] *= np.float32(factor)
    link = _LINKS[objective]
    n_outputs = int(parameters["num_class"]) if link == "softmax" else 1
    output = [int(k) for k in model["tree_info"]]
    if len(output) != len(nodes) or not all(0 <= k < n_outputs for k in output):
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
    used, notes = _used_trees(learner, model, iteration_range, of_estimator)
    stored_names = learner.get("feature_names")
    n_columns = len(stored_names or ()) or int(parameters["num_feature"])
    check_columns(n_columns, "xgboost")
    return _Model(
        nodes[used],
        [str(name) for name in stored_names or (f"x{i}" for i in range(n_columns))],
        output[used],
        _margins(parameters["base_score"], link, n_outputs),
        link,
        classes,
        _category_names(model.get("cats", {})),
        notes,
    )


def _used_trees(
    learner: dict,
    model: dict,
    iteration_range: tuple[int, int] | None,
    of_estimator: bool,
) -> tuple[slice, tuple[str, ...]]:
    """Return which trees predict, and a note where the file leaves that open."""
    starts = model.get("iteration_indptr")
    if starts is None:  # as xgboost wrote before version 2
        a_round = int(model["gbtree_model_param"].get("num_parallel_tree") or 1)
        a_round *= max(int(learner["learner_model_param"].get("num_class", 0)), 1)
        starts = range(0, len(model["trees"]) + 1, a_round)
    starts = [int(start) for start in starts]
    n_rounds, attributes = len(starts) - 1, learner.get("attributes", {})
    best = attributes.get("best_iteration")
    notes: tuple[str, ...] = ()
    if iteration_range is None:
        iteration_range = (0, 0)
        if best is not None and (of_estimator or "scikit_learn" in attributes):
            iteration_range = (0, int(best) + 1)
        elif best is not None and int(best) + 1 < n_rounds:
            notes = (
                f"Early stopping found the first {int(best) + 1:,} of {n_rounds:,} "
                "rounds best; all predict, as xgboost's Booster.predict has it. "
                f"iteration_range=(0, {int(best) + 1}) reads the best alone.",
            )
    first, end = used_rounds(n_rounds, iteration_range)
    return slice(starts[first], starts[end]), notes


def _margins(text: str, link: str, n_outputs: int) -> list[float]:
    """Return what the sums start from, in float32 as xgboost computes it."""
    base = np.array(json.loads(text), dtype=np.float32).reshape(-1)
    # As C's logf: numpy's own of float32 may be one step off.
    if link == "logistic":
        odds = np.float32(1) / base - np.float32(1)
        base = -np.log(odds.astype(np.float64)).astype(np.float32)
    elif link == "exp":
        base = np.log(base.astype(np.float64)).astype(np.float32)
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
