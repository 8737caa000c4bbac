"""What matters overall: the importance of features, and how a prediction depends."""

import pandas as pd
import streamlit as st

from pages.cached.predictions import run_dependence, shuffled_importances
from pages.cached.runs import LoadedRun, ranked_classes, run_tree
from pages.explain.explanation import predicted_output
from pages.widgets.page import mode, show_figure
from pages.widgets.row import Row
from pages.widgets.words import fitted_words, named_with_unit, plain
from treelab.evaluation.importance import (
    MOST_ROWS,
    REPEATS,
    Dependence,
    dependence,
    impurity_importances,
)
from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.explanations import dependence_figure, importance_figure
from treelab.trees.words import counted, percent, shortest, significant

CLEAR = 2  # standard deviations above 0


@st.fragment
def show_overall(loaded: LoadedRun, row: Row) -> None:
    """Show, once it is asked for, what matters to the run on all test rows."""
    st.subheader("What matters overall", anchor=False)
    if not st.toggle(
        "Measure",
        key=f"overall-{loaded.run.id}",
        help="Predicts the test rows many times, with one feature shuffled or set to "
        "other values.",
    ):
        return
    shuffled = shuffled_importances(loaded)
    if loaded.is_ensemble or loaded.has_predictor:
        _show_shuffled(loaded, shuffled)
    else:
        left, right = st.columns(2, gap="large")
        with left:
            _show_shuffled(loaded, shuffled)
        with right:
            _show_impurity(loaded)
    _show_dependence(loaded, row, shuffled["column"].tolist())


def _show_shuffled(loaded: LoadedRun, table: pd.DataFrame) -> None:
    """Draw how much the score falls without each feature."""
    metric = TITLES[headline(loaded.run.problem.task)]
    first, clear = table.iloc[0], table["importance"] > CLEAR * table["std"]
    n_rows = len(loaded.split.y_test)
    rows = counted(n_rows, "test row")
    if n_rows > MOST_ROWS:
        rows = f"a sample of {MOST_ROWS:,} of {rows}"
    words = f"**Shuffled**: no feature lowers {metric}."
    if first["importance"] > 0:
        words = (
            f"**Shuffled**: without {plain(first['column'])} {metric} falls most, by "
            f"{significant(first['importance'])} ± {significant(first['std'], 2)}; "
            f"{int(clear.sum())} of {counted(len(table), 'feature')} clearly matter."
        )
    st.markdown(words)
    used = table[(table["importance"] != 0) | (table["std"] > 0)]
    show_figure(
        importance_figure(
            used["column"],
            used["importance"],
            used["std"],
            title=f"fall in {metric}",
            mode=mode(),
        ),
        key="shuffled",
        alt=words,
    )
    st.caption(
        f"{REPEATS} shuffles of each feature on {rows}; lines: standard deviation over "
        "the shuffles. Features that stand in for each other all look unimportant."
    )


def _show_impurity(loaded: LoadedRun) -> None:
    """Draw how much impurity the splits on each feature remove."""
    tree = run_tree(loaded)
    table = impurity_importances(tree)
    if table.empty:
        return
    what = "variance" if tree.classes is None else "Gini impurity"
    first = table.iloc[0]
    words = (
        f"**Splits**: those on {plain(first['column'])} remove "
        f"{percent(first['importance'])} of the {what} at the root; the whole tree "
        f"removes {percent(table['importance'].sum())}."
    )
    st.markdown(words)
    show_figure(
        importance_figure(
            table["column"],
            table["importance"],
            title=f"fraction of the {what} removed",
            mode=mode(),
        ),
        key="impurity",
        alt=words,
    )
    st.caption(
        f"On {fitted_words(loaded)}, which the tree knows: features with many values "
        "look more important than they are."
    )


def _show_dependence(loaded: LoadedRun, row: Row, columns: list[str]) -> None:
    """Let the visitor choose a feature, and draw how predictions depend on it."""
    output = predicted_output(row)
    left, right = st.columns(2)
    with left:
        column = st.selectbox(
            "Prediction by", columns, key=f"dependence-{loaded.run.id}"
        )
    classes = loaded.model.classes
    if classes is not None:
        with right:
            label = st.selectbox(
                "Probability of",
                ranked_classes(loaded),
                index=ranked_classes(loaded).index(classes[output]),
                key=f"dependence-class-{loaded.run.id}",
            )
        output = classes.index(label)
    found = run_dependence(loaded, column, output)
    if not len(found.values):
        st.markdown("No training row has a value of this feature.")
        return
    own = dependence(loaded.model, row.values, column, found.values, output)
    title = named_with_unit(loaded.model.target, loaded.model.target_unit)
    if classes is not None:
        title = f"probability of “{classes[output]}”"
    words = _dependence_words(found, title)
    st.markdown(words)
    unit = dict(loaded.run.problem.units).get(column, "")
    show_figure(
        dependence_figure(found, own.lines[0], title=title, unit=unit, mode=mode()),
        key="dependence",
        alt=words,
    )
    st.caption(
        f"Mean over {counted(len(found.lines), 'test row')}"
        f"{', a sample' if len(found.lines) < len(loaded.split.y_test) else ''}, all "
        "other features as these rows have them (partial dependence); a thin line is "
        "one row (ICE). Some of these combinations may never occur."
    )


def _dependence_words(found: Dependence, title: str) -> str:
    """Write where the mean prediction is lowest and highest."""
    mean = found.mean
    low, high = int(mean.argmin()), int(mean.argmax())
    if mean[high] - mean[low] < 1e-9:
        return f"The mean {plain(title)} does not depend on {plain(found.column)}."
    ends = []
    for name, place in (("lowest", low), ("highest", high)):
        value = found.values[place]
        text = shortest(float(value)) if found.is_number else str(value)
        ends.append(f"{name}, {significant(float(mean[place]))}, at {plain(text)}")
    by = plain(found.column)
    return f"By {by}, the mean {plain(title)} is {ends[0]}, and {ends[1]}."
