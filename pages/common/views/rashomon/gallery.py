"""A gallery of trees that score alike, each with a button that chooses it."""

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.rashomon.trees import tree_predictions
from pages.common.cached.store import store
from pages.common.cached.tree_pictures import sketch
from pages.common.state.chosen_run import choose_run, write_address
from pages.common.views.rashomon.filters import Filtered
from pages.common.views.tree_viewer import tree_viewer
from pages.common.words import plain
from treelab.runs.jobs.rashomon.save_member import save_member
from treelab.trees.rashomon import RashomonSet
from treelab.trees.words import counted, percent, significant

IN_A_ROW, ROWS_SHOWN = 3, 2
BEST, SMALLEST, OTHERWISE = "best score", "fewest leaves", "most different"


def show_gallery(
    loaded: LoadedRun, trees: RashomonSet, shown: Filtered, tolerance: float
) -> None:
    """Draw the trees small, a page at a time."""
    n_page = IN_A_ROW * ROWS_SHOWN
    n_pages = -(-len(shown.places) // n_page)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        order = st.segmented_control(
            "First",
            (BEST, SMALLEST, OTHERWISE),
            default=BEST,
            required=True,
            wrap=True,
            key="rashomon-order",
            help="“Most different” from this run's tree, on the rows it was fitted to.",
        )
        page = 1
        if n_pages > 1:
            page = st.number_input(
                f"Page, 1 to {n_pages}",
                1,
                n_pages,
                key=f"rashomon-page-{n_pages}",
                width=140,
            )
    places = _ordered(loaded, trees, shown.places, order)
    places = places[(page - 1) * n_page : page * n_page].tolist()
    for first in range(0, len(places), IN_A_ROW):
        columns = st.columns(IN_A_ROW, gap="medium")
        for column, place in zip(columns, places[first : first + IN_A_ROW]):
            with column:
                show_card(loaded, trees, place, tolerance, shown.facts[place])


def show_card(
    loaded: LoadedRun,
    trees: RashomonSet,
    place: int,
    tolerance: float,
    facts: list[str],
    where: str = "gallery",
) -> None:
    """Draw one tree small, with its score, its columns and the button."""
    tree = trees.trees[place]
    is_own = place == trees.chosen
    score, error = trees.scores[["score", "standard_error"]].iloc[place]
    size = counted(tree.n_leaves, "leaf", "leaves")
    name = "This run's tree" if is_own else f"Tree {place + 1}"
    st.markdown(f"**{name}** · {significant(score)} ± {error:.3f} · {size}")
    tree_viewer(
        sketch(loaded, tree, f"rashomon {place}"),
        f"rashomon-{where}-{loaded.run.id}-{place}",
        height=210,
        controls=False,
        compact=True,
    )
    words = [", ".join(tree.columns), *facts]
    if not is_own:
        predicted, _ = tree_predictions(loaded, "fitted")
        share = float(np.mean(predicted[place] != predicted[trees.chosen]))
        if loaded.model.classes is not None:
            words.append(f"predicts {percent(share)} of the rows otherwise")
    st.caption(f"{plain('; '.join(words))}.")
    chosen = st.button(
        "Choose this tree",
        key=f"rashomon-choose-{where}-{loaded.run.id}-{place}",
        icon=":material/check:",
        disabled=is_own,
        on_click=_choose,
        args=(loaded, trees, place, tolerance),
    )
    if chosen:
        st.rerun()  # the picker above shows the new run


def _ordered(
    loaded: LoadedRun, trees: RashomonSet, places: np.ndarray, order: str
) -> np.ndarray:
    """Return the trees in the order that was asked for."""
    if order == SMALLEST:
        size = np.array([trees.trees[i].n_leaves for i in places])
        return places[np.argsort(size, kind="stable")]
    if order == OTHERWISE:
        predicted, _ = tree_predictions(loaded, "fitted")
        own = predicted[trees.chosen].astype(float)
        apart = np.abs(predicted[places] - own)
        if loaded.model.classes is not None:
            apart = apart > 0
        return places[np.argsort(-apart.mean(axis=1), kind="stable")]
    return places


def _choose(
    loaded: LoadedRun, trees: RashomonSet, place: int, tolerance: float
) -> None:
    """Save a tree as a run, and make it the one that all pages show."""
    run_id = save_member(store(), loaded.run, trees, place, tolerance)
    choose_run(run_id)
    write_address("run", run_id)
