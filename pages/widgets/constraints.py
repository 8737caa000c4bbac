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
        "Allowed column combinations",
        "age, income; age, job",
        "Groups between semicolons: a decision path tests columns of one group. "
        "Columns in no group form one more.",
    ),
    "allowed": (
        "Allowed columns by level",
        "0: age, income; other: job",
        "Which columns a split may test: the root is level 0; “other” are all levels "
        "that are not named.",
    ),
    "column_costs": (
        "Column costs",
        "scan: 0.05, age: 0.01",
        "Fraction of the root's impurity that a column must save beyond its splits' "
        "own gain to be used at all.",
    ),
}


def constraint_fields(problem: Problem, specs: Sequence[LearnerSpec]) -> dict[str, Any]:
    """Show the constraints in a panel of their own; return what was written."""
    with st.expander(TITLE, icon=":material/rule:", key="constraints"):
        st.caption("They hold on every possible row, not only on the table's.")
        return _monotone(problem, specs) | _counts() | _texts(problem)


def read_constraints(
    given: dict[str, Any], problem: Problem, specs: Sequence[LearnerSpec]
) -> tuple[Any, bool]:
    """Return constraints as a run takes them, and whether all learners keep them.

    None where nothing is asked, or where they cannot be read: the page shows why.
    """
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
    of = ""
    named = None
    if classes is not None:
        named = st.selectbox(
            "Positive class",
            classes,
            index=len(classes) - 1,
            key="constraint-class",
            format_func=plain,
            persist_state="session",
        )
        of = f' for "{plain(named)}"'
    monotone: dict[str, int] = {}
    for place, word, verb, key, sign in zip(
        st.columns(2, gap="medium"),
        ("Increasing", "Decreasing"),
        ("lowers", "raises"),
        ("up", "down"),
        (UP, DOWN),
    ):
        chosen = place.multiselect(
            f"{word} features (monotone){of}",
            [name for name in numbers if name not in monotone],
            key=f"constraint-{key}",
            format_func=plain,
            persist_state="session",
            help=f"More of them never {verb} the prediction.",
        )
        monotone |= dict.fromkeys(chosen, sign)
    if not monotone:
        return {}
    if any(not spec.single_tree and spec.keeps_constraints for spec in specs):
        st.caption(
            "GRANDE then gives each tree one weight for all rows: otherwise the "
            "ensemble would not be monotone."
        )
    return {"monotone": monotone, "monotone_class": named}


def _counts() -> dict[str, Any]:
    """Ask how many columns and rows there may be."""
    return {
        name: place.number_input(
            label,
            min_value=1,
            value=None,
            step=1,
            placeholder=default,
            key=f"constraint-{name}",
            persist_state="session",
        )
        for place, name, label, default in zip(
            st.columns(2, gap="medium"),
            ("max_columns", "min_samples_leaf"),
            ("Max features", "Min rows per leaf"),
            ("all", "1"),
        )
    }


def _texts(problem: Problem) -> dict[str, str]:
    """Ask for what is written: groups, levels, costs."""
    asked = dict(_TEXTS)
    classes = _classes(problem)
    if classes is not None:
        first, last = classes[0], classes[-1]
        asked["class_costs"] = (
            "Error costs",
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
