"""How the values of one column are distributed, and the target among them."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.column_meaning import level_order
from treelab.data.columns import column_kind
from treelab.data.problem import Problem
from treelab.trees.text.numerals import shortest

MOST_BINS = 24
MOST_LEVELS = 12  # of a category, with the rest as one
ENOUGH = 0.02  # of the rows, for a bin to be spoken of
MISSING, OTHERS = "missing", "others"


@dataclass(frozen=True, eq=False)
class Distribution:
    """The rows of a table in bins of one column.

    Attributes
    ----------
    labels : list of str
        Of the bins; the last may be "missing".
    counts : DataFrame of shape (n_bins, n_classes)
        Rows a bin and class, classes the most frequent first; of a regression one
        column, "rows".
    target_mean : float array of shape (n_bins,) or None
        Mean of a regression's target.
    """

    labels: list[str]
    counts: pd.DataFrame
    target_mean: np.ndarray | None

    def telling_bin(self) -> tuple[int, str, float, float]:
        """Return the bin that says most of the target, of those with enough rows.

        Returns
        -------
        place : int
        label : str
            The class that is much more frequent there; "" for a regression.
        here, overall : float
            The class's fraction of the rows, or the mean target.
        """
        counts = self.counts.to_numpy(np.float64)
        rows = counts.sum(axis=1)
        enough = rows >= ENOUGH * rows.sum()
        if self.target_mean is not None:
            overall = np.nansum(self.target_mean * rows) / rows.sum()
            apart = np.where(enough, np.abs(self.target_mean - overall), -1)
            place = int(np.nanargmax(apart))
            return place, "", float(self.target_mean[place]), float(overall)
        shares = counts / np.maximum(rows, 1)[:, None]
        base = counts.sum(axis=0) / rows.sum()
        more = np.where(enough[:, None], shares - base, -1)
        place, k = divmod(int(np.argmax(more)), more.shape[1])
        label = str(self.counts.columns[k])
        return place, label, float(shares[place, k]), float(base[k])


def distribution(
    column: pd.Series, target: pd.Series, problem: Problem
) -> Distribution:
    """Count the rows of a table in bins of one column, by class of the target.

    Numbers fall into at most 24 bins of equal width between their 1st and 99th
    percentile, the tails into the outermost; whole numbers of few values have a bin
    each. Of categories the 11 most frequent have a bin each.

    Parameters
    ----------
    column, target : Series of shape (n_rows,)
        Rows without a target are left out.
    problem : Problem
    """
    known = target.notna().to_numpy()
    column, target = column[known], target[known]
    codes, labels = _bins(column)
    if problem.task == "regression":
        rows = np.bincount(codes, minlength=len(labels))
        total = np.bincount(codes, target.to_numpy(np.float64), minlength=len(labels))
        mean = np.divide(total, rows, out=np.full(len(rows), np.nan), where=rows > 0)
        return Distribution(labels, pd.DataFrame({"rows": rows}), mean)
    classes, names = pd.factorize(target)
    order = np.argsort(-np.bincount(classes, minlength=len(names)), kind="stable")
    flat = codes * len(names) + classes
    counts = np.bincount(flat, minlength=len(labels) * len(names))
    counts = counts.reshape(len(labels), len(names))[:, order]
    return Distribution(labels, pd.DataFrame(counts, columns=names[order]), None)


def _bins(column: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return each row's bin, int64 (n_rows,), and the bins' labels."""
    gaps = column.isna().to_numpy()
    is_number = column_kind(column) == "number"
    codes, labels = (_number_bins if is_number else _level_bins)(column[~gaps])
    if not gaps.any():
        return codes, labels
    placed = np.full(len(column), len(labels))
    placed[~gaps] = codes
    return placed, [*labels, MISSING]


def _number_bins(known: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return the bins of numbers."""
    values = known.to_numpy(np.float64)
    if not len(values):
        return np.zeros(0, dtype=np.int64), []
    low, high = np.percentile(values, [1, 99])
    if low == high:
        low, high = values.min(), values.max()
    whole = bool((values == np.round(values)).all())
    if whole and high - low < MOST_BINS:
        codes = np.clip(values, low, high) - np.ceil(low)
        n_bins = int(np.floor(high) - np.ceil(low)) + 1
        labels = [shortest(np.ceil(low) + i) for i in range(n_bins)]
        if values.min() < np.ceil(low):
            labels[0] = f"≤ {labels[0]}"
        if values.max() > np.floor(high):
            labels[-1] = f"≥ {labels[-1]}"
        return np.clip(np.floor(codes), 0, n_bins - 1).astype(np.int64), labels
    edges = np.linspace(low, high, MOST_BINS + 1)
    codes = np.clip(np.searchsorted(edges, values, "right") - 1, 0, MOST_BINS - 1)
    names = [shortest(edge, digits=3) for edge in edges]
    labels = [f"{a} to {b}" for a, b in itertools.pairwise(names)]
    labels[0], labels[-1] = f"≤ {names[1]}", f"> {names[-2]}"
    return codes, labels


def _level_bins(known: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return the bins of categories: in their own order, else by frequency."""
    texts = known.map(str)
    names = texts.value_counts().index.tolist()
    if len(names) > MOST_LEVELS:
        names = names[: MOST_LEVELS - 1]
    else:
        names = level_order(names) or names
    codes = pd.Index(names).get_indexer(pd.Index(texts))
    if (codes >= 0).all():
        return codes.astype(np.int64), names
    return np.where(codes < 0, len(names), codes).astype(np.int64), [*names, OTHERS]
