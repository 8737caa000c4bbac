"""More trees beside a run's own: a batch of restarts, or all trees of a small depth."""

import json

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.store import queue, store
from pages.common.state.chosen_run import choose_run, write_address
from pages.common.store_trouble import explained
from pages.common.watcher import follow_runs
from pages.common.words import duration, plain, run_name
from treelab.runs.jobs.rashomon.all_trees import N_THRESHOLDS, create_all
from treelab.runs.jobs.rashomon.more_trees import (
    N_RESTARTS,
    can_find_more,
    create_more,
)
from treelab.runs.store.run import Run
from treelab.trees.rashomon import RashomonSet


def offer_more(loaded: LoadedRun, trees: RashomonSet) -> None:
    """Offer to look for more trees, and list the runs that did or do."""
    if loaded.run.problem.origin:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if can_find_more(loaded.run) and trees.complete is None:
            st.button(
                "Find more",
                icon=":material/search:",
                key=f"rashomon-more-{loaded.run.id}",
                help=f"Trains {N_RESTARTS} more trees of each size on all rows, as a "
                "run of its own; nothing is chosen again.",
                on_click=explained(_start),
                args=(loaded,),
            )
        with st.popover("All trees of a small depth", icon=":material/select_all:"):
            _ask_for_all(loaded)
        follow_runs("more", lambda: _children(loaded.run), lambda: _list(loaded))


def _ask_for_all(loaded: LoadedRun) -> None:
    """Ask for a depth and thresholds, and offer to look at every tree of these."""
    run_id = loaded.run.id
    depth = st.segmented_control(
        "Depth",
        list(N_THRESHOLDS),
        default=2,
        required=True,
        key=f"rashomon-depth-{run_id}",
        help="Most splits on a path.",
    )
    n_thresholds = st.number_input(
        "Candidate thresholds of a column",
        1,
        100,
        N_THRESHOLDS[depth],
        key=f"rashomon-thresholds-{run_id}-{depth}",
        help="At quantiles of its values; a column of fewer values gets them all.",
    )
    st.caption(
        "Every tree over these thresholds is looked at, as a run of its own, and those "
        "near the best are listed: then it is known that there are no others. They "
        "are scored on the training rows."
    )
    st.button(
        f"Look at all trees of depth {depth}",
        type="primary",
        key=f"rashomon-all-{run_id}",
        on_click=explained(_start_all),
        args=(loaded, depth, n_thresholds),
    )


def _start(loaded: LoadedRun) -> None:
    """Queue the run that finds more trees."""
    queue().submit(create_more(store(), loaded.run))


def _start_all(loaded: LoadedRun, depth: int, n_thresholds: int) -> None:
    """Queue the run that looks at all trees of a depth."""
    queue().submit(create_all(store(), loaded.run, depth, n_thresholds))


def _children(run: Run) -> list[Run]:
    """Return the runs that look for trees beside a run's, newest first."""
    found = []
    for other in store().runs():
        if other.learner != run.learner or other.problem != run.problem:
            continue
        more = store().more(other.id)
        if more is not None and json.loads(more)["run"] == run.id:
            found.append(other)
    return found


def _list(loaded: LoadedRun) -> None:
    """Write the newest run that looks for more, and its state."""
    children = _children(loaded.run)
    if not children:
        return
    child = children[0]
    if not child.has_model:
        left = child.remaining
        words = "" if left is None else f", {duration(left)} left"
        error = f". {child.error}" if child.error else ""
        st.markdown(plain(f"{run_name(child)}: {child.state}{words}{error}"))
        return
    shown = st.button(
        f"See what was found: {plain(run_name(child))}",
        icon=":material/arrow_forward:",
        key=f"rashomon-see-{child.id}",
        on_click=_show,
        args=(child,),
    )
    if shown:
        st.rerun()  # the picker above shows the other run


def _show(run: Run) -> None:
    """Make a run the one that all pages show; a link to this very page would not."""
    choose_run(run.id)
    write_address("run", run.id)
