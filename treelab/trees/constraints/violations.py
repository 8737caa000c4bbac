"""Whether a finished tree keeps its constraints, on every possible row."""

from dataclasses import dataclass

import numpy as np

from treelab.trees.constraints.boxes import node_boxes
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.isotonic import output_of
from treelab.trees.text.numerals import counted
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class Finding:
    """One thing that was asked, and where a tree breaks it.

    Attributes
    ----------
    asked : str
        A phrase, as "income up".
    broken : tuple of str
        A sentence for each breach; empty where the tree keeps it.
    where : str
        On which rows it holds, where it does.
    """

    asked: str
    broken: tuple[str, ...] = ()
    where: str = "on every possible row"

    @property
    def holds(self) -> bool:
        """Whether the tree keeps it."""
        return not self.broken


def findings(tree: Tree, constraints: Constraints) -> list[Finding]:
    """Check each thing that is asked of a tree.

    Class costs and column costs weigh; they forbid nothing and are not among them.

    Parameters
    ----------
    tree : Tree
        In the user's columns, with the training rows at its nodes.
    constraints : Constraints

    Returns
    -------
    list of Finding
    """
    found = []
    for name, way in constraints.monotone.items():
        broken = _out_of_order(tree, constraints, name)
        found.append(Finding(f"{name} {way}", broken))
    if constraints.allowed:
        found.append(Finding("columns by level", _at_wrong_level(tree, constraints)))
    if constraints.together:
        found.append(
            Finding("columns together on a path", _not_together(tree, constraints))
        )
    if constraints.max_columns is not None:
        n, most = len(tree.columns), constraints.max_columns
        too_many = (f"It tests {n} columns.",) if n > most else ()
        found.append(Finding(f"at most {counted(most, 'column')}", too_many))
    if constraints.min_samples_leaf > 1:
        least = constraints.min_samples_leaf
        small = np.flatnonzero(tree.is_leaf & (tree.n_rows < least))
        few = tuple(f"Leaf {i} holds {tree.n_rows[i]:,} rows." for i in small)
        asked = f"at least {least:,} rows a leaf"
        found.append(Finding(asked, few, "on the training rows"))
    return found


def violations(tree: Tree, constraints: Constraints) -> list[str]:
    """Return a sentence for each breach of the constraints; see ``findings``."""
    return [text for one in findings(tree, constraints) for text in one.broken]


def wrong_splits(tree: Tree, constraints: Constraints) -> np.ndarray:
    """Return splits that test a column which they may not test there, bool (n_nodes,).

    By their level, or by the columns above them.
    """
    columns = [feature.column for feature in tree.features]
    groups = constraints.group_of(columns)
    wrong = np.zeros(tree.n_nodes, dtype=bool)
    waiting: list[tuple[int, frozenset[str]]] = [(0, frozenset())]
    while waiting:
        node, above = waiting.pop()
        if tree.is_leaf[node]:
            continue
        own = columns[tree.feature[node]]
        path = above | {own}
        wrong[node] = own not in constraints.allowed_at(int(tree.level[node]), columns)
        if constraints.together:
            wrong[node] |= not any(path <= group for group in groups)
        waiting += [(int(tree.left[node]), path), (int(tree.right[node]), path)]
    return wrong


def _out_of_order(tree: Tree, constraints: Constraints, name: str) -> tuple[str, ...]:
    """Pairs of leaves of which the one below in a column predicts too much."""
    leaves = np.flatnonzero(tree.is_leaf)
    one = {name: constraints.monotone[name]}
    pairs = leaves[node_boxes(tree).of(leaves).ordered(one)]
    value = tree.value[:, output_of(tree.classes, constraints)]
    return tuple(
        f"Leaf {low} predicts {value[low]:g}, leaf {high} {value[high]:g}."
        for low, high in pairs.tolist()
        if value[low] > value[high]
    )


def _at_wrong_level(tree: Tree, constraints: Constraints) -> tuple[str, ...]:
    """Splits whose column is not allowed at their level."""
    only = Constraints(allowed=constraints.allowed)
    return _named(tree, wrong_splits(tree, only), "at level {level}")


def _not_together(tree: Tree, constraints: Constraints) -> tuple[str, ...]:
    """Splits whose column is in no group with those above it."""
    only = Constraints(together=constraints.together)
    return _named(tree, wrong_splits(tree, only), "below columns of another group")


def _named(tree: Tree, wrong: np.ndarray, where: str) -> tuple[str, ...]:
    """Write a sentence for each wrong split."""
    return tuple(
        f"Node {node} tests {tree.features[tree.feature[node]].column} "
        f"{where.format(level=tree.level[node])}."
        for node in np.flatnonzero(wrong).tolist()
    )
