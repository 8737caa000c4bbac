"""Data: choose a table and what to predict, see what is in it, start training."""

from dataclasses import replace

import streamlit as st

from pages.cached import store as cached
from pages.data.columns import column_editor, date_parts, model_column, show_columns
from pages.data.split import pick_split, test_file
from pages.state import choices
from pages.widgets.page import at_leisure, mode, page_tabs, page_title, show_figure
from pages.widgets.settings import DEFAULT_LEARNERS
from pages.widgets.upload import UPLOAD_OPEN, reading_notes, upload_box
from pages.widgets.words import confirm_delete, explained, plain
from treelab.data.builtin import BUILTIN
from treelab.data.problem import Problem
from treelab.data.split import SPLITS
from treelab.figures.html import split_bar
from treelab.figures.target import target_figure
from treelab.learners.registry import LEARNERS
from treelab.runs.store.run import Run
from treelab.trees.cells import holds_times
from treelab.trees.words import counted

NOTES_HEIGHT = 42  # pixels of a line that opens
TASKS = {"binary": "Binary", "multiclass": "Multiclass", "regression": "Regression"}


def runs_on(table_id: str) -> list[Run]:
    """Return the runs that need a table."""
    return [run for run in cached.store().runs() if table_id in run.table_ids]


def ask_to_delete(table_id: str, name: str) -> None:
    """Ask once more, then delete a table with the runs on it, and show the first."""

    def delete() -> None:
        for run in runs_on(table_id):
            cached.store().delete(run.id)
        cached.store().delete_table(table_id)
        st.session_state.get("problems", {}).pop(table_id, None)
        choices.choose_table(choices.FIRST_TABLE)

    words = f"The table {plain(name)}"
    if n_runs := len(runs_on(table_id)):
        words += f" and the {counted(n_runs, 'run')} trained on it, with curves, trees "
        words += "and models"
    confirm_delete(f"{words}.", "Delete", delete)


def with_task(problem: Problem, task: str) -> Problem:
    """Return the problem with another task; classes have one target, no exposure."""
    if task == "regression":
        return replace(problem, task=task)
    return replace(choices.with_targets(problem, ()), task=task, exposure="")


def show_first_rows(problem: Problem, key: str) -> None:
    """Show the table at full width, and below it what it is."""
    frame = cached.table(problem.table_id)
    names = [str(name) for name in frame.columns]
    used = {*problem.targets, *problem.columns}
    left_out = {name: "left out" for name in names if name not in used}
    for what in ("weight", "exposure"):
        if own := getattr(problem, what):
            left_out[own] = what
    kinds = cached.column_kinds(problem)
    if problem.task != "regression":
        kinds[problem.target] = "category"
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    shown = {"targets": problem.targets, "numbers": numbers, "left_out": left_out}
    st.html(cached.first_rows_html(problem.table_id, **shown))
    about = f"{BUILTIN[key].about} " if key in BUILTIN else ""
    with st.container(horizontal=True, vertical_alignment="center", key="about"):
        st.caption(
            f"{about}Histograms of all {counted(len(frame), 'row')}.", width="stretch"
        )
        if key == choices.FIRST_TABLE:
            real = BUILTIN[choices.REAL_TABLE].title.lower()
            st.button(
                f"Open {real}, a table of patients",
                icon=":material/table:",
                type="tertiary",
                key="open-real-table",
                on_click=explained(choices.choose_table, choices.REAL_TABLE),
            )
        store, runs = cached.store(), runs_on(key)
        may_delete = all(map(store.may_change, runs)) and store.may_delete_table(key)
        why = "Only its owner or an admin can delete it, while no run of another "
        if key not in BUILTIN and st.button(
            "Delete this table",
            icon=":material/delete:",
            type="tertiary",
            key="delete-table",
            disabled=not may_delete,
            help=None if may_delete else f"{why}person uses it.",
        ):
            ask_to_delete(key, titles[key])


def show_target(problem: Problem, is_fine: bool) -> None:
    """Draw how the target is distributed."""
    st.subheader(plain(problem.target), anchor=False)
    table = cached.table(problem.table_id)
    target, times = table[problem.target], holds_times(table, problem.target)
    is_number = cached.column_kinds(problem)[problem.target] == "number"
    if problem.task != "regression" or is_number:
        unit = dict(problem.units).get(problem.target, "")
        colors = cached.target_colors(problem) if is_fine else {}
        look = {"colors": colors, "mode": mode(), "times": times}
        figure = target_figure(target, problem.task, unit, **look)
        each = "value range" if problem.task == "regression" else "class"
        n_known = counted(int(target.notna().sum()), "row")
        show_figure(figure, key="target-figure", alt=f"{n_known} by {each}")
    model_column(problem)


def show_evaluation(problem: Problem) -> None:
    """Show which rows train, validate and test, and let the visitor change it."""
    st.subheader("Training, validation and test rows", anchor=False)
    split = cached.split_of(problem)
    st.html(split_bar({name: split.n_rows(name) for name in SPLITS}))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pick_split(problem)
        st.number_input(
            "Seed",
            min_value=0,
            max_value=2**31 - 1,
            **choices.changes(
                problem, "seed", problem.seed, lambda now, seed: replace(now, seed=seed)
            ),
            help="Of the split and the training: the same seed gives the same result.",
            width=130,
        )
        test_file(problem)


page_title(
    "What do you want to predict?",
    "Choose a table and its target. Trees learn to predict it from the other columns.",
)
problem = choices.current_problem()
titles = choices.table_titles()
key = choices.table_key(problem)
with st.container(horizontal=True, vertical_alignment="bottom", key="data-choices"):
    with st.popover(
        "Upload", icon=":material/upload:", key=UPLOAD_OPEN, on_change="rerun"
    ):
        upload_box()
    # Only now: where it is damaged, the same is uploaded again.
    names = [str(name) for name in cached.table(problem.table_id).columns]
    likely = cached.inferred_task(problem.table_id, problem.target)
    st.selectbox(
        "Task",
        list(TASKS),
        format_func=lambda task: (
            TASKS[task] + (" (detected)" if task == likely else "")
        ),
        **choices.changes(problem, "task", problem.task, with_task),
        width=180,
    )
    st.space("stretch")
    errors = cached.problem_errors(problem)
    if st.button(
        "Train with defaults",
        type="primary",
        icon=":material/play_arrow:",
        disabled=bool(errors),
        key="train-defaults",
    ):
        defaults = {
            own: LEARNERS[own].defaults(problem.task) for own in DEFAULT_LEARNERS
        }
        started = choices.start_runs(problem, defaults)
        st.switch_page("pages/train.py", query_params={"run": started[-1]})

notes = reading_notes()
for error in errors:
    st.error(plain(error), icon=":material/error:")

rows_tab, columns_tab = page_tabs("Table", "Columns")
if rows_tab.open:
    with rows_tab:
        show_first_rows(problem, key)
        place_of_notes = st.skeleton(NOTES_HEIGHT)  # columns are looked through last
        n_all = len({*names, *problem.columns}) - 1
        title = f"Features used: {len(problem.columns)} of {n_all}"
        with st.expander(title, icon=":material/view_column:", key="columns-open"):
            column_editor(problem)
            date_parts(problem)
        left, right = st.columns(2, gap="large")
        with left:
            show_target(problem, not errors)
        if not errors:
            with right:
                show_evaluation(problem)
        found = at_leisure(cached.findings, problem)
        notes += [each.sentence for each in found if each.level == "note"]
        title = f"{counted(len(notes), 'thing')} we noticed"
        if not notes:
            title = "Nothing unusual"
            notes = [
                "No gaps in the target; among features no id, none that tells it all."
            ]
        with place_of_notes.expander(title, icon=":material/info:", key="notes-open"):
            st.markdown("\n".join(f"- {plain(note)}" for note in notes))
if columns_tab.open and not errors:
    with columns_tab:
        show_columns(problem)
