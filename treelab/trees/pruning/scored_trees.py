"""ScoredTrees: several trees of one problem, each with its scores, one chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
import pandas as pd

from treelab.trees.io import Stored
from treelab.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class ScoredTrees(Stored):
    """Trees that predict one target from one table, each with its scores.

    Parameters
    ----------
    trees : tuple of Tree
    scores : DataFrame
        A row a tree, with ``columns`` among its columns.
    chosen : int
        Which tree is the run's own.

    Raises
    ------
    ValueError
        If the parts do not fit each other.
    """

    columns: ClassVar[tuple[str, ...]] = ()
    noun: ClassVar[str] = "A set of trees"

    trees: tuple[Tree, ...]
    scores: pd.DataFrame
    chosen: int

    def __post_init__(self):
        object.__setattr__(self, "trees", tuple(self.trees))
        if not self.trees or len(self.scores) != len(self.trees):
            raise ValueError(
                f"{self.noun} needs one row of scores for each tree, got "
                f"{len(self.scores)} rows for {len(self.trees)} trees."
            )
        missing = [name for name in self.columns if name not in self.scores]
        if missing:
            raise ValueError(f"scores lacks the columns {', '.join(missing)}.")
        if not 0 <= self.chosen < len(self.trees):
            raise ValueError(
                f"chosen must be from 0 to {len(self.trees) - 1}, got {self.chosen}."
            )

    def __len__(self):
        return len(self.trees)

    @property
    def tree(self) -> Tree:
        """The chosen tree."""
        return self.trees[self.chosen]

    def with_target(self, target: str, **facts) -> Self:
        """Return the same with the name and other facts of what the trees predict."""
        trees = (replace(tree, target=target, **facts) for tree in self.trees)
        return replace(self, trees=tuple(trees))

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        trees, arrays = _pack(self.trees)
        settings = {"trees": trees, "scores": self.scores, "chosen": int(self.chosen)}
        return settings, arrays

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> Self:
        """Rebuild what ``pack`` took apart."""
        trees = _unpack(settings["trees"], arrays)
        more = {own.name: settings[own.name] for own in fields(cls)[1:]}
        return cls(trees=tuple(trees), **more)


def _pack(trees: Sequence[Tree]) -> tuple[list[dict], dict[str, np.ndarray]]:
    """Take several trees apart, as ``Stored.pack`` does one.

    Features that a tree shares with the first are stored there alone: they may be
    thousands.
    """
    settings: list[dict] = []
    arrays: dict[str, np.ndarray] = {}
    for i, tree in enumerate(trees):
        own, parts = tree.pack()
        if i and tree.features == trees[0].features:
            del own["features"]
        settings.append(own)
        arrays |= {f"{i}.{name}": part for name, part in parts.items()}
    return settings, arrays


def _unpack(settings: list[dict], arrays: dict[str, np.ndarray]) -> list[Tree]:
    """Rebuild the trees that ``_pack`` took apart."""
    parts: list[dict] = [{} for _ in settings]
    for name, array in arrays.items():
        i, _, part = name.partition(".")
        parts[int(i)][part] = array
    trees: list[Tree] = []
    for own, named in zip(settings, parts):
        if trees and "features" not in own:
            own = {**own, "features": trees[0].features}
        trees.append(Tree.unpack(own, named))
    return trees
