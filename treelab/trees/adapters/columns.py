"""The columns of another program's boosted trees, as features that its trees share."""

import numpy as np

from treelab.trees.feature import Feature


class Columns:
    """Features by column, and by set of categories where a split parts those.

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

    def index(self, column: int, right: frozenset[int] | None = None) -> int:
        """Return the feature that a split tests; a set of categories is one of its own.

        ``right`` are the codes that go right, None where the split tests a number. A
        category's score is 0 where it goes left and 1 where it goes right.
        """
        if right is None:
            return column
        if (column, right) not in self._sets:
            known, unseen = self.categories.get(column), np.nan
            if known is None:  # a code of no set goes left, however large
                known = [str(code) for code in range(max(right, default=0) + 1)]
                unseen = 0.0
            scores = tuple(float(code in right) for code in range(len(known)))
            name = self.names[column]
            self._sets[column, right] = len(self.features)
            self.features.append(
                Feature(name, "category", "", np.nan, known, scores, unseen)
            )
        return self._sets[column, right]
