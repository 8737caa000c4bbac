"""A point of the chart, by a click or by fields: its tree, which all pages may show."""

import math
from collections.abc import Sequence

import streamlit as st

from pages.common.cached.frontier import RunOnFrontier
from pages.common.cached.pruning_steps import pruning_steps
from pages.common.cached.store import find_run, store
from pages.common.cached.tree_pictures import sketch
from pages.common.state.chosen_run import choose_run
from pages.common.store_trouble import explained
from pages.common.views.frontier.finding import COLUMNS
from pages.common.views.tree_viewer import tree_viewer
from pages.common.widgets.chosen_step import save_step
from pages.common.words import plain
from treelab.trees.words import counted, significant

ENSEMBLE = -1  # in the place of a tree's row
USED = "frontier-used"  # the point chosen last, the run that came of it
HEIGHT = 240  # pixels of the tree


def take_click(chart: str, runs: Sequence[RunOnFrontier]) -> None:
    """Put a clicked point into the fields, and make it the one that all pages show."""
    for point in clicked_points(chart):
        named = point.get("customdata")
        if not isinstance(named, list | tuple):  # that of a mean
            continue
        own, place = runs[int(named[0])], int(named[1])
        run_id = own.loaded.run.id
        st.session_state[f"{chart}-run"] = run_id
        if place != ENSEMBLE:
            st.session_state[f"{chart}-size-{run_id}"] = place
        _use(own, place)
        return


def clicked_points(chart: str) -> list:
    """Return the points of a chart that are selected; none where it is gone."""
    state = st.session_state.get(chart)
    return [] if state is None else state.selection.points


def show_point(chart: str, runs: Sequence[RunOnFrontier], names: Sequence[str]) -> None:
    """Let the visitor pick a run and a size, and show that tree and what to do with it.

    Parameters
    ----------
    chart : str
        Key of the chart that the points are of.
    runs : sequence of RunOnFrontier
    names : sequence of str
        As the chart names them.
    """
    by_id = {own.loaded.run.id: (own, name) for own, name in zip(runs, names)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        run_id = st.selectbox(
            "Look at a tree of",
            list(by_id),
            index=None,
            format_func=lambda own_id: by_id[own_id][1],
            placeholder="a run",
            key=f"{chart}-run",
            width=300,
        )
        if run_id is None:
            return
        own, name = by_id[run_id]
        place = _pick_place(chart, own)
    if place != ENSEMBLE:
        _show_tree(chart, own, name, place)
    _offer(chart, own, place)


def _pick_place(chart: str, own: RunOnFrontier) -> int:
    """Let the visitor pick one of a run's sizes, at first the one that it retained."""
    if own.line is None:
        return ENSEMBLE
    leaves = own.line.table["leaves"].tolist()
    if len(leaves) == 1:
        return 0
    key = f"{chart}-size-{own.loaded.run.id}"  # which a click sets, too
    own_size = len(leaves) - 1 if own.line.chosen is None else own.line.chosen
    st.session_state.setdefault(key, own_size)
    return st.select_slider(
        "Leaves",
        range(len(leaves)),
        format_func=lambda place: f"{leaves[place]:,}",
        key=key,
        width=300,
    )


def _show_tree(chart: str, own: RunOnFrontier, name: str, place: int) -> None:
    """Draw the tree of a point small, under its size and scores."""
    assert own.line is not None
    row = own.line.table.loc[place]
    leaves = counted(int(row["leaves"]), "leaf", "leaves")
    known = [
        f"{significant(row[column])} on {COLUMNS[column].lower()}"
        for column in COLUMNS
        if not math.isnan(row[column])
    ]
    words = plain(f"{name}, {leaves}: {', '.join(known)}")
    st.markdown(f"**{words}**")
    step = int(row["step"])
    tree_viewer(
        sketch(own.loaded, own.trees[step], f"frontier {step}"),
        f"{chart}-tree",
        height=HEIGHT,
        controls=False,
        compact=True,
    )


def _offer(chart: str, own: RunOnFrontier, place: int) -> None:
    """Offer to make a point's tree the one that all pages show, or say that it is."""
    point = own.loaded.run.id, place
    used, run_id, is_new = st.session_state.get(USED, (None, None, False))
    run = find_run(run_id) if used == point else None
    if run is None:  # not chosen, or deleted since
        st.button(
            "Use this run" if place == ENSEMBLE else "Use this size",
            icon=":material/check:",
            key=f"{chart}-use",
            help="Tree, Pruning, Routing and Explain then show it; a size that is not "
            "the run's own is saved as a run.",
            on_click=explained(_use),
            args=(own, place),
        )
        return
    name = f"**{plain(run.short_title)}**"
    pages = "Tree, Pruning, Routing and Explain"
    words = f"{pages} now show {name}."
    if is_new:
        words = f"{name} is saved as a run, and {pages} now show it."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(words, width="content")
        address = {"run": run.id}
        st.page_link("pages/tree.py", label="See the tree", query_params=address)


def _use(own: RunOnFrontier, place: int) -> None:
    """Make the tree of a point the one that all pages show; save it where it is new."""
    known = {run.id for run in store().runs()}
    point = own.loaded.run.id, place
    run_id = own.loaded.run.id
    if own.line is not None:
        steps, step = pruning_steps(own.loaded), int(own.line.table["step"][place])
        if step != steps.own:
            run_id = save_step(own.loaded, steps, step)
    choose_run(run_id)
    st.session_state[USED] = point, run_id, run_id not in known
