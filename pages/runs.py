"""Runs: every run of this store, to sort, open, rename and delete."""

import streamlit as st
from streamlit import column_config as config

from pages.cached.store import folder_words, store
from pages.compare.pair import MOST_OTHERS, why_not_compared
from pages.state.choices import fill_form, start_longer, why_not_filled
from pages.widgets.page import end_page, page_title
from pages.widgets.runs import pause_or_resume, state_color
from pages.widgets.words import confirm_delete, explained, plain
from treelab.learners.registry import learner_title
from treelab.reports.runs_table import runs_table
from treelab.runs.jobs.repeats import repeats_of
from treelab.runs.jobs.resume import can_train_longer
from treelab.runs.store.run import Run
from treelab.trees.words import counted, listed

MOST_COMPARED = 2 + MOST_OTHERS


def ask_to_delete(runs: list[Run]) -> None:
    """Ask once more, then delete the runs with their curves, trees and models."""
    ids, known = {run.id for run in runs}, store().runs()
    found = [own for run in runs if not run.repeat_of for own in repeats_of(run, known)]
    repeats = {own.id for own in found if store().may_change(own)} - ids
    also = f" and their {counted(len(repeats), 'repeat')}" if repeats else ""

    def delete() -> None:
        for run_id in ids | repeats:
            store().delete(run_id)

    titles = listed([run.title for run in runs], 5, plain)
    words = f"{titles}{also}, with curves, trees and models. Tables stay."
    confirm_delete(words, f"Delete {counted(len(runs), 'run')}", delete)


def rename(run: Run) -> None:
    """Apply the new name; an empty one gives the run its first name back."""
    title = st.session_state[f"title-{run.id}"].strip()
    first = f"{learner_title(run.learner)} · {run.problem.table_name}"
    store().set_title(run.id, title or first)


page_title(
    "What have I tried?", "All runs, newest first; click a column's name to sort."
)
runs = store().runs()
if not runs:
    end_page(
        "No run yet. Every run is listed here, with its scores, curves and trees.",
        "data",
        "Choose a table and train",
    )

known, ids = runs, {run.id for run in runs}
n_repeats = sum(run.repeat_of in ids for run in runs)
if n_repeats and not st.toggle(
    f"Show {counted(n_repeats, 'repeat')}",
    key="show-repeats",
    persist_state="session",
    help="The same learner and settings on other data splits or folds.",
):
    runs = [run for run in runs if run.repeat_of not in ids]
table = runs_table(runs, known)
maybe = ("name", "weighted by", "splits", "owner", "settings")  # hidden while empty
picked = st.dataframe(
    table.style.map(
        lambda word: f"color: {state_color(word.removeprefix('● '))}", subset=["state"]
    ),
    column_order=[name for name in table if name not in maybe or table[name].any()],
    key=f"runs-{hash(tuple(run.id for run in runs))}",
    hide_index=True,
    placeholder="–",
    on_select="rerun",
    selection_mode="multi-row",
    height=min(35 * (len(runs) + 1) + 3, 600),
    column_config={name: name.capitalize() for name in table.columns}
    | {
        "learner": config.TextColumn("Learner", width=112),
        "target": config.TextColumn("Target", width=110),
        "name": config.TextColumn("Name", width=140),
        "score": config.NumberColumn(
            "Test score", format="%.3f", help="On the run's test rows."
        ),
        "splits": config.TextColumn(
            "Mean over splits",
            width=150,
            help="Mean test score ± standard error (number of splits or folds). "
            "Compare tests the difference.",
        ),
        "leaves": config.NumberColumn("Leaves", format="localized"),
        "seconds": config.NumberColumn("Time", format="%.1f s"),
        "created": config.DatetimeColumn("Started", format="calendar"),
        "origin": config.TextColumn(
            "Origin", help="What the model started from, and what training changed."
        ),
        "settings": config.TextColumn(
            "Settings", help="Those that differ from the defaults."
        ),
    },
)
selected = [runs[place] for place in picked.selection.rows if place < len(runs)]
if not selected:
    st.caption(
        f"{counted(len(runs), 'run')}. Tick one to open, rename or delete it, "
        f"up to {MOST_COMPARED} to compare them. {plain(folder_words())}"
    )
    st.stop()

may_change = all(store().may_change(run) for run in selected)
with st.container(horizontal=True, vertical_alignment="bottom", key="run-actions"):
    if len(selected) == 1:
        run = selected[0]
        if st.button(
            "See the tree",
            type="primary",
            icon=":material/account_tree:",
            disabled=not run.has_model,
            key="open",
        ):
            st.switch_page("pages/tree.py", query_params={"run": run.id})
        if run.can_resume or not run.is_finished:
            pause_or_resume(run, "run-")
        if can_train_longer(store(), run):
            st.button(
                "Train longer",
                icon=":material/more_time:",
                key="train-longer",
                on_click=explained(start_longer, run),
                help="Goes on where it ended, with twice the epochs, as a new run.",
            )
        if st.button("See the curves", icon=":material/show_chart:", key="open-train"):
            st.switch_page("pages/train.py", query_params={"run": run.id})
        reason = why_not_filled(run)
        if st.button(
            "Change settings",
            icon=":material/tune:",
            disabled=bool(reason),
            help=reason or "Opens Train with this run's settings, for another run.",
            key="change-settings",
        ):
            fill_form(run)
            st.switch_page("pages/train.py", query_params={"run": run.id})
        if run.user:
            st.button(
                "Share" if run.is_private else "Make private",
                icon=":material/group:" if run.is_private else ":material/lock:",
                key="share",
                on_click=explained(store().set_private, run.id, not run.is_private),
                disabled=not may_change,
                help="Whether others see this run and its table.",
            )
        with st.popover("Rename", icon=":material/edit:", disabled=not may_change):
            st.text_input(
                "Name",
                run.title,
                key=f"title-{run.id}",
                on_change=explained(rename, run),
                max_chars=80,
            )
    if 2 <= len(selected) <= MOST_COMPARED:
        # The oldest first: what came later is held against it.
        first, second, *others = selected[::-1]
        reason = next(filter(None, (why_not_compared(first, r) for r in selected)), "")
        if st.button(
            "Compare",
            type="primary",
            icon=":material/compare:",
            disabled=bool(reason),
            help=reason or "Their trees side by side, scored on the same test rows.",
            key="compare",
        ):
            named = {"against": first.id, "run": second.id}
            if others:
                named["others"] = ",".join(run.id for run in others)
            st.switch_page("pages/compare.py", query_params=named)
    if st.button(
        f"Delete {counted(len(selected), 'run')}",
        icon=":material/delete:",
        key="delete",
        disabled=not may_change,
        help=None if may_change else "Only its owner or an admin deletes a run.",
    ):
        ask_to_delete(selected)
if len(selected) == 1 and selected[0].error:
    st.warning(plain(selected[0].error), icon=":material/warning:")
    if log := store().log(selected[0].id):
        with st.expander("Log"):
            st.code(log, language=None)
