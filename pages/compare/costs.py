"""What errors cost, and the curves of one class against the rest."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.comparison import curves_of
from pages.cached.predictions import predictions, probabilities
from pages.cached.runs import error_costs, ranked_classes
from pages.compare.pair import Names, Pair, pair_colors
from pages.widgets.page import mode, show_figure
from pages.widgets.words import capital, plain, split_words
from treelab.evaluation.comparison import (
    ClassCurves,
    calibrated_threshold,
    cheapest_classes,
    cost_curve,
    mean_cost,
    row_costs,
)
from treelab.evaluation.metrics import confusion_matrix
from treelab.figures.comparison import DrawnCurve, costs_figure, curves_figure
from treelab.figures.predictions import confusion_figure
from treelab.trees.words import rounded, significant

MOST_CLASSES = 12  # of a cost matrix that a person fills in


def ask_costs(
    places: list, label, first: tuple[float, float], key: str
) -> tuple[float, float]:
    """Ask what a false and a missed prediction of a class cost, at first so much."""
    false, missed = (
        place.number_input(
            f"Cost of a {error} “{plain(label)}”",
            0.0,
            value=float(cost),
            format="%.6g",
            key=f"false-{name}-{key}",
        )
        for place, error, name, cost in zip(
            places, ("false", "missed"), ("positive", "negative"), first
        )
    )
    return false, missed


def show_threshold(pair: Pair, names: Names, label) -> None:
    """Let the visitor set costs and a threshold; show what each run then costs."""
    st.subheader("Threshold and costs", anchor=False)
    (rest,) = (own for own in ranked_classes(pair[0]) if own != label)
    inputs = st.columns(3)
    costs, trained = _first_costs(pair, names, [label, rest])
    key = f"{pair[0].run.id}-{pair[1].run.id}-{label}"
    first = costs[1, 0], costs[0, 1]
    false_positive, false_negative = ask_costs(inputs, label, first, key)
    threshold = inputs[2].slider(
        "Threshold",
        0.0,
        1.0,
        0.5,
        0.01,
        key="threshold",
        help=f"“{plain(label)}” is predicted from this probability on.",
    )
    _, truth, weight = pair[0].split.rows("test")
    is_class = (truth == label).to_numpy()
    chances = [
        probabilities(loaded)[:, list(loaded.model.classes).index(label)]
        for loaded in pair
    ]
    curves = [
        cost_curve(is_class, chance, false_positive, false_negative, weight)
        for chance in chances
    ]
    right = calibrated_threshold(false_positive, false_negative)
    matrix = np.array([[0.0, false_negative], [false_positive, 0.0]])
    codes = (~is_class).astype(int)
    chosen = [(predictions(loaded, "test") != label).astype(int) for loaded in pair]
    own = [mean_cost(codes, predicted, matrix, weight) for predicted in chosen]
    words = [
        f"{name} {significant(curve.at(threshold))} "
        f"(as it predicts {significant(cost)}, least "
        f"{significant(float(curve.cost.min()))} at "
        f"{rounded(round(curve.cheapest, 3))})"
        for name, cost, curve in zip(names, own, curves)
    ]
    st.markdown(
        plain(
            f"Mean cost of a test row at threshold {threshold:.2f}: "
            f"{', '.join(words)}. If the probabilities were right, "
            f"{rounded(right)} would be best.{_at_first(trained)}"
        )
    )
    drawn = [
        DrawnCurve(name, color, pd.DataFrame({"x": curve.threshold, "y": curve.cost}))
        for name, color, curve in zip(names, pair_colors(pair), curves)
    ]
    chart, *sides = st.columns([2, 1, 1])
    with chart:
        show_figure(
            costs_figure(drawn, threshold, f"threshold for “{label}”", mode=mode()),
            key="cost-curve",
            alt="Mean cost of a row by threshold, of both runs.",
        )
    for column, name, chance, key in zip(sides, names, chances, ("first", "second")):
        with column:
            predicted = (chance < threshold).astype(int)
            counts = confusion_matrix(codes, predicted, 2, weight)
            _show_confusion(counts, [label, rest], name, key, pair)
    st.caption(
        f"{capital(split_words(pair[0], 'test'))}; the dotted line is the chosen "
        "threshold. The least cost was found on these rows, so new rows cost a little "
        "more."
    )


def show_cost_matrix(pair: Pair, names: Names) -> None:
    """Let the visitor say what each error costs; predict each row at least cost."""
    labels = [own for own in ranked_classes(pair[0]) if own in pair[1].model.classes]
    st.subheader("Costs", anchor=False)
    if len(labels) > MOST_CLASSES:
        st.markdown(f"A cost matrix is offered for up to {MOST_CLASSES} classes.")
        return
    texts = [str(own) for own in labels]
    first, trained = _first_costs(pair, names, labels)
    matrix = pd.DataFrame(first, index=texts, columns=texts)
    matrix.index.name = f"{pair[0].run.problem.target_is} class"
    st.caption(
        plain(
            "What it costs to predict the class of a column for one of a row."
            f"{_at_first(trained)}"
        )
    )
    costs = st.data_editor(
        matrix,
        key=f"costs-{pair[0].run.id}-{pair[1].run.id}",
        width="stretch",
        disabled=["_index"],
    )
    sentence = st.container()
    costs = costs.fillna(0).to_numpy(float)
    rows = pair[0].split.rows("test")
    known = rows.y.isin(labels).to_numpy()
    _, truth, weight = rows.take(known)
    codes = pd.Index(labels).get_indexer(truth)
    words = []
    for loaded, name, key, column in zip(
        pair, names, ("first", "second"), st.columns(2, gap="large")
    ):
        order = [list(loaded.model.classes).index(own) for own in labels]
        chance = probabilities(loaded)[known][:, order]
        predicted = cheapest_classes(chance, costs)
        own = pd.Index(labels).get_indexer(predictions(loaded, "test")[known])
        own = np.where(own < 0, chance.argmax(axis=1), own)  # a class of this run alone
        plainly = mean_cost(codes, own, costs, weight)
        cheapest = mean_cost(codes, predicted, costs, weight)
        words.append(f"{name} {significant(cheapest)} ({significant(plainly)})")
        with column:
            counts = confusion_matrix(codes, predicted, len(labels), weight)
            _show_confusion(counts, labels, name, key, pair)
    sentence.markdown(
        plain(
            "Mean cost of a test row where each is predicted as the class of least "
            f"expected cost: {', '.join(words)}; in brackets, as the run predicts."
        )
    )


def _first_costs(pair: Pair, names: Names, labels: list) -> tuple[np.ndarray, str]:
    """Return the costs that a run was trained by, and its name; else 1 an error, ""."""
    for loaded, name in zip(pair, names):
        if (costs := error_costs(loaded, labels)) is not None:
            return costs, name
    return 1.0 - np.eye(len(labels)), ""


def cost_words(pair: Pair, names: Names) -> str:
    """Say what a test row costs where a run was trained by costs; "" elsewhere."""
    rows = pair[0].split.rows("test")
    found = row_costs(
        [loaded.run.constraints for loaded in pair],
        [loaded.model.classes for loaded in pair],
        rows.y,
        [predictions(loaded, "test") for loaded in pair],
        rows.weight,
    )
    return "" if found is None else found.sentence(names)


def _at_first(trained: str) -> str:
    """Say by which run's costs the page begins, if by any."""
    return f" At first, costs are those by which {trained} was trained." * bool(trained)


def _show_confusion(
    counts: np.ndarray, labels: list, name: str, key: str, pair: Pair
) -> None:
    """Draw the confusion matrix under these costs."""
    st.markdown(f"**{plain(name)}**")
    target_is = pair[0].run.problem.target_is
    show_figure(
        confusion_figure(counts, labels, target_is=target_is, mode=mode()),
        key=f"costs-confusion-{key}",
        alt=f"Confusion matrix of {name} under these costs.",
    )


# Title, ClassCurves' points, and both axes; the last two have a diagonal to go by.
CHARTS = (
    ("Precision and recall", "precision_recall", "recall", "precision"),
    ("ROC", "roc", "false positive rate", "true positive rate"),
    ("Calibration", "calibration", "predicted probability", "observed fraction"),
)
POINTS = {"predicted": "x", "observed": "y"}


def show_curves(pair: Pair, names: Names) -> None:
    """Draw the curves of the class that the visitor picks, then costs."""
    labels = [own for own in ranked_classes(pair[0]) if own in pair[1].model.classes]
    truth = pair[0].split.y_test
    labels = [own for own in labels if 0 < (truth == own).sum() < len(truth)]
    if not labels:
        st.markdown("The test rows hold one class only: there is no curve to draw.")
        return
    label = st.selectbox(
        "Class, against the rest",
        labels,
        index=len(labels) - 1 if len(labels) == 2 else 0,
        format_func=str,
        key=f"curve-class-{pair[0].run.id}-{pair[1].run.id}",
        width=300,
    )
    found = [curves_of(loaded, label) for loaded in pair]
    measures = {
        "roc_area": "Area under the ROC curve",
        "average_precision": "average precision",
        "brier": "Brier score (less is better)",
    }
    words = []
    for measure, title in measures.items():
        one, other = (significant(getattr(own, measure)) for own in found)
        words.append(f"{title}: {names[0]} {one}, {names[1]} {other}")
    st.markdown(plain(f"{'; '.join(words)}."))
    _draw(found, pair, names)
    st.caption(
        f"“{plain(label)}” against the rest, {split_words(pair[0], 'test')}. ROC: "
        "dotted, what chance reaches. Calibration: on the dotted line a probability "
        "is as often right as it says; a larger mark stands for more rows."
    )
    if len(ranked_classes(pair[0])) == 2:
        show_threshold(pair, names, label)
    else:
        show_cost_matrix(pair, names)


def _draw(found: list[ClassCurves], pair: Pair, names: Names) -> None:
    """Draw the three charts beside each other."""
    for column, (title, field, x_title, y_title) in zip(st.columns(3), CHARTS):
        curves = [
            DrawnCurve(name, color, getattr(own, field).rename(columns=POINTS))
            for own, name, color in zip(found, names, pair_colors(pair))
        ]
        with column:
            st.markdown(f"**{title}**")
            show_figure(
                curves_figure(
                    curves,
                    x_title,
                    y_title,
                    diagonal=field != "precision_recall",
                    mode=mode(),
                ),
                key=f"curve-{field}",
                alt=f"{title} of {' and '.join(names)}.",
            )
