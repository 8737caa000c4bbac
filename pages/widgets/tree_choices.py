"""Which tree of a run is shown, and how."""

from dataclasses import dataclass

import streamlit as st

from pages.cached.predictions import MOST_ESTIMATORS, top_estimators
from pages.cached.runs import LoadedRun, ranked_classes, run_colors, run_tree
from pages.cached.store import store
from pages.state.choices import edit_session
from pages.widgets.page import mode, pick_one
from treelab.data.split import SPLIT_NAMES, SPLITS
from treelab.evaluation.ensembles import are_equal
from treelab.figures.tree import thumbnail_svg, tree_alt
from treelab.figures.viewer.payload import MOST_CLASSES
from treelab.runs.run_words import distinct
from treelab.trees.words import counted, percent

TREE, TRAINING, STATIC, EDIT = "Tree", "Training", "Static drawing", "Edit"
AREAS = {"Icicle": "icicle", "Sunburst": "sunburst"}


@dataclass(frozen=True)
class TreeChoices:
    """What the visitor wants to see."""

    view: str  # one of TREE, TRAINING, STATIC, EDIT and the keys of AREAS
    split: str = "fitted"  # whose rows the picture counts
    places: tuple[int, ...] = ()  # test rows, from 0, that are followed; at most two
    label: str | None = None  # the class that colours it; None: by prediction


def tree_choices(loaded: LoadedRun) -> TreeChoices:
    """Let the visitor choose the view of a run's tree, and the rows in it."""
    row = {"horizontal": True, "vertical_alignment": "bottom"}
    with st.container(key="tree-choices", horizontal_alignment="distribute", **row):
        place = st.container(**row)
        if loaded.is_single_tree:
            n_edits = edit_session(loaded.run.id).position
            edits = st.toggle(
                f"Edit ({n_edits})" if n_edits else "Edit",
                key="edit",
                bind="query-params",
                help="Set splits, lock, prune, forbid columns; then save or train on.",
            )
            if edits:
                place.markdown("**Click a node**, then change it beside the tree.")
                return TreeChoices(EDIT)
    with place:
        views = [TREE, *AREAS, STATIC]
        if not loaded.is_ensemble and store().snapshots(loaded.run.id):
            views.insert(1, TRAINING)
        view = st.selectbox("View", views, key=f"view-{loaded.run.id}", width=170)
        if view == STATIC or view in AREAS:
            return TreeChoices(view)
        return _pick_colors_and_rows(loaded, view)


def _pick_colors_and_rows(loaded: LoadedRun, view: str) -> TreeChoices:
    """Ask what colours the picture, whose rows it counts and which it follows."""
    label = None
    classes = [str(own) for own in ranked_classes(loaded)]
    if view == TREE and classes:
        most = MOST_CLASSES if len(classes) <= MOST_CLASSES else MOST_CLASSES - 1
        names = distinct(dict(enumerate(["prediction", *classes[:most]])))
        place = st.selectbox(
            "Colour by",
            list(names),
            format_func=names.__getitem__,
            key=f"color-{loaded.run.id}",
            width=170,
        )
        label = classes[place - 1] if place else None
    offered, key = SPLITS, "tree-rows"
    if (fitted := loaded.fitted_split) != "train":
        offered, key = (fitted, "test"), "tree-rows-joined"
    names = {own: SPLIT_NAMES[own] for own in offered}
    split = pick_one("Rows", names, key, wrap=True, persist_state="session")
    with st.popover("Follow rows", icon=":material/route:"):
        places = _pick_rows(loaded)
    return TreeChoices(view, split, places, label)


def _pick_rows(loaded: LoadedRun) -> tuple[int, ...]:
    """Let the visitor choose one or two test rows; return their places, from 0."""
    words = {
        "First": "Its decision path is highlighted.",
        "Second": "With both, the node where their paths part is marked.",
    }
    found = [
        pick_row(loaded, f"{name} test row", f"follow-{name}-{loaded.run.id}", own)
        for name, own in words.items()
    ]
    return tuple(place for place in dict.fromkeys(found) if place is not None)


def pick_row(
    loaded: LoadedRun, label: str, key: str, words: str, **given
) -> int | None:
    """Let the visitor choose a test row to follow; return its place, from 0."""
    n_rows = loaded.n_rows("test")
    given |= {"key": key, "help": words, "placeholder": "none", "value": None}
    row = st.number_input(f"{label}, 1 to {n_rows:,}", 1, n_rows, step=1, **given)
    return None if row is None else row - 1


_THUMBNAILS = 6  # shown at first
_WIDTH = 150  # pixels across, so that six stand beside each other


def pick_estimator(loaded: LoadedRun) -> int | None:
    """Let the visitor choose one of an ensemble's trees; None for a single tree."""
    if not loaded.is_ensemble:
        return None
    index, weight = (found.tolist() for found in top_estimators(loaded))
    n_estimators, equal = loaded.model.n_estimators, are_equal(weight)
    key, more = (f"{name}-{loaded.run.id}" for name in ("estimator", "more-trees"))
    index = index[: None if st.session_state.get(more) else _THUMBNAILS]
    if st.session_state.get(key) not in index:
        st.session_state[key] = index[0]
    which = f"these are the first {len(index)}; all have the same weight."
    if not equal:
        n_rows = counted(loaded.n_rows("test"), "test row")
        which = f"these {len(index)} have the highest weight on the {n_rows}."
    st.markdown(
        "**The ensemble predicts, not this one tree.** Each prediction is the weighted "
        f"sum of {counted(n_estimators, 'tree')}; {which}"
    )
    with st.container(horizontal=True, key="thumbnails"):
        for estimator, mean in zip(index, weight):
            with st.container(width=_WIDTH, gap="xxsmall"):
                chosen = st.session_state[key] == estimator
                look = {"mode": mode(), "highlighted": chosen}
                tree = run_tree(loaded, estimator)
                picture = thumbnail_svg(tree, run_colors(loaded), **look)
                st.image(picture, width=_WIDTH, alt=tree_alt(tree))
                st.button(
                    f"Tree {estimator} · {percent(mean)}",
                    key=f"open-{loaded.run.id}-{estimator}",
                    type="primary" if chosen else "secondary",
                    width=_WIDTH,
                    help=f"Tree {estimator} has a mean weight of {percent(mean)} on "
                    "the test rows.",
                    on_click=st.session_state.__setitem__,
                    args=(key, estimator),
                )
    if n_estimators > _THUMBNAILS:
        most = min(MOST_ESTIMATORS, n_estimators)
        which = f"{most} trees" if equal else f"the {most} trees of highest weight"
        st.toggle(f"Show {which}", key=more)
    return st.session_state[key]
