"""Which tree of a run is shown: its size, its pruning, its estimator."""

from dataclasses import dataclass, replace

import streamlit as st

from pages.cached.predictions import MOST_ESTIMATORS, top_estimators
from pages.cached.runs import LoadedRun, ranked_classes, run_colors, run_tree
from pages.cached.store import store
from pages.cached.tree_pictures import scored_path_of
from pages.widgets.page import mode
from pages.widgets.store_trouble import explained
from pages.widgets.words import plain
from treelab.data.split import SPLIT_NAMES, SPLITS
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.frontier import knee_of
from treelab.evaluation.pruning import PruningSteps
from treelab.figures.tree import thumbnail_svg, tree_alt
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.derived import save_pruned
from treelab.trees.pruning_path import PruningPath
from treelab.trees.words import counted, percent, shortest

# What is shown of a tree: as a tree, its training, its path, as areas; which rows.


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


# The trees of an ensemble as thumbnails, those of highest weight first.


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
    tree = run_tree(loaded, estimator)
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


# The tree where the slider stands, saved as a run of its own.


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
            both = {"run": run.id, "against": loaded.run.id}
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


# The slider over a pruning path: by lambda, number of leaves or ccp_alpha.


_NAMES = {
    "lambda": "Pruning strength (lambda)",
    "leaves": "Number of leaves",
    "alpha": "Complexity penalty (ccp_alpha)",
}
_HELP = {
    "lambda": "How strongly small trees are preferred; each strength trained a tree of "
    "its own, all at once.",
    "leaves": "At most so many leaves; the best tree that was found at each size.",
    "alpha": "How much impurity a leaf must remove to stay (cost-complexity pruning).",
}


def pick_step(loaded: LoadedRun, steps: PruningSteps, labels: list[str]) -> int:
    """Let the visitor slide along the path."""
    return st.select_slider(
        strength_name(steps),
        range(len(steps.trees)),
        value=knee_of(steps.table) if steps.chosen is None else steps.chosen,
        format_func=labels.__getitem__,
        key=f"step-{loaded.run.id}",
        help=_HELP[steps.kind],
    )


def strength_name(steps: PruningSteps) -> str:
    """Name what the slider changes."""
    return _NAMES[steps.kind]


def step_labels(steps: PruningSteps) -> list[str]:
    """Name each step of the slider; no two names are alike."""
    if steps.kind == "leaves":  # no two are of one size
        return [counted(leaves, "leaf", "leaves") for leaves in steps.table["leaves"]]
    labels: list[str] = []
    for strength, leaves in zip(steps.table["strength"], steps.table["leaves"]):
        label = f"{shortest(strength)} · {counted(leaves, 'leaf', 'leaves')}"
        while label in labels:
            label += " again"
        labels.append(label)
    return labels
