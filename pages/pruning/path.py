"""The path of prunings, two of them side by side, and an ensemble's dial."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.cached.predictions import heaviest_scores, top_estimators
from pages.cached.runs import LoadedRun, ranked_classes
from pages.cached.tree_pictures import (
    path_picture,
    pruning_steps,
    step_differences,
    step_predictions,
)
from pages.widgets.curves import CLUSTER_LOSS, VARIANCE_UNIT
from pages.widgets.page import mode, show_figure
from pages.widgets.store_trouble import guarded
from pages.widgets.tree_choices import offer_run, pick_step, step_labels, strength_name
from pages.widgets.tree_viewer import show_tree, tree_viewer
from pages.widgets.words import fitted_words, plain, split_words, with_unit
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation.comparison import Disagreement, disagreement
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.frontier import KNEE_TOLERANCE, knee_of
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.evaluation.pruning import PruningSteps
from treelab.evaluation.routing import routing_table
from treelab.figures.ensembles import deciders_figure
from treelab.figures.pruning_path import MARGINS, place_of, pruning_figure
from treelab.figures.routing import heat_tree_figure, levels_to_draw
from treelab.figures.viewer.payload import RowPath, row_path, value_scale
from treelab.trees.words import counted, significant

# Two sizes of one path beside each other, and the rows that change between them.


MOST_ROWS = 200  # that are listed
_HEIGHT = 420  # pixels of a tree
Names = tuple[str, str]


def show_pair(
    loaded: LoadedRun, steps: PruningSteps, labels: list[str], tree_alone: bool
) -> None:
    """Draw two trees of a path, with their scores and the rows that change.

    Parameters
    ----------
    loaded : LoadedRun
        As it is shown: without its predictors where ``tree_alone``.
    steps : PruningSteps
    labels : list of str
        Names of the steps; no two are alike.
    tree_alone : bool
        As ``pruning_steps`` takes it.
    """
    first, second = st.select_slider(
        f"Two sizes · {strength_name(steps).lower()}",
        range(len(labels)),
        value=_first_pair(steps),
        format_func=labels.__getitem__,
        key=f"pair-{loaded.run.id}",
        help="Move both ends: the trees on the left and on the right.",
    )
    if first == second:
        st.info("Move one end to compare two sizes.", icon=":material/info:")
        return
    names = _names(steps, labels, first, second)
    found = None
    if loaded.has_labels:
        found = _changes(loaded, steps, (first, second), tree_alone)
        task = loaded.run.problem.task
        best = step_differences(loaded, steps, first, second, tree_alone)[
            headline(task)
        ]
        st.header(plain(_finding(loaded, found, best, names)), anchor=False)
        st.markdown(plain(_interval_words(best, names)))
    else:
        losses = [steps.table["valid_loss"].iloc[step] for step in (first, second)]
        words = (f"{n} {significant(loss)}" for n, loss in zip(names, losses))
        st.header(plain(f"{', '.join(words)} validation loss"), anchor=False)
    place = None if found is None else _pick_row(loaded, found)
    _show_trees(loaded, steps, (first, second), names, place)
    if found is not None:
        _show_rows(loaded, found, names)


def _first_pair(steps: PruningSteps) -> tuple[int, int]:
    """Return the largest tree and the chosen one; if that is it, one half as far."""
    chosen = knee_of(steps.table) if steps.chosen is None else steps.chosen
    return 0, chosen or max(1, len(steps.trees) // 2)


def _names(steps: PruningSteps, labels: list[str], first: int, second: int) -> Names:
    """Name both trees by their leaves, or by more where these are as many."""
    leaves = steps.table["leaves"]
    if leaves.iloc[first] == leaves.iloc[second]:
        return labels[first], labels[second]
    one, other = (
        counted(int(leaves.iloc[step]), "leaf", "leaves") for step in (first, second)
    )
    return one, other


def _changes(
    loaded: LoadedRun, steps: PruningSteps, pair: tuple[int, int], tree_alone: bool
) -> Disagreement:
    """Find the test rows that both trees predict differently."""
    return disagreement(
        loaded.run.problem.task,
        loaded.split.y_test,
        *(step_predictions(loaded, steps, step, tree_alone) for step in pair),
    )


def _finding(
    loaded: LoadedRun, found: Disagreement, best: ScoreDifference, names: Names
) -> str:
    """Write both scores and how many rows change."""
    scores = (
        f"{names[0]} {significant(best.first)}, {names[1]} {significant(best.second)} "
        f"{best.title}"
    )
    n_rows = counted(found.n_rows, "test row")
    if found.mean_distance is None:
        verb = "changes its" if len(found.rows) == 1 else "change their"
        return f"{scores}: {len(found.rows):,} of {n_rows} {verb} class"
    distance = with_unit(loaded, found.mean_distance)
    return f"{scores}: predictions differ by {distance} on average, {n_rows}"


def _interval_words(best: ScoreDifference, names: Names) -> str:
    """Write whether one tree is better by more than chance."""
    low, high = significant(best.low), significant(best.high)
    interval = (
        f"{best.level:.0%} interval of {names[1]} less {names[0]}: {low} to {high}, "
        f"{best.n_rows:,} test rows"
    )
    if best.winner is None:
        return f"No clear difference in {best.title} ({interval})."
    return f"The tree of {names[best.winner]} scores better ({interval})."


def _pick_row(loaded: LoadedRun, found: Disagreement) -> int | None:
    """Let the visitor choose a row that changes; its place among the test rows."""
    places = found.rows["position"].tolist()[:MOST_ROWS]
    if not places:
        return None
    return st.selectbox(
        "Follow a row whose prediction changes",
        places,
        index=None,
        format_func=lambda place: f"test row {place + 1:,}",
        placeholder="none",
        key=f"pair-row-{loaded.run.id}",
        width=320,
    )


def _show_trees(
    loaded: LoadedRun,
    steps: PruningSteps,
    pair: tuple[int, int],
    names: Names,
    place: int | None,
) -> None:
    """Draw both trees on one scale, with the path of a test row."""
    trees = [steps.trees[step] for step in pair]
    scale = value_scale(trees)
    who = ", predictor on top" if loaded.has_predictor else ""
    for column, step, tree, name in zip(st.columns(2, gap="large"), pair, trees, names):
        paths: list[RowPath] = []
        if place is not None:
            row = loaded.split.X_test.iloc[[place]]
            paths = [row_path(tree, row, f"test row {place + 1:,}")]
        with column:
            st.subheader(plain(f"{name}, depth {tree.depth}"), anchor=False)
            show_tree(
                loaded,
                tree,
                f"pair-{'left' if step == pair[0] else 'right'}",
                f"step {step}{who}",
                paths=paths,
                scale=scale,
                height=_HEIGHT,
            )


def _show_rows(loaded: LoadedRun, found: Disagreement, names: Names) -> None:
    """List the rows that change, and which tree is right or closer on each."""
    if found.rows.empty:
        st.markdown("Both predict the same on every test row.")
        return
    is_class = found.mean_distance is None
    better = "correct" if is_class else "closer to the target"
    of_rows = counted(len(found.rows), "row")
    st.markdown(
        plain(
            f"Of these {of_rows} the tree of {names[0]} is {better} on "
            f"{found.first_better:,}, that of {names[1]} on {found.second_better:,}."
        )
    )
    rows = found.rows[:MOST_ROWS]
    facts = pd.DataFrame(
        {
            "test row": rows["position"] + 1,
            "target": rows["truth"],
            names[0]: rows["first"],
            names[1]: rows["second"],
            better.split()[0]: [(*names, "neither")[which] for which in rows["better"]],
        }
    )
    if is_class:
        facts = facts.astype(dict.fromkeys(("target", *names), str))
    X = loaded.split.X_test.iloc[rows["position"]].reset_index(drop=True)
    X = X.rename(columns={name: f"{name} " for name in X if name in facts})
    st.dataframe(
        pd.concat([facts.reset_index(drop=True), X], axis=1),
        hide_index=True,
        key="rows-that-change",
        placeholder="–",
        column_config={"test row": st.column_config.NumberColumn(pinned=True)},
    )
    if len(found.rows) > MOST_ROWS:
        which = "first" if is_class else "largest differences"
        st.caption(f"The {which} {MOST_ROWS} of {len(found.rows):,}.")


# A pruning path: the slider's tree, the whole path, and the best tree at each size.


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
    st.header(plain(_step_words(loaded, steps, step)), anchor=False)
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


def _step_words(loaded: LoadedRun, steps: PruningSteps, step: int) -> str:
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


# How many trees of an ensemble may decide, and what fewer cost.


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
    metric = TITLES[headline(loaded.run.problem.task)]
    chosen_by = "valid" if "valid" in scores else "test"
    judged, tested = scores[chosen_by], scores["test"]
    enough = int((judged >= judged[-1] - CLOSE).argmax())
    shown = st.select_slider(
        "How many trees may decide",
        range(len(counts)),
        value=enough,
        format_func=lambda at: _count_words(counts, at),
        key=f"deciders-{loaded.run.id}",
        help="Each row is predicted by its trees of highest weight alone, their "
        "weights scaled up to 1. Nothing is trained anew.",
    )
    alone = _count_words(counts, shown)
    st.header(
        f"{significant(tested[shown])} {metric} with {alone}; "
        f"{significant(tested[-1])} with all {counts[-1]:,}",
        anchor=False,
    )
    st.caption(
        f"Scores: {split_words(loaded, 'test')}. The fewest trees within {CLOSE} of "
        f"all of them on {SPLIT_NAMES[chosen_by]} rows: {counts[enough]:,}. Which "
        "trees they are differs by row."
    )
    show_figure(
        deciders_figure(
            counts,
            {
                split_words(loaded, split): of_split
                for split, of_split in scores.items()
            },
            shown=shown,
            score_title=metric,
            mode=mode(),
        ),
        key="deciders",
        alt=f"{metric} against the number of trees that decide.",
    )


def _count_words(counts: tuple[int, ...], at: int) -> str:
    """Name a number of trees; the last one is all."""
    return "all" if at == len(counts) - 1 else counted(counts[at], "tree")
