"""Data: choose a table and what to predict, see what is in it, start training."""

from dataclasses import replace

import streamlit as st

from pages.common.cached.store import split_of, start_runs, table
from pages.common.state.problem import (
    choose_problem,
    choose_table,
    current_problem,
    findings,
    inferred_task,
    label_colors,
    table_choices,
    table_key,
    with_target,
)
from pages.common.theme import mode, page_title, show_figure, split_bar
from pages.common.widgets.columns import chosen_kinds, column_editor
from pages.common.widgets.upload import forget_report, upload_box, upload_report
from pages.common.words import plain
from treelab.data.builtin import BUILTIN
from treelab.data.split import SPLITS
from treelab.figures.table import table_html
from treelab.figures.target import target_figure
from treelab.learners.registry import LEARNERS
from treelab.trees.text.numerals import counted

DEFAULT_LEARNERS = ("cart", "gradtree")
TASKS = {"binary": "two classes", "multiclass": "classes", "regression": "a number"}


def take_table() -> None:
    """Follow the choice of a table."""
    forget_report()
    choose_table(st.session_state["table"])


def take_target(key: str) -> None:
    """Follow the choice of the column to predict."""
    choose_problem(with_target(current_problem(), st.session_state[key]))


def take_task(key: str) -> None:
    """Follow the choice of the task."""
    choose_problem(replace(current_problem(), task=st.session_state[key]))


def take_seed() -> None:
    """Follow the choice of the seed."""
    choose_problem(replace(current_problem(), seed=st.session_state["seed"]))


@st.cache_data(show_spinner=False, max_entries=32)
def first_rows(
    table_id: str, target: str, numbers: list[str], left_out: list[str]
) -> str:
    """Draw a stored table's first rows; see ``table_html``."""
    return table_html(
        table(table_id), target=target, numbers=numbers, left_out=left_out
    )


page_title(
    "What do you want to predict?",
    "Choose a table and one of its columns. Trees learn to predict it from the others.",
)
problem = current_problem()
choices = table_choices()
key = table_key(problem)
st.query_params["table"] = key
frame = table(problem.table_id)
names = [str(name) for name in frame.columns]

with st.container(horizontal=True, vertical_alignment="bottom", key="data-choices"):
    st.selectbox(
        "Table",
        list(choices),
        index=list(choices).index(key),
        format_func=lambda key: choices[key].title,
        key="table",
        on_change=take_table,
        width=250,
    )
    with st.popover("Upload", icon=":material/upload:"):
        upload_box()
    target_key = f"target-{problem.table_id}"
    st.selectbox(
        "Predict",
        names,
        index=names.index(problem.target),
        key=target_key,
        on_change=take_target,
        args=(target_key,),
        width=230,
    )
    task_key = f"task-{problem.table_id}-{problem.target}"
    likely = inferred_task(problem.table_id, problem.target)
    st.selectbox(
        "Which is",
        list(TASKS),
        index=list(TASKS).index(problem.task),
        format_func=lambda task: TASKS[task] + (" (likely)" if task == likely else ""),
        key=task_key,
        on_change=take_task,
        args=(task_key,),
        width=180,
    )
    st.space("stretch")
    noticed = findings(problem)
    errors = [finding for finding in noticed if finding.level == "error"]
    pressed = st.button(
        "Train with defaults",
        type="primary",
        icon=":material/play_arrow:",
        disabled=bool(errors),
        help="Starts "
        + " and ".join(LEARNERS[learner].title for learner in DEFAULT_LEARNERS)
        + " on this table and turns to Train.",
        key="train-defaults",
    )

if pressed:
    started = start_runs(
        problem, {key: LEARNERS[key].defaults(problem.task) for key in DEFAULT_LEARNERS}
    )
    st.switch_page("pages/train.py", query_params={"run": started[-1]})

upload_report()
for error in errors:
    st.error(plain(error.sentence), icon=":material/error:")

left, right = st.columns([2, 1], gap="large")
with left:
    left_out = [n for n in names if n not in (problem.target, *problem.columns)]
    kinds = chosen_kinds(problem)
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if problem.task != "regression" and problem.target in numbers:
        numbers.remove(problem.target)
    st.html(first_rows(problem.table_id, problem.target, numbers, left_out))
    about = f"{BUILTIN[key].about} " if key in BUILTIN else ""
    st.caption(
        f"{about}The first of {counted(len(frame), 'row')}; above each column, how its "
        "values are spread over all rows."
    )
    with st.expander(
        f"Columns to learn from: {len(problem.columns)} of {len(names) - 1}",
        icon=":material/view_column:",
        key="columns-open",
    ):
        column_editor(problem)
    if notes := [finding.sentence for finding in noticed if finding.level == "note"]:
        with st.expander(
            f"{counted(len(notes), 'thing')} to know about this table",
            icon=":material/info:",
            key="notes-open",
        ):
            st.markdown("\n".join(f"- {plain(note)}" for note in notes))

with right:
    st.header(plain(problem.target), anchor=False)
    unit = dict(problem.units).get(problem.target, "")
    if problem.task != "regression" or kinds[problem.target] == "number":
        colors = {} if errors else label_colors(problem)
        figure = target_figure(
            frame[problem.target], problem.task, unit, colors, mode()
        )
        show_figure(figure, key="target-figure")
    if not errors:
        parts = split_of(problem)
        n_rows = {name: len(parts.rows(name)[1]) for name in SPLITS}
        st.caption(
            "Rows are dealt at random:",
            help="Trees learn from the training rows, validation rows choose the tree "
            "that is kept, and test rows give its score.",
        )
        st.html(split_bar(n_rows))
        st.number_input(
            "Seed",
            min_value=0,
            max_value=2**31 - 1,
            value=problem.seed,
            key="seed",
            on_change=take_seed,
            help="The same seed deals the rows the same way and trains the same trees.",
            width=140,
        )
