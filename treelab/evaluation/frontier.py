"""The frontier of score against size: what the best tree of each size reaches."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.evaluation.knee import judged_by

HELD_OUT, TEST = "held_out", "test"


@dataclass(frozen=True, eq=False)
class FrontierLine:
    """One run's trees by size.

    Attributes
    ----------
    table : DataFrame
        A row a tree, ascending in leaves: ``leaves``; ``held_out``, its score on rows
        that were held out of training, and ``standard_error`` of it (NaN where
        unknown); ``test``, its score on the test rows; ``step``, its row in the
        table that it was made from.
    chosen : int or None
        Row of the tree that the run retained.
    """

    table: pd.DataFrame
    chosen: int | None

    def best(self, column: str, n_leaves: int) -> float:
        """Return the best score with at most so many leaves; NaN without a tree."""
        small = self.table[self.table["leaves"] <= n_leaves][column].dropna()
        return float(small.max()) if len(small) else np.nan

    def place_for(self, n_leaves: int) -> int | None:
        """Return the row of the tree that the scores on held-out rows choose.

        Parameters
        ----------
        n_leaves : int
            At most so many.

        Returns
        -------
        int or None
            Where no score on held-out rows is known the largest tree, never the one
            that is best on the test rows; None without a tree.
        """
        small = self.table[self.table["leaves"] <= n_leaves]
        if small.empty:
            return None
        held_out = small["held_out"].to_numpy(float)
        known = np.isfinite(held_out).any()
        return int(np.nanargmax(held_out)) if known else len(small) - 1

    def leaves_for(self, column: str, score: float) -> int | None:
        """Return the fewest leaves that reach a score, None where none do."""
        enough = self.table[self.table[column] >= score]["leaves"]
        return int(enough.min()) if len(enough) else None


@dataclass(frozen=True)
class FrontierFinding:
    """How two lines compare at one number of leaves.

    Attributes
    ----------
    n_leaves : int
        At most so many.
    first, second : float
        Best scores of the two.
    first_is_better : bool
    n_leaves_needed : int or None
        Fewest leaves with which the worse one reaches the better one's score.
    """

    n_leaves: int
    first: float
    second: float
    first_is_better: bool
    n_leaves_needed: int | None


def frontier_line(steps: pd.DataFrame, chosen: int | None) -> FrontierLine:
    """Read a line from a table of pruning steps.

    Parameters
    ----------
    steps : DataFrame
        As ``pruning_table`` makes it; of equally large trees the one with the higher
        score on held-out rows remains, and always the chosen one.
    chosen : int or None
        Row of the tree that the run retained.
    """
    column = judged_by(steps)
    held_out = steps.get(column, pd.Series(np.nan, steps.index))
    table = pd.DataFrame(
        {
            "leaves": steps["leaves"],
            "held_out": -held_out if column == "valid_loss" else held_out,
            "standard_error": steps.get("standard_error", np.nan),
            "test": steps.get("test_score", np.nan),
            "step": np.arange(len(steps)),
        }
    )
    score = table["held_out"].fillna(table["test"]).fillna(-np.inf)
    rank = score.to_numpy(float, copy=True)
    if chosen is not None:
        rank[chosen] = np.inf
    table, rank = _without_stump(table, rank)
    order = np.lexsort((-rank, table["leaves"]))
    table = table.iloc[order].drop_duplicates("leaves").reset_index(drop=True)
    place = None
    if chosen is not None:
        place = int(np.flatnonzero(table["step"] == chosen)[0])
    return FrontierLine(table, place)


def _without_stump(table: pd.DataFrame, rank: np.ndarray):
    """Leave out a tree of one leaf, which says nothing, unless it is the only one."""
    splits = (table["leaves"] > 1).to_numpy()
    if not splits.any():
        return table, rank
    keep = splits | np.isposinf(rank)
    return table[keep], rank[keep]


def compare_lines(
    first: FrontierLine, second: FrontierLine, column: str, n_leaves: int
) -> FrontierFinding | None:
    """Compare the best trees of two runs with at most so many leaves.

    Returns
    -------
    FrontierFinding or None
        None where one of them has no score there.
    """
    one, other = first.best(column, n_leaves), second.best(column, n_leaves)
    if np.isnan(one) or np.isnan(other):
        return None
    worse = second if one >= other else first
    return FrontierFinding(
        n_leaves,
        one,
        other,
        one >= other,
        worse.leaves_for(column, max(one, other)),
    )
