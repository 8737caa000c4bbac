"""What errors cost, and the curves of one class against the rest."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.comparison import curves_of
from pages.cached.predictions import predictions, probabilities
from pages.cached.runs import error_costs, ranked_classes
from pages.compare.errors import show_confusion
from pages.compare.pair import Names, Pair, beside, pair_colors
from pages.widgets.page import mode, show_figure
from pages.widgets.words import capital, plain, split_words
from treelab.evaluation import comparison
from treelab.evaluation.metrics import confusion_matrix
from treelab.figures.comparison import DrawnCurve, costs_figure, curves_figure
from treelab.reports.run_report import costs_on_test_rows
from treelab.trees.words import left_out, rounded, significant

MOST_CLASSES = 12  # of a cost matrix that a person fills in


def ask_costs(
    places: list, label, first: tuple[float, float], key: str
) -> tuple[float, float]:
    """Ask what a false and a missed prediction of a class cost, at first so much."""
    asked = (("false", "positive"), ("missed", "negative"))
    false, missed = (
        place.number_input(
            f"Cost of a {error} “{plain(label)}”",
            0.0,
            value=float(cost),
            format="%.6g",
            key=f"false-{name}-{key}",
        )
        for place, (error, name), cost in zip(places, asked, first)
    )
    return false, missed


def show_threshold(pair: Pair, names: Names, label) -> None:
    """Let the visitor set costs and a threshold; show what each run then costs."""
    st.subheader("Threshold and costs", anchor=False)
    (rest,) = (own for own in ranked_classes(pair[0]) if own != label)
    *inputs, place = st.columns(3)
    costs, at_first = _first_costs(pair, names, [label, rest])
    key = f"{pair[0].run.id}-{pair[1].run.id}-{label}"
    false, missed = ask_costs(inputs, label, (costs[1, 0], costs[0, 1]), key)
    help_words = f"“{plain(label)}” is predicted from this probability on."
    threshold = place.slider(
        "Threshold", 0.0, 1.0, 0.5, 0.01, key="threshold", help=help_words
    )
    sentence = st.container()
    chart, *places = st.columns([2, 1, 1])
    _, truth, weight = pair[0].split.rows("test")
    is_class = (truth == label).to_numpy()
    codes, matrix = (~is_class).astype(int), np.array([[0.0, missed], [false, 0.0]])
    words, drawn = [], []
    shown = zip(beside(pair, names, places), pair_colors(pair))
    for (loaded, name, key), color in shown:
        own = (predictions(loaded, "test") != label).astype(int)
        own_cost = comparison.mean_cost(codes, own, matrix, weight)
        chance = probabilities(loaded)[:, list(loaded.model.classes).index(label)]
        curve = comparison.cost_curve(is_class, chance, false, missed, weight)
        words.append(
            f"{name} {significant(curve.at(threshold))} "
            f"(as it predicts {significant(own_cost)}, least "
            f"{significant(float(curve.cost.min()))} at "
            f"{rounded(round(curve.cheapest, 3))})"
        )
        points = pd.DataFrame({"x": curve.threshold, "y": curve.cost})
        drawn.append(DrawnCurve(name, color, points))
        counts = confusion_matrix(codes, (chance < threshold).astype(int), 2, weight)
        of, key = f"{name} under these costs", f"costs-confusion-{key}"
        show_confusion(pair[0], counts, [label, rest], key, of)
    right = comparison.calibrated_threshold(false, missed)
    sentence.markdown(
        plain(
            f"Mean cost of a test row at threshold {threshold:.2f}: "
            f"{', '.join(words)}. If the probabilities were right, "
            f"{rounded(right)} would be best.{at_first}"
        )
    )
    with chart:
        show_figure(
            costs_figure(drawn, threshold, f"threshold for “{label}”", mode=mode()),
            key="cost-curve",
            alt="Mean cost of a row by threshold, of both runs.",
        )
    st.caption(
        f"{capital(split_words(pair[0], 'test'))}; the dotted line is the chosen "
        "threshold. The least cost was found on these rows, so new rows cost more; "
        "the fewer these are, the more so."
    )


def show_cost_matrix(pair: Pair, names: Names) -> None:
    """Let the visitor say what each error costs; predict each row at least cost."""
    labels = _shared_classes(pair)
    st.subheader("Costs", anchor=False)
    if len(labels) > MOST_CLASSES:
        st.markdown(f"A cost matrix is offered for up to {MOST_CLASSES} classes.")
        return
    first, at_first = _first_costs(pair, names, labels)
    texts = [str(own) for own in labels]
    matrix = pd.DataFrame(first, texts, texts)
    matrix.index.name = f"{pair[0].run.problem.target_is} class"
    words = "What it costs to predict the class of a column for one of a row."
    st.caption(plain(f"{words}{at_first}"))
    key = f"costs-{pair[0].run.id}-{pair[1].run.id}"
    costs = st.data_editor(matrix, key=key, width="stretch", disabled=["_index"])
    costs, codes_of = costs.fillna(0).to_numpy(float), pd.Index(labels).get_indexer
    rows, sentence, words = pair[0].split.rows("test"), st.container(), []
    known = rows.y.isin(labels).to_numpy()
    n_others = int((~known).sum())
    which = "of a class that one run lacks"
    left_out_note = f" {left_out(n_others, which)}." if n_others else ""
    _, truth, weight = rows.take(known)
    codes = codes_of(truth)
    for loaded, name, key in beside(pair, names, st.columns(2, gap="large")):
        order = [list(loaded.model.classes).index(own) for own in labels]
        chance = probabilities(loaded)[known][:, order]
        predicted = comparison.cheapest_classes(chance, costs)
        own = codes_of(predictions(loaded, "test")[known])
        own = np.where(own < 0, chance.argmax(axis=1), own)  # a class of this run alone
        cheapest, plainly = (
            significant(comparison.mean_cost(codes, each, costs, weight))
            for each in (predicted, own)
        )
        words.append(f"{name} {cheapest} ({plainly})")
        counts = confusion_matrix(codes, predicted, len(labels), weight)
        of, key = f"{name} under these costs", f"costs-confusion-{key}"
        show_confusion(pair[0], counts, labels, key, of)
    sentence.markdown(
        plain(
            "Mean cost of a test row where each is predicted as the class of least "
            f"expected cost: {', '.join(words)}; in brackets, as the run predicts."
            f"{left_out_note}"
        )
    )


def _shared_classes(pair: Pair) -> list:
    """Return the classes that both runs know, the most frequent in training first."""
    return [own for own in ranked_classes(pair[0]) if own in pair[1].model.classes]


def _first_costs(pair: Pair, names: Names, labels: list) -> tuple[np.ndarray, str]:
    """Return what errors cost at first, and a sentence on whose costs these are."""
    for loaded, name in zip(pair, names):
        if (costs := error_costs(loaded, labels)) is not None:
            return costs, f" At first, costs are those by which {name} was trained."
    return 1.0 - np.eye(len(labels)), ""


def cost_words(pair: Pair, names: Names) -> str:
    """Say what a test row costs where a run was trained by costs; "" elsewhere."""
    found = costs_on_test_rows(pair, [predictions(loaded, "test") for loaded in pair])
    return "" if found is None else found.sentence(names)


# Title, ClassCurves' points, and both axes; the last two have a diagonal to go by.
CHARTS = (
    ("Precision and recall", "precision_recall", "recall", "precision"),
    ("ROC", "roc", "false positive rate", "true positive rate"),
    ("Calibration", "calibration", "predicted probability", "observed fraction"),
)
POINTS = {"predicted": "x", "observed": "y"}
MEASURES = {
    "roc_area": "Area under the ROC curve",
    "average_precision": "average precision",
    "brier": "Brier score (less is better)",
}


def show_curves(pair: Pair, names: Names) -> None:
    """Draw the curves of the class that the visitor picks, then costs."""
    present = set(pair[0].split.y_test)
    labels = [own for own in _shared_classes(pair) if own in present]
    if not labels or len(present) == 1:
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
    words = []
    for measure, title in MEASURES.items():
        one, other = (significant(getattr(own, measure)) for own in found)
        words.append(f"{title}: {names[0]} {one}, {names[1]} {other}")
    st.markdown(plain(f"{'; '.join(words)}."))
    for column, (title, field, x_title, y_title) in zip(st.columns(3), CHARTS):
        curves = [
            DrawnCurve(name, color, getattr(own, field).rename(columns=POINTS))
            for own, name, color in zip(found, names, pair_colors(pair))
        ]
        look = {"diagonal": field != "precision_recall", "mode": mode()}
        with column:
            st.markdown(f"**{title}**")
            show_figure(
                curves_figure(curves, x_title, y_title, **look),
                key=f"curve-{field}",
                alt=f"{title} of {' and '.join(names)}.",
            )
    st.caption(
        f"“{plain(label)}” against the rest, {split_words(pair[0], 'test')}. ROC: "
        "dotted, what chance reaches. Calibration: on the dotted line a probability "
        "is as often right as it says; a larger mark stands for more rows."
    )
    if len(ranked_classes(pair[0])) == 2:
        show_threshold(pair, names, label)
    else:
        show_cost_matrix(pair, names)
