"""What rows count, and what the target is divided by."""

from dataclasses import replace

import streamlit as st

from pages.cached.store import table
from pages.cached.tables import column_kinds
from pages.state.problem import changes
from treelab.data.columns import useful_columns
from treelab.data.problem import Problem, several_targets, weighted_problem


def weight_fields(problem: Problem) -> None:
    """Let the visitor choose the columns of weights and of the exposure."""
    kinds = column_kinds(problem)
    numbers = [
        name
        for name, kind in kinds.items()
        if kind == "number" and name not in (*problem.targets, problem.truth)
    ]
    with st.container(horizontal=True, key="weights"):
        _field(
            problem,
            "weight",
            "Weight",
            [name for name in numbers if name != problem.exposure],
            "rows count alike",
            "A column that says what each row counts in training and in every score. "
            "It is not predicted from; rows of weight 0 are left out.",
        )
        if problem.task == "regression" and not problem.is_surrogate:
            if not problem.exposure:
                _more_targets(problem, numbers)
            if problem.more_targets:
                return
            _field(
                problem,
                "exposure",
                "Exposure",
                [name for name in numbers if name != problem.weight],
                "none",
                f"Predicts {problem.target} per unit of this column, such as claims "
                "per year insured; rows count by it. It is not predicted from.",
            )


def _more_targets(problem: Problem, numbers: list[str]) -> None:
    """Let the visitor choose numbers that the same tree predicts, too."""

    def with_targets(now: Problem, chosen: list[str]) -> Problem:
        """Predict these, too; columns that were targets are predicted from again."""
        useful = useful_columns(table(now.table_id), now.target)
        again = [name for name in now.more_targets if name in useful]
        columns = tuple(dict.fromkeys((*now.columns, *again)))
        if not {*columns} - {*chosen}:  # nothing to predict from
            return now
        plain = replace(now, more_targets=(), columns=columns)
        return several_targets(plain, chosen)

    st.multiselect(
        "More targets",
        [*problem.more_targets, *(name for name in numbers if name != problem.weight)],
        default=problem.more_targets,
        **changes(
            problem, f"more-targets-{problem.table_id}-{problem.target}", with_targets
        ),
        placeholder="none",
        help="Numbers that the same tree predicts, too: every leaf has one for each. "
        "CART, GradTree and GET do that.",
        width=320,
    )


def _field(
    problem: Problem, name: str, label: str, columns: list[str], none: str, words: str
) -> None:
    """Show the choice of one of the two columns."""
    chosen = getattr(problem, name)
    options = list(dict.fromkeys(["", *columns, chosen]))

    def with_column(now: Problem, column: str) -> Problem:
        """Take a column; the one that was chosen before is predicted from again."""
        frame = table(now.table_id)
        both = {"weight": now.weight, "exposure": now.exposure} | {name: column}
        useful = useful_columns(frame, now.target)
        kept = {*now.columns} | ({getattr(now, name)} & {*useful})
        columns = [str(own) for own in frame.columns if str(own) in kept]
        columns += [own for own in now.columns if own not in columns]
        if not {*columns} - {*both.values()}:  # nothing to predict from
            return now
        return weighted_problem(now, **both, columns=columns)

    st.selectbox(
        label,
        options,
        index=options.index(chosen),
        format_func=lambda column: column or none,
        **changes(problem, f"{name}-{problem.table_id}-{problem.target}", with_column),
        help=words,
        width=260,
    )
