"""ROC, precision-recall and calibration of both runs, and what errors cost."""

import streamlit as st

from pages.common.cached.comparison import curves_of
from pages.common.cached.loaded_run import ranked_classes
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.compare.comparison import Names, Pair, pair_colors
from pages.common.views.compare.costs import show_cost_matrix, show_threshold
from pages.common.words import plain, split_words
from treelab.evaluation.comparison import ClassCurves
from treelab.figures.comparison import DrawnCurve, curves_figure
from treelab.trees.words import significant

# Title, ClassCurves' points, and both axes; the last two have a diagonal to go by.
CHARTS = (
    ("Precision and recall", "precision_recall", "recall", "precision"),
    ("ROC", "roc", "false positive rate", "true positive rate"),
    ("Calibration", "calibration", "predicted probability", "observed fraction"),
)


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
    st.markdown(plain(_words(found, names)))
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
            DrawnCurve(name, color, _points(getattr(own, field)))
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


def _points(table):
    """Return a curve's points as x and y."""
    return table.rename(columns={"predicted": "x", "observed": "y"})


def _words(found: list[ClassCurves], names: Names) -> str:
    """Write the areas and the errors of the probabilities."""
    measures = (
        ("Area under the ROC curve", [own.roc_area for own in found]),
        ("average precision", [own.average_precision for own in found]),
        ("Brier score (less is better)", [own.brier for own in found]),
    )
    parts = [
        f"{title}: {names[0]} {significant(one)}, {names[1]} {significant(other)}"
        for title, (one, other) in measures
    ]
    return "; ".join(parts) + "."
