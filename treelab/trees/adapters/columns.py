"""The columns of another program's boosted trees, as features that its trees share."""

from collections.abc import Mapping, Sequence

import numpy as np

from treelab.trees.adapters.float32 import float32_range
from treelab.trees.feature import Feature

MOST_COLUMNS = 10_000  # as a table may have
MOST_SCORES = 2**23  # of the categories of all sets: 64 MB


class Columns:
    """Features by column, and by set of categories where a split tests those.

    Parameters
    ----------
    names : sequence of str
    units : mapping of str to str
        Unit of each column that has one.
    categories : mapping of int to sequence of str
        Names of the categories of each category column, in the order of their codes.
    missing : float, default=nan
        Number, or code of a category, that counts as missing once it is a float32.

    Attributes
    ----------
    features : list of Feature
        One a column, then those of the sets.
    """

    def __init__(
        self,
        names: Sequence[str],
        units: Mapping[str, str],
        categories: Mapping[int, Sequence[str] | None],
        missing: float = np.nan,
    ):
        self.names, self.categories, self.missing = names, categories, missing
        marked = None if np.isnan(missing) else float32_range(missing)
        self.features = [
            Feature(name, unit=units.get(name, ""), missing_range=marked)
            for name in names
        ]
        self._sets: dict[tuple[int, frozenset[int]], int] = {}
        self._n_scores = 0

    def index(self, column: int, right: frozenset[int] | None = None) -> int:
        """Return the feature that a split tests; a set of categories has its own.

        Parameters
        ----------
        column : int
        right : frozenset of int, default=None
            Codes that go right; their score is 1, that of the others 0. None where
            the split tests a number.

        Returns
        -------
        int
            Place in ``features``.

        Raises
        ------
        ValueError
            If the sets of all splits hold too many categories.
        """
        if right is None:
            return column
        if (column, right) not in self._sets:
            known, unseen = self.categories.get(column), np.nan
            n_known = max(right, default=0) + 1 if known is None else len(known)
            self._n_scores += n_known
            if self._n_scores > MOST_SCORES:
                raise ValueError(
                    f"The splits of this model list more than {MOST_SCORES:,} "
                    f"categories, of column {self.names[column]!r} {n_known:,}. Train "
                    "it on fewer categories."
                )
            if known is None:  # a code of no set goes left, however large
                known, unseen = [str(code) for code in range(n_known)], 0.0
            scores = [1.0 if code in right else 0.0 for code in range(n_known)]
            if self.missing in range(n_known):
                scores[int(self.missing)] = np.nan
            name = self.names[column]
            self._sets[column, right] = len(self.features)
            self.features.append(
                Feature(
                    name, "category", "", np.nan, tuple(known), tuple(scores), unseen
                )
            )
        return self._sets[column, right]
