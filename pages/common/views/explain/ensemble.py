"""Why an ensemble predicts what it does for one row: the weights of its trees."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.tree_pictures import sketch
from pages.common.cached.trees import shown_tree
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.explain.explanation import score_words, show_path
from pages.common.views.tree_viewer import tree_viewer
from pages.common.widgets.row import Row
from pages.common.words import plain, short_rule
from treelab.evaluation.ensembles import estimator_predictions
from treelab.evaluation.node_report import score_leaf
from treelab.figures.ensembles import weights_figure
from treelab.figures.viewer.payload import row_path
from treelab.trees.words import percent

BARS = 8  # trees whose weight is drawn
SHARES_IT = 0.05  # of the weight, from which on a tree is drawn
MOST_SMALL = 4  # trees that are drawn small


def explain_ensemble(loaded: LoadedRun, row: Row) -> None:
    """Show the weights of the trees, and the row's path through one of them."""
    model = loaded.model
    k = min(BARS, model.n_estimators)
    index, weight = (found[0] for found in model.top_estimators(row.values, k))
    index, weight = index[weight > 0], weight[weight > 0]
    _show_deciding(loaded, row, index, weight)
    left, right = st.columns([5, 3], gap="large")
    with right:
        shown = _show_weights(loaded, row, index, weight)
    with left:
        share = weight[index.tolist().index(shown)]
        st.markdown(f"**Tree {shown}, weight {percent(share)}**")
        tree = shown_tree(loaded, shown)
        path = show_path(loaded, tree, row, shown)
        score = score_leaf(tree, path[-1], *loaded.split.rows("test"))
        st.markdown(f"Rule: {plain(short_rule(tree, path[-1]))}.")
        st.caption(score_words(loaded, score))


def _show_deciding(loaded: LoadedRun, row: Row, index, weight) -> None:
    """Draw the trees that share the decision small, each with its weight as a bar."""
    deciding = [pair for pair in zip(index.tolist(), weight) if pair[1] >= SHARES_IT]
    if len(deciding) < 2:  # the one that decides is drawn large
        return
    label = "the changed row" if row.changed else "this row"
    columns = st.columns(MOST_SMALL)
    for column, (estimator, share) in zip(columns, deciding):
        tree = shown_tree(loaded, estimator)
        with column:
            st.progress(float(share), f"**Tree {estimator}**, weight {percent(share)}")
            tree_viewer(
                sketch(loaded, tree, f"tree {estimator}"),
                f"small-{loaded.run.id}-{estimator}",
                paths=[row_path(tree, row.values, label)],
                height=220,
                controls=False,
                compact=True,
            )


def _show_weights(loaded: LoadedRun, row: Row, index, weight) -> int:
    """Draw the weights of the heaviest trees; return the one that is to be drawn."""
    model = loaded.model
    agree = None
    if model.classes is not None:
        alone = estimator_predictions(model, row.values, index)
        agree = alone == row.predicted
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
