"""How names and numbers are written for the viewer, and how fully."""

from dataclasses import dataclass
from math import isfinite

from treelab.trees.feature import Feature
from treelab.trees.text.names import short
from treelab.trees.text.sums import has_scores, term_name

NAME_LENGTH = 80  # letters of a name in the legend or on an axis


@dataclass(frozen=True)
class Wording:
    """How fully a node is written.

    Attributes
    ----------
    length : int
        Letters of a feature's or category's name before it is cut.
    listed : int
        Categories in a condition.
    left : int
        Categories that are named as going left.
    terms : int
        Features of a weighted sum.
    """

    length: int
    listed: int
    left: int
    terms: int


# From the fullest to the briefest: what a larger tree has room for.
WORDINGS = (
    Wording(NAME_LENGTH, 20, 40, 12),
    Wording(32, 12, 20, 8),
    Wording(24, 6, 12, 5),
)


def brief_name(feature: Feature, length: int) -> str:
    """Return a feature's name on a card; † stands for the score of a category.

    A note lists the scores; see ``sum_notes``.
    """
    if has_scores(feature):
        return f"{short(feature.column, length)}†"
    return term_name(feature, length)


def plain_number(value: float | None) -> float | None:
    """Return a number of six significant digits that JSON can hold; None for others."""
    if value is None or not isfinite(value):
        return None
    return float(f"{float(value):.6g}")
