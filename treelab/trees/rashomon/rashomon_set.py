"""RashomonSet: different trees of one problem, each with a score of its own."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treelab.trees.pruning.scored_trees import ScoredTrees

COLUMNS = ("score", "standard_error", "alike")


@dataclass(frozen=True, eq=False)
class RashomonSet(ScoredTrees):
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

    Raises
    ------
    ValueError
        If the parts do not fit each other.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    noun: ClassVar[str] = "A Rashomon set"

    n_candidates: int

    def __repr__(self):
        return f"RashomonSet({len(self)} trees, chosen={self.chosen})"

    @property
    def score(self) -> np.ndarray:
        """Score of each tree, (n_trees,)."""
        return self.scores["score"].to_numpy(dtype=float)

    def within(self, tolerance: float) -> np.ndarray:
        """Return the trees at most ``tolerance`` below the run's own, int (n,).

        Source: Fisher, Rudin and Dominici, "All models are wrong, but many are useful",
        JMLR 20(177), 2019: the set is held against a model that is in use.
        """
        score = self.score
        return np.flatnonzero(score >= score[self.chosen] - tolerance - 1e-12)

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        settings, arrays = super().pack()
        return settings | {"n_candidates": int(self.n_candidates)}, arrays
