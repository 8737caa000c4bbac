"""A tree as rules, one a leaf, and as indented text."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from treelab.trees.text.conditions import (
    Condition,
    leaf_conditions,
    path_conditions,
)
from treelab.trees.text.nodes import prediction_text, rows_text, split_text
from treelab.trees.tree import Tree

MOST_CONDITIONS = 200  # in a text: nobody reads more, and those of all leaves add up


def rule_text(
    tree: Tree, node: int, *, most: int | None = None, length: int | None = None
) -> str:
    """Return the conditions on the decision path to a node, one a column.

    Parameters
    ----------
    tree : Tree
    node : int
    most, length : int or None
        As in ``split_text``.

    Returns
    -------
    str
        Such as "2.1 < petal length ≤ 4.9 cm and sepal width > 3 cm"; "every row" at
        the root.
    """
    return conditions_text(tree, path_conditions(tree, node), most, length)


def conditions_text(
    tree: Tree,
    conditions: Iterable[Condition],
    most: int | None = None,
    length: int | None = None,
) -> str:
    """Return conditions of a tree as one text; see ``rule_text``."""
    own = list(conditions)
    texts = [condition_text(tree, each, most, length) for each in own[:MOST_CONDITIONS]]
    return _joined(texts, len(own))


def _joined(texts: list[str], n_conditions: int) -> str:
    """Return the texts of a path's first conditions as one."""
    texts = list(filter(None, texts))
    if n_conditions > MOST_CONDITIONS:
        texts.append(f"{n_conditions - MOST_CONDITIONS:,} more conditions")
    return " and ".join(texts) or "every row"


def leaf_rules(tree: Tree, most: int | None = None) -> dict[int, str]:
    """Return the rule of each leaf, by its number; ``most`` as in ``split_text``.

    What leaves have in common is written once, so that deep trees take no longer.
    """
    known: dict[int, tuple[Condition, str]] = {}  # by id, so the conditions must stay
    rules = {}
    for leaf, own in leaf_conditions(tree):
        for each in own[:MOST_CONDITIONS]:
            if id(each) not in known:
                known[id(each)] = each, condition_text(tree, each, most)
        texts = [known[id(each)][1] for each in own[:MOST_CONDITIONS]]
        rules[leaf] = _joined(texts, len(own))
    return rules


def condition_text(
    tree: Tree,
    condition: Condition,
    most: int | None = None,
    length: int | None = None,
) -> str:
    """Return one condition of a tree in words, or "" where everything passes."""
    return condition.text(condition.column in tree.missing_columns, most, length)


def to_rules(tree: Tree, *, most: int | None = None) -> pd.DataFrame:
    """Return a tree as rules, one a leaf, the most frequent first.

    Parameters
    ----------
    tree : Tree
    most : int or None, default=None
        Categories, or columns of an oblique split, that are listed; None: all.

    Returns
    -------
    DataFrame
        Columns leaf, rule, n_rows, share, prediction, confidence; and formula where
        leaves are linear. Share and confidence are of training rows; confidence is
        the predicted class's probability, or NaN for regression.
    """
    leaves = np.flatnonzero(tree.is_leaf)
    n_rows = tree.n_rows[leaves]
    if tree.classes is None:
        prediction = tree.value[leaves, 0]
        confidence = np.full(len(leaves), np.nan)
    else:
        best = tree.predicted_class[leaves]
        prediction = pd.Series([tree.classes[i] for i in best])
        confidence = tree.value[leaves, best]
    share = n_rows / tree.n_rows[0] if tree.n_rows[0] else np.full(len(leaves), np.nan)
    rule = leaf_rules(tree, most)
    table = pd.DataFrame(
        {
            "leaf": leaves,
            "rule": [rule[leaf] for leaf in leaves.tolist()],
            "n_rows": n_rows,
            "share": share,
            "prediction": prediction,
            "confidence": confidence,
        }
    )
    if tree.leaf_weights is not None:
        table["formula"] = [prediction_text(tree, leaf) for leaf in leaves.tolist()]
    return table.sort_values(
        "n_rows", ascending=False, kind="stable", ignore_index=True
    )


def to_text(tree: Tree) -> str:
    """Return a tree as indented text, a line a node.

    Returns
    -------
    str
        Such as::

            petal width ≤ 0.8 cm?
            ├─ yes: setosa (1.00) · 50 rows, 33.3%
            └─ no: petal width ≤ 1.75 cm?
               ├─ yes: versicolor (0.907) · 54 rows, 36%
               └─ no: virginica (0.978) · 46 rows, 30.7%
    """
    lines = []
    waiting = [(0, "", "", "")]  # node, what stands before it, before its children
    while waiting:
        node, before, below, side = waiting.pop()
        if tree.is_leaf[node]:
            rows = rows_text(tree, node)
            text = prediction_text(tree, node) + (f" · {rows}" if rows else "")
        else:
            text = f"{split_text(tree, node)}?"
            waiting.append(
                (int(tree.right[node]), f"{below}└─ ", f"{below}   ", "no: ")
            )
            waiting.append(
                (int(tree.left[node]), f"{below}├─ ", f"{below}│  ", "yes: ")
            )
        lines.append(f"{before}{side}{text}")
    return "\n".join([*lines, *tree.notes])
