"""The part of a row's decision path that settles its class, whatever else it holds.

A sufficient reason, or prime implicant, of the prediction: Izza, Ignatiev and
Marques-Silva, "On tackling explanation redundancy in decision trees", JAIR 75, 2022.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from treelab.evaluation.leaf_scores import LeafScore
from treelab.trees.text.conditions import Condition, narrowed
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, sum_up

Side = tuple[int, bool]  # a split, and whether the row goes left


@dataclass(frozen=True, eq=False)
class SufficientRule:
    """Conditions under which a tree predicts one class for every row.

    Attributes
    ----------
    conditions : list of Condition
        One a column.
    prediction : object
        The class.
    n_dropped : int
        Splits on the path that are not needed.
    """

    conditions: list[Condition]
    prediction: object
    n_dropped: int

    def holds(self, X: pd.DataFrame) -> np.ndarray:
        """Whether each row meets the conditions, bool (n_rows,)."""
        passes = np.ones(len(X), dtype=bool)
        for condition in self.conditions:
            passes &= condition.holds(X)
        return passes

    def score(self, X: pd.DataFrame, y) -> LeafScore:
        """Count the rows that meet the conditions, and how many are of the class."""
        here = self.holds(X)
        truth = np.asarray(y)[here]
        accuracy = float(np.mean(truth == self.prediction)) if len(truth) else None
        return LeafScore(int(here.sum()), len(here), accuracy)


def sufficient_rule(tree: Tree, row) -> SufficientRule:
    """Drop splits from a row's path, the last first, while its class stays certain.

    A split can go where all leaves that rows meeting the others may reach predict the
    class. None of those that stay can go, but a smaller set of others may exist.

    Parameters
    ----------
    tree : Tree
        Of classes, each split testing one feature.
    row : DataFrame or array of one row

    Raises
    ------
    ValueError
        If the tree is a regression or has weighted sums: their leaves are no boxes.
    """
    if tree.classes is None or (tree.feature == OBLIQUE).any():
        raise ValueError("A sufficient rule needs classes and no weighted sums.")
    path = tree.path(row)
    best = tree.predicted_class
    others = sum_up(tree, (tree.is_leaf & (best != best[path[-1]])).astype(int))
    sides = [(node, bool(tree.left[node] == below)) for node, below in pairwise(path)]
    needed = list(sides)
    for side in reversed(sides):
        rest = [own for own in needed if own != side]
        if _is_certain(tree, rest, others):
            needed = rest
    return SufficientRule(
        list(_conditions(tree, needed).values()),
        tree.classes[best[path[-1]]],
        len(sides) - len(needed),
    )


def _conditions(tree: Tree, sides: list[Side]) -> dict:
    """Conditions of these splits, by column."""
    found: dict = {}
    for node, left in sides:
        found = narrowed(found, tree, node, left)
    return found


def _is_certain(tree: Tree, sides: list[Side], others: np.ndarray) -> bool:
    """Whether rows that meet these splits reach no leaf of another class.

    ``others`` counts such leaves below each node, (n_nodes,).
    """
    waiting = [(0, _conditions(tree, sides))]
    while waiting:
        node, found = waiting.pop()
        if others[node] == 0:
            continue
        if tree.is_leaf[node]:
            return False
        column = tree.features[tree.feature[node]].column
        for child, left in ((tree.left[node], True), (tree.right[node], False)):
            below = narrowed(found, tree, node, left)
            if not below[column].is_empty:
                waiting.append((int(child), below))
    return True
