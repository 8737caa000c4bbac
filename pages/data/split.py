"""How the rows are split: drawn, by group, by time, or with a test file."""

from dataclasses import replace

import streamlit as st

from pages.cached.store import columns_to_split_by, store, table
from pages.state.choices import changes, choose_problem, is_shown
from pages.widgets.upload import chosen_part, part_box, part_title, report
from pages.widgets.words import explained, plain
from treelab.data.problem import Problem, split_problem
from treelab.data.reading.file_format import KINDS, format_of
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import ChoiceError
from treelab.data.split_by import WAY_TITLES, with_test_file
from treelab.trees.cells import forms_of

_HELP = (
    "Trees are fitted to the training rows. Validation rows choose among them, or "
    "train, too, where a learner cross-validates. Test rows give the score and nothing "
    "else. By group: rows that share a value, such as those of a patient, stay "
    "together. By time: the latest rows are test rows, as when a model is used later."
)


def pick_split(problem: Problem) -> None:
    """Let the visitor choose how rows are split."""
    choices = {"random": [""]}
    for way in WAY_TITLES.keys() - choices:
        names = columns_to_split_by(problem.table_id, way, problem.target)
        choices[way] = [name for name in names if name not in problem.more_targets]
    now = choices[problem.split_by]
    if problem.split_column not in now:
        now.insert(0, problem.split_column)
    ways = [way for way in WAY_TITLES if choices[way]]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(
            "Split",
            ways,
            format_func=lambda way: WAY_TITLES[way].capitalize(),
            **changes(
                problem,
                "split-way",
                problem.split_by,
                lambda now, way: split_problem(now, way, choices[way][0]),
            ),
            help=_HELP,
            width=190,
        )
        if problem.split_by != "random":
            st.selectbox(
                "Column",
                now,
                **changes(
                    problem,
                    f"split-by-{problem.split_by}",
                    problem.split_column,
                    lambda now, name: split_problem(now, problem.split_by, name),
                ),
                width=190,
            )


def test_file(problem: Problem) -> None:
    """Let the visitor bring the test rows in a file of their own."""
    with st.popover("Test rows from a file", icon=":material/upload_file:"):
        key = f"test-file-{problem.table_id}"
        file = st.file_uploader(
            "A table with the same columns and the target",
            type=KINDS,
            key=key,
            on_change=explained(_append_upload, problem, key),
            help="All rows of the table then train or validate, and the file's rows "
            "are the test rows. Both are stored as one new table.",
        )
        if file is not None:  # which was not read yet: its table would be shown
            choices = st.session_state.get(f"{key}-choices")
            part_box(key, format_of(file.getvalue()), choices)
            st.button(
                "Read",
                key=f"{key}-read",
                type="primary" if choices else "secondary",
                on_click=explained(_append, problem, key),
            )
    if error := st.session_state.pop("test-file-error", None):
        st.error(plain(error), icon=":material/error:")


def _append_upload(problem: Problem, key: str) -> None:
    """Append an uploaded file, of which nothing was chosen yet."""
    for name in ("choices", "sheet", "query", "header"):
        st.session_state.pop(f"{key}-{name}", None)
    _append(problem, key)


def _append(problem: Problem, key: str) -> None:
    """Store the table with the file's rows as test rows, and turn to it."""
    file = st.session_state[key]
    if file is None or not is_shown(problem):
        return
    part = chosen_part(key, st.session_state.get(f"{key}-choices"))
    title = part_title(file.name, part)
    try:
        own = table(problem.table_id)
        test = read_table(
            file.getvalue(), file.name, as_in=forms_of(own), one_column=True, **part
        )
        both, column = with_test_file(own, test.frame, title)
        name = f"{problem.table_name}, tested on {title}"
        table_id = store().add_table(both, name)
        fresh = replace(problem, table_id=table_id, table_name=name, origin="")
        choose_problem(split_problem(fresh, "given", column))
        report([f"{title}: {note}" for note in test.notes])
    except ChoiceError as several:
        st.session_state[f"{key}-choices"] = several.choices
    except ValueError as error:
        st.session_state["test-file-error"] = str(error)
