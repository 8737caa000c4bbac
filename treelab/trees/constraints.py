"""What must hold of a tree on every possible row: read, kept, checked."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np

from treelab.trees.pruning import (
    ROUNDED,
    TOLERANCE,
    SizePath,
    cut_at,
    merge_equal,
    path_of_sizes,
    prune_empty,
)
from treelab.trees.text import score_goes_left
from treelab.trees.tree import OBLIQUE, Tree
from treelab.trees.words import counted

# What a person writes as a constraint, in text or as Python, as plain values.


UP, DOWN = "up", "down"
OTHER = "other"  # in ``allowed``: all levels that are not named
_SIGNS = {"1": UP, "-1": DOWN, "increasing": UP, "decreasing": DOWN, UP: UP, DOWN: DOWN}


def read_directions(given: Any) -> dict[str, str]:
    """Read "income: up, age: down", or a mapping of columns to up, down, 1 or -1."""
    found = {}
    for name, way in _pairs("monotone", given, "income: up, age: down").items():
        word = str(way).strip().lower()
        if word == "0":
            continue
        if word not in _SIGNS:
            raise ValueError(
                f"monotone of column {name!r} must be up or down, got {way!r}."
            )
        found[name] = _SIGNS[word]
    return found


def read_costs(given: Any) -> dict[str, float]:
    """Read "scan: 0.05, age: 0", or a mapping of columns to costs."""
    pairs = _pairs("column_costs", given, "scan: 0.05, age: 0")
    return {name: _cost(f"The cost of {name!r}", cost) for name, cost in pairs.items()}


def read_levels(given: Any) -> dict[str, tuple[str, ...]]:
    """Read "0: age, income; other: job", or a mapping of levels to columns."""
    pairs = _pairs("allowed", given, "0: age, income; other: job", by=";")
    for level, names in pairs.items():
        if level != OTHER and not level.isdecimal():
            raise ValueError(
                f"allowed is by level, 0 for the root, or {OTHER!r}; got {level!r}."
            )
        if not _names(names):
            raise ValueError(f"allowed names no column for level {level}.")
    return {level: _names(names) for level, names in pairs.items()}


def read_groups(given: Any) -> tuple[tuple[str, ...], ...]:
    """Read "age, income; age, job", or a sequence of sequences of columns."""
    if isinstance(given, str):
        given = _split(given, ";")
    if not isinstance(given, Sequence | set | frozenset):
        raise ValueError(
            "together must be groups of columns, such as 'age, income; age, job', got "
            f"{given!r}."
        )
    return tuple(group for names in given if (group := _names(names)))


def read_matrix(given: Any) -> dict[str, dict[str, float]]:
    """Read "bad as good: 5", or a mapping of true to predicted classes to costs."""
    example = "bad as good: 5, good as bad: 1"
    if isinstance(given, str):
        matrix: dict[str, dict[str, Any]] = {}
        for pair, cost in _pairs("class_costs", given, example).items():
            truth, between, predicted = pair.partition(" as ")
            if not between:
                raise ValueError(f"class_costs reads as {example!r}, got {pair!r}.")
            matrix.setdefault(truth.strip(), {})[predicted.strip()] = cost
        given = matrix
    found: dict[str, dict[str, float]] = {}
    for truth, row in _mapping("class_costs", given).items():
        if not isinstance(row, Mapping):
            raise ValueError(f"class_costs reads as {example!r}, got {truth}: {row!r}.")
        costs = {}
        for predicted, cost in row.items():
            name = f"The cost of {truth} as {predicted}"
            costs[str(predicted)] = _cost(name, cost)
            if str(predicted) == str(truth) and costs[str(predicted)]:
                raise ValueError(f"{name}, which is right, must be 0, got {cost!r}.")
        found[str(truth)] = costs
    each = [cost for costs in found.values() for cost in costs.values()]
    if each and not any(each):
        raise ValueError(f"class_costs are all 0; write them as {example!r}.")
    return found


def read_count(name: str, given: Any, default: int | None) -> int | None:
    """Read a whole number of at least 1; nothing is the default."""
    if given is None or given == "":
        return default
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(given, bool) or not number.is_integer() or number < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {given!r}.")
    return int(number)


def _pairs(name: str, given: Any, example: str, by: str = ",") -> dict[str, Any]:
    """Read "a: x, b: y", or a mapping; raise ValueError for what is named twice."""
    pairs: list[tuple[Any, Any]] = []
    if not isinstance(given, str):
        pairs += _mapping(name, given).items()
    else:
        # A column's name may hold a colon, be it the key or one of several names.
        cut = str.rpartition if by == "," else str.partition
        for part in _split(given, by):
            key, colon, value = cut(part, ":")
            if not colon or not key.strip():
                raise ValueError(f"{name} reads as {example!r}, got {part!r}.")
            pairs.append((key, value.strip()))
    found: dict[str, Any] = {}
    for key, value in pairs:
        word = str(key).strip()
        if word in found:
            raise ValueError(f"{name} names {word!r} twice; write it once.")
        found[word] = value
    return found


def _mapping(name: str, given: Any) -> Mapping:
    """Return a mapping, or raise ValueError; nothing is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"{name} must be a mapping or text, got {given!r}.")
    return given


def _names(given: Any) -> tuple[str, ...]:
    """Read names between commas, or a sequence of them."""
    names = _split(given, ",") if isinstance(given, str) else map(str, given)
    return tuple(dict.fromkeys(names))


def _split(text: str, by: str) -> list[str]:
    """Parts of a text without the empty ones."""
    return [part.strip() for part in text.split(by) if part.strip()]


def _cost(name: str, given: Any) -> float:
    """Read a finite number of at least 0."""
    try:
        cost = float(given)
    except (TypeError, ValueError):
        cost = math.nan
    if not (math.isfinite(cost) and cost >= 0):
        raise ValueError(f"{name} must be a number >= 0, got {given!r}.")
    return cost


# Constraints: what a tree must keep on every possible row, in the user's columns.


@dataclass(frozen=True)
class Constraints:
    """What a tree must keep; by default nothing.

    Each part is given as plain Python, as JSON, or as the text in its example.

    ValueError for a part that cannot be read.
    """

    # Number columns whose growth never lowers ("up", 1) or raises ("down", -1) the
    # prediction, all other columns held: "income: up, age: down".
    monotone: Mapping[str, str] = field(default_factory=dict)
    # The class whose probability is meant. Of two classes the second one by default; of
    # more it must be named.
    monotone_class: str | None = None
    # Columns that splits may test, by level (the root has 0); "other" is for the levels
    # that are not named: "0: age, income; other: age, income, job".
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Groups: the columns of one path lie in one group. Columns in no group form one
    # more: "age, income; age, job".
    together: Sequence[tuple[str, ...]] = ()
    # What a column costs that the tree uses at all, a fraction of the root's impurity
    # that its splits must save beyond their own: "scan: 0.05, age: 0".
    column_costs: Mapping[str, float] = field(default_factory=dict)
    max_columns: int | None = None  # most different columns in the tree
    min_samples_leaf: int = 1  # fewest training rows in a leaf
    # What it costs that a row of a class is predicted as another, 1 where it is not
    # given: "bad as good: 5, good as bad: 1".
    class_costs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self):
        readers = {
            "monotone": read_directions,
            "monotone_class": lambda name: None if name in (None, "") else str(name),
            "allowed": read_levels,
            "together": read_groups,
            "column_costs": read_costs,
            "max_columns": lambda n: read_count("max_columns", n, None),
            "min_samples_leaf": lambda n: read_count("min_samples_leaf", n, 1),
            "class_costs": read_matrix,
        }
        for name, read in readers.items():
            object.__setattr__(self, name, read(getattr(self, name)))

    @classmethod
    def read(cls, given: Any) -> "Constraints":
        """Return constraints of what a setting holds: None, a mapping, or themselves.

        ValueError for a part that does not exist or cannot be read.
        """
        if isinstance(given, cls):
            return given
        if given is None or given == "":
            return cls()
        known = [declared.name for declared in fields(cls)]
        if not isinstance(given, Mapping):
            raise ValueError(
                f"constraints must be a mapping with some of {', '.join(known)}, got "
                f"{given!r}."
            )
        for name in given:
            if name not in known:
                raise ValueError(
                    f"There is no constraint {name!r}; there are {', '.join(known)}."
                )
        return cls(**given)

    def __bool__(self):
        return bool(self.to_dict())

    def __str__(self):
        return "; ".join(self.sentences()) or "none"

    def to_dict(self) -> dict[str, Any]:
        """Return the parts that ask for something, as JSON-safe values."""
        stored: dict[str, Any] = {
            **asdict(self),
            "allowed": {level: [*names] for level, names in self.allowed.items()},
            "together": [[*group] for group in self.together],
        }
        nothing = asdict(Constraints()) | {"together": []}
        if not self.monotone:  # nobody's class is meant
            del stored["monotone_class"]
        return {name: v for name, v in stored.items() if v != nothing[name]}

    def sentences(self) -> list[str]:
        """Return one phrase for each thing that is asked, as a page or a note says."""
        said = []
        of = "prediction"
        if self.monotone_class:
            of = f"probability of {self.monotone_class}"
        for way in (UP, DOWN):
            moved = [name for name, own in self.monotone.items() if own == way]
            if moved:
                said.append(f"{of} {way} with {', '.join(moved)}")
        for level, names in self.allowed.items():
            where = "other levels" if level == OTHER else f"level {level}"
            said.append(f"{where}: {', '.join(names)} only")
        if self.together:
            groups = " or ".join(", ".join(group) for group in self.together)
            said.append(f"on one path only {groups}, or the rest")
        if self.column_costs:
            each = [f"{name} {cost:g}" for name, cost in self.column_costs.items()]
            said.append(f"columns cost {', '.join(each)}")
        if self.max_columns is not None:
            said.append(f"at most {counted(self.max_columns, 'column')}")
        if self.min_samples_leaf > 1:
            said.append(f"at least {self.min_samples_leaf:,} rows a leaf")
        for truth, row in self.class_costs.items():
            said += [f"{truth} as {other} costs {c:g}" for other, c in row.items()]
        return said

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are named anywhere."""
        named = [*self.monotone, *self.column_costs]
        for names in (*self.allowed.values(), *self.together):
            named += names
        return tuple(dict.fromkeys(named))

    @property
    def limits_splits(self) -> bool:
        """Whether they say anything of splits, not of class costs alone."""
        return bool({*self.to_dict()} - {"class_costs"})

    def group_of(self, columns: Sequence[str]) -> list[frozenset[str]]:
        """Return the groups of ``together``, the rest of the columns as one more."""
        groups = [frozenset(group) for group in self.together]
        rest = frozenset(columns) - frozenset().union(*groups)
        return [*groups, *([rest] if rest else [])]

    def allowed_at(self, level: int, columns: Sequence[str]) -> frozenset[str]:
        """Return the columns that a split of a level may test."""
        everywhere = self.allowed.get(OTHER, tuple(columns))
        return frozenset(self.allowed.get(str(level), everywhere))

    def check_columns(
        self, columns: Sequence[str], categories: Sequence[str] = ()
    ) -> None:
        """Raise ValueError for a column that a table lacks, or that has no order.

        ``columns`` are all of the table, ``categories`` those that hold categories.
        """
        for name in self.columns:
            if name not in columns:
                close = get_close_matches(name, [*columns], n=1)
                hint = f"did you mean {close[0]!r}?" if close else "check its name."
                raise ValueError(
                    f"The constraints name a column {name!r}, which is not among those "
                    f"to predict from; {hint}"
                )
        for name in self.monotone:
            if name in categories:
                raise ValueError(
                    f"Column {name!r} holds categories, which have no order; monotone "
                    "is for columns of numbers."
                )

    def check_classes(self, classes: Sequence | None) -> None:
        """Raise ValueError for a class that a target lacks, or one that is not named.

        ``classes`` are labels; None for regression.
        """
        if classes is None:
            if self.class_costs or self.monotone_class:
                part = "class_costs" if self.class_costs else "monotone_class"
                raise ValueError(f"{part} is for classes; this target is a number.")
            return
        labels = [str(label) for label in classes]
        if self.monotone and self.monotone_class is None and len(labels) > 2:
            raise ValueError(
                "With more than two classes, monotone needs monotone_class: the class "
                f"whose probability goes up or down, one of {', '.join(labels)}."
            )
        named = [*self.class_costs, *(c for r in self.class_costs.values() for c in r)]
        if self.monotone_class is not None:
            named.append(self.monotone_class)
        for name in named:
            if name not in labels:
                raise ValueError(
                    f"There is no class {name!r}; there are {', '.join(labels)}."
                )


# The part of all possible rows that reaches each node, and which lies above which.
#
# A tree of ordinary splits gives each node a box: an interval of each number, a set of
# categories of each category column, and whether a missing value comes along. Whether a
# tree is monotone is a question about pairs of leaves' boxes alone, so it is answered
# for every possible row and not for those of a sample.


SIGNS = {UP: 1, DOWN: -1}


@dataclass(frozen=True)
class Boxes:
    """Boxes of some nodes."""

    # float (n_nodes, n_numbers): values x of each number column with ``low < x <=
    # high``; none where equal.
    low: np.ndarray
    high: np.ndarray
    # bool (n_nodes, n_numbers): whether a missing value of the column can arrive.
    missing: np.ndarray
    numbers: tuple[str, ...]  # the number columns
    # (n_nodes, n_kinds): of each category column, which categories can arrive; the last
    # two stand for one that no training row held and for a missing value.
    categories: tuple[np.ndarray, ...]

    def of(self, nodes: np.ndarray) -> "Boxes":
        """Boxes of some of the nodes."""
        sets = tuple(own[nodes] for own in self.categories)
        low, high, missing = self.low[nodes], self.high[nodes], self.missing[nodes]
        return Boxes(low, high, missing, self.numbers, sets)

    def ordered(self, monotone: Mapping[str, str]) -> np.ndarray:
        """Return the pairs whose values must be in order, int (n_pairs, 2).

        The boxes of a pair meet in every column but one that is monotone, and there one
        lies below the other: a row of the first becomes a row of the second by that one
        column alone. The first must not predict more than the second. ``monotone`` is
        "up" or "down" by column; columns that no split tests may be among them.
        """
        apart = np.zeros((len(self.low), len(self.low)), dtype=np.int64)
        meets = []
        for j in range(len(self.numbers)):
            low, high, missing = self.low[:, j], self.high[:, j], self.missing[:, j]
            both = np.maximum.outer(low, low) < np.minimum.outer(high, high)
            meets.append(both | np.logical_and.outer(missing, missing))
            apart += ~meets[-1]
        for own in self.categories:
            apart += ~(own.astype(np.float32) @ own.T.astype(np.float32) > 0)
        pairs = []
        for j, name in enumerate(self.numbers):
            if name not in monotone:
                continue
            low, high = self.low[:, j], self.high[:, j]
            filled = low < high
            below = (high[:, None] <= low) & np.logical_and.outer(filled, filled)
            # A missing value on both sides would let them meet, and yet be in order.
            first, second = np.nonzero(below & (apart - ~meets[j] == 0))
            pair = np.stack([first, second], axis=1)
            pairs.append(pair[:, :: SIGNS[monotone[name]]])
        return np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64)


def node_boxes(tree: Tree) -> Boxes:
    """Return the box of every node of a tree.

    ValueError if a split tests several columns, or leaves are linear.
    """
    if (tree.feature == OBLIQUE).any() or tree.leaf_weights is not None:
        raise ValueError(
            "Constraints are checked on splits of one column and constant leaves."
        )
    kinds = [feature.kind for feature in tree.features]
    tested = np.unique(tree.feature[tree.feature >= 0])
    numbers = [j for j in tested.tolist() if kinds[j] == "number"]
    place = {j: at for at, j in enumerate(numbers)}
    shape = (tree.n_nodes, len(numbers))
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    missing = np.ones(shape, dtype=bool)
    names = [tree.features[j].column for j in tested if kinds[j] != "number"]
    # Every category, an unseen one and a missing value can reach the root.
    sets = {
        name: np.ones((tree.n_nodes, len(_labels(tree, name)) + 2), dtype=bool)
        for name in names
    }
    for node in tree.splits.tolist():
        j, threshold = int(tree.feature[node]), tree.threshold[node]
        for child, left in ((tree.left[node], True), (tree.right[node], False)):
            for own in (low, high, missing, *sets.values()):
                own[child] = own[node]
            if j not in place:
                sets[tree.features[j].column][child] &= _goes_left(tree, node) == left
                continue
            at = place[j]
            if left:
                high[child, at] = min(high[child, at], threshold)
            else:
                low[child, at] = max(low[child, at], threshold)
            missing[child, at] &= tree.missing_left[node] == left
    columns = tuple(tree.features[j].column for j in numbers)
    return Boxes(low, high, missing, columns, tuple(sets.values()))


def _labels(tree: Tree, column: str) -> list[str]:
    """Categories of a column, of all features that read it."""
    own = [f.categories for f in tree.features if f.column == column]
    return [*dict.fromkeys(label for labels in own for label in labels)]


def _goes_left(tree: Tree, node: int) -> np.ndarray:
    """Which categories of a column go left at a split, unseen and missing ones, too."""
    feature = tree.features[tree.feature[node]]
    known = feature.scored
    labels = _labels(tree, feature.column)
    scores = [known.get(label, feature.unseen) for label in labels]
    threshold, missing_left = tree.threshold[node], tree.missing_left[node]
    every = [*scores, feature.unseen, np.nan]
    return np.array([score_goes_left(s, threshold, missing_left) for s in every])


# Leaf values that are nearest to those wanted and in the order that is asked.


_MOST_ROUNDS = 50  # of adding violated pairs; a handful are ever needed
_CLOSE = 1e-9  # of the values' range: what counts as violated while solving


def isotonic(value: np.ndarray, weight: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the values nearest to these, by weighted squares, that are in order.

    Isotonic regression over a partial order: minimise ``sum w (v - value)^2`` where
    ``v[a] <= v[b]`` for each of the pairs (n_pairs, 2), which form no circle; weights
    count by their ratios, 0 is nearly nothing. Its dual is least squares without
    negative multipliers (Lawson and Hanson, 1974), over the pairs that are violated as
    far. In order to the last bit.
    """
    # Here, as it takes a moment, and pages import this module to be shown.
    from scipy.optimize import nnls

    fitted = value.astype(np.float64)
    close = _CLOSE * max(np.ptp(fitted), 1e-300) if len(fitted) else 0.0
    root = np.sqrt(np.maximum(weight / (weight.max(initial=0.0) or 1.0), 1e-9))
    active = np.zeros(len(pairs), dtype=bool)
    for _ in range(_MOST_ROUNDS):
        violated = fitted[pairs[:, 0]] > fitted[pairs[:, 1]] + close
        if not (violated & ~active).any():
            break
        active |= violated
        low, high = pairs[active].T
        place = np.arange(len(low))
        matrix = np.zeros((len(value), len(low)))
        matrix[low, place] = 1 / root[low]
        matrix[high, place] = -1 / root[high]
        multiplier, _ = nnls(matrix, root * value, maxiter=10 * sum(matrix.shape))
        fitted = value - matrix @ multiplier / root
    return _exactly_ordered(_with_ties(fitted), pairs)


def with_order(tree: Tree, constraints: Constraints) -> Tree:
    """Return a tree whose leaves keep the order that monotone columns ask.

    Of a classifier the probability of the class that is meant moves, and the other
    classes share the rest as before; whether it is predicted keeps the order, too.
    Leaves weigh what their rows do.
    """
    if not constraints.monotone or tree.n_splits == 0:
        return tree
    leaves = np.flatnonzero(tree.is_leaf)
    pairs = node_boxes(tree).of(leaves).ordered(constraints.monotone)
    if not len(pairs):
        return tree
    value = tree.value.copy()
    at = output_of(tree.classes, constraints)
    mass = tree.mass[leaves]
    value[leaves] = ordered_values(value[leaves], mass, pairs, at, tree.classes)
    if tree.decision is None:
        return replace(tree, value=value)
    decision, weights = tree.decision.copy(), tree.class_weights
    is_meant = decision[leaves] == at
    ordered = isotonic(is_meant.astype(np.float64), mass, pairs) > 0.5
    others = value[leaves] * (1.0 if weights is None else weights)
    others[:, at] = -1
    changed = np.where(ordered, at, others.argmax(axis=1))
    decision[leaves] = np.where(ordered == is_meant, decision[leaves], changed)
    return replace(tree, value=value, decision=decision)


def ordered_values(
    value: np.ndarray,
    weight: np.ndarray,
    pairs: np.ndarray,
    output: int,
    classes: tuple | None,
) -> np.ndarray:
    """Return leaf values (L, C) in order; ``output`` is the column that is ordered."""
    wanted = value[:, output]
    if not (wanted[pairs[:, 0]] > wanted[pairs[:, 1]]).any():
        return value
    fitted = isotonic(wanted, weight, pairs)
    if classes is None:
        return fitted[:, None]
    fitted = np.clip(fitted, 0.0, 1.0)
    others = np.delete(value, output, axis=1)
    total = others.sum(axis=1, keepdims=True)
    even = np.full_like(others, 1 / others.shape[1])
    share = np.divide(others, total, out=even, where=total > 0)
    moved = np.insert(share * (1 - fitted)[:, None], output, fitted, axis=1)
    return np.where((fitted == wanted)[:, None], value, moved)


def output_of(classes: tuple | None, constraints: Constraints) -> int:
    """Column of ``Tree.value`` whose order is meant."""
    if classes is None:
        return 0
    if constraints.monotone_class is None:
        return len(classes) - 1
    return [str(label) for label in classes].index(constraints.monotone_class)


def _with_ties(value: np.ndarray) -> np.ndarray:
    """Make equal what rounding parts, (n,): leaves that are equal are drawn as one."""
    if not len(value):
        return value
    close = 2 * TOLERANCE * (np.ptp(value) + ROUNDED * np.abs(value).max())
    order = np.argsort(value, kind="stable")
    is_new = np.diff(value[order], prepend=-np.inf) > close
    tied = value.copy()
    tied[order] = value[order][is_new][np.cumsum(is_new) - 1]
    return tied


def _exactly_ordered(value: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Take rounding out: no value is below one that must not exceed it."""
    fitted = value.copy()
    while (fitted[pairs[:, 0]] > fitted[pairs[:, 1]]).any():
        np.maximum.at(fitted, pairs[:, 1], fitted[pairs[:, 0]])
    return fitted


# Whether a finished tree keeps its constraints, on every possible row.


@dataclass(frozen=True)
class ConstraintCheck:
    """One thing that was asked, and where a tree breaks it."""

    asked: str  # a phrase, as "income up"
    # A sentence for each breach; empty where the tree keeps it.
    broken: tuple[str, ...] = ()
    where: str = "on every possible row"  # on which rows it holds, where it does

    @property
    def holds(self) -> bool:
        """Whether the tree keeps it."""
        return not self.broken


def constraint_checks(tree: Tree, constraints: Constraints) -> list[ConstraintCheck]:
    """Check each thing that is asked of a tree with its training rows.

    Class costs and column costs weigh; they forbid nothing and are not among them.
    """
    found = []
    for name, way in constraints.monotone.items():
        broken = _out_of_order(tree, constraints, name)
        found.append(ConstraintCheck(f"{name} {way}", broken))
    for part, asked, where in (
        ("allowed", "columns by level", "at level {level}"),
        ("together", "columns together on a path", "below columns of another group"),
    ):
        if own := getattr(constraints, part):
            wrong = np.flatnonzero(wrong_splits(tree, Constraints(**{part: own})))
            sentences = tuple(
                f"Node {node} tests {tree.features[tree.feature[node]].column} "
                f"{where.format(level=tree.level[node])}."
                for node in wrong.tolist()
            )
            found.append(ConstraintCheck(asked, sentences))
    if constraints.max_columns is not None:
        n, most = len(tree.columns), constraints.max_columns
        too_many = (f"It tests {n} columns.",) if n > most else ()
        found.append(ConstraintCheck(f"at most {counted(most, 'column')}", too_many))
    if constraints.min_samples_leaf > 1:
        least = constraints.min_samples_leaf
        small = np.flatnonzero(tree.is_leaf & (tree.n_rows < least))
        few = tuple(f"Leaf {i} holds {tree.n_rows[i]:,} rows." for i in small)
        asked = f"at least {least:,} rows a leaf"
        found.append(ConstraintCheck(asked, few, "on the training rows"))
    return found


def violations(tree: Tree, constraints: Constraints) -> list[str]:
    """Return a sentence for each breach; see ``constraint_checks``."""
    return [text for one in constraint_checks(tree, constraints) for text in one.broken]


def wrong_splits(tree: Tree, constraints: Constraints) -> np.ndarray:
    """Return splits that test a column which they may not test there, bool (n_nodes,).

    By their level, or by the columns above them.
    """
    columns = [feature.column for feature in tree.features]
    groups = constraints.group_of(columns)
    wrong = np.zeros(tree.n_nodes, dtype=bool)
    above = [frozenset[str]()] * tree.n_nodes  # columns on the path to each node
    for node in tree.splits.tolist():
        own = columns[tree.feature[node]]
        path = above[node] | {own}
        wrong[node] = own not in constraints.allowed_at(int(tree.level[node]), columns)
        if constraints.together:
            wrong[node] |= not any(path <= group for group in groups)
        above[tree.left[node]] = above[tree.right[node]] = path
    return wrong


def _out_of_order(tree: Tree, constraints: Constraints, name: str) -> tuple[str, ...]:
    """Pairs of leaves of which the one below in a column predicts too much."""
    leaves = np.flatnonzero(tree.is_leaf)
    one = {name: constraints.monotone[name]}
    pairs = leaves[node_boxes(tree).of(leaves).ordered(one)]
    value = tree.value[:, output_of(tree.classes, constraints)]
    return tuple(
        f"Leaf {low} predicts {value[low]:g}, leaf {high} {value[high]:g}."
        for low, high in pairs.tolist()
        if value[low] > value[high]
    )


# The last step of a constrained fit: the leaves are put in order, for good.
#
# Learners grow and train within the constraints; what encoded and user's columns, rows
# of a fold and all rows disagree on is settled here.


Model = TypeVar("Model", bound=Any)


def kept(tree: Tree, constraints: Constraints) -> Tree:
    """Return a tree that keeps its constraints on every possible row.

    A split that is wrong where it stands, or parts too few rows, becomes a leaf. Leaves
    out of order take the nearest values that are in order (isotonic regression), and
    those that become equal are merged. The tree has its training rows, and a prediction
    at each node.
    """
    if not constraints.limits_splits:
        return tree
    while True:
        small = tree.is_leaf & (tree.n_rows < constraints.min_samples_leaf)
        wrong = wrong_splits(tree, constraints)
        wrong[tree.parent[small & (tree.level > 0)]] = True
        if not wrong.any():
            break
        tree = prune_empty(cut_at(tree, wrong))
    return merge_equal(with_order(tree, constraints), tolerance=0)


def kept_path(path: SizePath, constraints: Constraints) -> SizePath:
    """Return a path whose trees keep their constraints."""
    if not constraints.limits_splits:
        return path
    scores = path.scores
    return path_of_sizes(
        [kept(tree, constraints) for tree in path.trees],
        scores["n_leaves"].to_numpy(),
        scores["score"].to_numpy(),
        scores["standard_error"].to_numpy(),
        path.chosen,
        rule=path.rule,
    )


def with_note(model: Model, constraints: Constraints) -> Model:
    """Return a Tree or WeightedTrees whose notes say what it keeps."""
    if not constraints:
        return model
    return replace(
        model, notes=(*model.notes, f"Trained under constraints: {constraints}.")
    )


def votes(
    constraints: Constraints, classes: tuple | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a training row of each class adds to a leaf, by class costs.

    A row votes for each class by what it saves that this one is predicted rather than
    the worst for the row. So the class with most votes is the one with the lowest
    expected cost; of two classes this is weighting the rows by the cost of their error.

    Returned are fractions of a row's vote (C, C), a row of it a class, the identity
    without costs; and the weight (C,) of a row of each class.
    """
    costs = cost_matrix(constraints, classes)
    if costs is None:
        n_values = len(classes or ()) or 1
        return np.eye(n_values), np.ones(n_values)
    saved = costs.max(axis=1, keepdims=True) - costs
    weights = saved.sum(axis=1)
    even = np.eye(len(costs))
    values = np.divide(saved, weights[:, None], out=even, where=weights[:, None] > 0)
    return values, weights


def cost_matrix(constraints: Constraints, classes: tuple | None) -> np.ndarray | None:
    """Return what each prediction (column) costs a row of each class (row), (C, C).

    None where no costs are asked, or nothing but numbers is predicted.
    """
    if classes is None or not constraints.class_costs:
        return None
    costs = 1 - np.eye(len(classes))
    labels = [str(label) for label in classes]
    for truth, row in constraints.class_costs.items():
        for predicted, cost in row.items():
            costs[labels.index(truth), labels.index(predicted)] = cost
    return costs
