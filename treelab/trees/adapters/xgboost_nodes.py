"""The nodes of xgboost's trees, as saved or as dumped, and what a Tree needs."""

from dataclasses import dataclass, field

import numpy as np

from treelab.trees.adapters.columns import Columns
from treelab.trees.adapters.float32 import float32_thresholds
from treelab.trees.arrays import exact_copy
from treelab.trees.walk import LEAF


@dataclass(frozen=True)
class Nodes:
    """One of xgboost's trees.

    Attributes
    ----------
    left, right : int array of shape (n_nodes,)
        -1 at leaves.
    column : int array of shape (n_nodes,)
    condition : float32 array of shape (n_nodes,)
        A row goes left where ``float32(x) < condition``.
    missing_left : bool array of shape (n_nodes,)
    value : float32 array of shape (n_nodes,)
        What a leaf adds; above the leaves, what the node would add.
    categories : dict of int to frozenset of int
        Splits of category columns: the codes that go right.
    """

    left: np.ndarray
    right: np.ndarray
    column: np.ndarray
    condition: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
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
    nodes = Nodes(
        left,
        _whole(tree, "right_children"),
        _whole(tree, "split_indices"),
        condition,
        np.array(tree["default_left"]).astype(bool),
        np.where(left < 0, condition, weight),
        categories,
    )
    arrays = (nodes.right, nodes.column, condition, nodes.missing_left, weight)
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
    left, right = (
        np.where(side < 0, -1, place[side])
        for side in (nodes.left[reached], nodes.right[reached])
    )
    sets = nodes.categories.items()
    return Nodes(
        left,
        right,
        nodes.column[reached],
        nodes.condition[reached],
        nodes.missing_left[reached],
        nodes.value[reached],
        {int(place[node]): codes for node, codes in sets if place[node] >= 0},
    )


def _whole(tree: dict, name: str) -> np.ndarray:
    """Return an array of whole numbers, one a node."""
    return exact_copy(name, tree[name], np.int64)


def _codes(stored: list) -> list[int]:
    """Return the codes of categories, checked to be such."""
    codes = [int(code) for code in stored]
    if min(codes, default=0) < 0:
        raise ValueError(f"A code of an xgboost category is negative: {min(codes)}.")
    return codes


def dumped_nodes(tree: dict, names: list[str]) -> Nodes:
    """Read a tree of ``get_dump(dump_format="json")``; new columns join ``names``."""
    found: dict[int, dict] = {}
    column_of = {name: i for i, name in enumerate(names)}
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
    categories = {}
    for number, node in sorted(found.items(), reverse=True):  # children first
        i = place[number]
        if "leaf" in node:
            value[i] = node["leaf"]
            continue
        name = str(node["split"])
        if name not in column_of:
            column_of[name] = len(names)
            names.append(name)
        column[i] = column_of[name]
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
        value[i] = (value[left[i]] + value[right[i]]) / 2
    return Nodes(left, right, column, condition, missing_left, value, categories)


def tree_arguments(nodes: Nodes, columns: Columns) -> dict:
    """Return the arguments of ``Tree`` for these nodes; new sets join ``columns``."""
    leaf = nodes.left < 0
    feature = np.full(len(leaf), LEAF)
    for node in np.flatnonzero(~leaf):
        right = nodes.categories.get(int(node))
        feature[node] = columns.index(int(nodes.column[node]), right)
    threshold = np.full(len(leaf), np.nan)
    threshold[~leaf] = float32_thresholds(nodes.condition[~leaf], strict=True)
    threshold[list(nodes.categories)] = 0.5
    return {
        "left": np.where(leaf, -1, nodes.left),
        "right": np.where(leaf, -1, nodes.right),
        "feature": feature,
        "threshold": threshold,
        "missing_left": nodes.missing_left & ~leaf,
        "value": nodes.value[:, None],
        "n_rows": np.zeros(len(leaf)),
        "impurity": np.full(len(leaf), np.nan),
    }
