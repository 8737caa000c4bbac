"""More trees: a batch of restarts that is trained beside a run's own tree."""

import json

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.store import queue, store
from pages.common.words import duration, plain, run_name
from treelab.runs.jobs.rashomon.more_trees import (
    N_RESTARTS,
    can_find_more,
    create_more,
)
from treelab.runs.store.run import Run


def offer_more(loaded: LoadedRun) -> None:
    """Offer to train more trees, and list the runs that did or do."""
    if not can_find_more(loaded.run):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Find more",
            icon=":material/search:",
            key=f"rashomon-more-{loaded.run.id}",
            help=f"Trains {N_RESTARTS} more trees of each size on all rows, as a run "
            "of its own; nothing is chosen again.",
            on_click=_start,
            args=(loaded,),
        )
        children = _children(loaded.run)
        waiting = any(not child.is_finished for child in children)
        st.fragment(_list, run_every="2s" if waiting else None)(loaded)


def _start(loaded: LoadedRun) -> None:
    """Queue the run that finds more trees."""
    queue().submit(create_more(store(), loaded.run))


def _children(run: Run) -> list[Run]:
    """Return the runs that find more trees beside a run's, newest first."""
    found = []
    for other in store().runs():
        if other.learner != run.learner or other.problem != run.problem:
            continue
        more = store().more(other.id)
        if more is not None and json.loads(more)["run"] == run.id:
            found.append(other)
    return found


def _list(loaded: LoadedRun) -> None:
    """Write the newest run that finds more, and its state."""
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
    st.page_link(
        "pages/rashomon.py",
        label=f"See what was found: {run_name(child)}",
        icon=":material/arrow_forward:",
        query_params={"run": child.id},
    )
