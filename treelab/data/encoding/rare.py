"""Rare categories as one: values that few training rows hold share a score."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A category column as codes, its rare levels joined.

    Attributes
    ----------
    codes : int64 array of shape (n_rows,)
        Group of each row's level, -1 where the value is missing.
    levels : tuple of str
        All levels, sorted.
    group : int64 array of shape (n_levels,)
        Group of each level: one of its own, or that of the rare ones, the last.
    rare : tuple of str
        The levels that are one group; () or at least two.
    """

    codes: np.ndarray
    levels: tuple[str, ...]
    group: np.ndarray
    rare: tuple[str, ...] = ()

    @property
    def n_groups(self) -> int:
        """Number of groups of levels."""
        return len(self.levels) - max(len(self.rare) - 1, 0)


def join_rare(codes: np.ndarray, levels: tuple[str, ...], least: float) -> CodedColumn:
    """Join the levels that fewer rows hold than ``least``, where they are two or more.

    Parameters
    ----------
    codes : int64 array of shape (n_rows,)
        Level of each row, -1 where the value is missing.
    levels : tuple of str
    least : float
        Rows, or below 1 a fraction of all rows, that a level of its own has at least;
        0 joins none.
    """
    own = np.arange(len(levels))
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    is_rare = counts < (least * len(codes) if least < 1 else least)
    if is_rare.sum() < 2:
        return CodedColumn(codes, levels, own)
    group = np.where(is_rare, (~is_rare).sum(), np.cumsum(~is_rare) - 1)
    rare = tuple(level for level, few in zip(levels, is_rare) if few)
    return CodedColumn(np.where(codes < 0, -1, group[codes]), levels, group, rare)


def parse_least(text: str) -> float:
    """Read least rows as people write them: "10", or "1%" of the rows; 0 for "".

    Raises
    ------
    ValueError
        If it is neither a whole number of at least 2 nor a percentage between 0 and 50.
    """
    text = text.strip()
    try:
        value = float(text.removesuffix("%") or 0 * bool(text)) if text else 0.0
    except ValueError:
        value = -1.0
    if text.endswith("%") and 0 < value <= 50:
        return value / 100
    if not text or (value >= 2 and value.is_integer() and not text.endswith("%")):
        return value
    raise ValueError(
        "A value is rare below a whole number of rows from 2 on, or below a "
        f"percentage of the rows up to 50%; got {text!r}."
    )


def least_text(least: float) -> str:
    """Write least rows as ``parse_least`` reads them."""
    if not least:
        return ""
    return f"{least * 100:g}%" if least < 1 else f"{least:g}"
