"""What the visitor looks at on the Tree page: which trees, which rows, whose way."""

from dataclasses import dataclass

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.cached.store import store
from pages.common.cached.trees import drawn_tree, routed_tree
from pages.common.views.tree_picture import (
    Picture,
    along_path,
    flow_of,
    growth,
    picture_of,
)
from pages.common.words import SPLIT_NAMES
from treelab.data.split import SPLITS
from treelab.figures.viewer.rows import FIRST_PATH, SECOND_PATH, RowPath, row_path
from treelab.trees.pruning.path import PruningPath

TREE, GROWTH, PATH, PLAIN = "The tree", "As it grew", "Along lambda", "As a drawing"
ICICLE, SUNBURST = "Icicle", "Sunburst"
AREAS = {ICICLE: "icicle", SUNBURST: "sunburst"}
SLUGS = {TREE: "tree", GROWTH: "growth", PATH: "path"}  # in the names of components


@dataclass(frozen=True)
class Choices:
    """What is looked at.

    Attributes
    ----------
    way : str
        One of TREE, GROWTH, PATH, ICICLE, SUNBURST and PLAIN.
    picture : Picture
    paths : tuple of RowPath
        Rows that are followed.
    flow : dict or None
        The class whose flow is shown.
    """

    way: str
    picture: Picture
    paths: tuple[RowPath, ...] = ()
    flow: dict | None = None


def look_choices(loaded: LoadedRun, estimator: int | None) -> Choices:
    """Let the visitor choose, and return the picture that this makes."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="look-choices"):
        chosen = st.segmented_control(
            "Show",
            _ways_to_look(loaded),
            default=TREE,
            required=True,
            key=f"look-{loaded.run.id}",
        )
        if chosen == PLAIN:
            return Choices(
                PLAIN, picture_of(loaded, drawn_tree(loaded, estimator), "tree")
            )
        if chosen in AREAS:
            drawn = drawn_tree(loaded, estimator)
            return Choices(
                chosen, picture_of(loaded, drawn, f"drawn {estimator}", "train")
            )
        part = st.segmented_control(
            "Rows counted",
            SPLITS,
            default="train",
            required=True,
            format_func=SPLIT_NAMES.__getitem__,
            key="look-part",
            persist_state="session",
        )
        with st.popover("Follow", icon=":material/route:"):
            places = _followed(loaded)
            label = _flow_class(loaded) if chosen == TREE else None
    if chosen == GROWTH:
        picture = growth(loaded, drawn_tree(loaded), part)
    elif chosen == PATH:
        trees = tuple(
            drawn_tree(loaded, strength=i) for i in range(len(loaded.model.strengths))
        )
        picture = along_path(loaded, trees, part)
    else:
        # A row may take a branch that no training row does: then it is drawn.
        tree = (routed_tree if places else drawn_tree)(loaded, estimator)
        what = f"{'routed' if places else 'drawn'} {estimator}"
        picture = picture_of(loaded, tree, what, part)
    tree = picture.tree(None)
    paths = tuple(
        row_path(
            tree, loaded.split.X_test.iloc[[place]], f"test row {place + 1}", color
        )
        for place, color in zip(places, (FIRST_PATH, SECOND_PATH))
    )
    flow = None if label is None else flow_of(loaded, tree, label, part)
    return Choices(chosen, picture, paths, flow)


def _ways_to_look(loaded: LoadedRun) -> list[str]:
    """Which views a run has."""
    ways = [TREE]
    if not loaded.is_ensemble and store().snapshots(loaded.run.id):
        ways.append(GROWTH)
    if isinstance(loaded.model, PruningPath) and len(loaded.model.strengths) > 1:
        ways.append(PATH)
    return [*ways, *AREAS, PLAIN]


def _followed(loaded: LoadedRun) -> list[int]:
    """Let the visitor follow one or two test rows; return their places, from 0."""
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
            ("First", "Its way down the tree is lit."),
            ("Second", "With both, the node is marked where they part."),
        )
    ]
    return [place - 1 for place in dict.fromkeys(found) if place is not None]


def _flow_class(loaded: LoadedRun):
    """Let the visitor choose the class whose flow is shown; None for all rows."""
    classes = {str(label): label for label in ranked_classes(loaded)}
    if not classes:
        return None
    chosen = st.selectbox(
        "Rows of a class",
        list(classes),
        index=None,
        placeholder="none",
        key=f"flow-{loaded.run.id}",
        help="Edges are then as thick as the share of its rows that take them.",
    )
    return classes.get(chosen)


def selected(loaded: LoadedRun) -> str | None:
    """Return the key of the node that the address, or an earlier look, selects.

    Once another run is chosen, the address still names the node of the run before.
    """
    named = st.query_params.get("node")
    of_this_run = st.session_state.get("node-run", loaded.run.id) == loaded.run.id
    if of_this_run and named is not None and named.startswith("r"):
        return named[1:]
    return st.session_state.get(f"node-{loaded.run.id}")


def remember(loaded: LoadedRun, key: str | None) -> None:
    """Keep the selected node for later, and put it into the address.

    The address says "r" and the way from the root, 0 left and 1 right: "r01".
    """
    st.session_state["node-run"] = loaded.run.id
    st.session_state[f"node-{loaded.run.id}"] = key
    if key is None:
        st.query_params.pop("node", None)
    elif st.query_params.get("node") != f"r{key}":
        st.query_params["node"] = f"r{key}"
