"""What matters overall: the importance of features, and how a prediction depends."""

from functools import partial

import pandas as pd
import streamlit as st

from pages.cached.predictions import decided_rows, run_dependence, shuffled_importances
from pages.cached.runs import LoadedRun, ranked_classes, run_tree
from pages.explain.which_row import Row
from pages.widgets.page import mode, page_link, pick_one, show_bars, show_figure
from pages.widgets.words import error_with_unit, fitted_words, plain, with_unit
from treelab.evaluation import importance
from treelab.evaluation.ensembles import DecidedRows
from treelab.evaluation.metrics import TITLES
from treelab.figures.explanations import dependence_figure
from treelab.trees.feature import Feature
from treelab.trees.text import predicts_times, target_number, target_title
from treelab.trees.words import counted, percent, probability


def show_overall(loaded: LoadedRun, row: Row) -> None:
    """Show what matters to the run on all test rows."""
    shuffled = shuffled_importances(loaded)
    if loaded.is_ensemble or loaded.model.has_predictor:
        _show_shuffled(loaded, shuffled)
    else:
        left, right = st.columns(2, gap="large")
        with left:
            _show_shuffled(loaded, shuffled)
        with right:
            _show_impurity(loaded)
    _show_dependence(loaded, row, shuffled["column"].tolist())
    if loaded.is_ensemble:
        _show_simple_rules(loaded)


def _show_shuffled(loaded: LoadedRun, table: pd.DataFrame) -> None:
    """Draw how much the score falls without each feature."""
    metric = TITLES[loaded.headline]
    n_rows = len(loaded.split.y_test)
    n_shuffles = importance.n_shuffles(min(n_rows, importance.MOST_ROWS))
    rows = f"{counted(n_rows, 'test row')}{plain(loaded.run.problem.weighted_words)}"
    if n_rows > importance.MOST_ROWS:
        rows = f"a sample of {importance.MOST_ROWS:,} of {rows}"
    words = f"**Shuffled**: {plain(importance.shuffled_words(table, metric))}"
    used = table[(table["importance"] != 0) | (table["std"] > 0)]
    bars = used["column"], used["importance"], used["std"]
    show_bars("shuffled", words, *bars, title=f"fall in {metric}")
    st.caption(
        f"{n_shuffles} shuffles of each feature on {rows}; lines: standard deviation "
        "over the shuffles. Features that stand in for each other all look unimportant."
    )


def _show_impurity(loaded: LoadedRun) -> None:
    """Draw how much impurity the splits on each feature remove."""
    tree = run_tree(loaded)
    table = importance.impurity_importances(tree)
    if table.empty:
        return
    what = "variance" if tree.classes is None else "Gini impurity"
    first = table.iloc[0]
    words = (
        f"**Splits**: those on {plain(first['column'])} remove "
        f"{percent(first['importance'])} of the {what} at the root; the whole tree "
        f"removes {percent(table['importance'].sum())}."
    )
    bars = table["column"], table["importance"]
    show_bars("impurity", words, *bars, title=f"fraction of the {what} removed")
    st.caption(
        f"On {fitted_words(loaded)}, which the tree knows: features with many values "
        "look more important than they are."
    )


def _show_dependence(loaded: LoadedRun, row: Row, columns: list[str]) -> None:
    """Let the visitor choose a feature, and draw how predictions depend on it."""
    output = row.output
    left, right = st.columns(2)
    column = left.selectbox("Prediction by", columns, key=f"dependence-{loaded.run.id}")
    classes = loaded.model.classes
    if classes is not None:
        labels = ranked_classes(loaded)
        label = right.selectbox(
            "Probability of",
            labels,
            index=labels.index(classes[output]),
            key=f"dependence-class-{loaded.run.id}",
        )
        output = classes.index(label)
    found = run_dependence(loaded, column, output)
    if not len(found.values):
        st.markdown("No training row has a value of this feature.")
        return
    own = importance.dependence(loaded.model, row.values, column, found.values, output)
    title = target_title(loaded.model)
    if classes is not None:
        title = f"probability of “{classes[output]}”"
    features = {own.column: own for own in loaded.model.features}
    if (feature := features.get(column)) is None and found.is_number:
        feature = Feature(column, unit=loaded.units.get(column, ""))
    elif feature is None:
        known = found.values.tolist()
        feature = Feature(column, "category", categories=known, scores=[0] * len(known))
    write = probability
    if classes is None:
        write = partial(target_number, loaded.model)
    words = plain(found.sentence(title, feature, write))
    st.markdown(words)
    times = predicts_times(loaded.model)
    look = {"title": title, "feature": feature, "times": times, "mode": mode()}
    figure = dependence_figure(found, own.lines[0], **look)
    show_figure(figure, key="dependence", alt=words)
    joined = ""
    if found.is_number and found.seen is None:
        joined = (
            f" Lines join predictions at {counted(len(found.values), 'value')}; "
            "between two of them predictions may jump."
        )
    st.caption(
        f"Mean over {counted(len(found.lines), 'test row')}"
        f"{', a sample' if len(found.lines) < len(loaded.split.y_test) else ''}"
        f"{plain(loaded.run.problem.weighted_words)}, all other features as these rows "
        "have them (partial dependence); a thin line is one row (ICE). Some of these "
        f"combinations may never occur.{joined}"
    )


SHARES = (0.3, 0.5, 0.7, 0.9)
MOST_RULES = 200


def _show_simple_rules(loaded: LoadedRun) -> None:
    """List the rules that decide test rows by themselves."""
    st.subheader("Rows that one tree decides", anchor=False)
    share = pick_one(
        "Its weight is above",
        {share: f"{share:.0%}" for share in SHARES},
        f"share-{loaded.run.id}",
        default=0.5,
        help="Where a single tree has most of the weight, its rule is the whole "
        "explanation of the prediction.",
    )
    found = decided_rows(loaded, share)
    n_test = counted(len(loaded.split.y_test), "test row")
    much = f"more than {share:.0%} of the weight"
    if not found:
        st.markdown(f"No tree has {much} on any of {n_test}.")
        return
    n_rows = sum(len(decided.rows) for decided in found)
    trees = counted(len({decided.estimator for decided in found}), "tree")
    rules = counted(len(found), "rule")
    st.markdown(f"One tree has {much} on {n_rows:,} of {n_test}: {rules} of {trees}.")
    chosen = st.dataframe(
        pd.DataFrame([_facts(loaded, decided) for decided in found[:MOST_RULES]]),
        hide_index=True,
        key="simple-rules",
        on_select="rerun",
        selection_mode="single-row",
        column_config={"rule": st.column_config.TextColumn(width="large")},
    ).selection.rows
    if not chosen or chosen[0] >= len(found):
        st.caption("Tick a rule to read it whole and to open a row that it decides.")
        return
    decided = found[chosen[0]]
    st.markdown(f"Tree {decided.estimator}: {plain(decided.rule)}.")
    row = int(decided.rows[0]) + 1
    page_link("explain", f"Explain row {row:,}", run=loaded.run.id, row=str(row))


def _facts(loaded: LoadedRun, decided: DecidedRows) -> dict:
    """Return a line of the table."""
    facts = {"tree": str(decided.estimator), "test rows": len(decided.rows)}
    if decided.accuracy is not None:
        facts["correct"] = percent(decided.accuracy)
        facts["prediction"] = str(decided.prediction)
    else:
        facts["mean error"] = error_with_unit(loaded, decided.mean_absolute_error)
        facts["prediction"] = with_unit(loaded, float(decided.prediction))
    return facts | {"mean weight": percent(decided.weight), "rule": decided.rule}
