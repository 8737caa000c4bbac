"""RashomonSet: different trees of one problem, each with a score of its own."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from treelab.trees.pruning import ScoredTrees
from treelab.trees.words import counted, shortest, significant

COLUMNS = ("score", "standard_error", "alike")


@dataclass(frozen=True)
class Completeness:
    """Of which trees a set leaves none out."""

    depth: int  # most splits on a path
    n_thresholds: int  # most candidate thresholds of a column
    n_cutpoints: int  # candidate thresholds of all columns
    n_trees: float  # trees there are over them
    above: float  # every one that scores more on the training rows is in the set
    by_costs: bool = False  # whether the score is what a tree saves of errors' costs

    def sentences(self, least: float, best: float, within: str = "") -> str:
        """Say of which trees none is left out, in Markdown.

        ``least`` is the lowest score that is asked for, ``best`` the highest that there
        is, and ``within`` what limits the trees beside depth and thresholds.
        """
        over = (
            f"tree of depth {self.depth} over the "
            f"{counted(self.n_cutpoints, 'threshold')} (at most {self.n_thresholds} of "
            f"a column){within}"
        )
        n_trees = significant(self.n_trees)
        if self.n_trees < 1e6:
            n_trees = f"{self.n_trees:,.0f}"
        looked = f"{n_trees} trees were looked at."
        if least > self.above:
            return f"**Complete:** no other {over} scores as well; {looked}"
        return (
            f"**Complete within {significant(best - self.above)} of the best:** no "
            f"other {over} scores more than {significant(self.above)}; below, there "
            f"are too many to list. {looked}"
        )


@dataclass(frozen=True, eq=False)
class RashomonSet(ScoredTrees):
    """Different trees that predict one target from one table, the best first.

    Source of the name: Breiman, "Statistical modeling: the two cultures", Statistical
    Science 16(3), 2001; of the set: Semenova, Rudin and Parr, "On the existence of
    simpler machine learning models", FAccT 2022, arXiv:1908.01755.

    No two trees are the same: they have another structure, or send some training row to
    another leaf. Of ``scores``, ``score`` is macro F1 or R² (leaf values refitted
    without the rows that are scored; of a complete set on the training rows
    themselves), ``standard_error`` that of it, and trees of one number ``alike``
    predict every training row alike. ValueError if the parts do not fit each other.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    noun: ClassVar[str] = "A Rashomon set"

    n_candidates: int  # trees that were looked at, the same ones counted once
    complete: Completeness | None = None  # where all trees of a depth were looked at

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

    def finding(self, tolerance: float, metric: str) -> str:
        """Say how many other trees are within a tolerance of the run's own.

        ``metric`` is what the score is called.
        """
        n_others, far = len(self.within(tolerance)) - 1, shortest(tolerance)
        if not n_others:
            return f"No other tree scores within {far} of this run's"
        verb = "scores" if n_others == 1 else "score"
        return (
            f"{counted(n_others, 'other tree')} {verb} at most {far} below this run's "
            f"tree ({significant(self.score[self.chosen])} {metric})"
        )

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> Self:
        """Rebuild what ``pack`` took apart."""
        known = settings.get("complete")  # sets that were stored before have none
        complete = None if known is None else Completeness(**known)
        return super().unpack(settings | {"complete": complete}, arrays)
