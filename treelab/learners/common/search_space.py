"""A search space: between which values a sweep looks for a learner's settings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from treelab.learners.common.spec import LearnerSpec, Setting


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included.

    Attributes
    ----------
    low, high : int or float
        Whole numbers where both are.
    log : bool
        Whether factors are tried evenly, in place of differences.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        """Refuse a range that holds no number."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"A range needs two numbers, got {self}.")
        if self.low > self.high:
            raise ValueError(f"A range goes from the lower number up, got {self}.")
        if self.log and self.low <= 0:
            raise ValueError(f"A range of factors begins above 0, got {self}.")

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers alone."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def ends(self) -> tuple:
        """Return the values at its ends, which a setting must allow."""
        return self.low, self.high

    def __contains__(self, value: object) -> bool:
        """Whether a value may come of the range."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high  # type: ignore[operator]

    def __str__(self) -> str:
        """Write it as the command line takes it."""
        return f"{self.low:g}..{self.high:g}{':log' * self.log}"


@dataclass(frozen=True)
class Values:
    """A few values, one of which is taken."""

    values: tuple

    def __post_init__(self) -> None:
        """Refuse an empty list."""
        if not self.values:
            raise ValueError("A list of values needs one at least.")

    def ends(self) -> tuple:
        """Return the values, which a setting must allow."""
        return self.values

    def __contains__(self, value: object) -> bool:
        """Whether a value may come of the list; 1 and True are not the same."""
        return any(type(value) is type(one) and value == one for one in self.values)

    def __str__(self) -> str:
        """Write it as the command line takes it."""
        return ",".join(str(value) for value in self.values)


Space = Mapping[str, Range | Values]
"""What is tried, by the name of the setting."""


@dataclass(frozen=True)
class Preset:
    """A search space that is proposed for a learner.

    Attributes
    ----------
    space : mapping of str to Range or Values
    fixed : mapping of str to object
        Settings that all trials have, such as the recipe.
    source : str
        Where it comes from, in a sentence.
    scoring : {"own", "folds", "validation"}
        How trials are scored unless something else is asked for.
    """

    space: Space
    fixed: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""
    scoring: str = "folds"

    def of_task(self, spec: LearnerSpec, task: str) -> "Preset":
        """Return the part of it that a task knows."""
        known = {setting.name for setting in spec.settings_of(task)}
        return replace(
            self,
            space={name: self.space[name] for name in self.space if name in known},
            fixed={name: self.fixed[name] for name in self.fixed if name in known},
        )


def check_space(spec: LearnerSpec, task: str, space: Space) -> None:
    """Raise ValueError unless a learner has each setting and allows each value."""
    known = {setting.name: setting for setting in spec.settings_of(task)}
    if not space:
        raise ValueError("A sweep needs one setting at least that it may change.")
    for name, tried in space.items():
        if name not in known:
            listed = ", ".join(sorted(known))
            raise ValueError(f"{spec.title} has no setting {name!r}; it has {listed}.")
        for value in tried.ends():
            known[name].check(value)


def parse_tried(setting: Setting, text: str, parse: Any) -> Range | Values:
    """Read "0.01..0.3", "0.01..0.3:log" or "4,8,16" as what is tried of a setting.

    Parameters
    ----------
    setting : Setting
    text : str
    parse : callable
        Reads one value of the setting, as ``--set`` does; ValueError where it cannot.
    """
    body, _, how = text.partition(":")
    low, dots, high = body.partition("..")
    if not dots:
        return Values(tuple(parse(setting, part.strip()) for part in text.split(",")))
    if how not in ("", "log") or setting.kind not in ("int", "float"):
        raise ValueError(
            f"{setting.name} takes a list such as 1,2,3 or, where it is a number, a "
            f"range such as 1..9 or 0.01..1:log; got {text!r}."
        )
    return Range(parse(setting, low), parse(setting, high), log=how == "log")


def to_plain(space: Space) -> dict[str, Any]:
    """Return a space as JSON takes it; ``from_plain`` reads it."""
    return {
        name: {"low": tried.low, "high": tried.high, "log": tried.log}
        if isinstance(tried, Range)
        else list(tried.values)
        for name, tried in space.items()
    }


def from_plain(plain: Mapping[str, dict | Sequence]) -> dict[str, Range | Values]:
    """Read a space that ``to_plain`` wrote."""
    return {
        name: Range(**tried) if isinstance(tried, dict) else Values(tuple(tried))
        for name, tried in plain.items()
    }
