"""Score by size over several data splits: the mean, and how sure it is."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from treelab.evaluation.frontier import FrontierLine

FEWEST = 2  # data splits for a standard error


def split_band(lines: Sequence[FrontierLine], column: str) -> pd.DataFrame:
    """Average the scores of one learner's trees by size over data splits.

    At each number of leaves a split counts with its largest tree of at most so many.

    Parameters
    ----------
    lines : sequence of FrontierLine
        Of the same learner and settings, one a data split.
    column : {"held_out", "test"}
        Which score.

    Returns
    -------
    DataFrame
        A row wherever a mean may change, ascending: ``leaves``, ``mean`` and
        ``standard_error`` of the mean. It begins where each split has a tree. No row
        with fewer than two splits that have scores.
    """
    tables = [line.table[line.table[column].notna()] for line in lines]
    tables = [table for table in tables if len(table)]
    if len(tables) < FEWEST:
        return pd.DataFrame(columns=["leaves", "mean", "standard_error"], dtype=float)
    sizes = [table["leaves"].to_numpy() for table in tables]
    leaves = np.unique(np.concatenate(sizes))
    leaves = leaves[leaves >= max(own[0] for own in sizes)]
    scores = np.stack(
        [
            table[column].to_numpy()[np.searchsorted(own, leaves, side="right") - 1]
            for table, own in zip(tables, sizes)
        ]
    )  # (n_splits, n_leaves)
    error = scores.std(0, ddof=1) / np.sqrt(len(scores))
    return pd.DataFrame(
        {"leaves": leaves, "mean": scores.mean(0), "standard_error": error}
    )


def mean_over_splits(scores: Sequence[float]) -> tuple[float, float]:
    """Return the mean of one score a data split, and its standard error.

    The error is NaN of fewer than two.
    """
    found = np.asarray(scores, float)
    if len(found) < FEWEST:
        return float(found.mean()), np.nan
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))
