"""What a run predicts on test rows against the truth: by class, or value by value."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.predictions import predictions
from pages.cached.runs import LoadedRun, ranked_classes
from pages.widgets.page import mode, show_figure
from pages.widgets.words import capital, named_with_unit, plain, split_words
from treelab.evaluation.metrics import class_scores, confusion_matrix, quantile
from treelab.figures.predictions import confusion_figure, scatter_figure
from treelab.trees.words import joined, percent, significant

_MOST_NAMED = 3  # classes without a score


def outcomes_title(loaded: LoadedRun) -> str:
    """Return the heading of the section."""
    if loaded.model.classes is None:
        return "Predicted against true values"
    return "Confusion matrix, class by class"


def show_outcomes(loaded: LoadedRun, key: str) -> None:
    """Draw a run's predictions on test rows against the truth."""
    truth, predicted = loaded.split.y_test.to_numpy(), predictions(loaded, "test")
    if loaded.model.classes is not None:
        _show_classes(loaded, truth, predicted, key)
        return
    truth, target_is = truth.astype(float), loaded.run.problem.target_is
    show_figure(
        scatter_figure(
            truth,
            predicted,
            name=named_with_unit(loaded.model.target, loaded.model.target_unit),
            target_is=target_is,
            mode=mode(),
        ),
        key=f"outcomes-{key}",
        alt=f"Predicted against {target_is} values of the test rows.",
    )
    error = np.abs(truth - predicted)
    median = quantile(error, 0.5, loaded.split.rows("test").weight)
    st.caption(
        f"{capital(split_words(loaded, 'test'))}. Dotted: prediction equals "
        f"target. Median absolute error: {significant(median)}."
    )


def _show_classes(loaded: LoadedRun, truth, predicted, key: str) -> None:
    """Draw the confusion matrix, and list precision, recall and F1 of each class."""
    labels = ranked_classes(loaded)
    known, codes = np.isin(truth, labels), pd.Index(labels).get_indexer
    confusion = confusion_matrix(
        codes(truth[known]),
        codes(predicted[known]),
        len(labels),
        loaded.split.rows("test").take(known).weight,
    )
    scores = class_scores(confusion)
    worst = int(scores["recall"].fillna(1).argmin())
    show_figure(
        confusion_figure(
            confusion, labels, target_is=loaded.run.problem.target_is, mode=mode()
        ),
        key=f"outcomes-{key}",
        alt=f"Confusion matrix of {len(labels)} classes on the test rows.",
    )
    found = scores["recall"].iloc[worst]
    st.caption(
        f"{capital(split_words(loaded, 'test'))}. Lowest recall: "
        f"“{plain(labels[worst])}”, {percent(found)}."
        f"{undefined_words(labels, scores)}"
    )
    if loaded.split.weight is not None:
        scores = scores.rename(columns={"rows": "weight"})
    names = pd.Series([str(label) for label in labels], name="class")
    st.dataframe(
        pd.concat([names, scores], axis=1),
        hide_index=True,
        key=f"classes-{key}",
        placeholder="–",
        column_config={
            name: st.column_config.NumberColumn(name, format="%.3f", help=help_words)
            for name, help_words in (
                ("precision", "Of the rows predicted as this class, those that are."),
                ("recall", "Of the rows of this class, those predicted as it."),
                ("F1", "Harmonic mean of precision and recall."),
            )
        },
    )


def undefined_words(labels: list, scores: pd.DataFrame) -> str:
    """Say why a class has a dash for a score, "" where none has."""
    words = ""
    for name, why in (("precision", "was predicted so"), ("recall", "is of it")):
        missing = scores[name].isna()
        listed = [f"“{plain(own)}”" for own, is_ in zip(labels, missing) if is_]
        if listed:
            words += f" –: no {name}, as no test row {why}: "
            words += f"{joined(listed[:_MOST_NAMED])}"
            n_more = len(listed) - _MOST_NAMED
            words += f" and {n_more} more." if n_more > 0 else "."
    return words
