"""Refusals of settings out of range: the name, the value and what would work."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real

import numpy as np


def check_at_least(name: str, value, minimum: int) -> None:
    """Raise ValueError unless ``value`` is an integer of at least ``minimum``."""
    if not _is_integer(value) or value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}, got {value!r}.")


def check_between(name: str, value, minimum: int, maximum: int) -> None:
    """Raise ValueError unless ``value`` is an integer in [minimum, maximum]."""
    if not _is_integer(value) or not minimum <= value <= maximum:
        raise ValueError(
            f"{name} must be an integer from {minimum} to {maximum}, got {value!r}."
        )


def check_number(name: str, value, *, above=None, minimum=None, maximum=None) -> None:
    """Raise ValueError unless ``value`` is a finite number inside the bounds."""
    fine = isinstance(value, Real) and not isinstance(value, bool)
    fine = fine and float("-inf") < value < float("inf")
    fine = fine and (above is None or value > above)
    fine = fine and (minimum is None or value >= minimum)
    fine = fine and (maximum is None or value <= maximum)
    if not fine:
        bounds = [f"> {above}"] if above is not None else []
        bounds += [f">= {minimum}"] if minimum is not None else []
        bounds += [f"<= {maximum}"] if maximum is not None else []
        wanted = f" {' and '.join(bounds)}" if bounds else ""
        raise ValueError(f"{name} must be a finite number{wanted}, got {value!r}.")


def check_ascending(name: str, value, *, minimum: float) -> None:
    """Raise ValueError unless ``value`` is a number or numbers in ascending order."""
    wanted = f"{name} must be a number >= {minimum:g}, or an ascending sequence of such"
    single = isinstance(value, Real) and not isinstance(value, bool)
    values = [value] if single else value
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise ValueError(f"{wanted}, got {value!r}.")
    if not len(values):
        raise ValueError(f"{wanted}, got none at all.")
    for one in values:
        check_number(name, one, minimum=minimum)
    for low, high in pairwise(values):
        if high <= low:
            raise ValueError(f"{wanted}, but {high!r} follows {low!r}.")


def check_choice(name: str, value, choices: Sequence) -> None:
    """Raise ValueError unless ``value`` is one of ``choices``."""
    if not any(value is c or (type(value) is type(c) and value == c) for c in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")


def _is_integer(value) -> bool:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)
