"""Training: the runs of one problem as one live view, with curves, tree and cards."""

import streamlit as st

from pages.common.cached.frontier import without_sizes
from pages.common.cached.live_tree import live_tree
from pages.common.cached.store import (
    find_run,
    look_after_queue,
    newest_of_each_kind,
    queue,
    store,
)
from pages.common.state.chosen_run import write_address
from pages.common.store_trouble import guarded
from pages.common.views.compare.repeats import show_repeats
from pages.common.views.curves import show_curves
from pages.common.views.frontier.chart import show_small_frontier
from pages.common.views.results import (
    cluster_result_words,
    names_and_colors,
    result_words,
)
from pages.common.views.run_cards import run_card
from pages.common.views.tree_viewer import tree_viewer
from pages.common.widgets.runs.buttons import pause_button, resume_button
from pages.common.words import origin_words, plain
from treelab.data.problem import Problem
from treelab.runs.store.run import Run
from treelab.trees.text.numerals import counted

LIVE_HEIGHT = 320  # pixels of the tree beside the curves
MOST_SHOWN = 6  # runs on the chart; the older ones stand below


def show_runs(runs: list[Run], problem: Problem, *, of_clusters: bool) -> None:
    """Show runs while they train, and below them the earlier ones.

    Parameters
    ----------
    runs : list of Run
        Newest first; at least one.
    problem : Problem
        What they predict.
    of_clusters : bool
        Whether they find clusters.
    """
    chosen = st.session_state.get("run")
    trained = {run.id for run in without_sizes(runs)}
    recent = [run for run in runs if run.id in {*trained, chosen}]
    shown = newest_of_each_kind(recent)[:MOST_SHOWN]
    earlier = [run for run in runs if run not in shown]
    active = any(not run.is_finished for run in shown)
    names = names_and_colors(shown) | names_and_colors(earlier)

    @st.fragment(run_every="1s" if active else None)
    @guarded
    def watch() -> None:
        """Draw what the runs have done so far; goes on until all have ended."""
        look_after_queue()
        now = [found for run in shown if (found := find_run(run.id))]
        if not now:  # deleted elsewhere
            st.rerun()
        live = _live_run(now)
        _show_result(now, live, of_clusters)
        left, right = st.columns([3, 2], gap="medium")
        with left:
            show_curves(now, names, problem, of_clusters=of_clusters)
        with right:
            _show_tree(live, names[live.id][0])
        for run in now:
            _show_card(run, names[run.id], is_live=run.id == live.id)
        if active and all(run.is_finished for run in now):
            st.rerun()

    with st.container(key="live"):
        watch()
    if not active and not of_clusters:
        show_small_frontier(shown)
    if not of_clusters:
        show_repeats(shown, key="repeats", only_begun=True)
    if earlier:
        with st.expander(
            f"{counted(len(earlier), 'earlier run')} on this table",
            icon=":material/history:",
            key="earlier",
        ):
            for run in earlier:
                st.html(run_card(run, *names[run.id]))
            st.page_link("pages/runs.py", label="All runs")


def _show_result(runs: list[Run], live: Run, of_clusters: bool) -> None:
    """Show in one line what was found, or that training goes on.

    The links lead to the run whose tree is drawn below.
    """
    with st.container(
        horizontal=True, vertical_alignment="center", key="result", gap="medium"
    ):
        words = cluster_result_words(runs) if of_clusters else result_words(runs)
        if not words:
            n_active = sum(not run.is_finished for run in runs)
            device = plain(queue().device())
            none = "No clusters yet" if of_clusters else "No score yet"
            training = f"Training {counted(n_active, 'run')} on {device}"
            st.markdown(training if n_active else none)
            return
        st.markdown(words, width="content")
        params = {"run": live.id}
        st.page_link(
            "pages/tree.py",
            label="See the tree",
            query_params=params,
            disabled=not live.has_model,
        )
        if of_clusters:
            st.page_link("pages/pruning.py", label="Prune", query_params=params)
        else:
            st.page_link("pages/compare.py", label="Compare")


def _show_tree(run: Run, name: str) -> None:
    """Draw a run's tree as it stands now."""
    live = live_tree(run)
    st.markdown(f"**{plain(name)}**, {plain(live.words)}")
    if words := origin_words(run):
        st.caption(plain(words))
    if live.payload is not None:
        tree_viewer(
            live.payload,
            f"tree-view-live-{run.id}",
            height=LIVE_HEIGHT,
            compact=True,
            live=True,
        )


def _show_card(run: Run, name: tuple[str, str], *, is_live: bool) -> None:
    """Draw a run's line, and what can be done with the run beside it."""
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key=f"card-{run.id}"
    ):
        st.html(run_card(run, *name))
        st.button(
            "Show",
            icon=":material/visibility:",
            key=f"show-{run.id}",
            on_click=st.session_state.__setitem__,
            args=("run", run.id),
            type="tertiary",
            disabled=is_live,
            help="Shows this run's tree beside the curves.",
        )
        if run.can_resume:
            resume_button(run, "resume")
        elif run.is_finished:
            st.page_link(
                "pages/tree.py",
                label="Open",
                icon=":material/account_tree:",
                query_params={"run": run.id},
                disabled=not run.has_model,
                width=86,
            )
        else:
            pause_button(run, "pause")
            st.button(
                "Stop",
                icon=":material/stop:",
                key=f"stop-{run.id}",
                on_click=store().request_stop,
                args=(run.id,),
                type="tertiary",
                disabled=run.stop_requested or not store().may_change(run),
                help="Ends the training and saves the best tree so far.",
                width=86,
            )


def _live_run(runs: list[Run]) -> Run:
    """Return the run whose tree is drawn: the chosen one, or the newest that trains."""
    by_id = {run.id: run for run in runs}
    trained = [run for run in runs if run.learner != "cart"]
    run = by_id.get(st.session_state.get("run")) or (trained or runs)[0]
    write_address("run", run.id)
    return run
