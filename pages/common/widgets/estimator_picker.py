"""The trees of an ensemble as thumbnails, those of highest weight first."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, run_colors
from pages.common.cached.predictions import MOST_ESTIMATORS, top_estimators
from pages.common.cached.trees import shown_tree
from pages.common.theme import mode
from treelab.evaluation.ensembles import are_equal
from treelab.figures.tree import thumbnail_svg, tree_alt
from treelab.trees.words import counted, percent

_THUMBNAILS = 6  # shown at first
_WIDTH = 150  # pixels across, so that six stand beside each other


def pick_estimator(loaded: LoadedRun) -> int | None:
    """Let the visitor choose one of an ensemble's trees; None for a single tree."""
    if not loaded.is_ensemble:
        return None
    index, weight = top_estimators(loaded)
    more = f"more-trees-{loaded.run.id}"
    n_shown = MOST_ESTIMATORS if st.session_state.get(more) else _THUMBNAILS
    index, weight = index[:n_shown], weight[:n_shown]
    key = f"estimator-{loaded.run.id}"
    if st.session_state.get(key) not in index.tolist():
        st.session_state[key] = int(index[0])
    n_estimators = loaded.model.n_estimators
    equal = are_equal(weight)
    if equal:
        which = f"these are the first {len(index)}; all have the same weight."
    else:
        which = (
            f"these {len(index)} have the highest weight on the "
            f"{len(loaded.split.X_test):,} test rows."
        )
    st.markdown(
        "**The ensemble predicts, not this one tree.** Each prediction is the weighted "
        f"sum of {counted(n_estimators, 'tree')}; {which}"
    )
    with st.container(horizontal=True, key="thumbnails"):
        for estimator, mean in zip(index.tolist(), weight.tolist()):
            with st.container(width=_WIDTH, gap="xxsmall"):
                _thumbnail(loaded, estimator, mean, key)
    if n_estimators > _THUMBNAILS:
        most = min(MOST_ESTIMATORS, n_estimators)
        which = f"{most} trees" if equal else f"the {most} trees of highest weight"
        st.toggle(f"Show {which}", key=more)
    return st.session_state[key]


def _thumbnail(loaded: LoadedRun, estimator: int, weight: float, key: str) -> None:
    """Draw one tree, small, with a button that chooses it."""
    chosen = st.session_state[key] == estimator
    tree = shown_tree(loaded, estimator)
    st.image(
        thumbnail_svg(tree, run_colors(loaded), mode=mode(), highlighted=chosen),
        width=_WIDTH,
        alt=tree_alt(tree),
    )
    st.button(
        f"Tree {estimator} · {percent(weight)}",
        key=f"open-{loaded.run.id}-{estimator}",
        type="primary" if chosen else "secondary",
        width=_WIDTH,
        help=f"Tree {estimator} has a mean weight of {percent(weight)} on the test "
        "rows.",
        on_click=st.session_state.__setitem__,
        args=(key, estimator),
    )
