"""Constraints: what a tree must keep on every possible row, in the user's columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from treelab.trees.constraints.reading import (
    read_columns,
    read_costs,
    read_count,
    read_directions,
    read_groups,
    read_levels,
    read_matrix,
)
from treelab.trees.text.numerals import counted

UP, DOWN = "up", "down"
OTHER = "other"  # in ``allowed``: all levels that are not named


@dataclass(frozen=True)
class Constraints:
    """What a tree must keep; by default nothing.

    Each part is given as plain Python, as JSON, or as the text in its example.

    Parameters
    ----------
    monotone : mapping of column to "up" or "down" (or 1, -1)
        Number columns whose growth never lowers ("up") or never raises ("down") the
        prediction, all other columns held: "income: up, age: down".
    monotone_class : str, optional
        The class whose probability is meant. Of two classes the second one by default;
        of more it must be named.
    allowed : mapping of level to columns
        Columns that splits may test, by level (the root has 0); "other" is for the
        levels that are not named: "0: age, income; other: age, income, job".
    together : sequence of sequences of columns
        Groups: the columns of one path lie in one group. Columns in no group form one
        more: "age, income; age, job".
    column_costs : mapping of column to number
        What a column costs that the tree uses at all, as a fraction of the root's
        impurity that its splits must save beyond their own: "scan: 0.05, age: 0".
    max_columns : int, optional
        Most different columns in the tree.
    min_samples_leaf : int, default=1
        Fewest training rows in a leaf.
    class_costs : mapping of class to mapping of class to number
        What it costs that a row of a class is predicted as another, 1 where it is not
        given: "bad as good: 5, good as bad: 1".

    Raises
    ------
    ValueError
        For a part that cannot be read.
    """

    monotone: Mapping[str, str] = field(default_factory=dict)
    monotone_class: str | None = None
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    together: Sequence[tuple[str, ...]] = ()
    column_costs: Mapping[str, float] = field(default_factory=dict)
    max_columns: int | None = None
    min_samples_leaf: int = 1
    class_costs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self):
        named = self.monotone_class
        read = {
            "monotone": read_directions(self.monotone, (UP, DOWN)),
            "monotone_class": None if named in (None, "") else str(named),
            "allowed": read_levels(self.allowed, OTHER),
            "together": read_groups(self.together),
            "column_costs": read_costs(self.column_costs),
            "max_columns": read_count("max_columns", self.max_columns, None),
            "min_samples_leaf": read_count(
                "min_samples_leaf", self.min_samples_leaf, 1
            ),
            "class_costs": read_matrix(self.class_costs),
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)

    @classmethod
    def read(cls, given: Any) -> "Constraints":
        """Return constraints of what a setting holds: None, a mapping, or themselves.

        Raises
        ------
        ValueError
            For a part that does not exist or cannot be read.
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
            "monotone": dict(self.monotone),
            "monotone_class": self.monotone_class if self.monotone else None,
            "allowed": {level: [*names] for level, names in self.allowed.items()},
            "together": [[*group] for group in self.together],
            "column_costs": dict(self.column_costs),
            "max_columns": self.max_columns,
            "min_samples_leaf": self.min_samples_leaf,
            "class_costs": {k: dict(row) for k, row in self.class_costs.items()},
        }
        nothing: tuple[Any, ...] = ({}, [], None)
        return {
            name: value
            for name, value in stored.items()
            if value not in nothing and (name, value) != ("min_samples_leaf", 1)
        }

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

        Parameters
        ----------
        columns : sequence of str
            All columns of the table.
        categories : sequence of str
            Those that hold categories.
        """
        read_columns(self.columns, columns)
        for name in self.monotone:
            if name in categories:
                raise ValueError(
                    f"Column {name!r} holds categories, which have no order; monotone "
                    "is for columns of numbers."
                )

    def check_classes(self, classes: Sequence | None) -> None:
        """Raise ValueError for a class that a target lacks, or one that is not named.

        Parameters
        ----------
        classes : sequence or None
            Labels; None for regression.
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
