"""Which features a split may choose from while it trains, under constraints.

Splits choose independently, so whatever each of them comes to choose must keep the
constraints: the features on offer along a path lie in one group, those of the whole
tree are as few as asked.
"""

import numpy as np

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.gradtree.hard_tree import HardTree


class Rivals:
    """The columns that each split of a greedy tree is offered so far.

    Parameters
    ----------
    tree : HardTree
        That keeps the constraints; at first each split is offered its own column.
    rules : ColumnRules
    """

    def __init__(self, tree: HardTree, rules: ColumnRules):
        self.rules = rules
        splits = tree.splits
        self.offered = [{int(rules.column[j])} for j in tree.feature[splits]]
        passed = np.logical_or(*tree.paths().transpose(1, 0, 2))  # (L, S)
        self.paths = [np.flatnonzero(own).tolist() for own in passed]
        self.level = np.zeros(len(splits), dtype=np.int64)
        depth = np.zeros(len(tree.left), dtype=np.int64)
        for place, node in enumerate(splits):  # parents first
            self.level[place] = depth[node]
            depth[[tree.left[node], tree.right[node]]] = depth[node] + 1

    def choose(self, place: int, ranked: np.ndarray, n_features: int) -> np.ndarray:
        """Offer a split more features, the best first, its own among them.

        Parameters
        ----------
        place : int
            Of the split.
        ranked : int array of shape (F,)
            Features, the split's own first.
        n_features : int
            How many at most.
        """
        may = self.rules.may_test(int(self.level[place]), ())
        chosen = [int(ranked[0])]
        for feature in ranked[1:].tolist():
            if len(chosen) == n_features:
                break
            if may[feature] and self._fits(place, int(self.rules.column[feature])):
                self.offered[place].add(int(self.rules.column[feature]))
                chosen.append(feature)
        return np.array(chosen)

    def _fits(self, place: int, column: int) -> bool:
        """Whether a split may be offered a column beside what all others are."""
        in_tree = {column}.union(*self.offered)
        if len(in_tree) > self.rules.max_columns:
            return False
        return all(
            self.rules.are_together(
                {column}.union(*(self.offered[split] for split in path))
            )
            for path in self.paths
            if place in path
        )


def random_columns(
    rules: ColumnRules, depth: int, random: np.random.RandomState
) -> np.ndarray:
    """Draw which features the splits of a complete tree may choose from, bool (S, F).

    One group for the whole tree, and of its columns as many as the tree may have.
    """
    group = rules.groups[random.randint(len(rules.groups))]
    columns = random.permutation(np.flatnonzero(group))[: rules.max_columns]
    inside = np.isin(rules.column, columns)
    by_level = [inside & rules.may_test(level, ()) for level in range(depth)]
    return np.repeat(by_level, 2 ** np.arange(depth), axis=0)
