"""Why one row gets its prediction."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.cached.predictions import decided_rows, predictions
from pages.cached.runs import LoadedRun, run_colors, run_tree
from pages.cached.tree_pictures import sketch
from pages.widgets.html import dot
from pages.widgets.page import mode, show_figure
from pages.widgets.row import Row, predict_row
from pages.widgets.tree_viewer import note_empty_branch, show_tree, tree_viewer
from pages.widgets.words import (
    fitted_words,
    named_with_unit,
    plain,
    short_rule,
    with_unit,
)
from treelab.evaluation.ensembles import (
    DecidedRows,
    estimator_predictions,
    weight_that_agrees,
)
from treelab.evaluation.explanations import (
    MOST,
    Contributions,
    Reason,
    because,
    ensemble_contributions,
    has_shapley,
    joined,
    path_contributions,
    reasons,
    shapley_contributions,
    sufficient_rule,
)
from treelab.evaluation.node_report import LeafScore, score_leaf
from treelab.figures.ensembles import weights_figure
from treelab.figures.explanations import contributions_figure, signed
from treelab.figures.style import palette
from treelab.figures.viewer.payload import row_path
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text import conditions_text, path_lines, prediction_text
from treelab.trees.tree import OBLIQUE, Tree, plain_label
from treelab.trees.words import counted, percent, probability, significant

# The sentence that answers why: what speaks for a prediction, and what against it.


MOST_OF_IT = 0.9  # of the weight


def show_story(loaded: LoadedRun, row: Row) -> None:
    """Write why the run predicts what it does for the row."""
    if loaded.is_ensemble:
        st.markdown(_ensemble_story(loaded, row))
    elif not loaded.has_predictor:
        st.markdown(_tree_story(loaded, run_tree(loaded), row))


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
        alone = float(run_tree(loaded, heaviest).predict(row.values)[0])
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


# Why a run predicts what it does for one row: the prediction, and what decided it.


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
    tree = run_tree(loaded)
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


# Why an ensemble predicts what it does for one row: the weights of its trees.


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
        tree = run_tree(loaded, shown)
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
        tree = run_tree(loaded, estimator)
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


# What each feature changes in the prediction for one row.


PATH, SHAPLEY = "Along the path", "Shapley values"
MOST_REASONS = 6
_HELP = (
    "Along the path each split moves the mean prediction of its rows to that of the "
    "rows on this row's side (Saabas). Shapley values share the same difference so "
    "that the order of the splits does not matter (TreeSHAP, by the rows of each "
    "branch); the first one takes seconds."
)


@st.fragment
def show_contributions(loaded: LoadedRun, row: Row) -> None:
    """Draw what moves the prediction from the mean to where it is."""
    model = loaded.model if loaded.is_ensemble else run_tree(loaded)
    if isinstance(model, Tree) and model.n_splits == 0:
        return
    st.subheader("What each feature changes", anchor=False)
    method = PATH
    if isinstance(model, Tree) and has_shapley(model):
        method = st.segmented_control(
            "Method",
            [PATH, SHAPLEY],
            default=PATH,
            required=True,
            label_visibility="collapsed",
            key=f"contributions-{loaded.run.id}",
            help=_HELP,
        )
    output = predicted_output(row)
    if isinstance(model, WeightedTrees):
        found = ensemble_contributions(model, row.values, output)
    elif method == PATH:
        found = path_contributions(model, row.values, output)
    else:
        with st.spinner("Sharing the difference…"):
            found = shapley_contributions(model, row.values, output)
    listed = reasons(model, row.values, found)
    st.markdown(_sentence(loaded, found, listed))
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_figure(
            contributions_figure(
                [own.name for own in listed],
                [own.change for own in listed],
                found.base,
                title=_title(loaded, row),
                mode=mode(),
            ),
            key="contributions",
            alt=_sentence(loaded, found, listed),
        )
    with right:
        st.markdown("**Reasons, the strongest first**")
        st.markdown(
            "\n".join(
                f"{i}. {plain(own.fact)}: {plain(signed(own.change))}"
                for i, own in enumerate(listed[:MOST_REASONS], 1)
            )
        )
        st.caption(_method_words(loaded, method))


def _title(loaded: LoadedRun, row: Row) -> str:
    """Name what is explained, with its unit."""
    model = loaded.model
    if model.classes is not None:
        what = "log-odds" if _has_log_odds(loaded) else "probability"
        return f"{what} of “{row.predicted}”"
    return named_with_unit(model.target, model.target_unit)


def _has_log_odds(loaded: LoadedRun) -> bool:
    """Whether log-odds add up, not probabilities."""
    model = loaded.model
    is_sum = isinstance(model, WeightedTrees) and model.leaf_output == "logits"
    return is_sum and model.classes is not None


def _sentence(loaded: LoadedRun, found: Contributions, listed: list[Reason]) -> str:
    """Write from where to where the prediction goes, and what moves it most."""
    start, end = significant(found.base), significant(found.prediction)
    mean = f"the mean of the {fitted_words(loaded)}"
    if loaded.is_ensemble:
        mean = "what these trees predict on average"
    unit = " log-odds" if _has_log_odds(loaded) else ""
    words = f"From {plain(start)}, {mean}, to {plain(end)}{unit}"
    if not listed:
        return f"{words}: no feature changes anything."
    moves = [f"{plain(own.name)} ({plain(signed(own.change))})" for own in listed[:2]]
    return f"{words}: {joined(moves)} {'moves' if len(moves) == 1 else 'move'} it most."


def _method_words(loaded: LoadedRun, method: str) -> str:
    """Write how the changes were measured."""
    if method == SHAPLEY:
        return "Exact Shapley values of the columns (TreeSHAP); they add up."
    words = "Each split counts where it stands on the path (Saabas); changes add up."
    if loaded.is_ensemble:
        odds = "Log-odds are 0 at even odds. "
        if not _has_log_odds(loaded) or len(loaded.model.classes) > 2:
            odds = ""
        return f"{odds}{words} A tree counts by its weight on this row."
    if has_shapley(run_tree(loaded)):
        return f"{words} One that only pays off further down gets little of it."
    return (
        f"{words} Shapley values are not offered: here splits add up several columns, "
        "or leaves are linear models, and each such sum counts as a whole."
    )


# The rows that one tree of an ensemble decides, and its rules for them.


SHARES = (0.3, 0.5, 0.7, 0.9)
MOST_RULES = 200
TREE, ROWS, RULE, PREDICTION, WEIGHT = (
    "tree",
    "test rows",
    "rule",
    "prediction",
    "mean weight",
)


@st.fragment
def show_simple_rules(loaded: LoadedRun) -> None:
    """List the rules that decide test rows by themselves."""
    st.subheader("Rows that one tree decides", anchor=False)
    share = st.segmented_control(
        "Its weight is above",
        SHARES,
        default=0.5,
        required=True,
        format_func=lambda own: f"{own:.0%}",
        key=f"share-{loaded.run.id}",
        help="Where a single tree has most of the weight, its rule is the whole "
        "explanation of the prediction.",
    )
    found = decided_rows(loaded, share)
    n_test = len(loaded.split.y_test)
    n_rows = sum(len(decided.rows) for decided in found)
    if not found:
        st.markdown(
            f"No tree has more than {share:.0%} of the weight on any of "
            f"{counted(n_test, 'test row')}."
        )
        return
    trees = len({decided.estimator for decided in found})
    st.markdown(
        f"One tree has more than {share:.0%} of the weight on {n_rows:,} of "
        f"{counted(n_test, 'test row')}: {counted(len(found), 'rule')} of "
        f"{counted(trees, 'tree')}."
    )
    chosen = st.dataframe(
        pd.DataFrame([_facts(loaded, decided) for decided in found[:MOST_RULES]]),
        hide_index=True,
        key="simple-rules",
        on_select="rerun",
        selection_mode="single-row",
        column_config={RULE: st.column_config.TextColumn(width="large")},
    ).selection.rows
    if not chosen or chosen[0] >= len(found):
        st.caption("Tick a rule to read it whole and to open a row that it decides.")
        return
    decided = found[chosen[0]]
    st.markdown(f"Tree {decided.estimator}: {plain(decided.rule)}.")
    row = int(decided.rows[0]) + 1
    st.page_link(
        "pages/explain.py",
        label=f"Explain row {row:,}",
        icon=":material/help:",
        query_params={"run": loaded.run.id, "row": str(row)},
    )


def _facts(loaded: LoadedRun, decided: DecidedRows) -> dict:
    """Return a line of the table."""
    facts = {TREE: str(decided.estimator), ROWS: len(decided.rows)}
    if decided.n_right is not None:
        facts["correct"] = percent(decided.n_right / len(decided.rows))
        facts[PREDICTION] = str(decided.prediction)
    else:
        facts["mean error"] = with_unit(loaded, decided.mean_absolute_error)
        facts[PREDICTION] = with_unit(loaded, float(decided.prediction))
    return facts | {WEIGHT: percent(decided.weight), RULE: decided.rule}
