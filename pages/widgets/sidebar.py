"""The foot of the sidebar: where trees train, and what is training now."""

import html

import streamlit as st

from pages.cached import store as cached
from pages.state.visitor import show_account
from pages.widgets.runs import pause_or_resume
from pages.widgets.watcher import Watcher
from pages.widgets.words import plain
from treelab.figures.style import learner_color
from treelab.runs.run_words import run_name
from treelab.runs.store.run import Run
from treelab.trees.words import counted

MOST_JOBS = 4


def show_jobs() -> None:
    """Show the device and the running jobs at the foot of the sidebar."""
    busy = any(not run.is_finished for run in cached.all_runs())
    busy = busy or cached.readiness() is not None
    watcher = Watcher("jobs", 2.0 if busy else None)
    with st.sidebar.container(key="jobs", gap="xsmall"):
        show_account()
        cached.look_after_queue()
        watcher.part("jobs", _version, _show)
        watcher.start()


def _jobs() -> list[Run]:
    """List the jobs that are not finished, oldest first."""
    runs = reversed(cached.all_runs())
    return [run for run in runs if not run.is_finished or run.state == "paused"]


def _version() -> tuple:
    """Return what changes with the jobs as they are drawn."""
    jobs = _jobs()
    lines = [
        (run.id, run.title, _state_words(run), run.state, run.stop_requested)
        for run in jobs[:MOST_JOBS]
    ]
    of_workers = cached.device(), cached.startup_error(), cached.readiness()
    return *of_workers, len(jobs), *lines


def _show() -> None:
    """Draw the jobs as small bars that lead to Train."""
    st.caption(f":material/memory: {plain(cached.device())}")
    if error := cached.startup_error():
        st.error(plain(error), icon=":material/error:")
    elif (getting_ready := cached.readiness()) is not None:
        st.progress(getting_ready, "Warming up (first start only)")
    jobs = _jobs()
    for run in jobs[:MOST_JOBS]:
        color = learner_color(run.learner, run.settings)
        with st.container(
            horizontal=True, wrap=False, vertical_alignment="center", gap="small"
        ):
            st.page_link(
                "pages/train.py",
                label=plain(run_name(run)) + _state_words(run),
                query_params={"run": run.repeat_of or run.id},
                width="stretch",
            )
            pause_or_resume(run, "job-", has_word=False)
        st.html(
            f'<div class="job" title="{html.escape(run.title, quote=True)}">'
            f'<span style="width:{run.progress:.0%};background:{color}"></span></div>'
        )
    if len(jobs) > MOST_JOBS:
        st.caption(f"and {counted(len(jobs) - MOST_JOBS, 'more job')}")


def _state_words(run: Run) -> str:
    """Write how far a job is, or where it waits."""
    if run.state == "running":
        return f" {run.progress:.0%}"
    place = cached.place_in_queue(run.id)
    return f" {run.state}" if place <= 1 else f" queued, place {place}"
