"""What a person writes as a constraint, in text or as Python, as plain values."""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

_SIGNS = {"1": "up", "-1": "down", "increasing": "up", "decreasing": "down"}


def read_directions(given: Any, known: tuple[str, str]) -> dict[str, str]:
    """Read "income: up, age: down", or a mapping of columns to up, down, 1 or -1."""
    found = {}
    for name, way in _pairs("monotone", given, "income: up, age: down"):
        word = str(way).strip().lower()
        word = _SIGNS.get(word, word)
        if word == "0":
            continue
        if word not in known:
            raise ValueError(
                f"monotone of column {name!r} must be up or down, got {way!r}."
            )
        found[name] = word
    return found


def read_costs(given: Any) -> dict[str, float]:
    """Read "scan: 0.05, age: 0", or a mapping of columns to costs."""
    pairs = _pairs("column_costs", given, "scan: 0.05, age: 0")
    return {name: _cost(f"The cost of {name!r}", cost) for name, cost in pairs}


def read_levels(given: Any, other: str) -> dict[str, tuple[str, ...]]:
    """Read "0: age, income; other: job", or a mapping of levels to columns."""
    if isinstance(given, str):
        parts = [part.partition(":") for part in _split(given, ";")]
        given = {level: names for level, colon, names in parts if _has(colon, given)}
    found = {}
    for level, names in _mapping("allowed", given).items():
        word = str(level).strip()
        if word != other and not word.isdecimal():
            raise ValueError(
                f"allowed is by level, 0 for the root, or {other!r}; got {level!r}."
            )
        columns = _names(names)
        if not columns:
            raise ValueError(f"allowed names no column for level {word}.")
        found[word] = columns
    return found


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
        for pair, cost in _pairs("class_costs", given, example):
            truth, between, predicted = pair.partition(" as ")
            if not between:
                raise ValueError(f"class_costs reads as {example!r}, got {pair!r}.")
            matrix.setdefault(truth.strip(), {})[predicted.strip()] = cost
        given = matrix
    found: dict[str, dict[str, float]] = {}
    for truth, row in _mapping("class_costs", given).items():
        costs = {}
        for predicted, cost in _mapping("class_costs", row).items():
            name = f"The cost of {truth} as {predicted}"
            costs[str(predicted)] = _cost(name, cost)
            if str(predicted) == str(truth) and costs[str(predicted)]:
                raise ValueError(f"{name}, which is right, must be 0, got {cost!r}.")
        found[str(truth)] = costs
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


def read_columns(named: Sequence[str], columns: Sequence[str]) -> None:
    """Raise ValueError for the first named column that a table does not have."""
    known = set(columns)
    for name in named:
        if name not in known:
            close = get_close_matches(name, [*columns], n=1)
            hint = f"did you mean {close[0]!r}?" if close else "check its name."
            raise ValueError(
                f"The constraints name a column {name!r}, which the table does not "
                f"have; {hint}"
            )


def _pairs(name: str, given: Any, example: str) -> list[tuple[str, Any]]:
    """Read "a: x, b: y", or a mapping, as pairs."""
    if not isinstance(given, str):
        return [(str(k).strip(), v) for k, v in _mapping(name, given).items()]
    pairs = []
    for part in _split(given, ","):
        key, colon, value = part.rpartition(":")
        if not colon or not key.strip():
            raise ValueError(f"{name} reads as {example!r}, got {part!r}.")
        pairs.append((key.strip(), value.strip()))
    return pairs


def _mapping(name: str, given: Any) -> Mapping:
    """Return a mapping, or raise ValueError; nothing is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"{name} must be a mapping or text, got {given!r}.")
    return given


def _has(colon: str, text: str) -> bool:
    """Whether there was a colon; raise ValueError where not."""
    if not colon:
        raise ValueError(
            f"allowed reads as '0: age, income; other: job', got {text!r}."
        )
    return True


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
