"""The sentence that answers why: what speaks for a prediction, and what against it."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.trees import shown_tree
from pages.common.widgets.row import Row
from pages.common.words import plain, with_unit
from treelab.evaluation.ensembles.deciders import weight_that_agrees
from treelab.evaluation.ensembles.estimator_predictions import estimator_predictions
from treelab.evaluation.explanations.contributions import path_contributions
from treelab.evaluation.explanations.reasons import because, reasons
from treelab.trees.text.numerals import counted, percent
from treelab.trees.tree import Tree

MOST_OF_IT = 0.9  # of the weight


def show_story(loaded: LoadedRun, row: Row) -> None:
    """Write why the run predicts what it does for the row."""
    if loaded.is_ensemble:
        st.markdown(_ensemble_story(loaded, row))
    elif not loaded.has_predictor:
        st.markdown(_tree_story(loaded, shown_tree(loaded), row))


def predicted_output(loaded: LoadedRun, row: Row) -> int:
    """Return which output is explained: the predicted class, or the only value."""
    if loaded.model.classes is None:
        return 0
    return int(loaded.model.predict_proba(row.values)[0].argmax())


def _tree_story(loaded: LoadedRun, tree: Tree, row: Row) -> str:
    """Write which columns on the row's path speak for the prediction."""
    if tree.n_splits == 0:
        return "The tree has no split: it predicts the same for every row."
    found = path_contributions(tree, row.values, predicted_output(loaded, row))
    rises = tree.classes is not None or found.prediction >= found.base
    words = plain(because(reasons(tree, row.values, found), rises))
    if tree.classes is None:
        side = "Above" if rises else "Below"
        mean = plain(with_unit(loaded, found.base))
        return f"{side} the mean of {mean} {words}.".replace(" .", ".")
    if not words:
        return "No feature speaks more for this class than it does in the mean row."
    return f"Mainly {words}."


def _ensemble_story(loaded: LoadedRun, row: Row) -> str:
    """Write how much the heaviest tree decides, why, and whether others agree."""
    model = loaded.model
    index, weight = (found[0] for found in model.top_estimators(row.values, 1))
    heaviest = int(index[0])
    tree = shown_tree(loaded, heaviest)
    found = path_contributions(tree, row.values, _own_output(tree, row))
    rises = tree.classes is not None or found.prediction >= found.base
    reason = plain(because(reasons(tree, row.values, found), rises))
    n_most = int(model.n_estimators_for_share(row.values, MOST_OF_IT)[0])
    most = f"{counted(n_most, 'tree')} {'has' if n_most == 1 else 'have'}"
    words = (
        f"Of {counted(model.n_estimators, 'tree')}, tree {heaviest} has "
        f"{percent(weight[0])} of the weight of this prediction"
    )
    if model.classes is None:
        alone = plain(with_unit(loaded, float(tree.predict(row.values)[0])))
        words += f"; alone it predicts {alone} {reason}"
        return f"{words.rstrip()}. {most.capitalize()} {MOST_OF_IT:.0%} of the weight."
    (alone,) = estimator_predictions(model, row.values, [heaviest])
    same = alone == model.predict(row.values)[0]
    verb = "predicts the same" if same else f"predicts “{plain(alone)}”"
    words = f"{words}; alone it {verb} {reason}".rstrip()
    agrees = percent(weight_that_agrees(model, row.values))
    return (
        f"{words}. Trees with {agrees} of the weight agree; {most} {MOST_OF_IT:.0%} of "
        "the weight."
    )


def _own_output(tree: Tree, row: Row) -> int:
    """Which output a single tree of an ensemble is explained by: its own class."""
    if tree.classes is None:
        return 0
    return int(tree.predict_proba(row.values)[0].argmax())
