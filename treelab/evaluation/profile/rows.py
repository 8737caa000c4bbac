"""The rows of a table: what is missing, what is there twice, what contradicts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.problem import Problem


@dataclass(frozen=True)
class RowFacts:
    """What is known of a table's rows; all of them are counted.

    Attributes
    ----------
    n_rows, n_complete : int
        Rows, and those without a missing value.
    missing_share : float
        Of all cells.
    n_repeated : int
        Rows that repeat an earlier row in every column.
    n_contradicting : int
        Rows with a target that are alike in every column to predict from, but not in
        the target, so that no model predicts all of them; their missing values are
        alike, too.
    """

    n_rows: int
    n_complete: int
    missing_share: float
    n_repeated: int
    n_contradicting: int


def row_facts(frame: pd.DataFrame, problem: Problem) -> RowFacts:
    """Count a table's rows, its missing cells, repeated and contradicting rows."""
    n_rows, n_columns = frame.shape
    gaps = np.zeros(n_rows, dtype=np.int64)
    for _, column in frame.items():
        gaps += column.isna().to_numpy()
    codes = {str(name): _hashes(column) for name, column in frame.items()}
    features = _joined([codes[name] for name in problem.columns if name in codes])
    target = codes[problem.target]
    known = frame[problem.target].notna().to_numpy()
    both = pd.DataFrame({"features": features[known], "target": target[known]})
    both = both.drop_duplicates()
    several = both["features"][both["features"].duplicated(keep=False)]
    return RowFacts(
        n_rows,
        int((gaps == 0).sum()),
        float(gaps.sum() / max(n_rows * n_columns, 1)),
        int(pd.Series(_joined(list(codes.values()))).duplicated().sum()),
        int(np.isin(features[known], several.unique()).sum()),
    )


def missing_by_column(frame: pd.DataFrame, problem: Problem) -> pd.DataFrame:
    """Return the columns with missing values, most of them first.

    Returns
    -------
    DataFrame
        ``column``; ``missing``, the fraction of all rows; ``lowest`` and ``highest``,
        the fraction among the rows of two classes between which it differs most, and
        ``lowest_in`` and ``highest_in``, which they are. NaN and "" for a regression
        and for the target itself.
    """
    target = frame[problem.target]
    classes = None
    if problem.task != "regression":
        classes = target.astype(object).where(target.notna(), None).map(str)
        classes = classes[target.notna()]
    found = []
    for name, column in frame.items():
        gaps = column.isna()
        if not gaps.any():
            continue
        row = {"column": str(name), "missing": float(gaps.mean())}
        row |= {"lowest": np.nan, "highest": np.nan, "lowest_in": "", "highest_in": ""}
        if classes is not None and str(name) != problem.target and len(classes):
            shares = gaps[classes.index].groupby(classes).mean()
            low, high = shares.idxmin(), shares.idxmax()
            row |= {"lowest": shares.min(), "highest": shares.max()}
            row |= {"lowest_in": low, "highest_in": high}
        found.append(row)
    columns = ["column", "missing", "lowest", "highest", "lowest_in", "highest_in"]
    table = pd.DataFrame(found, columns=columns)
    return table.sort_values(
        "missing", ascending=False, kind="stable", ignore_index=True
    )


def _hashes(column: pd.Series) -> np.ndarray:
    """Return a 64-bit hash of each cell, uint64 (n_rows,)."""
    return pd.util.hash_pandas_object(column, index=False).to_numpy()


def _joined(columns: list[np.ndarray]) -> np.ndarray:
    """Return one hash of several cells of each row, uint64 (n_rows,)."""
    joined = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    for hashes in columns:  # the order of the columns counts
        joined = joined * np.uint64(0x9E3779B97F4A7C15) + hashes
    return joined
