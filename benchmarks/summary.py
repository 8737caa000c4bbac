"""Means of results: by table, by contender, and of one contender less the others."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks.contenders import HEAVIEST, SIZES
from benchmarks.tables import BenchTable

# Of each paper, the figures of ``BenchTable.reference`` that stand beside ours.
PAPER_FIGURES = {
    "gradtree": ("gradtree", "cart"),
    "grande": ("grande_default", "xgb_default", "catboost_default"),
    "get": ("get", "get_linear", "cart", "rf"),
}
ORIGIN = ("trained", "equals start", "changed")
DECIDERS = ("trees", "top weight", "trees for 90%")


def by_table(
    results: pd.DataFrame, tables: Sequence[BenchTable], paper: str | None
) -> pd.DataFrame:
    """Return mean scores, leaves and seconds beside the paper's own figures.

    Parameters
    ----------
    results : DataFrame
        See ``Results.frame``.
    tables : sequence of BenchTable
    paper : str or None
        A key of ``PAPER_FIGURES``.

    Returns
    -------
    DataFrame
        A row a table, the last one their mean; columns by contender.
    """
    frame = _of_tables(results, tables)
    pieces = []
    for column, name in ((_score(frame), ""), ("leaves", " leaves"), ("seconds", " s")):
        wide = frame.pivot_table(column, "table", "contender", "mean")
        pieces.append(wide.dropna(axis=1, how="all").add_suffix(name))
    wide = pd.concat(pieces, axis=1)
    for key in PAPER_FIGURES.get(paper or "", ()):
        figures = {t.name: t.reference.get(key) for t in tables}
        wide[f"{key} (paper)"] = pd.Series(figures, dtype=float)
    order = [t.name for t in tables if t.name in wide.index]
    wide = wide.loc[order]
    wide.loc["mean"] = wide.mean()
    return wide


def by_contender(results: pd.DataFrame, tables: Sequence[BenchTable]) -> pd.DataFrame:
    """Return each contender's mean over tables of what was measured.

    Returns
    -------
    DataFrame
        A row a contender: scores and their standard errors, of the whole and at each of
        ``SIZES``, of an ensemble by its heaviest trees alone; leaves, seconds, tables,
        the origin of what was retained, and how few trees decide.
    """
    frame = _of_tables(results, tables)
    score = _score(frame)
    at_sizes = [f"{score} at {n}" for n in SIZES]
    wanted = [score, *at_sizes, f"{score} by {HEAVIEST}"]
    rows = {}
    for contender, own in frame.groupby("contender", sort=False):
        row = {}
        for column in (c for c in wanted if c in own):
            row[column], row[f"{column} se"] = mean_and_error(own, column)
        for column in ("leaves", *ORIGIN, *DECIDERS, "seconds"):
            if column in own:
                row[column] = own.groupby("table")[column].mean().mean()
        rows[contender] = row | {"tables": own["table"].nunique()}
    return pd.DataFrame.from_dict(rows, orient="index").dropna(axis=1, how="all")


def differences(
    results: pd.DataFrame, tables: Sequence[BenchTable], first: str
) -> pd.DataFrame:
    """Return the mean over tables of one contender's score less each other's.

    Parameters
    ----------
    results : DataFrame
        See ``Results.frame``.
    tables : sequence of BenchTable
    first : str
        The contender that the others are taken from.

    Returns
    -------
    DataFrame
        A row a contender; differences and standard errors of the whole and at each of
        ``SIZES``, over the splits on which both were measured.
    """
    frame = _of_tables(results, tables)
    score = _score(frame)
    wanted = [c for c in (score, *(f"{score} at {n}" for n in SIZES)) if c in frame]
    keyed = frame.set_index(["table", "trial", "contender"])[wanted].unstack()
    rows: dict[str, dict] = {}
    for column in wanted:
        wide = keyed[column]
        for other in (name for name in wide.columns if name != first):
            if first not in wide:
                continue
            less = (wide[first] - wide[other]).rename(column).reset_index().dropna()
            row = rows.setdefault(other, {})
            row[column], row[f"{column} se"] = mean_and_error(less, column)
            if column == score:
                row["splits"] = len(less)
    return pd.DataFrame.from_dict(rows, orient="index").dropna(axis=1, how="all")


def mean_and_error(frame: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the mean over tables of the means over splits, and its standard error.

    The tables are taken as given: the error is that over splits, NaN where a table has
    one split only.
    """
    groups = frame.dropna(subset=[column]).groupby("table")[column]
    means = groups.mean()
    if means.empty:
        return np.nan, np.nan
    variance = (groups.var(ddof=1) / groups.count()).sum(skipna=False)
    return float(means.mean()), float(np.sqrt(variance) / len(means))


def _of_tables(results: pd.DataFrame, tables: Sequence[BenchTable]) -> pd.DataFrame:
    """Leave out results of other tables, and failures."""
    known = results["table"].isin([table.name for table in tables])
    return results[known & results["error"].isna()]


def _score(frame: pd.DataFrame) -> str:
    """Name the column of scores."""
    return "r2" if "r2" in frame else "macro_f1"
