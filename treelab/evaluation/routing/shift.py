"""Whether other rows fill the nodes of a tree as those do that it was fitted to."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control, hypergeom

from treelab.evaluation.routing.passes import rows_passing
from treelab.trees.tree import Tree

BY_CHANCE = 0.05  # false discoveries among the splits that are marked
LITTLE, LARGE = 0.1, 0.25  # the usual bounds of the PSI
_UNSEEN = 0.5  # added to each count, since an empty leaf has no logarithm


@dataclass(frozen=True)
class RoutingShift:
    """How other rows fill a tree's nodes.

    Attributes
    ----------
    splits : DataFrame indexed by node
        A row a split: ``rows`` and ``fitted_rows`` that reach it; ``holds`` and
        ``fitted_holds``, the fractions of them for which its condition holds (NaN of no
        row); ``p_value`` of a two-sided test that both fractions are one, adjusted for
        the number of splits; ``differs``, whether that is below ``BY_CHANCE``; ``psi``
        of its two sides (NaN where no row comes).
    psi : float
        Population stability index of the leaves.
    psi_by_chance : float
        What it would be on average were both drawn alike.
    """

    splits: pd.DataFrame
    psi: float
    psi_by_chance: float

    @property
    def n_differing(self) -> int:
        """Splits at which these rows part differently, by more than chance."""
        return int(self.splits["differs"].sum())

    @property
    def widest_split(self) -> int | None:
        """Of the splits that differ, that which sends most rows elsewhere."""
        found = self.splits[self.splits["differs"]]
        if found.empty:
            return None
        moved = found["rows"] * (found["holds"] - found["fitted_holds"]).abs()
        return int(found.index[int(moved.argmax())])


def routing_shift(tree: Tree, fitted: np.ndarray, rows: np.ndarray) -> RoutingShift:
    """Hold the rows at each split against those that the tree was fitted to.

    Of the rows that reach a split, the fractions for which its condition holds are
    compared by Fisher's exact test, twice the smaller tail. As each split is given the
    rows that reach it, a shift is found where it arises and not in all nodes below; the
    tests are independent, and adjusted together (Benjamini and Hochberg).

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    fitted, rows : int array of shape (n,)
        Rows that pass each node: those it was fitted to, and the others, which are
        not among them; at least one each.
    """
    split = np.flatnonzero(~tree.is_leaf)
    left, right = tree.left[split], tree.right[split]
    some = (rows[split] > 0) & (fitted[split] > 0)
    with np.errstate(invalid="ignore"):
        holds, fitted_holds = rows[left] / rows[split], fitted[left] / fitted[split]
    p_value = _two_sided(rows[left], rows[split], fitted[left], fitted[split])
    splits = pd.DataFrame(
        {
            "rows": rows[split],
            "fitted_rows": fitted[split],
            "holds": holds,
            "fitted_holds": fitted_holds,
            "p_value": false_discovery_control(p_value) if len(split) else p_value,
            "psi": [
                stability_index(fitted[[a, b]], rows[[a, b]]) if known else np.nan
                for a, b, known in zip(left, right, some)
            ],
        },
        index=pd.Index(split, name="node"),
    )
    splits["differs"] = splits["p_value"] < BY_CHANCE
    leaf = np.flatnonzero(tree.is_leaf)
    by_chance = (len(leaf) - 1) * (1 / rows[0] + 1 / fitted[0])
    return RoutingShift(splits, stability_index(fitted[leaf], rows[leaf]), by_chance)


def stability_index(expected: np.ndarray, actual: np.ndarray) -> float:
    """Measure how differently two sets of rows fill the same bins (PSI).

    The sum over bins of ``(q - p) * log(q / p)``, p and q their fractions; half a row
    is added to each bin. Below 0.1 it is usually called little, above 0.25 large.

    Parameters
    ----------
    expected, actual : int array of shape (n_bins,)
        Rows in each bin.
    """
    p, q = (
        (count + _UNSEEN) / (count.sum() + _UNSEEN * len(count))
        for count in (np.asarray(expected), np.asarray(actual))
    )
    return float(((q - p) * np.log(q / p)).sum())


def shift_by_month(tree: Tree, fitted: np.ndarray, leaf, month) -> pd.DataFrame:
    """Hold the rows of each month against those that the tree was fitted to.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    fitted : int array of shape (n,)
        As ``routing_shift`` takes it.
    leaf : int array of shape (n_rows,)
        Leaf of each row.
    month : str array of shape (n_rows,)
        Its month; rows whose month is "" are left out.

    Returns
    -------
    DataFrame
        A row a month, in order: ``month``, ``rows``, ``psi``, ``psi_by_chance``, and
        ``differs``, whether any split's rows part differently by more than chance, all
        months and splits taken together.
    """
    month = np.asarray(month)
    names, code = np.unique(month, return_inverse=True)
    passing = rows_passing(tree.parent, leaf, code, len(names))
    found = [
        (name, rows[0], routing_shift(tree, fitted, rows))
        for name, rows in zip(names.tolist(), passing)
        if name
    ]
    least = [shift.splits["p_value"].min() for _, _, shift in found]
    return pd.DataFrame(
        {
            "month": [name for name, _, _ in found],
            "rows": [int(n_rows) for _, n_rows, _ in found],
            "psi": [shift.psi for _, _, shift in found],
            "psi_by_chance": [shift.psi_by_chance for _, _, shift in found],
            "differs": false_discovery_control(least) < BY_CHANCE if found else [],
        }
    )


def _two_sided(hits, rows, other_hits, other_rows) -> np.ndarray:
    """Test whether two fractions are one, for each pair; 1 where there is no row."""
    chance = hypergeom(rows + other_rows, hits + other_hits, rows)
    tail = np.minimum(chance.cdf(hits), chance.sf(hits - 1))
    return np.minimum(2 * tail, 1.0)
