"""The run picker: one choice, kept across pages and written into the address."""

from collections.abc import Callable

import streamlit as st

from pages.common.cached.store import finished_runs, growing_runs
from pages.common.theme import dot
from pages.common.words import run_name, score, score_words
from treelab.figures.style.colors import learner_color
from treelab.runs.store.run import Run
from treelab.trees.text.numerals import significant


def pick_run(
    key: str = "run",
    *,
    label: str = "Run",
    where: Callable[[Run], bool] | None = None,
    empty: str = "No finished run yet. Train some trees, then come back to look.",
    default: Callable[[list[Run]], Run] | None = None,
    growing: bool = False,
) -> Run:
    """Let the visitor choose a finished run; stop the page where there is none.

    Parameters
    ----------
    key : str, default="run"
        Name of the choice in session state and in the address; the pages that use
        one key share one choice.
    label : str, default="Run"
        What the control is called for a screen reader.
    where : callable, optional
        Keeps the runs that this page can show.
    empty : str
        The sentence shown when no run can be shown.
    default : callable, optional
        Chooses from the runs shown when the visitor has not; else the newest
        finished one.
    growing : bool, default=False
        Also offer runs that have no model yet, or kept none, but a tree of some epoch.

    Returns
    -------
    Run
    """
    runs = finished_runs() + (growing_runs() if growing else [])
    runs = [run for run in runs if where is None or where(run)]
    if not runs:
        st.info(empty, icon=":material/info:")
        st.page_link("pages/data.py", label="Choose a table and train")
        st.stop()
    by_id = {run.id: run for run in runs}
    _read_address(key, by_id)
    wanted = st.session_state.get(key)
    if wanted not in by_id:
        wanted = last_choice(key)
    if wanted not in by_id:
        wanted = (default(runs) if default else runs[0]).id
    # Said anew each time: at the first switch of the page Streamlit keeps a choice
    # that came from the address, but does not give it to the control.
    st.session_state[key] = wanted
    labels = run_labels(runs)
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"picker-{key}"
    ):
        chip = st.empty()
        chosen = st.selectbox(
            label,
            list(by_id),
            format_func=labels.__getitem__,
            key=key,
            persist_state="session",
            label_visibility="collapsed",
            width=460,
        )
        run = by_id[chosen]
        color = learner_color(run.learner, run.settings)
        chip.html(
            f'<span class="chip">{dot(color, run_name(run))}</span>', width="content"
        )
        st.caption(score_words(run))
    _write_address(key, chosen)
    return run


def last_choice(key: str = "run") -> str | None:
    """Return the id of the run chosen last under a key, on whatever page."""
    return st.session_state.get(f"{key}-address")


def run_labels(runs: list[Run]) -> dict[str, str]:
    """Name each run so that no two names are alike, by run id."""
    labels: dict[str, str] = {}
    taken: dict[str, int] = {}
    for run in runs:
        label = f"{run_name(run)} · {run.problem.table_name}"
        label += f" · {run.state if score(run) is None else significant(score(run))}"
        taken[label] = taken.get(label, 0) + 1
        labels[run.id] = label if taken[label] == 1 else f"{label} ({taken[label]})"
    return labels


def _read_address(key: str, by_id: dict[str, Run]) -> None:
    """Follow the address where it names a run that the visitor did not pick here."""
    named = st.query_params.get(key)
    if named in by_id and named != st.session_state.get(f"{key}-address"):
        st.session_state[key] = named


def _write_address(key: str, run_id: str) -> None:
    """Put the choice into the address, so that a link or a reload brings it back."""
    st.session_state[f"{key}-address"] = run_id
    if st.query_params.get(key) != run_id:
        st.query_params[key] = run_id
