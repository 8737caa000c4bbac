"""The size of a run's tree: the path that the slider moves along, and its scores."""

from dataclasses import dataclass, replace

import streamlit as st

from pages.cached import tree_pictures as cached
from pages.cached.predictions import (
    heaviest_scores,
    predictions,
    score_differences,
    top_estimators,
)
from pages.cached.runs import LoadedRun, shared, size_path_of
from pages.cached.store import store
from pages.compare.errors import rows_that_differ
from pages.compare.verdict import show_trees
from pages.state.choices import set_parameter, whole_number
from pages.widgets.curves import CLUSTER_LOSS
from pages.widgets.page import mode, page_link, pick_one, show_figure
from pages.widgets.tree_viewer import selection
from pages.widgets.words import error_with_unit, plain, split_words
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation.comparison import disagreement
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES
from treelab.evaluation.pruning import PruningSteps
from treelab.figures.ensembles import deciders_figure
from treelab.figures.pruning import MARGINS, place_of, pruning_figure
from treelab.learners.registry import CLUSTERS
from treelab.reports.run_curves import VARIANCE_UNIT
from treelab.runs.jobs.derived import save_pruned
from treelab.trees.words import counted, shortest, significant


@dataclass(frozen=True)
class Size:
    """A run's path of trees, large to small, and where on it the visitor is."""

    run: LoadedRun  # with the tree that training retained
    steps: PruningSteps
    step: int
    tree_alone: bool = False  # leaves predict, where a predictor lies on top of them

    @property
    def is_own(self) -> bool:
        """Whether this is the tree that training retained."""
        return self.step == self.steps.own and not self.tree_alone

    @property
    def shown(self) -> LoadedRun:
        """The run as if training had retained this tree."""
        return cached.run_at(self.run, self.step, self.tree_alone)

    def picture(self, split: str = "fitted") -> cached.TreePicture:
        """Return the trees of the path, a frame each."""
        return cached.path_picture(self.run, self.tree_alone, split)


def size_of(loaded: LoadedRun, view: str, split: str) -> Size | None:
    """Return where a run's slider stands, in the viewer of a key or in the address.

    A picture with rows of a ``split`` may leave steps out; then it is the nearest. None
    of an ensemble.
    """
    if loaded.is_ensemble:
        return None
    tree_alone = pick_predictor(loaded)
    steps = cached.pruning_steps(loaded, tree_alone)
    size = Size(loaded, steps, steps.own, tree_alone)
    run_id, known = loaded.run.id, f"size-{loaded.run.id}"
    frame = selection(view).frame
    if frame is not None:
        shown = size.picture(split).steps  # fewer, maybe, than of the rows before
        step = shown[min(frame, len(shown) - 1)]
    elif known in st.session_state:
        step = st.session_state[known]
    else:
        place = whole_number(named_size(run_id))
        step = steps.own if place is None else place
    step = step if step < len(steps.trees) else steps.own
    if step != steps.own:
        step = min(size.picture(split).steps, key=lambda each: abs(each - step))
    st.session_state["size-run"], st.session_state[known] = run_id, step
    set_parameter("size", None if step == steps.own else str(step))
    return replace(size, step=step)


def named_size(run_id: str) -> str:
    """Return the step of a run's path that the address names, "" for its own tree."""
    of_this_run = st.session_state.get("size-run", run_id) == run_id
    return st.query_params.get("size", "") if of_this_run else ""


def pick_predictor(loaded: LoadedRun) -> bool:
    """Ask what predicts where there is a predictor; True for the tree alone."""
    if not (loaded.model.has_predictor and loaded.has_labels):
        return False
    metric = TITLES[loaded.headline]
    words = {}
    for tree_alone, name in ((False, "Predictor on top"), (True, "Tree alone")):
        table = cached.pruning_steps(loaded, tree_alone).table
        score = significant(table["test_score"].iloc[loaded.model.chosen])
        words[tree_alone] = f"{name} · {score}"
    return pick_one(
        f"Prediction from · {metric} on {split_words(loaded, 'test')}",
        words,
        f"predictor-{loaded.run.id}",
        wrap=True,
        help="Scores at the strength that training chose. The predictor reads how far "
        "a row passes each node; alone, a leaf predicts the majority class, or the "
        "mean, of its training rows.",
    )


def offer_run(size: Size) -> None:
    """Offer to save the tree as a run, which every page then shows."""
    loaded = size.run
    if loaded.epoch is not None or loaded.run.learner == CLUSTERS.key:
        return
    if len(size.steps.trees) < 2 and not size.tree_alone:
        return
    words = "Saves this tree as a run of its own, to look at, export and compare."
    if st.button(
        "Keep this size",
        icon=":material/save:",
        key=f"use-{loaded.run.id}",
        disabled=size.is_own,
        help="This is the run's own tree." if size.is_own else words,
    ):
        run = store().run(save_step(loaded, size.step, size.tree_alone))
        st.markdown(f"Saved as {plain(run.title)}.")
        with st.container(horizontal=True):
            page_link("tree", "See the tree", run=run.id)
            page_link("compare", "Compare", run=run.id, against=loaded.run.id)


def save_step(loaded: LoadedRun, step: int, tree_alone: bool = False) -> str:
    """Save the tree of a step as a run, unless it is one, and return the run's id."""
    model, path = cached.run_at(loaded, step, tree_alone).model, None
    if cached.pruning_steps(loaded, tree_alone).kind == "leaves":
        path = size_path_of(loaded.run)
        path = replace(path, chosen=len(path) - 1 - step)
    return save_pruned(store(), loaded.run, model, path)


def show_curve(size: Size) -> None:
    """Draw score and size of the whole path; a line marks the tree that is shown."""
    steps, n_steps, names = size.steps, len(size.steps.trees), size.steps.labels
    marked = "; ".join(f"{words}: {names[i]}" for i, words in steps.marks.items())
    place = size.step if steps.kind == "lambda" else n_steps - 1 - size.step
    left, right = MARGINS["l"], MARGINS["r"]
    with st.container(key="path"):
        st.html(  # first: it moves at once
            f'<div class="line" style="left:calc({left}px + '
            f"{place_of(place, n_steps):.5f} * (100% - {left + right}px));"
            f'top:{MARGINS["t"]}px;bottom:{MARGINS["b"]}px"></div>'
        )
        show_figure(
            _path_figure(size.run, size.tree_alone, mode()),
            key="pruning-path",
            alt=f"Score and size of {counted(n_steps, 'tree')}; {marked}.",
        )
    line = "Line: the tree above"
    if steps.kind == "alpha":
        line += f", ccp_alpha {shortest(steps.table['strength'].iloc[size.step])}"
    words = (
        f"{steps.about} {CLUSTER_LOSS} ({VARIANCE_UNIT}), on held-out rows; lower is "
        "better. No labels are known, so nothing here shows whether the clusters are "
        "right; with a label column, chosen on Train, their purity is measured."
    )
    words = steps.sentences() if size.run.has_labels else words
    st.caption(f"{line}. {words}")


@shared(16)
def _path_figure(loaded: LoadedRun, tree_alone: bool, mode):
    """Draw a run's path once, as the slider runs; that only moves the line over it."""
    steps = cached.pruning_steps(loaded, tree_alone)
    table, marks, strength = steps.table, steps.marks, "pruning strength λ"
    if steps.kind != "lambda":
        strength = "number of leaves"
        table = table.assign(strength=table["leaves"])[::-1].reset_index(drop=True)
        marks = {len(table) - 1 - step: words for step, words in marks.items()}
    title = "validation loss"
    if loaded.has_labels:
        title = TITLES[loaded.headline]
        if loaded.run.held_out_title != title:
            title += f" (held out: {loaded.run.held_out_title})"
    # Trees by size were scored on all rows, in folds, or on the validation rows.
    held_out = "valid" if loaded.fitted_split == "train" else "fitted"
    splits = {"held_out_score": held_out, "valid_score": "valid", "test_score": "test"}
    return pruning_figure(
        table,
        marks=marks,
        strength_title=strength,
        score_title=title,
        n_rows={column: loaded.n_rows(split) for column, split in splits.items()},
        mode=mode,
    )


def show_pair(size: Size) -> None:
    """Draw two trees of a path, with their scores and the rows that change."""
    loaded, steps, labels = size.run, size.steps, size.steps.labels
    others = (own for own in (size.step, len(labels) // 2, 0) if own != steps.own)
    places = st.select_slider(
        "Two sizes",
        range(len(labels)),
        value=tuple(sorted((steps.own, next(others)))),
        format_func=labels.__getitem__,
        key=f"pair-{loaded.run.id}",
        help="Move both ends: the trees on the left and on the right.",
    )
    if places[0] == places[1]:
        st.info("Move one end to compare two sizes.", icon=":material/info:")
        return
    leaves = [int(steps.table["leaves"].iloc[step]) for step in places]
    names = [counted(n, "leaf", "leaves") for n in leaves]
    if leaves[0] == leaves[1]:
        names = [labels[step] for step in places]
    pair = tuple(cached.run_at(loaded, step, size.tree_alone) for step in places)
    if not loaded.has_labels:
        losses = [steps.table["valid_loss"].iloc[step] for step in places]
        words = (f"{n} {significant(loss)}" for n, loss in zip(names, losses))
        st.header(plain(f"{', '.join(words)} validation loss"), anchor=False)
        show_trees(pair, names, [], None)
        return
    best = score_differences(*pair)[loaded.headline]
    predicted = (predictions(own, "test") for own in pair)
    _, truth, weight = loaded.split.rows("test")
    found = disagreement(loaded.run.problem.task, truth, *predicted, weight)
    n_rows = counted(found.n_rows, "test row")
    change = f"{len(found.rows):,} of {n_rows} change their class"
    if found.mean_distance is not None:
        distance = error_with_unit(loaded, found.mean_distance)
        change = f"predictions differ by {distance} on average, {n_rows}"
    scores = f"{names[0]} {significant(best.first)}, {names[1]} "
    scores += f"{significant(best.second)} {best.title}"
    st.header(plain(f"{scores}: {change}"), anchor=False)
    st.markdown(plain(best.interval_words(names)))
    place = None
    if len(found.rows):
        place = st.selectbox(
            "Follow a row whose prediction changes",
            found.rows["position"].tolist(),
            index=None,
            format_func=lambda place: f"test row {place + 1:,}",
            placeholder="none",
            key=f"pair-row-{loaded.run.id}",
            width=320,
        )
    show_trees(pair, names, [], place)
    rows_that_differ(found, pair, names)


CLOSE = 0.01  # a score that is at most so much lower is as good


@st.fragment
def show_dial(loaded: LoadedRun) -> None:
    """Let the visitor say how many trees may decide, and show what that costs."""
    if are_equal(top_estimators(loaded)[1]):
        st.info(
            f"All {counted(loaded.model.n_estimators, 'tree')} have the same weight, "
            "so none decides more than another.",
            icon=":material/info:",
        )
        return
    counts, scores = heaviest_scores(loaded)
    metric = TITLES[loaded.headline]
    chosen_by = "valid" if "valid" in scores else "test"
    judged, tested = scores[chosen_by], scores["test"]
    enough = int((judged >= judged[-1] - CLOSE).argmax())
    names = [*(counted(n, "tree") for n in counts[:-1]), "all"]
    titles = {split_words(loaded, split): own for split, own in scores.items()}
    shown = st.select_slider(
        "How many trees may decide",
        range(len(counts)),
        value=enough,
        format_func=names.__getitem__,
        key=f"deciders-{loaded.run.id}",
        help="Each row is predicted by its trees of highest weight alone, their "
        "weights scaled up to 1. Nothing is trained anew.",
    )
    st.header(
        f"{significant(tested[shown])} {metric} with {names[shown]}; "
        f"{significant(tested[-1])} with all {counts[-1]:,} that decide a row",
        anchor=False,
    )
    st.caption(
        f"Scores: {split_words(loaded, 'test')}. The fewest trees within {CLOSE} of "
        f"all of them on {SPLIT_NAMES[chosen_by]} rows: {counts[enough]:,}. Which "
        "trees they are differs by row."
    )
    show_figure(
        deciders_figure(counts, titles, shown=shown, score_title=metric, mode=mode()),
        key="deciders",
        alt=f"{metric} against the number of trees that decide.",
    )
