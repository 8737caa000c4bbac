"""The kinds of edits, each one line of a log: plain, immutable, written as JSON."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from math import isnan, nan
from typing import Any, ClassVar

from treelab.editing.paths import SIDES
from treelab.trees.dates import moment_text
from treelab.trees.words import last_time, listed, quoted, threshold_text

MOST_DEPTH = 64  # letters of a path


@dataclass(frozen=True)
class Edit:
    """Something done to a tree.

    ValueError if a value is not of its kind.
    """

    # The node, "L" and "R" from the root, as the tree is before the edit; "" is the
    # root.
    path: str

    kind: ClassVar[str]

    def __post_init__(self):
        is_path = isinstance(self.path, str) and not set(self.path) - set(SIDES)
        if not is_path or len(self.path) > MOST_DEPTH:
            raise ValueError(
                f"path must be made of at most {MOST_DEPTH} letters L and R, got "
                f"{self.path!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-safe values; what is None is left out."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind} | {
            name: [*value] if isinstance(value, tuple) else value
            for name, value in own.items()
            if value is not None
        }

    def sentence(self) -> str:
        """Return the edit in words."""
        raise NotImplementedError

    @property
    def _place(self) -> str:
        """The node, at the beginning of a sentence."""
        return f"At {self.path}" if self.path else "At the root"


@dataclass(frozen=True)
class SetSplit(Edit):
    """Let a node test one column; a leaf grows two children."""

    column: str
    threshold: float | None = None  # of a number column: rows with at most this go left
    # Of a category column: rows with one of these go left.
    categories: tuple[str, ...] | None = None
    missing_left: bool = False  # whether rows without a value go left
    is_date: bool = False  # whether the threshold is a date, as a year with decimals
    is_time: bool = False  # whether it is a time, as hours

    kind: ClassVar[str] = "split"

    def __post_init__(self):
        super().__post_init__()
        _check_column(self.column)
        if (self.threshold is None) == (self.categories is None):
            raise ValueError("A split has either a threshold or categories.")
        if self.threshold is not None:
            object.__setattr__(self, "threshold", _finite(self.threshold))
        else:
            object.__setattr__(self, "categories", _texts(self.categories))
        _check_bool("missing_left", self.missing_left)
        _check_bool("is_date", self.is_date)
        _check_bool("is_time", self.is_time)

    def sentence(self) -> str:
        """Return the edit in words."""
        missing = " (or missing)" if self.missing_left else ""
        if self.threshold is not None:
            bound = _bound_text(self.threshold, self.is_date, self.is_time, "≤ ")
            return f"{self._place}: split by {self.column} {bound}{missing}."
        names = listed(self.categories or (), write=quoted)
        return f"{self._place}: split by {self.column} in {names}{missing}."


@dataclass(frozen=True)
class SetThreshold(Edit):
    """Move the threshold of a split, be it of one column or oblique."""

    threshold: float
    is_date: bool = False  # as of ``SetSplit``
    is_time: bool = False

    kind: ClassVar[str] = "threshold"

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "threshold", _finite(self.threshold))
        _check_bool("is_date", self.is_date)
        _check_bool("is_time", self.is_time)

    def sentence(self) -> str:
        """Return the edit in words."""
        to = _bound_text(self.threshold, self.is_date, self.is_time)
        return f"{self._place}: threshold moved to {to}."


@dataclass(frozen=True)
class ColumnEdit(Edit):
    """An edit that is about a column, at a node and everywhere below it."""

    column: str

    said: ClassVar[str]  # of the column, in words

    def __post_init__(self):
        super().__post_init__()
        _check_column(self.column)

    def sentence(self) -> str:
        """Return the edit in words."""
        where = f"at {self.path} and below" if self.path else "everywhere"
        return f"{self.column} is {self.said} {where}."


@dataclass(frozen=True)
class Forbid(ColumnEdit):
    """No split here or below tests the column; those that do get their next best."""

    kind: ClassVar[str] = "forbid"
    said: ClassVar[str] = "forbidden"


@dataclass(frozen=True)
class Prefer(ColumnEdit):
    """Splits here and below test the column wherever that costs little."""

    kind: ClassVar[str] = "prefer"
    said: ClassVar[str] = "preferred"


@dataclass(frozen=True)
class Allow(ColumnEdit):
    """Take back what ``Forbid`` or ``Prefer`` said of the column at this node."""

    kind: ClassVar[str] = "allow"
    said: ClassVar[str] = "a column like any other again"


@dataclass(frozen=True)
class LockEdit(Edit):
    """An edit on what is held fixed."""

    below: bool = False  # whether all that is below the node is meant, too

    def __post_init__(self):
        super().__post_init__()
        _check_bool("below", self.below)

    def sentence(self) -> str:
        """Return the edit in words."""
        place = self.path or "The root"
        return f"{place}{' and all below' * self.below} {self.kind}ed."


@dataclass(frozen=True)
class Lock(LockEdit):
    """Hold a node fixed, whatever is edited or trained after it."""

    kind: ClassVar[str] = "lock"


@dataclass(frozen=True)
class Unlock(LockEdit):
    """Let go of what was locked."""

    kind: ClassVar[str] = "unlock"


@dataclass(frozen=True)
class Prune(Edit):
    """Make a leaf of a split."""

    kind: ClassVar[str] = "prune"

    def sentence(self) -> str:
        """Return the edit in words."""
        return f"{self._place}: pruned to a leaf."


EDITS = {
    edit.kind: edit
    for edit in (SetSplit, SetThreshold, Forbid, Prefer, Allow, Lock, Unlock, Prune)
}


def edit_from_dict(stored: Any) -> Edit:
    """Rebuild the edit that ``to_dict`` wrote.

    ValueError if it is none, naming what is wrong.
    """
    if not isinstance(stored, Mapping) or str(stored.get("kind")) not in EDITS:
        raise ValueError(f"An edit has a kind, one of {', '.join(EDITS)}: {stored!r}.")
    kind = EDITS[stored["kind"]]
    given = {name: value for name, value in stored.items() if name != "kind"}
    known = {field.name: field.default is MISSING for field in fields(kind)}
    needed = [name for name, is_needed in known.items() if is_needed]
    has = f"An edit of kind {kind.kind!r} has {listed(list(known))}"
    if unknown := sorted(map(str, set(given) - set(known))):
        raise ValueError(f"{has}, but has no {', '.join(unknown)}: {stored!r}.")
    if absent := [name for name in needed if name not in given]:
        raise ValueError(f"{has}, and lacks {', '.join(absent)}: {stored!r}.")
    return kind(**given)


def _check_column(column) -> None:
    """Raise ValueError unless it may name a column."""
    if not isinstance(column, str):
        raise ValueError(f"column must be a column's name, got {column!r}.")


def _check_bool(name: str, value) -> None:
    """Raise ValueError unless the value is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}.")


def _bound_text(threshold: float, is_date: bool, is_time: bool, sign: str = "") -> str:
    """Write what goes left: before a date, else up to a number or a time."""
    if is_date:
        return f"before {moment_text(threshold)}"
    return f"{sign}{last_time(threshold) if is_time else _number_text(threshold)}"


def _number_text(threshold: float) -> str:
    """Write a threshold with up to nine digits: what is typed is read again."""
    return threshold_text(threshold, nan, nan, abs(threshold) * 1e-9)


def _finite(value) -> float:
    """Return a threshold as a float; ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"threshold must be a number, got {value!r}.")
    if isnan(value) or abs(value) == float("inf"):
        raise ValueError(f"threshold must be finite, got {value!r}.")
    return float(value)


def _texts(values) -> tuple[str, ...]:
    """Return categories as text, each once; ValueError where there is none."""
    if isinstance(values, str) or not isinstance(values, list | tuple) or not values:
        raise ValueError(f"categories must list at least one, got {values!r}.")
    return tuple(dict.fromkeys(str(value) for value in values))
