"""The list of a table's columns, where each can be left out or get another type."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.cached.store import column_facts, column_kinds, date_columns
from pages.state.choices import change_problem, changes
from pages.widgets.words import plain
from treelab.data.encoding import least_text, parse_least
from treelab.data.problem import Problem, pairs
from treelab.trees.date_parts import PARTS, parse_part, part_name

MOST_UNIT = 20  # letters of a unit
_FACTS = ("meaning", "reason", "missing", "different", "example", "note")


def column_editor(problem: Problem) -> None:
    """Show every column with its facts; ticks and types change the problem."""
    apart = f"{problem.truth}{problem.weighting}"
    key = f"columns-{problem.table_id}-{problem.target}{apart}"
    base_key = f"{key}-base"
    if key not in st.session_state:  # first seen, or back from another page
        st.session_state[base_key] = _rows(problem)
    base = st.session_state[base_key]
    st.data_editor(
        base,
        key=key,
        hide_index=True,
        height=min(35 * (len(base) + 1) + 3, 420),
        on_change=_apply,
        args=(key, base_key, problem),
        disabled=["column", *_FACTS],
        column_config={
            "use": st.column_config.CheckboxColumn("Use", width="small"),
            "column": st.column_config.TextColumn("Column"),
            "kind": st.column_config.SelectboxColumn(
                "Type",
                options=["number", "category"],
                required=True,
                help="How trees read it: numbers are split at a threshold, categories "
                "into two sets. Why says what speaks for which.",
            ),
            "unit": st.column_config.TextColumn(
                "Unit",
                max_chars=MOST_UNIT,
                help="Written behind the thresholds of every split, such as kg.",
            ),
            "meaning": st.column_config.TextColumn(
                "Holds", help="What the values most likely are."
            ),
            "reason": st.column_config.TextColumn("Why", width="large"),
            "rare": st.column_config.TextColumn(
                "Rare below",
                validate=r"^\s*(\d+(\.\d+)?\s*%?)?\s*$",
                help="Of a category: values that fewer training rows hold become one "
                "value in every tree. Write a number of rows, such as 10, or a "
                "percentage of them, such as 1%; empty joins none.",
            ),
            "missing": st.column_config.ProgressColumn(
                "Missing", format="percent", min_value=0, max_value=1
            ),
            "different": st.column_config.NumberColumn(
                "Unique values", format="localized"
            ),
            "example": st.column_config.TextColumn("Example"),
            "note": st.column_config.TextColumn("Note"),
        },
    )
    if error := st.session_state.get(f"{key}-error"):
        st.error(error, icon=":material/error:")


def model_column(problem: Problem) -> None:
    """Ask whether the target holds another model's predictions, and for the truth."""
    key = f"surrogate-{problem.table_id}-{problem.target}"

    def with_model(now: Problem, is_surrogate: bool) -> Problem:
        """Take the target for predictions, which are of no exposure, or not."""
        exposure = "" if is_surrogate else now.exposure
        return replace(now, is_surrogate=is_surrogate, truth="", exposure=exposure)

    def with_truth(now: Problem, truth: str | None) -> Problem:
        """Name the column with the truth, which no tree may see."""
        columns = tuple(name for name in problem.columns if name != truth)
        if not columns:  # there would be nothing to predict from
            return now
        return replace(now, truth=truth or "", columns=columns)

    st.checkbox(
        "Target is another model's output (imitate it)",
        value=problem.is_surrogate,
        **changes(problem, key, with_model),
        help="The tree then imitates that model: its score is how well it does, its "
        "fidelity, and the Tree page shows where the two differ.",
    )
    if not problem.is_surrogate:
        return
    facts = column_facts(problem.table_id)["column"]
    names = [str(name) for name in facts if name != problem.target]
    st.selectbox(
        "True values",
        names,
        index=names.index(problem.truth) if problem.truth else None,
        placeholder="not in the table",
        **changes(problem, f"truth-{problem.table_id}-{problem.target}", with_truth),
        help="The column that the other model predicts. No tree sees it; tree and "
        "model are scored against it.",
    )


def _rows(problem: Problem) -> pd.DataFrame:
    """Return one row a column, without the target and what goes with it."""
    facts = column_facts(problem.table_id)
    apart = (*problem.targets, problem.truth, problem.weight, problem.exposure)
    facts = facts[~facts["column"].isin(apart)]
    kinds, units = column_kinds(problem), dict(problem.units)
    rare, names = dict(problem.rare), facts["column"]
    found = facts.assign(
        use=names.isin(problem.columns),
        kind=[kinds[name] for name in names],
        unit=[units.get(name, "") for name in names],
        rare=[least_text(rare.get(name, 0)) for name in names],
    ).rename(columns={"missing_share": "missing", "n_unique": "different"})
    order = ["use", "column", "kind", "unit", "rare", *_FACTS]
    return found[order].reset_index(drop=True)


def _apply(key: str, base_key: str, problem: Problem) -> None:
    """Apply the edits so far to the problem; one column at least stays."""
    edited = st.session_state[base_key].copy()
    for row, values in st.session_state[key]["edited_rows"].items():
        for name, value in values.items():
            edited.loc[edited.index[int(row)], name] = value
    used = tuple(edited.loc[edited["use"].astype(bool), "column"])
    if not used:
        st.session_state[f"{key}-error"] = (
            "At least one column must be used; the last change was not applied."
        )
        return
    try:
        least = zip(edited["column"], edited["rare"].fillna("").map(parse_least))
        rare = tuple((name, rows) for name, rows in least if rows)
    except ValueError as error:
        st.session_state[f"{key}-error"] = f"{error} The last change was not applied."
        return
    st.session_state.pop(f"{key}-error", None)
    facts = column_facts(problem.table_id).set_index("column")["kind"]
    kinds = tuple(
        (name, kind)
        for name, kind in zip(edited["column"], edited["kind"])
        if kind != facts[name]
    )
    parts = tuple(name for name in problem.columns if parse_part(name))
    used += tuple(name for name in parts if name not in used)
    units = dict(zip(edited["column"], edited["unit"].fillna("").str.strip()))

    def change(now: Problem) -> Problem:
        both = {name: unit for name, unit in (dict(now.units) | units).items() if unit}
        return replace(now, columns=used, kinds=kinds, units=pairs(both), rare=rare)

    change_problem(problem, change)


def date_parts(problem: Problem) -> None:
    """Let the visitor tick what of each column of dates is used beside the years."""
    for column, first, has_times in date_columns(problem.table_id):
        if column in (*problem.targets, problem.truth):
            continue
        names = {
            part_name(part, column, first): part
            for part in PARTS
            if part != "hour" or has_times
        }

        def with_parts(now: Problem, chosen: list[str], names=tuple(names)) -> Problem:
            """Use these parts of the column, where anything is then used."""
            others = tuple(name for name in problem.columns if name not in names)
            columns = others + tuple(name for name in names if name in chosen)
            return replace(now, columns=columns) if columns else now

        key = f"dates-{problem.table_id}-{problem.target}-{column}"
        st.pills(
            f"Date parts of {plain(column)}",
            list(names),
            selection_mode="multi",
            default=[name for name in names if name in problem.columns],
            format_func=names.__getitem__,
            **changes(problem, key, with_parts),
            help="; ".join(f"{part}: {what}" for part, what in PARTS.items())
            + ". The column itself holds years with decimals, and can be left out "
            "above.",
        )
