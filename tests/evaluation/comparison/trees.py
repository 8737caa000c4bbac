"""Trees by hand over the greedy trap, which no greedy tree would grow."""

from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.synthetic_tables import greedy_trap
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

CLASSES = ("cracked", "sound")


def trap(n_rows: int = 600, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """The greedy trap: columns and labels."""
    frame = greedy_trap(n_rows, seed=seed)
    return frame.drop(columns="bar"), frame["bar"]


def xor_tree(X: pd.DataFrame, y, target=None) -> Tree:
    """The four corners of furnace temperature and cooling rate, with these rows."""
    classes = None if target == "number" else CLASSES
    tree = Tree.complete(
        tuple(Feature(str(name)) for name in X),
        np.array([0, 1, 1]),
        np.array([850.0, 40.0, 40.0]),
        np.zeros(3, bool),
        np.full((4, 1 if classes is None else 2), 0.5),
        classes=classes,
        target="bar",
    ).with_rows(X, y)
    if classes is None:
        return tree
    return replace(tree, value=tree.class_counts / tree.n_rows[:, None])
