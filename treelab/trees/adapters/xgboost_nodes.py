"""The nodes of xgboost's trees, as saved or as dumped, and a Tree of them."""

from dataclasses import dataclass, field

import numpy as np

from treelab.trees.adapters.float32 import float32_thresholds
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree
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
        What a leaf adds; above the leaves, what the node had added.
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
    left = np.array(tree["left_children"])
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    weight = np.array(tree["base_weights"], dtype=np.float32)
    codes = tree.get("categories", [])
    categories = {
        node: frozenset(codes[start : start + size])
        for node, start, size in zip(
            tree.get("categories_nodes", []),
            tree.get("categories_segments", []),
            tree.get("categories_sizes", []),
        )
    }
    return Nodes(
        left,
        np.array(tree["right_children"]),
        np.array(tree["split_indices"]),
        condition,
        np.array(tree["default_left"]).astype(bool),
        np.where(left < 0, condition, weight),
        categories,
    )


def dumped_nodes(tree: dict, names: list[str]) -> Nodes:
    """Read a tree of ``get_dump(dump_format="json")``; new columns join ``names``."""
    found, waiting = {}, [tree]
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
        if node["split"] not in names:
            names.append(node["split"])
        column[i] = names.index(node["split"])
        yes, no = node["yes"], node["no"]
        asked = node.get("split_condition", 1)
        if isinstance(asked, list):  # yes is where the category is among them
            categories[i] = frozenset(asked)
            yes, no = no, yes
        elif "split_condition" in node:
            condition[i] = asked
        else:  # a column of 0 and 1: yes is where it is 1
            condition[i] = 1
            yes, no = no, yes
        left[i], right[i] = place[yes], place[no]
        missing_left[i] = node["missing"] == yes
        value[i] = (value[left[i]] + value[right[i]]) / 2
    return Nodes(left, right, column, condition, missing_left, value, categories)


class Columns:
    """The columns of an xgboost model, as features that its trees share.

    Parameters
    ----------
    names : list of str
    units : dict of str to str
    categories : dict of int to list of str
        Names of the categories of each category column, in the order of their codes.
    """

    def __init__(self, names, units, categories):
        self.names, self.categories = names, categories
        self.features = [Feature(name, unit=units.get(name, "")) for name in names]
        self._sets = {}

    def index(self, nodes: Nodes, node: int) -> int:
        """Return the feature that a split tests; a set of categories is one of its own.

        Its score is 0 for a category that goes left and 1 for one that goes right.
        """
        column = int(nodes.column[node])
        if node not in nodes.categories:
            return column
        key = column, nodes.categories[node]
        if key not in self._sets:
            known, unseen = self.categories.get(column), np.nan
            if known is None:  # a code of no set goes left, however large
                known = [str(code) for code in range(max(key[1], default=0) + 1)]
                unseen = 0.0
            scores = [float(code in key[1]) for code in range(len(known))]
            self._sets[key] = len(self.features)
            self.features.append(
                Feature(
                    self.names[column], "category", "", np.nan, known, scores, unseen
                )
            )
        return self._sets[key]


def build_tree(nodes: Nodes, feature: np.ndarray, features, value, **about) -> Tree:
    """Return the Tree of these nodes; ``feature`` is what ``Columns.index`` said."""
    leaf = nodes.left < 0
    threshold = np.full(len(leaf), np.nan)
    threshold[~leaf] = float32_thresholds(nodes.condition[~leaf], strict=True)
    threshold[list(nodes.categories)] = 0.5
    return Tree(
        features=features,
        left=np.where(leaf, -1, nodes.left),
        right=np.where(leaf, -1, nodes.right),
        feature=np.where(leaf, LEAF, feature),
        threshold=threshold,
        missing_left=nodes.missing_left & ~leaf,
        value=value,
        n_rows=np.zeros(len(leaf)),
        impurity=np.full(len(leaf), np.nan),
        **about,
    )
