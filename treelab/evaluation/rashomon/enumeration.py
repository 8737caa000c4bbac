"""Every tree of a small depth over given splits, and those that score best.

The score is that of the rows themselves. It is computed for each pair of subtrees below
each root; of subtrees whose rows come out alike one is computed for all, and a subtree
is passed over where the best conceivable one beside it would not be enough.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from treelab.evaluation.rashomon.leaf_sums import LeafSums

MOST_PAIRS = 200_000_000  # of subtrees that are scored; a few million take a second
BLOCK = 200_000  # pairs that are scored at once
ROUNDING = 1e-12

Nested = tuple[
    int, "Nested | None", "Nested | None"
]  # split, its two sides; None: leaf


@dataclass(frozen=True)
class Splits:
    """What trees may be made of: K yes/no questions to n rows.

    Attributes
    ----------
    left : bool array of shape (K, n)
        Rows that each sends left.
    feature : int array of shape (K,)
        What it tests; of one feature, the rows of one split contain another's.
    """

    left: np.ndarray
    feature: np.ndarray


@dataclass(frozen=True)
class Enumerated:
    """The best trees, and from which score on none is left out.

    Attributes
    ----------
    trees : list of nested tuples
        ``(split, left, right)``, None for a leaf; the best first.
    score : ndarray of shape (T,)
    above : float
        Every tree that scores more is among them.
    n_trees : float
        Trees there are in all, good and bad.
    """

    trees: list[Nested]
    score: np.ndarray
    above: float
    n_trees: float


def best_trees(
    splits: Splits,
    leaves: LeafSums,
    depth: int,
    *,
    tolerance: float,
    most: int,
    min_samples_leaf: int = 1,
) -> Enumerated:
    """Return all trees of at most a depth within a tolerance of the best one's score.

    Trees that differ in no row's leaf are one tree, and so are a split whose two leaves
    predict one class and a leaf. Where more than ``most`` are that good, ``above`` is
    the score from which on they fit.

    Parameters
    ----------
    splits : Splits
    leaves : LeafSums
        What the rows come to in a leaf, and in all.
    depth : int
        Most splits on a path, at least 1.
    tolerance : float
        Below the best score.
    most : int
        Trees that are returned.
    min_samples_leaf : int, default=1

    Raises
    ------
    ValueError
        If there are too many trees to look at, or too many that tie with the best, or
        none.
    """
    search = _Search(splits, leaves, depth, min_samples_leaf)
    found = _Found(tolerance, most)
    for split in search.roots():
        search.score_below(split, found)
    score, above = found.ending()
    trees: list[Nested] = []
    values: list[float] = []
    for place in np.argsort(-score, kind="stable").tolist():
        split, left, right = found.at(place)
        below = search.sides(split)
        sides = (own.members(i) for own, i in zip(below, (left, right)))
        for one, other in product(*sides):
            trees.append((split, below[0].nested(one), below[1].nested(other)))
            values.append(float(score[place]))
    return Enumerated(trees, np.array(values), above, search.n_trees)


@dataclass(frozen=True)
class _Subtrees:
    """All subtrees of some rows: what their rows come to, and how they are built.

    ``sums`` (m, S); ``label`` (m,), the class of a leaf, -1 for all else; ``split``
    (m,), -1 for a leaf; ``sides`` (m, 2), places among those of the split's children.
    """

    sums: np.ndarray
    label: np.ndarray
    split: np.ndarray
    sides: np.ndarray
    children: dict[int, tuple["_Subtrees", "_Subtrees"]]

    def grouped(self) -> "_Grouped":
        """Put those together whose rows come to the same."""
        key = np.column_stack([self.sums, self.label])
        first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)[
            1:
        ]
        return _Grouped(
            self, self.sums[first], self.label[first], group.ravel(), np.bincount(group)
        )

    def nested(self, place: int) -> Nested | None:
        """Write one subtree out."""
        split = int(self.split[place])
        if split < 0:
            return None
        if split not in self.children:
            return split, None, None
        left, right = self.children[split]
        one, other = self.sides[place].tolist()
        return split, left.nested(one), right.nested(other)


@dataclass(frozen=True)
class _Grouped:
    """Subtrees of which those whose rows come to the same are one group."""

    all: _Subtrees
    sums: np.ndarray
    label: np.ndarray
    group: np.ndarray
    count: np.ndarray

    def members(self, group: int) -> list[int]:
        """Return the places of a group's subtrees."""
        return np.flatnonzero(self.group == group).tolist()

    def nested(self, place: int) -> Nested | None:
        """Write one subtree out."""
        return self.all.nested(place)


class _Found:
    """Pairs of groups that score well, and the score below which none is needed."""

    def __init__(self, tolerance: float, most: int):
        self.floor = -np.inf
        self._tolerance, self._most = tolerance, most
        self._best, self._above = -np.inf, -np.inf
        self._pairs = np.empty((0, 3), dtype=np.int64)  # root, left and right group
        self._score, self._count = np.empty(0), np.empty(0)

    def add(self, pairs: np.ndarray, score: np.ndarray, count: np.ndarray) -> None:
        """Take in pairs (m, 3), their score, and how many trees each stands for."""
        self._pairs = np.concatenate([self._pairs, pairs])
        self._score = np.append(self._score, score)
        self._count = np.append(self._count, count)
        self._best = max(self._best, float(score.max(initial=-np.inf)))
        order = np.argsort(-self._score, kind="stable")
        too_many = np.cumsum(self._count[order]) > self._most
        if too_many.any():
            first = float(self._score[order[too_many.argmax()]])
            self._above = max(self._above, first)
        self.floor = max(self._best - self._tolerance, self._above)
        # Those that tie with the first one too many are needed no more, but for it.
        keep = self._score > self._above + ROUNDING
        keep &= self._score >= self.floor - ROUNDING
        if too_many.any():
            keep[order[too_many.argmax()]] = True
        self._pairs, self._score = self._pairs[keep], self._score[keep]
        self._count = self._count[keep]

    def ending(self) -> tuple[np.ndarray, float]:
        """Return the scores of what is left, and from which score on it is all."""
        keep = self._score > self._above + ROUNDING
        if not len(self._score):
            raise ValueError("No split parts the rows as asked, so there is no tree.")
        if not keep.any():
            raise ValueError(
                f"More than {self._most:,} trees score {self._best:.4g}, which is "
                "best; ask for fewer thresholds a column, or a smaller depth."
            )
        self._pairs, self._score = self._pairs[keep], self._score[keep]
        lowest = np.nextafter(self._best - self._tolerance, -np.inf)
        return self._score, max(float(lowest), self._above)

    def at(self, place: int) -> tuple[int, int, int]:
        """Return root, left and right group of a pair."""
        split, left, right = self._pairs[place].tolist()
        return split, left, right


class _Search:
    """The trees over some splits, subtree by subtree."""

    def __init__(self, splits: Splits, leaves: LeafSums, depth: int, least: int):
        self._splits, self._leaves = splits, leaves
        self._depth, self._least = depth, least
        self._is_left = splits.left.astype(leaves.columns.dtype)
        self._n_pairs, self.n_trees = 0, 0.0

    def roots(self) -> list[int]:
        """Return the splits that part all rows."""
        everywhere = np.ones(self._splits.left.shape[1], dtype=bool)
        return self._parting(everywhere)[0].tolist()

    def sides(self, split: int) -> tuple[_Grouped, _Grouped]:
        """Return what may stand on either side of a root."""
        left = self._splits.left[split]
        return (
            self._subtrees(left, self._depth - 1).grouped(),
            self._subtrees(~left, self._depth - 1).grouped(),
        )

    def score_below(self, split: int, found: _Found) -> None:
        """Score all trees with this root; ``found`` takes the good ones."""
        one, other = self.sides(split)
        self.n_trees += float(one.count.sum()) * float(other.count.sum())
        left = self._splits.left[split]
        some = np.flatnonzero(self._hope(one, ~left) >= found.floor - ROUNDING)
        others = np.flatnonzero(self._hope(other, left) >= found.floor - ROUNDING)
        self._n_pairs += len(some) * len(others)
        if self._n_pairs > MOST_PAIRS:
            raise ValueError(
                f"There are too many trees of depth {self._depth} over "
                f"{len(self._splits.left)} splits to look at them all; ask for fewer "
                "thresholds a column, or a smaller depth."
            )
        if not len(others):
            return
        size = max(BLOCK // len(others), 1)
        for start in range(0, len(some), size):
            block = some[start : start + size]
            score = self._leaves.score(
                one.sums[block][:, None] + other.sums[others][None]
            )
            same = one.label[block][:, None] == other.label[others][None]
            score[same & (one.label[block][:, None] >= 0)] = -np.inf  # one leaf
            row, column = np.nonzero(score >= max(found.floor - ROUNDING, -1e300))
            a, b = block[row], others[column]
            pairs = np.column_stack([np.full(len(a), split), a, b])
            found.add(pairs, score[row, column], one.count[a] * other.count[b])

    def _hope(self, side: _Grouped, beside: np.ndarray) -> np.ndarray:
        """Score each group as if the rows beside it were predicted without error."""
        perfect = self._leaves.perfect(self._total(beside))
        return self._leaves.score(side.sums + perfect)

    def _total(self, inside: np.ndarray) -> np.ndarray:
        """Sum up what stands in some rows."""
        return self._leaves.columns[inside].sum(axis=0)

    def _parting(self, inside: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the splits that part some rows, no two alike, and the sums of both."""
        total = self._total(inside)
        left = self._is_left @ (self._leaves.columns * inside[:, None])
        n_left, n = self._leaves.n_rows(left), self._leaves.n_rows(total)
        fits = (n_left >= self._least) & (n - n_left >= self._least)
        # Splits of one feature with as many rows on the left have the same ones there.
        at = np.flatnonzero(fits)
        alike = np.column_stack([self._splits.feature[at], n_left[at]])
        at = at[np.sort(np.unique(alike, axis=0, return_index=True)[1])]
        return at, left[at], total - left[at]

    def _subtrees(self, inside: np.ndarray, depth: int) -> _Subtrees:
        """Return every subtree of some rows with at most so many levels of splits."""
        label, sums = self._leaves.leaf(self._total(inside)[None])
        parts = [_Subtrees(sums, label, np.array([-1]), np.array([[0, 0]]), {})]
        if depth == 1:
            parts.append(self._stumps(inside))
        elif depth > 1:
            for split in self._parting(inside)[0].tolist():
                left = self._splits.left[split]
                sides = (
                    self._subtrees(inside & left, depth - 1),
                    self._subtrees(inside & ~left, depth - 1),
                )
                parts.append(_joined(split, *sides))
        return _Subtrees(
            np.concatenate([own.sums for own in parts]),
            np.concatenate([own.label for own in parts]),
            np.concatenate([own.split for own in parts]),
            np.concatenate([own.sides for own in parts]),
            {split: pair for own in parts for split, pair in own.children.items()},
        )

    def _stumps(self, inside: np.ndarray) -> _Subtrees:
        """Return the subtrees of some rows with one split, whose leaves differ."""
        at, left, right = self._parting(inside)
        (one, sums), (other, more) = self._leaves.leaf(left), self._leaves.leaf(right)
        keep = (one != other) | (one < 0)
        n = int(keep.sum())
        none, places = np.full(n, -1), np.zeros((n, 2), dtype=np.int64)
        return _Subtrees((sums + more)[keep], none, at[keep], places, {})


def _joined(split: int, left: _Subtrees, right: _Subtrees) -> _Subtrees:
    """Put every pair of subtrees below a split, but for two leaves of one class."""
    same = (left.label[:, None] == right.label[None]) & (left.label[:, None] >= 0)
    one, other = np.nonzero(~same)
    n = len(one)
    return _Subtrees(
        left.sums[one] + right.sums[other],
        np.full(n, -1),
        np.full(n, split),
        np.column_stack([one, other]),
        {split: (left, right)},
    )
