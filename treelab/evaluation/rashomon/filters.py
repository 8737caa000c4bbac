"""Which trees of a Rashomon set a visitor wants to see."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.violations import violations
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class TreeFilter:
    """What a tree must be like, by its splits and leaves alone.

    Attributes
    ----------
    without : tuple of str
        Columns that it must not test.
    most_leaves : int or None
    monotone : tuple of (str, str)
        Columns and "up" or "down": on every possible row the prediction (in classes the
        probability of the last one) never moves the other way.
    """

    without: tuple[str, ...] = ()
    most_leaves: int | None = None
    monotone: tuple[tuple[str, str], ...] = field(default=())

    def passes(self, tree: Tree) -> bool:
        """Whether a tree is like that."""
        if set(self.without) & set(tree.columns):
            return False
        if self.most_leaves is not None and tree.n_leaves > self.most_leaves:
            return False
        return not violations(tree, Constraints(monotone=dict(self.monotone)))


def passing(trees: Sequence[Tree], wanted: TreeFilter) -> np.ndarray:
    """Return which trees pass, bool (n_trees,)."""
    return np.array([wanted.passes(tree) for tree in trees], dtype=bool)
