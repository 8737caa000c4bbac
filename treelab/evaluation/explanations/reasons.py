"""The reasons for one prediction, in words, the strongest first."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from treelab.evaluation.explanations.contributions import (
    Contributions,
    split_name,
)
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import as_table
from treelab.trees.text.cells import cell_text, fact_text
from treelab.trees.text.conditions import Condition, ObliqueCondition, path_conditions
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
    model: Tree | WeightedTrees,
    row,
    contributions: Contributions,
    conditions: Sequence[Condition] | None = None,
) -> list[Reason]:
    """Put contributions to a prediction into words, the largest change first.

    Parameters
    ----------
    model : Tree or WeightedTrees
    row : DataFrame or array of one row
    contributions : Contributions
    conditions : sequence of Condition or None, default=None
        Whose bounds the facts have; a column of theirs is a reason also where it
        changes nothing by itself. None: those of a single tree's path.
    """
    table = as_table(model.features, row)
    facts = {}
    for feature in model.features:
        if feature.column in contributions.changes:
            value = cell_text(feature, table[feature.column].iloc[0])
            facts[feature.column] = f"{clean(feature.column)} is {value}"
    changes = dict(contributions.changes)
    if isinstance(model, Tree):
        on_path = path_conditions(model, model.path(row)[-1])
        for condition in on_path if conditions is None else conditions:
            if isinstance(condition, ObliqueCondition):
                name = split_name(model, condition.node)
            else:
                name = condition.column
            facts[name] = fact_text(model, condition, table)
            if conditions is not None:
                changes.setdefault(name, 0.0)
    return [Reason(name, facts.get(name, name), own) for name, own in changes.items()]


def because(
    found: Sequence[Reason], rises: bool = True, needed: Collection[str] = ()
) -> str:
    """Return the strongest reasons as half a sentence.

    Parameters
    ----------
    found : sequence of Reason
        The largest change first.
    rises : bool, default=True
        Whether the prediction is explained by what raises it, or by what lowers it.
    needed : collection of str, default=()
        Names of reasons that together settle the prediction: these are given, also
        where one changes little by itself, as in an exclusive or.

    Returns
    -------
    str
        Such as "because age is 38 (> 30.5) and job is Sales, although bmi is 21";
        "" where nothing speaks for the prediction.
    """
    sign = 1 if rises else -1
    largest = max((own.change * sign for own in found), default=0.0)
    if largest <= 0:
        return ""
    least = WORTH_SAYING * largest
    against = [own for own in found if own.change * sign <= -least]
    strong = [own for own in found if own.name in needed and own not in against]
    if not strong:
        strong = [own for own in found if own.change * sign >= least][:MOST]
    words = f"because {joined([own.fact for own in strong])}"
    return f"{words}, although {against[0].fact}" if against else words


def joined(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
