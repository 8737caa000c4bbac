"""Why a run predicts what it does for one row: the prediction, and what decided it."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, run_colors
from pages.common.cached.predictions import predictions
from pages.common.cached.trees import shown_tree
from pages.common.html import dot
from pages.common.theme import mode
from pages.common.views.explain.story import show_story
from pages.common.views.tree_viewer import note_empty_branch, show_tree
from pages.common.widgets.row import Row, predict_row
from pages.common.words import plain, with_unit
from treelab.evaluation.explanations import has_shapley, sufficient_rule
from treelab.evaluation.node_report import LeafScore, score_leaf
from treelab.figures.style import palette
from treelab.figures.viewer.payload import row_path
from treelab.trees.labels import plain_label
from treelab.trees.text import conditions_text, path_lines, prediction_text
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE
from treelab.trees.words import counted, percent, probability

HEIGHT, TALLEST = 560, 900  # pixels of the tree
ROOM_FOR_SUMS = 3  # splits on a path that fit into the least height
TALLER = 90  # pixels for each further one


def show_prediction(loaded: LoadedRun, row: Row) -> None:
    """Show the prediction, large, and below it the target."""
    color = palette(mode()).accent
    if loaded.model.classes is not None:
        color = run_colors(loaded)[plain_label(row.predicted)]
    words = dot(color, _prediction_words(loaded, row.predicted, row.proba))
    st.html(f'<div class="prediction">{words}</div>')
    show_story(loaded, row)
    st.markdown(_target_words(loaded, row))


def _prediction_words(loaded: LoadedRun, predicted, proba) -> str:
    """Write a prediction with its unit, or its probability."""
    if proba is None:
        return with_unit(loaded, predicted)
    return f"“{predicted}”, {probability(float(proba.max()))}"


def _target_words(loaded: LoadedRun, row: Row) -> str:
    """Write the row's target and how far off the prediction is, or what was changed."""
    if row.changed:
        changes = ", ".join(
            f"{plain(column)} from {plain(before)} to {plain(now)}"
            for column, (before, now) in row.changed.items()
        )
        before = plain(_prediction_words(loaded, *predict_row(loaded, row.original)))
        return (
            f"Changed: {changes}. Prediction before: {before}. The target of the "
            "changed row is not known."
        )
    if row.proba is None:
        error = abs(row.predicted - float(row.target))
        target = plain(with_unit(loaded, float(row.target)))
        return f"Target: {target}; error: {plain(with_unit(loaded, error))}."
    verdict = "Correct" if row.predicted == row.target else "Wrong"
    return f"{verdict}: the row's class is “{plain(row.target)}”."


def explain_tree(loaded: LoadedRun, row: Row) -> None:
    """Show the row's decision path through the one tree, as a picture and in words."""
    tree = shown_tree(loaded)
    left, right = st.columns([5, 2], gap="large")
    with left:
        path = show_path(loaded, tree, row)
    with right:
        st.markdown("**Decision path**")
        lines = [plain(line) for line in path_lines(tree, row.values, most=3)]
        end = plain(prediction_text(tree, path[-1], most=3))
        if loaded.has_predictor:
            predicted = plain(_prediction_words(loaded, row.predicted, row.proba))
            end = (
                "The predictor on top reads how far the row passes each node and "
                f"predicts {predicted}."
            )
        st.markdown("\n".join(f"- {line}" for line in [*lines, f"**→ {end}**"]))
        predicted = predictions(loaded, "test") if loaded.has_predictor else None
        score = score_leaf(tree, path[-1], *loaded.split.rows("test"), predicted)
        st.caption(score_words(loaded, score))
        _show_rule(loaded, tree, row)


def _show_rule(loaded: LoadedRun, tree: Tree, row: Row) -> None:
    """Write which part of the path settles the class, and how good that rule is."""
    if loaded.has_predictor or tree.classes is None or not has_shapley(tree):
        return
    rule = sufficient_rule(tree, row.values)
    score = rule.score(*loaded.split.rows("test"))
    label = plain(rule.prediction)
    st.markdown(f"**Enough for “{label}”**")
    st.markdown(f"{plain(conditions_text(tree, rule.conditions, most=6))}.")
    words = (
        f"Every row that meets this is predicted “{label}”, whatever else it holds: "
        f"{score.n_rows:,} of {counted(score.n_total, 'test row')}"
    )
    if score.accuracy is not None:
        words += f", accuracy {percent(score.accuracy)}"
    st.caption(f"{words}.")


def show_path(loaded: LoadedRun, tree: Tree, row: Row, estimator=None) -> list[int]:
    """Draw a tree with the row's path highlighted.

    Returns
    -------
    list of int
        The nodes on the path.
    """
    label = "the changed row" if row.changed else "this row"
    path = tree.path(row.values)
    n_sums = int((tree.feature[path] == OBLIQUE).sum())
    show_tree(
        loaded,
        tree,
        "path",
        f"tree {estimator}",
        paths=[row_path(tree, row.values, label)],
        height=min(HEIGHT + TALLER * max(0, n_sums - ROOM_FOR_SUMS), TALLEST),
    )
    note_empty_branch(loaded, row.values, estimator)
    return path


def score_words(loaded: LoadedRun, score: LeafScore) -> str:
    """Write how many test rows reach the leaf, and how well they are predicted."""
    n_total = counted(score.n_total, "test row")
    if score.n_rows == 0:
        return f"None of the {n_total} reaches this leaf."
    words = f"This leaf: {score.n_rows:,} of {n_total}"
    if score.accuracy is None:
        error = plain(with_unit(loaded, score.mean_absolute_error))
        return f"{words}, mean absolute error {error}."
    return f"{words}, accuracy {percent(score.accuracy)}."
