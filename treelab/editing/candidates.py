"""The best split of each column among the rows of a node, and what it gains."""

from collections.abc import Container
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treelab.editing.edits import SetSplit
from treelab.editing.limits import EditRows
from treelab.trees.feature import Feature
from treelab.trees.tree import midpoint

MIN_SAMPLES_LEAF = 5
LEAST_GAIN = 1e-9  # of the variance of all rows (of classes, 1): less is rounding
SPARSE = 4  # values of a column for each row of a node


@dataclass(frozen=True)
class Candidate:
    """A split that a node could have."""

    column: str
    threshold: float | None  # of a number column
    categories: tuple[str, ...] | None  # of a category column: those that go left
    missing_left: bool
    # Impurity (Gini, or variance) of the node less that of its children, weighted by
    # what their rows count.
    gain: float
    n_left: int  # rows on that side
    is_date: bool = False  # whether the threshold is one, as a year with decimals
    is_time: bool = False  # whether it is one, as hours

    def edit(self, path: str) -> SetSplit:
        """Return the edit that gives a node this split."""
        return SetSplit(
            path,
            self.column,
            self.threshold,
            self.categories,
            self.missing_left,
            self.is_date,
            self.is_time,
        )


class _Cut(NamedTuple):
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

    Numbers are cut between any two neighbours. Categories are ordered by how often each
    class comes with them (or by the mean of the target) and cut; with two classes and
    for numbers no division of the categories gains more (Breiman et al., 1984, section
    4.2.2).

    The rows of the node stand ``at`` (n,), the features are those of the tree that was
    edited, forbidden columns are left out.
    """
    found = [
        best_split(rows, at, feature, min_samples_leaf)
        for column, feature in by_column(features).items()
        if column not in forbidden
    ]
    return sorted((own for own in found if own), key=lambda one: -one.gain)


def by_column(features: tuple[Feature, ...]) -> dict[str, Feature]:
    """Return by which feature a new split tests each column.

    It is the first of the column, or the first of categories where there are any.
    """
    found: dict[str, Feature] = {}
    for feature in features:
        known = found.get(feature.column)
        if known is None or (known.kind, feature.kind) == ("number", "category"):
            found[feature.column] = feature
    return found


def best_split(
    rows: EditRows, at: np.ndarray, feature: Feature, least: int
) -> Candidate | None:
    """Return the best split of a feature's column, as ``candidates``; None: no gain."""
    best = _number if feature.kind == "number" else _category
    return best(rows, at, feature, least)


def gain_of(rows: EditRows, at: np.ndarray, left: np.ndarray) -> float:
    """Return what a split gains that sends some rows (bool) of a node left."""
    side = (~left).astype(np.int64)
    total, mass = rows.sums(side, at, 2), np.bincount(side, rows.weights(at), 2)
    explained = ((total**2).sum(axis=1) / np.where(mass > 0, mass, 1)).sum()
    whole = mass.sum() if len(at) else 1.0
    return float(explained - (total.sum(axis=0) ** 2).sum() / whole) / whole


def _number(
    rows: EditRows, at: np.ndarray, feature: Feature, least: int
) -> Candidate | None:
    """Return the best threshold of a number column."""
    values, places = rows.places(feature)
    groups = _Groups.of(rows, at, places[at], len(values))
    cut = _best_cut(groups, np.arange(len(groups.count)), least, rows.variance)
    if cut is None:
        return None
    low, high = values[groups.code[[cut.place, cut.place + 1]]]
    threshold = float(midpoint(low, high))
    gain, _, side, n_left = cut
    found = threshold, None, side, gain, n_left, feature.is_date, feature.is_clock
    return Candidate(feature.column, *found)


def _category(
    rows: EditRows, at: np.ndarray, feature: Feature, least: int
) -> Candidate | None:
    """Return the best two sets of a category column's categories."""
    n_codes = len(feature.categories)
    groups = _Groups.of(rows, at, rows.codes(feature)[at], n_codes)
    n_outputs = groups.total.shape[1]
    best: tuple[_Cut, np.ndarray] | None = None
    for output in range(n_outputs if n_outputs != 2 else 1):
        order = np.argsort(-groups.total[:, output] / groups.mass, kind="stable")
        cut = _best_cut(groups, order, least, rows.variance)
        if cut is not None and (best is None or cut.gain > best[0].gain):
            best = cut, groups.code[order[: cut.place + 1]]
    if best is None:
        return None
    names = tuple(feature.categories[code] for code in np.sort(best[1]))
    gain, _, side, n_left = best[0]
    return Candidate(feature.column, None, names, side, gain, n_left)


@dataclass(frozen=True)
class _Groups:
    """Rows of a node by value of a column: distinct values m, outputs C."""

    code: np.ndarray  # int (m,): place of the value among all of the column, ascending
    count: np.ndarray  # int (m,): rows
    mass: np.ndarray  # (m,): what they count
    total: np.ndarray  # (m, C): weighted sum of the target
    # Of rows without a value: how many, what they count, and their sum (C,).
    n_missing: int
    missing_mass: float
    missing: np.ndarray

    @classmethod
    def of(cls, rows: EditRows, at: np.ndarray, code: np.ndarray, n: int) -> "_Groups":
        """Count the rows of a node by their code, which is -1 where it is missing."""
        known = code >= 0
        n_missing = len(code) - int(known.sum())
        nothing = np.zeros(int(n_missing), dtype=np.int64)
        missing = rows.sums(nothing, at[~known], 1)[0]
        missing_mass = rows.mass(at[~known])
        at, code = at[known], code[known]
        if n > SPARSE * len(code):  # few rows of a column of many values: sort these
            present, code = np.unique(code, return_inverse=True)
        else:
            present = np.arange(n)
        count = np.bincount(code, minlength=len(present))
        mass = np.bincount(code, rows.weights(at), len(present))
        total = rows.sums(code, at, len(present))
        some = count > 0
        return cls(
            present[some],
            count[some],
            mass[some],
            total[some],
            n_missing,
            missing_mass,
            missing,
        )


def _best_cut(
    groups: _Groups, order: np.ndarray, least: int, variance: float
) -> _Cut | None:
    """Return the best place to cut groups in an order; None where nothing is gained.

    Rows without a value go to the side where they gain most.
    """
    n_rows = int(groups.count.sum()) + groups.n_missing
    whole = groups.mass.sum() + groups.missing_mass if n_rows else 1.0
    total = groups.total.sum(axis=0) + groups.missing
    base = (total**2).sum() / whole
    left = np.cumsum(groups.total[order], axis=0)[:-1]
    n_left = np.cumsum(groups.count[order])[:-1]
    mass_left = np.cumsum(groups.mass[order])[:-1]
    best = None
    for with_missing in (True, False) if groups.n_missing else (False,):
        own, n_own, mass = left, n_left, mass_left
        if with_missing:
            own, n_own = left + groups.missing, n_left + groups.n_missing
            mass = mass_left + groups.missing_mass
        n_right = n_rows - n_own
        fits = (n_own >= least) & (n_right >= least)
        if not fits.any():
            continue
        right = whole - mass
        explained = (own**2).sum(axis=1) / mass
        explained += ((total - own) ** 2).sum(axis=1) / np.where(right > 0, right, 1)
        place = int(np.where(fits, explained, -np.inf).argmax())
        gain = float(explained[place] - base) / whole
        if gain > LEAST_GAIN * variance and (best is None or gain > best.gain):
            n_side = int(n_own[place])
            # Where nothing is missing, a new row without a value goes with the most.
            side = with_missing if groups.n_missing else 2 * n_side >= n_rows
            best = _Cut(gain, place, side, n_side)
    return best
