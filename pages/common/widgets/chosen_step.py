"""The tree where the slider stands, saved as a run of its own."""

from dataclasses import replace

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.pruning_steps import scored_path_of
from pages.common.cached.store import store
from pages.common.store_trouble import explained
from pages.common.words import plain
from treelab.evaluation.pruning import PruningSteps
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.save_pruned import save_pruned
from treelab.trees.pruning_path import PruningPath

_LABELS = {
    "lambda": "Use this lambda",
    "leaves": "Use this size",
    "alpha": "Use this size",
}


def offer_run(
    loaded: LoadedRun, steps: PruningSteps, step: int, *, tree_alone: bool
) -> None:
    """Offer to save the tree of a step as a run, which every page then shows."""
    if loaded.epoch is not None or loaded.run.learner == CLUSTERS.key:
        return
    is_own = step == steps.own and not tree_alone
    saved = st.session_state.pop(f"saved-of-{loaded.run.id}", None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _LABELS[steps.kind],
            icon=":material/save:",
            key=f"use-{loaded.run.id}",
            disabled=is_own,
            help="This is the run's own tree."
            if is_own
            else "Saves this tree as a run of its own, to look at, export and compare.",
            on_click=explained(_save),
            args=(loaded, steps, step, tree_alone),
        )
        if saved is not None:
            run = store().run(saved)
            st.markdown(f"Saved as {plain(run.title)}.", width="content")
            address = {"run": run.id}
            st.page_link("pages/tree.py", label="See the tree", query_params=address)
            both = {"first": loaded.run.id, "second": run.id}
            st.page_link("pages/compare.py", label="Compare", query_params=both)


def _save(loaded: LoadedRun, steps: PruningSteps, step: int, tree_alone: bool) -> None:
    """Save the tree of a step, and remember the run for the line beside the button."""
    run_id = save_step(loaded, steps, step, tree_alone=tree_alone)
    st.session_state[f"saved-of-{loaded.run.id}"] = run_id


def save_step(
    loaded: LoadedRun, steps: PruningSteps, step: int, *, tree_alone: bool = False
) -> str:
    """Save the tree of a step as a run, unless it is one, and return the run's id."""
    model, path = steps.trees[step], None
    if isinstance(loaded.model, PruningPath) and not tree_alone:
        model = replace(loaded.model, chosen=step)
    elif steps.kind == "leaves":
        path = scored_path_of(loaded)
        path = replace(path, chosen=len(path) - 1 - step)
    return save_pruned(store(), loaded.run, model, path)
