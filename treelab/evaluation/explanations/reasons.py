"""The reasons for one prediction, in words, the strongest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from treelab.evaluation.explanations.contributions import (
    Contributions,
    split_name,
)
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import as_table
from treelab.trees.text.cells import cell_text, fact_text
from treelab.trees.text.conditions import ObliqueCondition, path_conditions
from treelab.trees.text.names import clean
from treelab.trees.tree import Tree

MOST = 3  # reasons that a sentence gives
WORTH_SAYING = 0.2  # of the largest change


@dataclass(frozen=True)
class Reason:
    """One column, or weighted sum, and what it changes.

    Attributes
    ----------
    name : str
        Column, or terms of the sum.
    fact : str
        What the row holds: "age is 38 (> 30.5)".
    change : float
        Of the prediction, in its own unit.
    """

    name: str
    fact: str
    change: float


def reasons(
    model: Tree | WeightedTrees, row, contributions: Contributions
) -> list[Reason]:
    """Put contributions to a prediction into words, the largest change first.

    Where the row's path through a single tree tests a column, the fact has the
    interval that matters.
    """
    table = as_table(model.features, row)
    facts = {}
    for feature in model.features:
        if feature.column in contributions.changes:
            value = cell_text(feature, table[feature.column].iloc[0])
            facts[feature.column] = f"{clean(feature.column)} is {value}"
    if isinstance(model, Tree):
        for condition in path_conditions(model, model.path(row)[-1]):
            if isinstance(condition, ObliqueCondition):
                name = split_name(model, condition.node)
            else:
                name = condition.column
            facts[name] = fact_text(model, condition, table)
    return [
        Reason(name, facts.get(name, name), change)
        for name, change in contributions.changes.items()
    ]


def because(found: Sequence[Reason], rises: bool = True) -> str:
    """Return the strongest reasons as half a sentence.

    Parameters
    ----------
    found : sequence of Reason
        The largest change first.
    rises : bool, default=True
        Whether the prediction is explained by what raises it, or by what lowers it.

    Returns
    -------
    str
        Such as "because age is 38 (> 30.5) and job is Sales, although bmi is 21";
        "" where nothing speaks for the prediction.
    """
    sign = 1 if rises else -1
    speaks_for = [own for own in found if own.change * sign > 0]
    if not speaks_for:
        return ""
    least = WORTH_SAYING * abs(speaks_for[0].change)
    strong = [own.fact for own in speaks_for if abs(own.change) >= least][:MOST]
    words = f"because {joined(strong)}"
    against = [own for own in found if own.change * sign <= -least]
    return f"{words}, although {against[0].fact}" if against else words


def joined(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
