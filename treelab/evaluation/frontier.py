"""Score against size: the runs that no other run beats in both."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.evaluation.paired_bootstrap import LEVEL, ScoreDifference
from treelab.trees.words import counted, signed, significant

# The knee of a pruning path: the smallest tree whose score is almost the best.


KNEE_TOLERANCE = 0.01  # how much validation score a smaller tree may cost
ROUNDING = 1e-12  # of scores


def knee(size, score, tolerance: float = KNEE_TOLERANCE) -> int:
    """Return the step of the smallest tree whose score is almost the best.

    Among equals in size it is the better, then the later. Of each tree: splits or
    leaves (n_steps,), and validation score, more is better; NaN is never chosen. The
    tolerance is how far below the best it may lie. ValueError if no score is a number.
    """
    size, score = np.asarray(size, dtype=float), np.asarray(score, dtype=float)
    if not np.isfinite(score).any():
        raise ValueError("A knee needs at least one score that is a number.")
    good = np.flatnonzero(score >= np.nanmax(score) - tolerance - ROUNDING)
    return int(min(good, key=lambda step: (size[step], -score[step], -step)))


def judged_by(table: pd.DataFrame) -> str:
    """Name the column of a pruning path by which its trees are judged."""
    names = ("held_out_score", "valid_score", "valid_loss")
    return next((name for name in names if name in table), names[-1])


def knee_of(table: pd.DataFrame) -> int:
    """Find the knee of a pruning path's table; of a loss, less is better."""
    sign = -1 if judged_by(table) == "valid_loss" else 1
    size = "leaves" if "leaves" in table else "active_splits"
    return knee(table[size], sign * table[judged_by(table)])


# The frontier of score against size: what the best tree of each size reaches.


HELD_OUT, TEST = "held_out", "test"


@dataclass(frozen=True, eq=False)
class FrontierLine:
    """One run's trees by size."""

    # A row a tree, ascending in leaves: ``leaves``; ``held_out``, its score on rows
    # that were held out of training, and ``standard_error`` of it (NaN where unknown);
    # ``test``, its score on the test rows; ``step``, its row in the table that it was
    # made from.
    table: pd.DataFrame
    chosen: int | None  # row of the tree that the run retained

    def score_within(self, column: str, n_leaves: int) -> float:
        """Return a score of the tree that ``place_for`` names; NaN without one."""
        place = self.place_for(n_leaves)
        return np.nan if place is None else float(self.table[column].iloc[place])

    def place_for(self, n_leaves: int) -> int | None:
        """Return the row of the tree that the scores on held-out rows choose.

        Of those with at most so many leaves; None without any. Where no score on
        held-out rows is known the largest tree, never the one that is best on the test
        rows.
        """
        small = self.table[self.table["leaves"] <= n_leaves]
        if small.empty:
            return None
        held_out = small["held_out"].to_numpy(float)
        known = np.isfinite(held_out).any()
        return int(np.nanargmax(held_out)) if known else len(small) - 1

    def leaves_for(self, column: str, score: float) -> int | None:
        """Return the fewest leaves that reach a score, up to rounding; None if none."""
        enough = self.table[self.table[column] >= score - ROUNDING]["leaves"]
        return int(enough.min()) if len(enough) else None


def frontier_line(steps: pd.DataFrame, chosen: int | None) -> FrontierLine:
    """Read a line from a table of pruning steps, as ``pruning_steps`` makes it.

    Of equally large trees the one with the higher score on held-out rows remains, and
    always the ``chosen`` one, the row of the tree that the run retained.
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
    rank = table["held_out"].fillna(-np.inf).to_numpy(float, copy=True)
    if chosen is not None:
        rank[chosen] = np.inf
    splits = (table["leaves"] > 1).to_numpy()
    if splits.any():  # a tree of one leaf says nothing
        keep = splits | np.isposinf(rank)
        table, rank = table[keep], rank[keep]
    order = np.lexsort((-rank, table["leaves"]))
    table = table.iloc[order].drop_duplicates("leaves").reset_index(drop=True)
    place = None
    if chosen is not None:
        place = int(np.flatnonzero(table["step"] == chosen)[0])
    return FrontierLine(table, place)


def size_words(
    best: ScoreDifference,
    lines: tuple[FrontierLine, FrontierLine],
    names: tuple[str, str],
    leaves: int,
) -> str:
    """Say on the test rows what two models reach with at most so many leaves.

    ``best`` is the difference of their trees of that size; lines and names are of both.
    """
    low, high = signed(best.low, 2), signed(best.high, 2)
    words = f"With at most {counted(leaves, 'leaf', 'leaves')}: "
    if best.same:
        words += f"{names[1]} and {names[0]} predict the same, "
        return f"{words}{significant(best.second)}, {counted(best.n_rows, 'test row')}."
    words += (
        f"{names[1]} {significant(best.second)}, {names[0]} {significant(best.first)}; "
        f"{names[1]} − {names[0]}: {low} to {high} ({LEVEL:.0%} CI), "
        f"{counted(best.n_rows, 'test row')}."
    )
    if best.winner is None:
        return f"{words} No clear difference."
    line, name = lines[1 - best.winner], names[1 - best.winner]
    needed = line.leaves_for(TEST, max(best.first, best.second))
    if needed is None:
        return f"{words} No {name} tree reaches that score."
    size = counted(needed, "leaf", "leaves")
    return f"{words} {name} reaches that score on these rows with {size}, no fewer."
