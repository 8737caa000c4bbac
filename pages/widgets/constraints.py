"""What the trees must keep, as a form: a widget for each kind of constraint."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.cached.store import table
from pages.cached.tables import column_kinds
from pages.widgets.words import plain
from treelab.data.problem import Problem
from treelab.learners.common.settings import LearnerSpec
from treelab.trees.constraints import DOWN, UP, Constraints

TITLE = "Constraints"
_TEXTS = {
    "together": (
        "Columns that may stand on one path",
        "age, income; age, job",
        "Groups, with semicolons between: the columns that one decision path tests lie "
        "in one group. Columns in no group form one more.",
    ),
    "allowed": (
        "Columns by level",
        "0: age, income; other: job",
        "Which columns a split may test: the root is level 0; “other” are all levels "
        "that are not named.",
    ),
    "column_costs": (
        "What columns cost",
        "scan: 0.05, age: 0.01",
        "Fraction of the root's impurity that a column must save beyond its splits' "
        "own gain to be used at all.",
    ),
}


def constraints_form(
    problem: Problem, specs: Sequence[LearnerSpec]
) -> tuple[Any, bool]:
    """Show the constraints in a panel of their own.

    Returns
    -------
    constraints : dict or None
        As a run takes them; None where nothing is asked.
    complete : bool
        False where they cannot be read or a learner cannot keep them; the page shows
        why.
    """
    with st.expander(TITLE, icon=":material/rule:", key="constraints"):
        st.caption(
            "What must hold on every possible row, not only on those of the table. "
            "Trees are trained with it, and the Tree page shows that they keep it."
        )
        given = _monotone(problem, specs) | _counts() | _texts(problem)
    try:
        constraints = Constraints.read(given)
        constraints.check_columns(problem.columns)
        constraints.check_classes(_classes(problem))
        for spec in specs:
            spec.check_constraints(constraints)
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return None, False
    return constraints.to_dict() or None, True


def _monotone(problem: Problem, specs: Sequence[LearnerSpec]) -> dict[str, Any]:
    """Ask which columns must raise or lower the prediction, and of which class."""
    kinds, classes = column_kinds(problem), _classes(problem)
    numbers = [name for name in problem.columns if kinds.get(name) != "category"]
    of = "the prediction"
    named = None
    if classes is not None:
        named = st.selectbox(
            "Class whose probability is meant",
            classes,
            index=len(classes) - 1,
            key="constraint-class",
            format_func=plain,
            persist_state="session",
        )
        of = f"the probability of {plain(named)}"
    left, right = st.columns(2, gap="medium")
    given = {"format_func": plain, "persist_state": "session"}
    up = left.multiselect(
        f"More never lowers {of}", numbers, key="constraint-up", **given
    )
    rest = [name for name in numbers if name not in up]
    down = right.multiselect(
        f"More never raises {of}", rest, key="constraint-down", **given
    )
    if not up and not down:
        return {}
    if any(not spec.single_tree and spec.keeps_constraints for spec in specs):
        st.caption(
            "GRANDE then gives each tree one weight for all rows: only so can the "
            "ensemble be monotone."
        )
    monotone = dict.fromkeys(up, UP) | dict.fromkeys(down, DOWN)
    return {"monotone": monotone, "monotone_class": named}


def _counts() -> dict[str, Any]:
    """Ask how many columns and rows there may be."""
    left, right = st.columns(2, gap="medium")
    most = left.number_input(
        "Most columns in the tree",
        min_value=1,
        value=None,
        step=1,
        placeholder="all",
        key="constraint-max_columns",
        persist_state="session",
    )
    least = right.number_input(
        "Fewest training rows in a leaf",
        min_value=1,
        value=None,
        step=1,
        placeholder="1",
        key="constraint-min_samples_leaf",
        persist_state="session",
    )
    return {"max_columns": most, "min_samples_leaf": least}


def _texts(problem: Problem) -> dict[str, str]:
    """Ask for what is written: groups, levels, costs."""
    asked = dict(_TEXTS)
    classes = _classes(problem)
    if classes is not None:
        first, last = classes[0], classes[-1]
        asked["class_costs"] = (
            "What errors cost",
            f"{last} as {first}: 5, {first} as {last}: 1",
            "True class “as” predicted class: cost. What is not written costs 1. "
            "Leaves predict the class with the lowest expected cost.",
        )
    given = {}
    places = st.columns(2, gap="medium")
    for number, (name, (label, example, help_text)) in enumerate(asked.items()):
        given[name] = places[number % 2].text_input(
            label,
            placeholder=example,
            help=help_text,
            key=f"constraint-{name}",
            persist_state="session",
        )
    return given


def _classes(problem: Problem) -> list[str] | None:
    """Labels of the target in a learner's order, as text; None for numbers."""
    if problem.task == "regression":
        return None
    labels = table(problem.table_id)[problem.target].dropna().unique().tolist()
    try:
        labels = sorted(labels)
    except TypeError:  # numbers and text, which no learner takes either
        labels = sorted(labels, key=str)
    return [str(label) for label in labels]
