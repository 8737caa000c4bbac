"""ColumnRules: constraints in the encoded columns that a learner trains on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treelab.trees.constraints import OTHER, SIGNS, Constraints, output_of
from treelab.trees.feature import Feature


@dataclass(frozen=True)
class ColumnRules:
    """What constraints say of each encoded column, or feature.

    Attributes
    ----------
    column : int array of shape (F,)
        Place of the user's column that each feature is read from.
    sign : int array of shape (F,)
        1 where the prediction must go up with it, -1 down, else 0.
    cost : float array of shape (F,)
        Fraction of the root's impurity that its column costs.
    output : int
        Which of the predicted values has the order.
    groups : bool array of shape (n_groups, n_columns)
        Columns that may stand on one path.
    by_level : dict of int to bool array of shape (n_columns,)
        Columns that a split of a level may test; -1 for the other levels.
    max_columns : int
    min_samples_leaf : int
    """

    column: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    output: int
    groups: np.ndarray
    by_level: dict[int, np.ndarray]
    max_columns: int
    min_samples_leaf: int

    @classmethod
    def of(
        cls,
        constraints: Constraints,
        features: Sequence[Feature],
        classes: tuple | None,
    ) -> "ColumnRules":
        """Read constraints in the order of an encoder's features."""
        own = [feature.column for feature in features]
        columns = [*dict.fromkeys(own)]
        signs = {name: SIGNS[way] for name, way in constraints.monotone.items()}
        levels = {int(k): int(k) for k in constraints.allowed if k != OTHER}
        levels[-1] = max(levels, default=0) + 1  # a level that is not named
        return cls(
            column=np.array([columns.index(name) for name in own]),
            sign=np.array([signs.get(name, 0) for name in own]),
            cost=np.array([constraints.column_costs.get(name, 0.0) for name in own]),
            output=output_of(classes, constraints),
            groups=np.array(
                [
                    [name in group for name in columns]
                    for group in constraints.group_of(columns)
                ]
            ),
            by_level={
                key: np.isin(columns, [*constraints.allowed_at(level, columns)])
                for key, level in levels.items()
            },
            max_columns=constraints.max_columns or len(columns),
            min_samples_leaf=constraints.min_samples_leaf,
        )

    def may_test(self, level: int, path: Iterable[int]) -> np.ndarray:
        """Return features that a split may test, bool (F,).

        Parameters
        ----------
        level : int
        path : iterable of int
            Places of the columns that the splits above it test, or may come to test.
        """
        allowed = self.by_level.get(level, self.by_level[-1])
        fitting = self.groups[self.groups[:, [*path]].all(axis=1)]
        return (allowed & fitting.any(axis=0))[self.column]

    def are_together(self, path: Iterable[int]) -> bool:
        """Whether columns, by their places, may stand on one path."""
        return bool(self.groups[:, [*path]].all(axis=1).any())
