"""A pruning path: the slider's tree, the whole path, and the best tree at each size."""

from dataclasses import replace

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.cached.pruning_steps import pruning_steps
from pages.common.cached.tree_pictures import path_picture
from pages.common.page import show_figure
from pages.common.store_trouble import guarded
from pages.common.theme import mode
from pages.common.views.curves import CLUSTER_LOSS, VARIANCE_UNIT
from pages.common.views.pruning.pair import show_pair
from pages.common.views.tree_viewer import show_tree, tree_viewer
from pages.common.widgets.chosen_step import offer_run
from pages.common.widgets.pruning_slider import pick_step, step_labels, strength_name
from pages.common.words import fitted_words, plain, split_words
from treelab.evaluation.frontier import KNEE_TOLERANCE, knee_of
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.pruning import PruningSteps
from treelab.evaluation.routing import routing_table
from treelab.figures.pruning_path import MARGINS, place_of, pruning_figure
from treelab.figures.routing import heat_tree_figure, levels_to_draw
from treelab.trees.words import counted, significant

TEST = "test_score"
_KINDS = {
    "lambda": "Each strength trained a tree of its own: these are different trees, not "
    "prunings of one.",
    "leaves": "The best tree found at each number of leaves.",
    "alpha": "One tree, cut back more and more.",
}
_MOST_CLASSES = 6  # whose routing is offered
PREDICTIONS = "Predictions"
ONE_SIZE, TWO_SIZES, ALL_SIZES = "One size", "Two sizes", "All sizes"


@st.fragment
@guarded
def show_pruning(loaded: LoadedRun) -> None:
    """Show a run's path of trees: one of them, or two beside each other."""
    tree_alone = _pick_predictor(loaded)
    steps = pruning_steps(loaded, tree_alone)
    labels = step_labels(steps)
    view = st.segmented_control(
        "View",
        (ONE_SIZE, TWO_SIZES, ALL_SIZES),
        default=ONE_SIZE,
        required=True,
        wrap=True,
        key=f"pruning-view-{loaded.run.id}",
    )
    shown = _without_predictors(loaded) if tree_alone else loaded
    if view == TWO_SIZES:
        show_pair(shown, steps, labels, tree_alone)
    elif view == ALL_SIZES:
        _show_all(shown, steps)
    else:
        _show_one(loaded, steps, labels, tree_alone)


def _show_all(loaded: LoadedRun, steps: PruningSteps) -> None:
    """Draw the whole path in one picture, in which a scrubber moves."""
    picture = path_picture(loaded, steps)
    n_shown, n_steps = len(picture.trees), len(steps.trees)
    which = f"All {n_steps}" if n_shown == n_steps else f"{n_shown} of {n_steps}"
    st.caption(
        f"{which} trees of the path: move the scrubber, or play it. "
        f"{_KINDS[steps.kind]}"
    )
    tree_viewer(picture.payload, f"tree-view-path-{loaded.run.id}")
    st.caption(f"Rows and bars in the picture: {fitted_words(loaded)}.")


def _show_one(
    loaded: LoadedRun, steps: PruningSteps, labels: list[str], tree_alone: bool
) -> None:
    """Show the tree where the slider stands, and the whole path beside it."""
    strength = strength_name(steps)
    step = pick_step(loaded, steps, labels)
    st.header(plain(_finding(loaded, steps, step)), anchor=False)
    st.caption(f"{_KINDS[steps.kind]} {_scores_note(loaded)}")
    offer_run(loaded, steps, step, tree_alone=tree_alone)
    left, right = st.columns([3, 2], gap="large")
    path = right.container(key="path")
    path.html(_line_over(step, len(labels)))  # first: it moves at once
    with left:
        _show_step(_without_predictors(loaded) if tree_alone else loaded, steps, step)
    metric = _metric(loaded)
    with path:
        show_figure(
            _path_figure(
                (*loaded.key, tree_alone),
                mode(),
                steps,
                strength[0].lower() + strength[1:],
                metric,
                _rows_behind(loaded),
            ),
            key="pruning-path",
            alt=f"{metric} and size of {counted(len(labels), 'tree')} against "
            f"{strength.lower()}; {_marked_words(steps, labels)}.",
        )
    right.caption(_choice_note(loaded, steps))


def _pick_predictor(loaded: LoadedRun) -> bool:
    """Let the visitor choose what predicts; True for the tree alone."""
    if not (loaded.has_predictor and loaded.has_labels):
        return False
    metric = TITLES[headline(loaded.run.problem.task)]
    words = {}
    for tree_alone, name in ((False, "Predictor on top"), (True, "Tree alone")):
        table = pruning_steps(loaded, tree_alone).table
        score = significant(table[TEST].iloc[loaded.model.chosen])
        words[tree_alone] = f"{name} · {score}"
    return st.segmented_control(
        f"Prediction from · {metric} on {split_words(loaded, 'test')}",
        list(words),
        format_func=words.__getitem__,
        default=False,
        required=True,
        wrap=True,
        key=f"predictor-{loaded.run.id}",
        help="Scores at the strength that training chose. The predictor reads how far "
        "a row passes each node; alone, a leaf predicts the majority class, or the "
        "mean, of its training rows.",
    )


def _metric(loaded: LoadedRun) -> str:
    """Name the score by which the trees of the path are compared."""
    if not loaded.has_labels:
        return "validation loss"
    return TITLES[headline(loaded.run.problem.task)]


def _finding(loaded: LoadedRun, steps: PruningSteps, step: int) -> str:
    """Write the size and score of a step, and those of the tree as trained."""
    column = TEST if TEST in steps.table else "valid_loss"

    def facts(at: int) -> tuple[str, str]:
        leaves = counted(steps.table["leaves"].iloc[at], "leaf", "leaves")
        score = significant(steps.table[column].iloc[at])
        return f"{leaves}, depth {steps.trees[at].depth}", score

    size, score = facts(step)
    words = f"{size}, {score} {_metric(loaded)}"
    reference = 0 if steps.chosen is None else steps.chosen
    if step == reference:
        return words
    size, score = facts(reference)
    name = "unpruned" if steps.chosen is None else "chosen"
    return f"{words}; {name} tree: {size}, {score}"


def _scores_note(loaded: LoadedRun) -> str:
    """Name the rows of the scores; without labels, what they cannot show."""
    if loaded.has_labels:
        return f"Scores: {split_words(loaded, 'test')}."
    return (
        f"{CLUSTER_LOSS} ({VARIANCE_UNIT}), on held-out rows; lower is better. No "
        "labels are known, so nothing here shows whether the clusters are right; with "
        "a label column, chosen on Train, their purity is measured."
    )


def _rows_behind(loaded: LoadedRun) -> dict[str, int]:
    """Count the rows behind each score of the path."""
    return {
        "held_out_score": loaded.n_rows(_held_out(loaded)),
        "valid_score": len(loaded.split.y_valid),
        TEST: len(loaded.split.y_test),
    }


def _held_out(loaded: LoadedRun) -> str:
    """Name the rows that scored the trees by size: all, in folds, or validation."""
    return "valid" if loaded.fitted_split == "train" else "fitted"


def _marked_words(steps: PruningSteps, labels: list[str]) -> str:
    """Name the step that is marked in the figure."""
    if steps.kind == "leaves":
        return f"chosen: {labels[steps.chosen]}"
    return f"the knee is at {labels[knee_of(steps.table)]}"


def _choice_note(loaded: LoadedRun, steps: PruningSteps) -> str:
    """Explain the marked step, and which rows its score is of."""
    if steps.kind == "leaves":
        return _size_note(loaded, steps)
    words = (
        f"Knee: the smallest tree that is at most {KNEE_TOLERANCE} worse than the best "
        "on the validation rows."
    )
    if steps.chosen is not None:
        words += " Validation rows chose the strength."
    if loaded.fitted_split != "train":
        words += (
            " This tree was fitted to the validation rows as well, so its validation "
            "score is too high; the test score is not."
        )
    return words


def _size_note(loaded: LoadedRun, steps: PruningSteps) -> str:
    """Write which size was chosen, and on which held-out rows."""
    score = steps.table["held_out_score"]
    best = int(score.argmax())

    def facts(at: int) -> str:
        leaves = counted(steps.table["leaves"].iloc[at], "leaf", "leaves")
        return f"{leaves}, {significant(score.iloc[at])}"

    words = f"Chosen: {facts(steps.chosen)}."
    if best != steps.chosen:
        words += f" Highest: {facts(best)}."
    how = "the validation rows"
    if loaded.fitted_split != "train":
        how = "by cross-validation, each row by a tree that was not fitted to it"
    return (
        f"{words} Held-out rows: {how}; no test row is among them. Bars: one standard "
        "error."
    )


@st.cache_resource(show_spinner=False, max_entries=16)
def _path_figure(key: tuple, mode, _steps: PruningSteps, strength, score, n_rows):
    """Draw a run's path once; the slider only moves the line over it."""
    return pruning_figure(
        _steps.table,
        chosen=_steps.chosen,
        strength_title=strength,
        score_title=score,
        n_rows=n_rows,
        mode=mode,
    )


def _line_over(step: int, n_steps: int) -> str:
    """Return HTML of the line that marks a step in the path's figure."""
    left, right = MARGINS["l"], MARGINS["r"]
    return (
        f'<div class="line" style="left:calc({left}px + '
        f"{place_of(step, n_steps):.5f} * (100% - {left + right}px));"
        f'top:{MARGINS["t"]}px;bottom:{MARGINS["b"]}px"></div>'
    )


def _without_predictors(loaded: LoadedRun) -> LoadedRun:
    """Return the run as if its trees predicted by their leaves alone."""
    path = loaded.model
    return replace(loaded, model=replace(path, predictors=(None,) * len(path)))


def _show_step(loaded: LoadedRun, steps: PruningSteps, step: int) -> None:
    """Draw the tree with its predictions, or with the routing of one class."""
    tree = steps.trees[step]
    classes = ranked_classes(loaded)
    routings: dict[str, object] = {
        f"Routing of {label}": label for label in classes[:_MOST_CLASSES]
    }
    if not classes:
        routings["Routing of all rows"] = None
    shown = st.pills(
        "Picture",
        [PREDICTIONS, *routings],
        default=PREDICTIONS,
        required=True,
        format_func=plain,
        wrap=True,
        key=f"pruning-picture-{loaded.run.id}",
        label_visibility="collapsed",
    )
    if shown == PREDICTIONS:
        who = ", predictor on top" if loaded.has_predictor else ""
        show_tree(loaded, tree, "pruned", f"step {step}{who}")
        return
    X, y = loaded.split.rows("test")
    if classes:
        X = X[(y == routings[shown]).to_numpy()]
    figure = heat_tree_figure(
        tree,
        routing_table(tree, tree.node_counts(X)),
        rows_name="test rows",
        max_depth=levels_to_draw(tree),
        mode=mode(),
    )
    n_rows = counted(len(X), "test row")
    show_figure(figure, key="pruning-heat", alt=f"{shown}, {n_rows}.")
    st.caption(f"{n_rows}. Circles: splits, squares: leaves; yes goes left.")
