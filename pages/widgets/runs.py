"""Choosing a run or a pair of runs, and the buttons of a run."""

from collections.abc import Callable

import streamlit as st

from pages.cached.runs import LoadedRun, load_run
from pages.cached.store import find_run, finished_runs, runs_with_snapshots, store
from pages.state.run import (
    last_choice,
    new_in_address,
    read_address,
    resume_run,
    write_address,
)
from pages.widgets.html import chip
from pages.widgets.store_trouble import explained
from pages.widgets.words import plain, run_name, score, score_words
from treelab.evaluation.comparison import have_same_test_rows
from treelab.figures.style import learner_color
from treelab.runs.store.run import Run
from treelab.trees.words import significant

# The run picker: one choice for all pages, written into the address.


def pick_run(
    key: str = "run",
    *,
    label: str = "Run",
    where: Callable[[Run], bool] | None = None,
    empty: str = "No finished run yet. Train some trees first.",
    default: Callable[[list[Run]], Run] | None = None,
    growing: bool = False,
    unfit: str = "",
) -> Run:
    """Let the visitor choose a finished run; stop the page where there is none.

    Parameters
    ----------
    key : str, default="run"
        Name of the choice in session state and in the address; pages with one key
        share one choice.
    label : str, default="Run"
        Name of the control for a screen reader.
    where : callable, optional
        Which runs this page can show.
    empty : str
        The sentence shown when no run can be shown.
    default : callable, optional
        Chooses from the runs shown when the visitor has not; else the newest
        finished one.
    growing : bool, default=False
        Also offer runs that have no model, yet or at all, but a tree of some epoch.
    unfit : str, default=""
        Said of a run that was chosen elsewhere and cannot be shown here.

    Returns
    -------
    Run
    """
    runs = finished_runs() + (runs_with_snapshots() if growing else [])
    runs = [run for run in runs if where is None or where(run)]
    runs.sort(key=lambda run: bool(run.repeat_of))  # repeats stand below the others
    if not runs:
        st.info(empty, icon=":material/info:")
        st.page_link("pages/data.py", label="Choose a table and train")
        st.stop()
    by_id = {run.id: run for run in runs}
    missed = new_in_address(key) or last_choice(key)
    read_address(key, by_id)
    wanted = st.session_state.get(key)
    if wanted not in by_id:
        wanted = last_choice(key)
    if wanted not in by_id:
        wanted = (default(runs) if default else runs[0]).id
        st.session_state[f"{key}-instead"] = wanted, missed
    # Set at each rerun: at the first switch of the page Streamlit keeps a choice that
    # came from the address, but does not give it to the control.
    st.session_state[key] = wanted
    labels = run_labels(runs)
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"picker-{key}"
    ):
        place = st.empty()
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
        place.html(chip(color, run_name(run)), width="content")
        st.caption(score_words(run))
    write_address(key, chosen)
    instead, missed = st.session_state.get(f"{key}-instead", (None, None))
    if unfit and instead == chosen and missed not in by_id and find_run(missed):
        st.caption(f"{unfit} This is another run, {plain(run_name(run))}.")
    return run


def pick_loaded_run(*, growing: bool = True, **options) -> LoadedRun:
    """Let the visitor choose a run, and load it; note where it still trains.

    Takes the options of ``pick_run``.
    """
    run = pick_run(growing=growing, **options)
    try:
        loaded = load_run(run)
    except (LookupError, OSError, ValueError) as error:
        st.error(f"This run cannot be shown. {plain(error)}", icon=":material/error:")
        st.page_link("pages/runs.py", label="All runs")
        st.stop()
    if loaded.epoch is not None:
        state = "Still training" if run.state == "running" else "No model was saved"
        st.info(
            f"{state}: this is the tree of epoch {round(loaded.epoch, 1):g}.",
            icon=":material/hourglass_top:",
        )
        if run.state == "running":
            st.button("Load the newest tree", icon=":material/refresh:")
    return loaded


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


# Two runs to compare: of one table, target and seed, as only those compare.


def pick_run_pair() -> tuple[LoadedRun, LoadedRun]:
    """Let the visitor choose two runs; a greedy tree and another at first."""
    left, right = st.columns(2, gap="large")
    with left:
        first = pick_loaded_run(
            key="first",
            label="First run",
            where=_has_partner,
            default=_first_default,
            growing=False,
            empty="A comparison needs two finished runs of the same table, target and "
            "seed. Train a second learner on the same problem.",
        )
    with right:
        second = pick_loaded_run(
            key="second",
            label="Second run",
            where=lambda run: run.id != first.run.id and _compare(run, first.run),
            default=_second_default,
            growing=False,
        )
    return first, second


def _compare(one: Run, other: Run) -> bool:
    """Whether the scores of two runs may be compared."""
    return have_same_test_rows(one.problem, other.problem)


def _has_partner(run: Run) -> bool:
    """Whether another finished run can be compared with this one."""
    return any(_compare(run, other) for other in finished_runs() if other.id != run.id)


def _first_default(runs: list[Run]) -> Run:
    """Return the newest CART beside the run chosen last, else beside any other run."""
    chosen = find_run(last_choice())
    greedy = [run for run in runs if run.learner == "cart"]
    beside = [run for run in greedy if chosen and _compare(run, chosen)]
    against_gradients = [
        run
        for run in greedy
        if any(_compare(run, other) for other in runs if other.learner != "cart")
    ]
    return (beside or against_gradients or greedy or runs)[0]


def _second_default(runs: list[Run]) -> Run:
    """Return the run chosen last, else the newest run trained by gradients."""
    chosen = [run for run in runs if run.id == last_choice()]
    trained = [
        run
        for run in runs
        if run.learner != "cart" and (run.origin is None or run.origin.trained)
    ]
    return (chosen or trained or runs)[0]


# Buttons that pause a run, or take up one that did not end by itself.


RESUME_WORDS = {
    "paused": ("Resume", "Goes on where it was."),
    "interrupted": (
        "Resume",
        "Goes on from the last checkpoint, about half a minute before it was cut off.",
    ),
    "failed": ("Retry", "Tries again, from the last checkpoint where there is one."),
}
WIDTH = 100  # pixels of a button with a word


def pause_button(run: Run, key: str, *, has_word: bool = True) -> None:
    """Show the button that pauses a run; with an icon alone where room is short."""
    st.button(
        "Pause" if has_word else "",
        icon=":material/pause:",
        key=f"{key}-{run.id}",
        on_click=explained(store().request_pause),
        args=(run.id,),
        type="tertiary",
        disabled=run.stop_requested or not store().may_change(run),
        help="Saves where the training is; Resume goes on from there.",
        width=WIDTH if has_word else "content",
    )


def resume_button(run: Run, key: str, *, has_word: bool = True) -> None:
    """Show the button that takes up a paused, interrupted or failed run."""
    word, help_words = RESUME_WORDS[run.state]
    st.button(
        word if has_word else "",
        icon=":material/replay:" if word == "Retry" else ":material/play_arrow:",
        key=f"{key}-{run.id}",
        on_click=explained(resume_run),
        args=(run,),
        type="tertiary",
        disabled=not store().may_change(run),
        help=help_words,
        width=WIDTH if has_word else "content",
    )
