"""Origin: how a model began, what gradient descent changed of it, and what came later.

Splits are compared in the user's units, so a model and its start are exported alike.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from treelab.data.encoding import spread
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import AXIS, OBLIQUE, Tree
from treelab.trees.words import counted

STARTS = {
    "random": "random splits",
    "greedy": "a greedy tree",
    "boosted": "boosted greedy trees",
    "forest": "a random forest's trees",
    "both": "a random forest's and boosted trees",
    "clusters": "clusters of the rows",
    "search": "an exhaustive search",
    "edited": "an edited tree",
}
_GROWN = {"search": "Found by", "edited": "Regrown greedily from"}
# A threshold, or a weight of an oblique split, has changed where it moved by more than
# this much of the column's spread, or of the split's largest weight.
TOLERANCE = 0.1

Model = TypeVar("Model", bound=Any)


@dataclass(frozen=True)
class Origin:
    """How a model came about.

    Attributes
    ----------
    start : str
        A key of ``STARTS``: what the model was before the first step.
    trained : bool
        Whether gradient descent moved it. A greedy tree is grown, not trained.
    n_splits : int
        Splits of the model.
    n_changed : int
        Those that test another feature than the start does at the same place, or
        another threshold; see ``changed_splits``.
    later : tuple of str
        Steps after training that moved the model, as "polish" or "pruning".
    held_out : str
        What was held out to select by, as "a fifth of the rows"; empty for nothing.
    """

    start: str
    trained: bool
    n_splits: int
    n_changed: int
    later: tuple[str, ...] = ()
    held_out: str = ""

    def __post_init__(self):
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {[*STARTS]}, got {self.start!r}.")
        if not 0 <= self.n_changed <= self.n_splits:
            raise ValueError(
                f"n_changed must be from 0 to n_splits={self.n_splits}, got "
                f"{self.n_changed}."
            )
        object.__setattr__(self, "later", tuple(self.later))

    @property
    def equals_start(self) -> bool:
        """Whether a trained model has the very splits that it began with."""
        return self.trained and self.n_changed == 0

    def __str__(self):
        return " ".join([self.headline, *self._details()])

    @property
    def headline(self) -> str:
        """One sentence: what it began as and what training changed."""
        start = STARTS[self.start]
        if not self.trained:
            how = _GROWN.get(self.start, "Grown as")
            return f"{how} {start}, not trained by gradient descent."
        if self.n_splits == 0:
            return f"Began as {start}; training left no split."
        of = f"of {counted(self.n_splits, 'split')}"
        if self.n_changed == 0:
            return f"Equals its start, {start}: training changed none {of}."
        return f"Began as {start}; training changed {self.n_changed:,} {of}."

    def _details(self) -> list[str]:
        """Sentences on later steps and on held-out rows."""
        since = "After training" if self.trained else "Since then"
        later = f"{since}: {' and '.join(self.later)}."
        held_out = f"Selected on {self.held_out}."
        return [later] * bool(self.later) + [held_out] * bool(self.held_out)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-safe values, for a run's summary."""
        return {**asdict(self), "later": [*self.later]}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Origin":
        """Rebuild what ``to_dict`` returned."""
        return cls(**stored)


def with_origin(model: Model, origin: Origin) -> Model:
    """Return a Tree or WeightedTrees whose first note is its origin."""
    return replace(model, notes=(str(origin), *model.notes))


def changed_splits(start: Tree, end: Tree, spread: np.ndarray) -> int:
    """Count splits of a tree that are not in the tree it began as, at the same place.

    A place is the way to it from the root, left or right at each split; both trees, of
    the same features, are simplified alike before. ``spread`` (n_features,) is that of
    each feature over the training rows, in its unit; see ``feature_spread``.
    """
    changed = 0
    waiting: list[tuple[int, int]] = [(0, 0)]  # node of end; of start, -1 for none
    while waiting:
        here, there = waiting.pop()
        if end.is_leaf[here]:
            continue
        if there >= 0 and start.is_leaf[there]:
            there = -1
        changed += there < 0 or not _same_split(start, there, end, here, spread)
        waiting += [
            (int(end.left[here]), int(start.left[there]) if there >= 0 else -1),
            (int(end.right[here]), int(start.right[there]) if there >= 0 else -1),
        ]
    return changed


def changed_splits_of_trees(
    start: WeightedTrees, end: WeightedTrees, spread: np.ndarray
) -> int:
    """Count splits of complete trees that differ from the start's at the same place.

    Those count that divide training rows, as far as the end knows its rows. Both have
    as many trees of one depth, of the same features; ``spread`` is that of
    ``changed_splits``.
    """
    equal = start.threshold == end.threshold  # infinite ones, too
    with np.errstate(invalid="ignore"):
        moved = np.abs(start.threshold - end.threshold)
    near = equal | (moved <= TOLERANCE * spread[end.feature])
    return int(((~near | (start.feature != end.feature)) & end.divides).sum())


def feature_spread(matrix: np.ndarray) -> np.ndarray:
    """Return the standard deviation (F,) of each column's known values, (n, F)."""
    return np.array([spread(column) for column in matrix.T])


def _same_split(
    start: Tree, there: int, end: Tree, here: int, spread: np.ndarray
) -> bool:
    """Whether two splits test the same, nearly at the same threshold."""
    if start.feature[there] != end.feature[here]:
        return False
    if end.feature[here] != OBLIQUE:
        assert end.feature[here] >= AXIS
        column = start.features[start.feature[there]].column
        is_moved = start.missing_left[there] != end.missing_left[here]
        if is_moved and column in start.missing_columns:
            return False
        if start.threshold[there] == end.threshold[here]:  # infinite ones, too
            return True
        moved = abs(start.threshold[there] - end.threshold[here])
        return bool(moved <= TOLERANCE * spread[end.feature[here]])
    before, after = _direction(start, there, spread), _direction(end, here, spread)
    return bool(np.abs(before - after).max() <= TOLERANCE)


def _direction(tree: Tree, node: int, spread: np.ndarray) -> np.ndarray:
    """Weights and threshold of an oblique split by spread, the largest weight 1."""
    assert tree.weights is not None
    scaled = tree.weights[node] * spread
    largest = np.abs(scaled).max()
    usual = np.nan_to_num([feature.fill for feature in tree.features])
    both = np.append(scaled, tree.threshold[node] - tree.weights[node] @ usual)
    return both / largest if largest > 0 else both
