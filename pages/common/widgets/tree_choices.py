"""What is shown of a tree: as a tree, its training, its path, as areas; which rows."""

from dataclasses import dataclass

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.cached.store import store
from pages.common.words import SPLIT_NAMES
from treelab.data.split import SPLITS
from treelab.trees.pruning_path import PruningPath

TREE, TRAINING, PATH, STATIC = "Tree", "Training", "Pruning path", "Static drawing"
AREAS = {"Icicle": "icicle", "Sunburst": "sunburst"}


@dataclass(frozen=True)
class TreeChoices:
    """What the visitor wants to see.

    Attributes
    ----------
    view : str
        One of TREE, TRAINING, PATH, STATIC and the keys of AREAS.
    split : str
        Data split whose rows the picture counts.
    places : tuple of int
        Test rows, from 0, whose decision paths are shown; at most two.
    label : object or None
        The class whose flow is shown.
    """

    view: str
    split: str = "train"
    places: tuple[int, ...] = ()
    label: object = None


def tree_choices(loaded: LoadedRun) -> TreeChoices:
    """Let the visitor choose the view of a run's tree, and the rows in it."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="tree-choices"):
        view = st.segmented_control(
            "View",
            _views(loaded),
            default=TREE,
            required=True,
            wrap=True,
            key=f"view-{loaded.run.id}",
        )
        if view == STATIC or view in AREAS:
            return TreeChoices(view)
        fitted = loaded.fitted_split
        split = st.segmented_control(
            "Rows",
            SPLITS if fitted == "train" else (fitted, "test"),
            default=fitted,
            required=True,
            format_func=SPLIT_NAMES.__getitem__,
            wrap=True,
            key="tree-rows" if fitted == "train" else "tree-rows-joined",
            persist_state="session",
        )
        with st.popover("Follow rows", icon=":material/route:"):
            places = _pick_rows(loaded)
            label = _pick_class(loaded) if view == TREE else None
    return TreeChoices(view, split, places, label)


def _views(loaded: LoadedRun) -> list[str]:
    """Which views a run has."""
    views = [TREE]
    if not loaded.is_ensemble and store().snapshots(loaded.run.id):
        views.append(TRAINING)
    if isinstance(loaded.model, PruningPath) and len(loaded.model.strengths) > 1:
        views.append(PATH)
    return [*views, *AREAS, STATIC]


def _pick_rows(loaded: LoadedRun) -> tuple[int, ...]:
    """Let the visitor choose one or two test rows; return their places, from 0."""
    n_rows = len(loaded.split.y_test)
    found = [
        st.number_input(
            f"{name} test row, 1 to {n_rows:,}",
            1,
            n_rows,
            value=None,
            step=1,
            key=f"follow-{name}-{loaded.run.id}",
            placeholder="none",
            help=help_words,
        )
        for name, help_words in (
            ("First", "Its decision path is highlighted."),
            ("Second", "With both, the node where their paths part is marked."),
        )
    ]
    return tuple(place - 1 for place in dict.fromkeys(found) if place is not None)


def _pick_class(loaded: LoadedRun):
    """Let the visitor choose the class whose flow is shown; None for all rows."""
    classes = {str(label): label for label in ranked_classes(loaded)}
    if not classes:
        return None
    chosen = st.selectbox(
        "Flow of a class",
        list(classes),
        index=None,
        placeholder="none",
        key=f"flow-{loaded.run.id}",
        help="Edge width is then the fraction of the rows of this class.",
    )
    return classes.get(chosen)
