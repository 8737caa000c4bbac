"""What runs get wrong on the test rows: by class, by value, and where two differ."""

from math import floor, isnan, log10

import numpy as np
import pandas as pd
import streamlit as st
from sklearn.metrics import median_absolute_error

from pages.cached.comparison import comparable_runs
from pages.cached.predictions import predictions
from pages.cached.runs import LoadedRun, load_readable, ranked_classes
from pages.compare.pair import Names, Pair, beside, names_of, pair_colors
from pages.widgets.page import mode, page_link, show_figure
from pages.widgets.words import capital, error_with_unit, plain, split_words
from treelab.data.split import some_rows
from treelab.evaluation import comparison
from treelab.evaluation.metrics import class_scores, confusion_matrix
from treelab.figures.comparison import agreement_figure, residuals_figure
from treelab.figures.predictions import confusion_figure, scatter_figure
from treelab.trees.date_parts import padded_time, with_dates
from treelab.trees.text import predicts_times, target_title
from treelab.trees.words import counted, listed, percent

MOST_NAMED = 3  # classes without a score
SCORE_WORDS = {
    "precision": "Of the rows predicted as this class, those that are.",
    "recall": "Of the rows of this class, those predicted as it.",
    "F1": "Harmonic mean of precision and recall.",
}


def show_confusion(
    loaded: LoadedRun, counts: np.ndarray, labels: list, key: str, of: str
) -> None:
    """Draw a confusion matrix of test rows; ``of`` says whose."""
    target_is = loaded.run.problem.target_is
    figure = confusion_figure(counts, labels, target_is=target_is, mode=mode())
    show_figure(figure, key=key, alt=f"Confusion matrix of {of}.")


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
    name = target_title(loaded.model)
    look = {"name": name, "target_is": target_is, "mode": mode()}
    look["times"] = predicts_times(loaded.model)
    show_figure(
        scatter_figure(truth, predicted, **look),
        key=f"outcomes-{key}",
        alt=f"Predicted against {target_is} values of the test rows.",
    )
    weight = loaded.split.rows("test").weight
    median = median_absolute_error(truth, predicted, sample_weight=weight)
    st.caption(
        f"{capital(split_words(loaded, 'test'))}. Dotted: prediction equals "
        f"target. Median absolute error: {plain(error_with_unit(loaded, median))}."
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
    n_worst = counted(int((truth == labels[worst]).sum()), "row")
    of = f"{len(labels)} classes on the test rows"
    show_confusion(loaded, confusion, labels, f"outcomes-{key}", of)
    st.caption(
        f"{capital(split_words(loaded, 'test'))}. Lowest recall: "
        f"“{plain(labels[worst])}”, {percent(scores['recall'].iloc[worst])} of "
        f"{n_worst}."
        f"{undefined_words(labels, scores)}"
    )
    if loaded.split.weight is not None:
        scores = scores.rename(columns={"rows": "weight"})
    scores.insert(0, "class", [str(label) for label in labels])
    st.dataframe(
        scores,
        hide_index=True,
        key=f"classes-{key}",
        placeholder="–",
        column_config={
            name: st.column_config.NumberColumn(name, format="%.3f", help=words)
            for name, words in SCORE_WORDS.items()
        },
    )


def undefined_words(labels: list, scores: pd.DataFrame) -> str:
    """Say why a class has a dash for a score, "" where none has."""
    words = ""
    for name, why in (("precision", "was predicted so"), ("recall", "is of it")):
        missing = [own for own, score in zip(labels, scores[name]) if isnan(score)]
        if missing:
            named = listed(missing, MOST_NAMED, lambda own: f"“{plain(own)}”")
            words += f" –: no {name}, as no test row {why}: {named}."
    return words


def show_errors(pair: Pair, names: Names) -> None:
    """Show the rows on which the runs differ, and how each errs."""
    st.header("Where they differ", anchor=False)
    predicted = (predictions(loaded, "test") for loaded in pair)
    _, truth, weight = pair[0].split.rows("test")
    found = comparison.disagreement(pair[0].run.problem.task, truth, *predicted, weight)
    rows_that_differ(found, pair, names, has_links=True)
    st.header(outcomes_title(pair[0]), anchor=False)
    for loaded, _, key in beside(pair, names, st.columns(2, gap="large")):
        show_outcomes(loaded, key)
    if pair[0].model.classes is None:
        st.header("Residuals", anchor=False)
        show_residuals(pair, names)
    st.header("How alike all runs predict", anchor=False)
    _show_agreement(pair)


MOST_ROWS = 200  # rows that are listed
ROW, TARGET, CORRECT, CLOSER = "test row", "target", "correct", "closer"
NEITHER = "neither"  # of two runs is better
HEADS = {ROW, TARGET, CORRECT, CLOSER, NEITHER}  # names that no run may have there


def rows_that_differ(
    found: comparison.Disagreement, pair: Pair, names: Names, *, has_links: bool = False
) -> None:
    """List test rows on which runs differ; with links a ticked one can be followed."""
    if found.rows.empty:
        st.markdown(
            f"Both predict the same on all {counted(found.n_rows, 'test row')}."
        )
        return
    of_classes = found.mean_distance is None
    st.markdown(plain(found.sentences(tuple(names), pair[0].model)))
    first, second = (f"{name} (run)" if name in HEADS else name for name in names)
    rows = found.rows[:MOST_ROWS]
    better = [(first, second, NEITHER)[which] for which in rows["better"]]
    facts = rows.assign(position=rows["position"] + 1, better=better)
    head = (ROW, TARGET, first, second, CORRECT if of_classes else CLOSER)
    facts = facts.set_axis(head, axis="columns")
    if of_classes:
        facts = facts.astype(dict.fromkeys((TARGET, first, second), str))
    elif predicts_times(pair[0].model):
        written = facts[[TARGET, first, second]]
        written = (3600 * written).round() / 3600  # to the second
        facts = facts.assign(**written.map(padded_time))
    else:  # four digits of the largest
        largest = float(facts[[first, second]].abs().to_numpy().max()) or 1.0
        digits = max(3 - floor(log10(largest)), 0)
        facts = facts.round({first: digits, second: digits})
    X = pair[0].split.X_test.iloc[rows["position"]].reset_index(drop=True)
    X = with_dates(X, pair[0].split.X_train)
    X = X.rename(columns={name: f"{name} " for name in X if name in facts})
    table = st.dataframe(
        pd.concat([facts, X], axis=1),
        hide_index=True,
        key="rows-that-differ",
        placeholder="–",
        on_select="rerun" if has_links else "ignore",
        selection_mode="single-row",
        column_config={ROW: st.column_config.NumberColumn(pinned=True)},
    )
    if (n_rows := len(found.rows)) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS} of {n_rows:,}.")
    if not has_links:
        return
    chosen = table.selection.rows
    if not chosen or chosen[0] >= len(facts):
        st.caption("Tick a row to open it on Explain.")
        return
    row = int(facts[ROW].iloc[chosen[0]])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Show its paths above",
            icon=":material/route:",
            on_click=st.session_state.__setitem__,
            args=("compare-row", row),
        )
        for loaded, name in zip(pair, names):
            label = f"Explain {plain(name)} on row {row:,}"
            page_link("explain", label, run=loaded.run.id, row=str(row))


MOST_RUNS = 14
FEW_RUNS = 6  # whose matrix takes half of the page


def _show_agreement(pair: Pair) -> None:
    """Draw the agreement of the pair and of the newest runs beside it."""
    ids = {loaded.run.id for loaded in pair}
    found = comparable_runs(pair[0].run, MOST_RUNS)
    others = load_readable([run for run in found if run.id not in ids])
    runs = [*pair, *others][:MOST_RUNS]
    task, titles = pair[0].run.problem.task, list(names_of(runs))
    weight = pair[0].split.rows("test").weight
    predicted = [predictions(loaded, "test") for loaded in runs]
    matrix = comparison.agreement(task, predicted, weight)
    of_numbers = task == "regression"
    if np.isnan(matrix[np.triu_indices(len(runs), 1)]).all():
        st.markdown("Predictions of these runs do not vary: they cannot correlate.")
        return
    st.markdown(plain(comparison.agreement_words(matrix, titles, task)))
    with st.columns([1, 1])[0] if len(runs) <= FEW_RUNS else st.container():
        show_figure(
            agreement_figure(matrix, titles, as_percent=not of_numbers, mode=mode()),
            key="agreement",
            alt="Agreement of every two runs on the test rows.",
        )
    what = "Percentage of rows that every two runs predict alike"
    if of_numbers:
        what = "Correlation of the predictions of every two runs"
    st.caption(
        f"{what}; {split_words(pair[0], 'test')}. All finished runs with these test "
        f"rows, of equal ones the newest, {MOST_RUNS} at most."
    )


MOST_POINTS = 1500


def show_residuals(pair: Pair, names: Names) -> None:
    """Draw what each run misses, by what it predicts."""
    _, target, weight = pair[0].split.rows("test")
    truth = target.to_numpy(float)
    predicted = [predictions(loaded, "test") for loaded in pair]
    residuals = [truth - own for own in predicted]
    words = []
    for name, own in zip(names, residuals):
        square, mean = (np.average(v, weights=weight) for v in (own**2, own))
        typical = error_with_unit(pair[0], float(np.sqrt(square)))
        words.append(
            f"{name} misses by {typical} (mean {error_with_unit(pair[0], mean)})"
        )
    st.markdown(plain(f"Root mean square of the residuals: {'; '.join(words)}."))
    some = some_rows(len(truth), MOST_POINTS)
    ends = _ends(predicted), _ends(residuals)
    shown = zip(
        beside(pair, names, st.columns(2)), pair_colors(pair), predicted, residuals
    )
    for (loaded, name, _), color, x, y in shown:
        unit, look = loaded.model.target_unit, {"color": color, "mode": mode()}
        look["times"] = predicts_times(loaded.model)
        show_figure(
            residuals_figure(x[some], y[some], ends, unit, **look),
            key=f"residuals-{loaded.run.id}",
            alt=f"Residuals of {name} against its predictions.",
        )
    sample = f"a sample of {len(some):,} of " if len(some) < len(truth) else ""
    st.caption(
        f"{capital(sample + split_words(pair[0], 'test'))}, both on the same axes. A "
        "tree that fits well leaves no pattern around the line at zero."
    )


def _ends(values: list[np.ndarray]) -> tuple[float, float]:
    """Return the ends of an axis that holds all values."""
    low, high = min(own.min() for own in values), max(own.max() for own in values)
    room = 0.04 * (high - low) or 0.5
    return float(low - room), float(high + room)
