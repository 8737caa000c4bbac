"""The best split of each column among the rows of a node, and what it gains."""

from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from treelab.editing.edits import SetSplit
from treelab.editing.rows import EditRows
from treelab.trees.feature import Feature
from treelab.trees.midpoints import midpoint

MIN_SAMPLES_LEAF = 5
LEAST_GAIN = 1e-9  # less is rounding


@dataclass(frozen=True)
class Candidate:
    """A split that a node could have.

    Attributes
    ----------
    column : str
    threshold : float or None
        Of a number column.
    categories : tuple of str or None
        Of a category column: those that go left.
    missing_left : bool
    gain : float
        Impurity (Gini, or variance) of the node less that of its children, weighted by
        their rows.
    n_left, n_right : int
        Rows on either side.
    """

    column: str
    threshold: float | None
    categories: tuple[str, ...] | None
    missing_left: bool
    gain: float
    n_left: int
    n_right: int

    def edit(self, path: str) -> SetSplit:
        """Return the edit that gives a node this split."""
        return SetSplit(
            path, self.column, self.threshold, self.categories, self.missing_left
        )


@dataclass(frozen=True)
class _Cut:
    """The best place to cut an ordered list of groups of rows."""

    gain: float
    place: int
    missing_left: bool
    n_left: int


def candidates(
    rows: EditRows,
    at: np.ndarray,
    features: tuple[Feature, ...],
    *,
    forbidden: Container[str] = (),
    min_samples_leaf: int = MIN_SAMPLES_LEAF,
) -> list[Candidate]:
    """Return the best split of each column, that which gains most first.

    Numbers are cut between any two neighbours. Categories are ordered by how often
    each class comes with them (or by the mean of the target) and cut; with two classes
    and for numbers no division of the categories gains more (Breiman et al., 1984,
    section 4.2.2).

    Parameters
    ----------
    rows : EditRows
    at : int array of shape (n,)
        The rows of the node.
    features : tuple of Feature
        Those of the tree that was edited.
    forbidden : container of str, default=()
        Columns that are left out.
    min_samples_leaf : int, default=5
        Rows that either side must have.
    """
    target = rows.values(at)
    found = []
    for column in dict.fromkeys(feature.column for feature in features):
        if column in forbidden:
            continue
        feature = next(own for own in features if own.column == column)
        if feature.kind == "number":
            own = _number(feature, rows.numbers(feature)[at], target, min_samples_leaf)
        else:
            own = _category(feature, rows.codes(feature)[at], target, min_samples_leaf)
        if own is not None and own.gain > LEAST_GAIN:
            found.append(own)
    return sorted(found, key=lambda one: -one.gain)


def _number(
    feature: Feature, x: np.ndarray, target: np.ndarray, least: int
) -> Candidate | None:
    """Return the best threshold of a number column."""
    known = ~np.isnan(x)
    order = np.argsort(x[known], kind="stable")
    ascending = x[known][order]
    count = np.arange(1, len(ascending))
    cut = _best_cut(
        np.cumsum(target[known][order], axis=0)[:-1],
        count,
        target,
        target[~known],
        ascending[1:] > ascending[:-1],
        least,
    )
    if cut is None:
        return None
    low, high = ascending[cut.place], ascending[cut.place + 1]
    return Candidate(
        feature.column,
        float(midpoint(low, high)),
        None,
        cut.missing_left,
        cut.gain,
        cut.n_left,
        len(x) - cut.n_left,
    )


def _category(
    feature: Feature, codes: np.ndarray, target: np.ndarray, least: int
) -> Candidate | None:
    """Return the best two sets of a category column's categories."""
    known, n_codes = codes >= 0, len(feature.categories)
    count = np.bincount(codes[known], minlength=n_codes)
    present = np.flatnonzero(count)
    total = np.stack(
        [np.bincount(codes[known], one, n_codes) for one in target[known].T], axis=1
    )[present]
    count = count[present]
    best: tuple[_Cut, np.ndarray] | None = None
    for output in range(target.shape[1] if target.shape[1] != 2 else 1):
        order = np.argsort(-total[:, output] / count, kind="stable")
        cut = _best_cut(
            np.cumsum(total[order], axis=0)[:-1],
            np.cumsum(count[order])[:-1],
            target,
            target[~known],
            np.ones(max(0, len(order) - 1), dtype=bool),
            least,
        )
        if cut is not None and (best is None or cut.gain > best[0].gain):
            best = cut, present[order[: cut.place + 1]]
    if best is None:
        return None
    cut, left = best
    return Candidate(
        feature.column,
        None,
        tuple(feature.categories[code] for code in np.sort(left)),
        cut.missing_left,
        cut.gain,
        cut.n_left,
        len(codes) - cut.n_left,
    )


def _best_cut(
    left: np.ndarray,
    n_left: np.ndarray,
    target: np.ndarray,
    missing: np.ndarray,
    allowed: np.ndarray,
    least: int,
) -> _Cut | None:
    """Return the best place to cut ordered rows, those without a value on one side.

    Parameters
    ----------
    left : ndarray of shape (m, C)
        Sum of the target before each place.
    n_left : int array of shape (m,)
        Rows before each place.
    target, missing : ndarray of shape (n, C), (k, C)
        Of all rows of the node, and of those without a value.
    allowed : bool array of shape (m,)
        Places where the order lets one cut.
    least : int
        Rows that either side must have.
    """
    n_rows, total = len(target), target.sum(axis=0)
    base = (total**2).sum() / n_rows if n_rows else 0.0
    best = None
    for with_missing in (True, False) if len(missing) else (False,):
        own, n_own = left, n_left
        if with_missing:
            own, n_own = left + missing.sum(axis=0), n_left + len(missing)
        n_right = n_rows - n_own
        fits = allowed & (n_own >= least) & (n_right >= least)
        if not fits.any():
            continue
        explained = (own**2).sum(axis=1) / np.maximum(n_own, 1)
        explained += ((total - own) ** 2).sum(axis=1) / np.maximum(n_right, 1)
        place = int(np.where(fits, explained, -np.inf).argmax())
        gain = float(explained[place] - base) / n_rows
        if best is None or gain > best.gain:
            n_side = int(n_own[place])
            # Where nothing is missing, a new row without a value goes with the most.
            side = with_missing if len(missing) else 2 * n_side >= n_rows
            best = _Cut(gain, place, side, n_side)
    return best
