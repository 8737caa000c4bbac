"""RashomonSet: different trees of one problem, each with a score of its own."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from treelab.trees.io import Stored
from treelab.trees.pruning.size_path import pack_trees, unpack_trees
from treelab.trees.tree import Tree

COLUMNS = ("score", "standard_error", "alike")


@dataclass(frozen=True, eq=False)
class RashomonSet(Stored):
    """Different trees that predict one target from one table, the best first.

    Source of the name: Breiman, "Statistical modeling: the two cultures", Statistical
    Science 16(3), 2001; of the set: Semenova, Rudin and Parr, "On the existence of
    simpler machine learning models", FAccT 2022, arXiv:1908.01755.

    Parameters
    ----------
    trees : tuple of Tree
        No two are the same: they have another structure, or send some training row to
        another leaf.
    scores : DataFrame
        A row a tree: ``score`` (macro F1 or R², leaf values refitted without the rows
        that are scored), ``standard_error`` of it, and ``alike``: trees of one number
        predict every training row alike.
    chosen : int
        Which tree is the run's own.
    n_candidates : int
        Trees that were looked at, the same ones counted once.
    complete : str, default=""
        Where no tree of a kind is left out: of which kind.

    Raises
    ------
    ValueError
        If the parts do not fit each other.
    """

    trees: tuple[Tree, ...]
    scores: pd.DataFrame
    chosen: int
    n_candidates: int
    complete: str = ""

    def __post_init__(self):
        object.__setattr__(self, "trees", tuple(self.trees))
        if not self.trees or len(self.scores) != len(self.trees):
            raise ValueError(
                f"A Rashomon set needs one row of scores for each tree, got "
                f"{len(self.scores)} rows for {len(self.trees)} trees."
            )
        missing = [name for name in COLUMNS if name not in self.scores]
        if missing:
            raise ValueError(f"scores lacks the columns {', '.join(missing)}.")
        if not 0 <= self.chosen < len(self.trees):
            raise ValueError(
                f"chosen must be from 0 to {len(self.trees) - 1}, got {self.chosen}."
            )

    def __len__(self):
        return len(self.trees)

    def __repr__(self):
        return f"RashomonSet({len(self)} trees, chosen={self.chosen})"

    @property
    def score(self) -> np.ndarray:
        """Score of each tree, (n_trees,)."""
        return self.scores["score"].to_numpy(dtype=float)

    @property
    def tree(self) -> Tree:
        """The run's own tree."""
        return self.trees[self.chosen]

    def within(self, tolerance: float) -> np.ndarray:
        """Return the trees at most ``tolerance`` below the run's own, int (n,).

        Source: Fisher, Rudin and Dominici, "All models are wrong, but many are useful",
        JMLR 20(177), 2019: the set is held against a model that is in use.
        """
        score = self.score
        return np.flatnonzero(score >= score[self.chosen] - tolerance - 1e-12)

    def with_target(self, target: str, target_unit: str = "") -> "RashomonSet":
        """Return the set with the name and unit of what its trees predict."""
        trees = tuple(
            replace(tree, target=target, target_unit=target_unit) for tree in self.trees
        )
        return replace(self, trees=trees)

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        settings, arrays = pack_trees(self.trees)
        own = {
            "trees": settings,
            "scores": self.scores,
            "chosen": int(self.chosen),
            "n_candidates": int(self.n_candidates),
            "complete": self.complete,
        }
        return own, arrays

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> "RashomonSet":
        """Rebuild the set that ``pack`` took apart."""
        return cls(
            tuple(unpack_trees(settings["trees"], arrays)),
            settings["scores"],
            settings["chosen"],
            settings["n_candidates"],
            settings["complete"],
        )
