"""The sentence that answers why: what speaks for a prediction, and what against it."""

from collections.abc import Sequence

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.trees import shown_tree
from pages.common.widgets.row import Row
from pages.common.words import plain, with_unit
from treelab.evaluation.ensembles import estimator_predictions, weight_that_agrees
from treelab.evaluation.explanations import (
    MOST,
    Contributions,
    Reason,
    because,
    ensemble_contributions,
    has_shapley,
    path_contributions,
    reasons,
    sufficient_rule,
)
from treelab.trees.tree import Tree
from treelab.trees.words import counted, percent

MOST_OF_IT = 0.9  # of the weight


def show_story(loaded: LoadedRun, row: Row) -> None:
    """Write why the run predicts what it does for the row."""
    if loaded.is_ensemble:
        st.markdown(_ensemble_story(loaded, row))
    elif not loaded.has_predictor:
        st.markdown(_tree_story(loaded, shown_tree(loaded), row))


def predicted_output(row: Row) -> int:
    """Return which output is explained: the predicted class, or the only value."""
    return 0 if row.proba is None else int(row.proba.argmax())


def _tree_story(loaded: LoadedRun, tree: Tree, row: Row) -> str:
    """Write which columns on the row's path speak for the prediction."""
    if tree.n_splits == 0:
        return "The tree has no split: it predicts the same for every row."
    found = path_contributions(tree, row.values, predicted_output(row))
    if tree.classes is not None and has_shapley(tree):
        rule = sufficient_rule(tree, row.values)
        needed = [str(condition.column) for condition in rule.conditions]
        if 0 < len(needed) <= MOST:
            listed = reasons(tree, row.values, found, rule.conditions)
            return _because(loaded, found, listed, needed)
    return _because(loaded, found, reasons(tree, row.values, found))


def _ensemble_story(loaded: LoadedRun, row: Row) -> str:
    """Write what speaks for the prediction, and how much the heaviest tree decides."""
    model = loaded.model
    found = ensemble_contributions(model, row.values, predicted_output(row))
    story = _because(loaded, found, reasons(model, row.values, found))
    index, weight = (found[0] for found in model.top_estimators(row.values, 1))
    heaviest = int(index[0])
    n_most = int(model.n_estimators_for_share(row.values, MOST_OF_IT)[0])
    most = f"{counted(n_most, 'tree')} {'has' if n_most == 1 else 'have'}"
    words = (
        f"{story} Of {counted(model.n_estimators, 'tree')}, tree {heaviest} has "
        f"{percent(weight[0])} of the weight of this prediction; alone it predicts"
    )
    if model.classes is None:
        alone = float(shown_tree(loaded, heaviest).predict(row.values)[0])
        alone_words = plain(with_unit(loaded, alone))
        return f"{words} {alone_words}. {most} {MOST_OF_IT:.0%} of the weight."
    (alone,) = estimator_predictions(model, row.values, [heaviest])
    same = alone == row.predicted
    agrees = percent(weight_that_agrees(model, row.values))
    return (
        f"{words} {'the same' if same else f'“{plain(alone)}”'}. Trees with {agrees} "
        f"of the weight agree; {most} {MOST_OF_IT:.0%} of the weight."
    )


def _because(
    loaded: LoadedRun,
    found: Contributions,
    listed: Sequence[Reason],
    needed: Sequence[str] = (),
) -> str:
    """Write the strongest reasons as one sentence."""
    if loaded.model.classes is not None:
        words = plain(because(listed, needed=needed))
        if words:
            return f"B{words[1:]}." if needed else f"Mainly {words}."
        return "No feature speaks more for this class than it does on average."
    rises = found.prediction >= found.base
    words = plain(because(listed, rises))
    mean = plain(with_unit(loaded, found.base))
    return f"{'Above' if rises else 'Below'} the mean of {mean} {words}".rstrip() + "."
