"""Why one row gets its prediction: a sentence, the tree, what each feature changes."""

import html
from collections.abc import Sequence

import numpy as np
import streamlit as st

from pages.cached.predictions import predictions, split_scores
from pages.cached.rashomon import DEFAULT_TOLERANCE, near_value, stored_trees
from pages.cached.runs import LoadedRun, run_colors, run_tree
from pages.explain.which_row import Row
from pages.widgets.page import mode, page_link, pick_one, show_figure
from pages.widgets.tree_viewer import note_empty_branch, show_tree
from pages.widgets.words import (
    error_with_unit,
    fitted_words,
    plain,
    short_rule,
    with_unit,
)
from treelab.evaluation import explanations, rashomon
from treelab.evaluation.ensembles import estimator_predictions, weight_that_agrees
from treelab.evaluation.node_report import score_leaf
from treelab.figures.explanations import contributions_figure
from treelab.figures.html import dot
from treelab.figures.style import palette
from treelab.figures.viewer.payload import FIRST_PATH, SECOND_PATH, row_path
from treelab.learners.registry import IMPORTED
from treelab.trees import text
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import OBLIQUE, Tree, plain_label
from treelab.trees.words import counted, percent, probability, shortest


def show_prediction(loaded: LoadedRun, row: Row, before: str = "") -> None:
    """Show a prediction and why; beside it the row's target, or ``before``."""
    color, beside = palette(mode()).accent, before
    if row.proba is not None:
        color = run_colors(loaded)[plain_label(row.predicted)]
    if not before and row.target is not None and loaded.has_labels:
        beside = f"Wrong: the row's class is “{row.target}”"
        if row.proba is None:
            error = error_with_unit(loaded, abs(row.predicted - float(row.target)))
            beside = f"Target: {with_unit(loaded, float(row.target))}; error: {error}"
        elif row.predicted == row.target:
            beside = "Correct"
    words = dot(color, prediction_words(loaded, row))
    likely = text.interval_text(loaded.model, row.values)
    beside = html.escape(". ".join(filter(None, [likely, beside])))
    st.html(f'<div class="prediction">{words}<small>{beside}</small></div>')
    with st.container(key="because-changed" if before else "because"):
        model = loaded.model if loaded.is_ensemble else run_tree(loaded)
        why = "The predictor on top reads how far the row passes each node of the tree."
        if not loaded.model.has_predictor:
            why = plain(explanations.because_sentence(model, row.values, row.output))
        st.markdown(why)


def show_other_outputs(whole: LoadedRun, row: Row) -> None:
    """Write what the tree predicts of each of several outputs."""
    if not whole.outputs:
        return
    leaf = run_tree(whole).apply(row.values)[0]
    words = text.number_text(run_tree(whole), int(leaf))
    if likely := text.interval_text(whole.model, row.values):
        words += f". {likely}"
        if inside := split_scores(whole, "test").get("coverage"):
            n_test = counted(whole.n_rows("test"), "test row")
            words += f", which holds for {percent(inside)} of {n_test}"
    st.caption(plain(f"{words}."))


def prediction_words(loaded: LoadedRun, row: Row) -> str:
    """Write a prediction with its unit, or its probability and that of a likelier."""
    if row.proba is None:
        return with_unit(loaded, row.predicted)
    words = f"“{row.predicted}”, {probability(float(row.proba[row.output]))}"
    likelier = text.likelier_text(loaded.model, row.values)
    return f"{words} ({likelier})" if likelier else words


HEIGHT = 460  # pixels of the tree
HEIGHT_OF_SUMS = 380  # of one whose nodes are larger, and its paths shorter
BARS = 6  # features that have one
BARS_OF_SUMS = 4  # where most bars are weighted sums, of which a path has few
CHIPS = 6  # trees of an ensemble that can be opened
MOST_OF_IT = 0.9  # of the weight
PATH, SHAPLEY = "Along the path", "Shapley values"
_HELP = (
    "Shapley values share the difference from the mean so that the order of the splits "
    "does not matter (TreeSHAP, by the rows of each branch). Along the path each split "
    "moves the mean of its rows to that of the rows on this row's side (Saabas)."
)


def show_why(loaded: LoadedRun, row: Row) -> None:
    """Show the tree that decides a row, and what moves its prediction."""
    estimator = _pick_tree(loaded, row) if loaded.is_ensemble else None
    tree = run_tree(loaded, estimator)
    has_sums = (tree.feature == OBLIQUE).any()
    left, right = st.columns([3, 2], gap="large")
    with left:
        path = show_path(loaded, tree, [row], estimator)
    with right:
        if loaded.model.has_predictor:
            _show_steps(loaded, tree, row, path)
        else:
            _show_contributions(loaded, row)
        if has_sums:
            _show_comparable(loaded, row)
    if loaded.is_ensemble:
        st.markdown(f"**Its rule**: {plain(short_rule(tree, path[-1]))}.")
        st.caption(_leaf_words(loaded, tree, path))
    elif has_sums:
        if not loaded.model.has_predictor:  # what is drawn already, in long sums
            with st.expander("Decision path in words"):
                _show_steps(loaded, tree, row, path)
    else:
        left, right = st.columns(2, gap="large")
        with left:
            st.markdown("**Decision path**")
            _show_steps(loaded, tree, row, path)
        with right:
            _show_sufficient(loaded, tree, row)
            _show_comparable(loaded, row)


def show_path(
    loaded: LoadedRun,
    tree: Tree,
    rows: Sequence[Row],
    estimator: int | None = None,
    key: str = "path",
) -> list[int]:
    """Draw a tree, paths of one or two rows lit; return the nodes of the last one."""
    looks = ("this row", FIRST_PATH), ("the changed row", SECOND_PATH)
    paths = [row_path(tree, row.values, *look) for row, look in zip(rows, looks)]
    height = HEIGHT_OF_SUMS if (tree.feature == OBLIQUE).any() else HEIGHT
    show_tree(loaded, tree, key, f"tree {estimator}", paths=paths, height=height)
    note_empty_branch(loaded, rows[-1].values, estimator)
    return tree.path(rows[-1].values)


def _pick_tree(loaded: LoadedRun, row: Row) -> int:
    """Say how much the heaviest tree decides; let the visitor open another."""
    model = loaded.model
    k = min(CHIPS, model.n_estimators)
    index, weight = (found[0] for found in model.top_estimators(row.values, k))
    weights = {int(e): own for e, own in zip(index, weight) if own > 0}
    first = int(index[0])
    if model.classes is None:
        values = [run_tree(loaded, e).predict(row.values)[0] for e in weights]
        alone = {e: with_unit(loaded, float(v)) for e, v in zip(weights, values)}
        agrees, same = "", False
    else:
        labels = estimator_predictions(model, row.values, list(weights))
        alone = {e: f"“{label}”" for e, label in zip(weights, labels)}
        same = labels[0] == row.predicted
        share = percent(weight_that_agrees(model, row.values))
        agrees = f"; trees with {share} of the weight agree"
    n_most = int(model.n_estimators_for_share(row.values, MOST_OF_IT)[0])
    st.markdown(
        f"**Tree {first} has {percent(weight[0])} of the weight on this prediction**, "
        f"alone it predicts {'the same' if same else plain(alone[first])}. Of "
        f"{counted(model.n_estimators, 'tree')} {n_most:,} "
        f"{'has' if n_most == 1 else 'have'} {MOST_OF_IT:.0%} of the weight{agrees}."
    )
    return st.pills(
        "Tree shown",
        list(weights),
        default=first,
        required=True,
        format_func=lambda e: f"tree {e} · {percent(weights[e])} · {alone[e]}",
        key=f"opened-{loaded.run.id}-{row.key}",
        label_visibility="collapsed",
    )


def _show_contributions(loaded: LoadedRun, row: Row) -> None:
    """Draw what moves the prediction from the mean to where it is."""
    model = loaded.model if loaded.is_ensemble else run_tree(loaded)
    is_linear = isinstance(model, Tree) and model.leaf_weights is not None
    if isinstance(model, Tree) and model.n_splits == 0 and not is_linear:
        return
    method = PATH
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**What each feature changes**", width="content")
        if explanations.has_shapley(model):
            key = f"contributions-{loaded.run.id}"
            given = {"label_visibility": "collapsed", "help": _HELP}
            method = pick_one("Method", [SHAPLEY, PATH], key, **given)
    most = BARS if is_linear or explanations.has_shapley(model) else BARS_OF_SUMS
    found = explanations.contributions(
        model, row.values, row.output, along_path=method == PATH
    )
    listed = explanations.reasons(model, row.values, found)
    colors, title = None, text.target_title(loaded.model)
    if row.proba is not None:  # what speaks for the class, and what against it
        what = "log-odds" if _has_log_odds(loaded) else "probability"
        title = f"{what} of “{row.predicted}”"
        of_label = dict(run_colors(loaded))
        color = of_label.pop(plain_label(row.predicted))
        others, muted = [*of_label.values()], palette(mode()).muted
        colors = color, others[0] if len(others) == 1 else muted
    show_figure(
        contributions_figure(
            [own.name for own in listed],
            [own.change for own in listed],
            found.base,
            values=[own.value for own in listed],
            colors=colors,
            title=title,
            most=min(most, len(model.columns)),
            times=text.predicts_times(loaded.model),
            mode=mode(),
        ),
        key="contributions",
        alt="; ".join(own.text for own in listed[:BARS]) or "No feature changes it.",
    )
    st.caption(_method_words(loaded, model, method))


def _has_log_odds(loaded: LoadedRun) -> bool:
    """Whether log-odds add up, not probabilities."""
    model = loaded.model
    is_sum = isinstance(model, WeightedTrees) and model.leaf_output == "logits"
    return is_sum and model.classes is not None


def _method_words(loaded: LoadedRun, model: Tree | WeightedTrees, method: str) -> str:
    """Write where the bars begin, and how the changes were measured."""
    rows = f"{fitted_words(loaded)}{plain(loaded.run.problem.weighted_words)}"
    if isinstance(model, WeightedTrees) and model.n_rows is not None:
        n_rows = int(model.n_rows[0, 0])  # an imported one may have brought its own
        if n_rows != loaded.n_rows("fitted"):
            rows = f"{counted(n_rows, 'row')} that its file counts"
    words = f"From {explanations.base_words(model)} of the {rows}. "
    if loaded.is_ensemble:
        words = "From the mean of the trees, each by its weight on this row. "
        if _has_log_odds(loaded):
            against = "against the mean of all classes"
            against = "0 at even odds" if len(loaded.model.classes) == 2 else against
            words += f"Log-odds are {against}. "
    if method == SHAPLEY:
        of = (
            f"the rows in each branch, of {rows}"
            if loaded.is_ensemble
            else "these rows"
        )
        words += f"Exact Shapley values (TreeSHAP), by {of}"
        if loaded.run.learner != IMPORTED:
            return f"{words}."
        return (
            f"{words}. The program that trained the model goes by the rows that it "
            "counted itself, so what it calls Shapley values differs."
        )
    if explanations.has_shapley(model):
        return f"{words}Each split counts where it stands on the path (Saabas)."
    words += "Each weighted sum on the path counts as a whole (Saabas)"
    if isinstance(model, Tree) and model.leaf_weights is not None:
        words += "; in the leaf each feature counts by its weight and how far it is "
        words += "from its usual value, by which a missing one counts"
    return f"{words}. Shapley values need splits of one column and constant leaves."


def _show_steps(loaded: LoadedRun, tree: Tree, row: Row, path: list[int]) -> None:
    """Write the row's decision path, a line a column, and how good its leaf is."""
    lines = [plain(line) for line in text.path_lines(tree, row.values, most=3)]
    end = text.prediction_text(tree, path[-1], most=3)
    if loaded.model.has_predictor:
        end = f"The predictor on top predicts {prediction_words(loaded, row)}."
    lines.append(f"**→ {plain(end)}**")
    st.markdown("\n".join(f"- {line}" for line in lines))
    st.caption(_leaf_words(loaded, tree, path))


def _leaf_words(loaded: LoadedRun, tree: Tree, path: list[int]) -> str:
    """Write how many test rows reach the leaf, and how well they are predicted."""
    predicted = predictions(loaded, "test") if loaded.model.has_predictor else None
    test = loaded.split.rows("test")
    score = score_leaf(tree, path[-1], *test, predictions=predicted)
    return plain(score.sentence(loaded.model))


def _show_sufficient(loaded: LoadedRun, tree: Tree, row: Row) -> None:
    """Write which part of the path settles the class, and how good that rule is."""
    if tree.classes is None:
        return
    rule = explanations.sufficient_rule(tree, row.values)
    score = rule.score(*loaded.split.rows("test"))
    st.markdown(f"**Sufficient conditions for “{plain(rule.prediction)}”**")
    needed = text.conditions_text(tree, rule.conditions, most=6)
    whole = "Those of the path, of which none can be left out."
    st.markdown(plain(f"{needed}.") if rule.n_dropped else whole)
    st.caption(
        f"Whatever else a row holds. They hold for {score.n_rows:,} of "
        f"{counted(score.n_total, 'test row')}{score.how_good(tree)}."
    )


def _show_comparable(loaded: LoadedRun, row: Row) -> None:
    """Say whether trees that score alike predict the same for the row."""
    trees = stored_trees(loaded)
    if trees is None:
        return
    near = trees.within(DEFAULT_TOLERANCE)
    columns = {column for i in near for column in trees.trees[i].columns}
    if len(near) < 2 or not columns.issubset(row.values.columns):
        return  # of a new row only what this tree reads is there
    predicted, value = rashomon.predictions([trees.trees[i] for i in near], row.values)
    own = int(np.flatnonzero(near == trees.chosen)[0])
    found = rashomon.row_multiplicity(
        predicted[:, 0], value[:, 0], own, near_value(loaded)
    )
    if loaded.model.classes is None:
        ends = [with_unit(loaded, v) for v in (found.lowest, found.highest)]
        name, differ = "values", "are more than 0.1 standard deviations away"
    else:
        ends = [probability(v) for v in (found.lowest, found.highest)]
        name, differ = "probability", "predict another class"
    span = " to ".join(dict.fromkeys(ends))
    st.markdown(f"**{found.sentence(differ)}** ({name} {plain(span)})")
    with st.container(horizontal=True, vertical_alignment="center"):
        least = shortest(DEFAULT_TOLERANCE)
        st.caption(f"They score at most {least} below this one.", width="content")
        page_link("tree", "See them", run=loaded.run.id, tab="Alternatives")
