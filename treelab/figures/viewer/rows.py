"""Rows in the viewer: the decision path of one, the counts of one class."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from treelab.figures.viewer.keys import keys
from treelab.figures.viewer.wording import NAME_LENGTH
from treelab.trees.statistics import class_codes
from treelab.trees.text.names import clean, short
from treelab.trees.text.nodes import row_value_text
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, read_features

# Colours as CSS writes them, apart from each other on either background.
FIRST_PATH, SECOND_PATH = "var(--path-one)", "var(--path-two)"


@dataclass(frozen=True)
class RowPath:
    """The decision path of a row that is followed through a tree.

    Attributes
    ----------
    label : str
        What the row is called.
    color : str
        Colour of its path, as CSS writes it: FIRST_PATH or SECOND_PATH.
    keys : list of str
        Keys of the nodes it passes, root first.
    values : dict of str to str
        The row's value at each of these splits: "petal width is 0.2 cm".
    """

    label: str
    color: str
    keys: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


def row_path(
    tree: Tree, row: pd.DataFrame, label: str, color: str = FIRST_PATH
) -> RowPath:
    """Follow one row through a tree.

    Parameters
    ----------
    tree : Tree
    row : DataFrame of one row
    label : str
        What the row is called, such as "row 812".
    color : str
        As a RowPath's.
    """
    path, key, matrix = tree.path(row), keys(tree), read_features(tree, row)
    values = {}
    for node in path[:-1]:
        name = "the sum"
        if tree.feature[node] != OBLIQUE:
            name = short(tree.features[tree.feature[node]].column, NAME_LENGTH)
        values[key[node]] = f"{name} is {row_value_text(tree, node, matrix, row)}"
    return RowPath(clean(label), color, [key[node] for node in path], values)


def class_flow(tree: Tree, X: pd.DataFrame, y, label) -> dict:
    """Count the rows of one class at each node, as the viewer reads it.

    Returns
    -------
    dict
        ``class``, its name, and ``counts``, rows by key.
    """
    column = int(class_codes(tree.classes or (), np.array([label], dtype=object))[0])
    counts = tree.node_counts(X, y)[:, column]
    return {
        "class": short(label, NAME_LENGTH),
        "counts": {key: int(n) for key, n in zip(keys(tree), counts)},
    }
