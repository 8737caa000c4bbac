"""Why a run predicts what it does for one row: the prediction, and what decided it."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, run_colors
from pages.common.cached.predictions import predictions
from pages.common.cached.tree_pictures import tree_picture
from pages.common.cached.trees import shown_tree
from pages.common.html import dot
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.tree_viewer import note_empty_branch, show_tree, tree_viewer
from pages.common.widgets.row import Row
from pages.common.words import plain, short_rule, with_unit
from treelab.evaluation.ensembles.deciders import weight_that_agrees
from treelab.evaluation.ensembles.estimator_predictions import estimator_predictions
from treelab.evaluation.leaf_scores import LeafScore, score_leaf
from treelab.figures.ensembles.weights import weights_figure
from treelab.figures.style.colors import palette
from treelab.figures.viewer.rows import row_path
from treelab.trees.labels import plain_label
from treelab.trees.text.nodes import path_sentences
from treelab.trees.text.numerals import counted, percent, probability
from treelab.trees.tree import Tree

BARS = 8  # trees whose weight is drawn
MOST_OF_IT = 0.9  # of the weight
SHARES_IT = 0.05  # of the weight, from which on a tree is drawn
MOST_SMALL = 4  # trees that are drawn small


def show_prediction(loaded: LoadedRun, row: Row) -> None:
    """Show the prediction, large, and below it the target."""
    color = palette(mode()).accent
    if loaded.model.classes is not None:
        color = run_colors(loaded)[plain_label(loaded.model.predict(row.values)[0])]
    words = dot(color, _prediction_words(loaded, row.values))
    st.html(f'<div class="prediction">{words}</div>')
    st.markdown(_target_words(loaded, row))


def _prediction_words(loaded: LoadedRun, row: pd.DataFrame) -> str:
    """Write the run's prediction for one row."""
    predicted = loaded.model.predict(row)[0]
    if loaded.model.classes is None:
        return with_unit(loaded, float(predicted))
    chance = float(loaded.model.predict_proba(row).max())
    return f"“{predicted}”, {probability(chance)}"


def _target_words(loaded: LoadedRun, row: Row) -> str:
    """Write the row's target and how far off the prediction is, or what was changed."""
    if row.changed:
        changes = ", ".join(
            f"{plain(column)} from {plain(before)} to {plain(now)}"
            for column, (before, now) in row.changed.items()
        )
        before = plain(_prediction_words(loaded, row.original))
        return (
            f"Changed: {changes}. Prediction before: {before}. The target of the "
            "changed row is not known."
        )
    predicted = loaded.model.predict(row.values)[0]
    if loaded.model.classes is None:
        error = abs(float(predicted) - float(row.target))
        target = plain(with_unit(loaded, float(row.target)))
        return f"Target: {target}; error: {plain(with_unit(loaded, error))}."
    verdict = "Correct" if predicted == row.target else "Wrong"
    return f"{verdict}: the row's class is “{plain(row.target)}”."


def explain_tree(loaded: LoadedRun, row: Row) -> None:
    """Show the row's decision path through the one tree, as a picture and in words."""
    tree = shown_tree(loaded)
    left, right = st.columns([5, 2], gap="large")
    with left:
        path = _show_path(loaded, tree, row)
    with right:
        st.markdown("**Decision path**")
        steps = [plain(step) for step in path_sentences(tree, row.values, most=3)]
        if loaded.has_predictor:
            steps[-1] = (
                "The predictor on top reads how far the row passes each node and "
                f"predicts {plain(_prediction_words(loaded, row.values))}."
            )
        st.markdown("\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1)))
        predicted = predictions(loaded, "test") if loaded.has_predictor else None
        score = score_leaf(tree, path[-1], *loaded.split.rows("test"), predicted)
        st.caption(_score_words(loaded, score))


def explain_ensemble(loaded: LoadedRun, row: Row) -> None:
    """Show the weights of the trees, and the row's path through one of them."""
    model = loaded.model
    k = min(BARS, model.n_estimators)
    index, weight = (found[0] for found in model.top_estimators(row.values, k))
    n_most = int(model.n_estimators_for_share(row.values, MOST_OF_IT)[0])
    most = f"{counted(n_most, 'tree')} {'has' if n_most == 1 else 'have'}"
    st.markdown(
        f"Of {counted(model.n_estimators, 'tree')}, tree {index[0]} has "
        f"{percent(weight[0])} of the weight of this prediction; {most} "
        f"{MOST_OF_IT:.0%} of the weight.{_agreement_words(loaded, row, int(index[0]))}"
    )
    _show_deciding(loaded, row, index, weight)
    left, right = st.columns([5, 3], gap="large")
    with right:
        shown = _show_weights(loaded, row, index, weight)
    with left:
        share = weight[index.tolist().index(shown)]
        st.markdown(f"**Tree {shown}, weight {percent(share)}**")
        tree = shown_tree(loaded, shown)
        path = _show_path(loaded, tree, row, shown)
        score = score_leaf(tree, path[-1], *loaded.split.rows("test"))
        st.markdown(f"Rule: {plain(short_rule(tree, path[-1]))}.")
        st.caption(_score_words(loaded, score))


def _show_deciding(loaded: LoadedRun, row: Row, index, weight) -> None:
    """Draw the trees that share the decision small, each with its weight as a bar."""
    deciding = [pair for pair in zip(index.tolist(), weight) if pair[1] >= SHARES_IT]
    if len(deciding) < 2:  # the one that decides is drawn large
        return
    label = "the changed row" if row.changed else "this row"
    columns = st.columns(MOST_SMALL)
    for column, (estimator, share) in zip(columns, deciding):
        tree = replace(shown_tree(loaded, estimator), notes=())  # below the large one
        with column:
            st.progress(float(share), f"**Tree {estimator}**, weight {percent(share)}")
            tree_viewer(
                tree_picture(loaded, tree, f"small tree {estimator}").payload,
                f"small-{loaded.run.id}-{estimator}",
                paths=[row_path(tree, row.values, label)],
                height=220,
                controls=False,
                compact=True,
            )


def _agreement_words(loaded: LoadedRun, row: Row, heaviest: int) -> str:
    """Write whether the heaviest tree alone, and how much of the weight, agrees."""
    model = loaded.model
    if model.classes is None:
        alone = shown_tree(loaded, heaviest).predict(row.values)[0]
        return f" Tree {heaviest} alone: {plain(with_unit(loaded, float(alone)))}."
    (alone,) = estimator_predictions(model, row.values, [heaviest])
    same = alone == model.predict(row.values)[0]
    verb = "predicts the same" if same else f"predicts “{plain(alone)}”"
    agrees = percent(weight_that_agrees(model, row.values))
    return f" Alone it {verb}; trees with {agrees} of the weight agree."


def _show_weights(loaded: LoadedRun, row: Row, index, weight) -> int:
    """Draw the weights of the heaviest trees; return the one that is to be drawn."""
    model = loaded.model
    agree = None
    if model.classes is not None:
        alone = estimator_predictions(model, row.values, index)
        agree = alone == model.predict(row.values)[0]
    st.markdown("**Estimator weights**")
    shown = st.pills(
        "Tree shown",
        index.tolist(),
        default=int(index[0]),
        required=True,
        wrap=True,
        format_func=lambda estimator: f"tree {estimator}",
        key=f"opened-{loaded.run.id}-{index.tolist()}",
    )
    show_figure(
        weights_figure(
            index, weight, model.n_estimators, shown=shown, agree=agree, mode=mode()
        ),
        key="estimator-weights",
        alt=f"Tree {index[0]} has {percent(weight[0])} of the weight on this row.",
    )
    if agree is not None and not agree.all():
        st.caption("Hatched: trees that alone predict another class.")
    return shown


def _show_path(loaded: LoadedRun, tree: Tree, row: Row, estimator=None) -> list[int]:
    """Draw a tree with the row's path highlighted; return the path."""
    label = "the changed row" if row.changed else "this row"
    show_tree(
        loaded,
        tree,
        "path",
        f"tree {estimator}",
        paths=[row_path(tree, row.values, label)],
        height=560,
    )
    note_empty_branch(loaded, row.values, estimator)
    return tree.path(row.values)


def _score_words(loaded: LoadedRun, score: LeafScore) -> str:
    """Write how many test rows reach the leaf, and how well they are predicted."""
    n_total = counted(score.n_total, "test row")
    if score.n_rows == 0:
        return f"None of the {n_total} reaches this leaf."
    words = f"This leaf: {score.n_rows:,} of {n_total}"
    if score.accuracy is None:
        error = plain(with_unit(loaded, score.mean_absolute_error))
        return f"{words}, mean absolute error {error}."
    return f"{words}, accuracy {percent(score.accuracy)}."
