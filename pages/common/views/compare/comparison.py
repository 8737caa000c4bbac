"""Two runs beside each other: their difference in score, their trees, their sizes."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.predictions import split_scores, top_estimators
from pages.common.cached.trees import shown_tree
from pages.common.html import chip
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.tree_viewer import note_empty_branch, show_tree
from pages.common.words import (
    duration,
    fitted_words,
    origin_words,
    plain,
    run_name,
    split_words,
)
from treelab.data.split import JOINED
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.figures.comparison import difference_figure
from treelab.figures.style import learner_color, shade
from treelab.figures.viewer.payload import row_path, value_scale
from treelab.learners.common.origin import STARTS
from treelab.trees.words import significant

ON_ONE_SCALE = ("macro_f1", "accuracy", "r2")  # scores that one figure can hold
Pair = tuple[LoadedRun, LoadedRun]
Names = tuple[str, str]


def pair_names(pair: Pair, taken: set[str]) -> Names:
    """Return the runs' names, distinct from each other and from other words."""
    first, second = (run_name(loaded.run) for loaded in pair)
    if first == second or {first, second} & taken:
        return f"{first} (first)", f"{second} (second)"
    return first, second


def pair_colors(pair: Pair) -> tuple[str, str]:
    """Return the colours of both runs; two of one learner get two shades."""
    first, second = (
        learner_color(each.run.learner, each.run.settings) for each in pair
    )
    return first, shade(second, int(first == second), mode())


def show_difference(
    pair: Pair, names: Names, differences: dict[str, ScoreDifference]
) -> None:
    """Show which run is better, its interval, and every score on one scale."""
    best = differences[headline(pair[0].run.problem.task)]
    st.header(plain(_headline(best, pair, names)), anchor=False)
    st.markdown(_interval_words(best, names))
    on_scale = [differences[name] for name in differences if name in ON_ONE_SCALE]
    columns = ("title", "estimate", "low", "high")
    table = pd.DataFrame({c: [getattr(d, c) for d in on_scale] for c in columns})
    show_figure(
        difference_figure(table, *names, colors=pair_colors(pair), mode=mode()),
        key="difference",
        alt=f"{_headline(best, pair, names)}.",
    )
    st.caption(
        f"Point: the difference on {split_words(pair[0], 'test')}. Bar: its 95% "
        "interval from 2,000 paired bootstrap resamples of these rows; hollow and grey "
        "where it includes zero."
    )


def _headline(difference: ScoreDifference, pair: Pair, names: Names) -> str:
    """Say which run is better, and which trees are the very ones they began as."""
    untrained = "".join(
        f"; {name} equals its start, {STARTS[origin.start]}"
        for loaded, name in zip(pair, names)
        if (origin := loaded.run.origin) is not None and origin.equals_start
    )
    return _finding(difference, names) + untrained


def _finding(difference: ScoreDifference, names: Names) -> str:
    """Say which run is better by the headline score."""
    first, second = names
    if difference.winner is None:
        return f"No clear difference between {second} and {first}"
    better, other = (second, first) if difference.winner else (first, second)
    return f"{better} gains {significant(abs(difference.estimate))} over {other}"


def _interval_words(difference: ScoreDifference, names: Names) -> str:
    """Write both scores, the interval of their difference, and the rows behind them."""
    low, high = difference.low, difference.high
    if difference.winner == 0:  # as the better one's gain
        low, high = -high, -low
    return (
        f"{difference.title}: {plain(names[0])} {significant(difference.first)}, "
        f"{plain(names[1])} {significant(difference.second)} on the same "
        f"{difference.n_rows:,} test rows; {difference.level:.0%} interval of the "
        f"difference {significant(low)} to {significant(high)}."
    )


def common_scale(runs: Sequence[LoadedRun]) -> dict | None:
    """Return one scale for the colours of all trees; None for classes."""
    return value_scale([shown_tree(loaded, _heaviest(loaded)) for loaded in runs])


def show_side(
    loaded: LoadedRun, name: str, key: str, place: int | None, scale: dict | None
) -> None:
    """Draw one run's tree, of an ensemble the heaviest, and a test row's path.

    Colours of predictions are those of ``scale``.
    """
    color = learner_color(loaded.run.learner, loaded.run.settings)
    st.html(chip(color, name), width="content")
    if words := origin_words(loaded.run):
        st.caption(plain(words))
    estimator = _heaviest(loaded)
    if estimator is not None:
        st.caption(_ensemble_words(loaded))
    tree = shown_tree(loaded, estimator)
    paths = []
    if place is not None:
        row = loaded.split.X_test.iloc[[place]]
        paths.append(row_path(tree, row, f"test row {place + 1:,}"))
    show_tree(loaded, tree, key, f"tree {estimator}", paths=paths, scale=scale)
    if place is not None:
        note_empty_branch(loaded, row, estimator)


def _heaviest(loaded: LoadedRun) -> int | None:
    """Return an ensemble's tree of highest weight; None for a single tree."""
    return int(top_estimators(loaded)[0][0]) if loaded.is_ensemble else None


def _ensemble_words(loaded: LoadedRun) -> str:
    """Say which of an ensemble's trees is drawn, and that all predict together."""
    index, weight = top_estimators(loaded)
    of_all = f"Tree {index[0]} of {loaded.model.n_estimators:,}"
    if are_equal(weight):
        return f"{of_all}; all have the same weight and predict together."
    return (
        f"{of_all}, the one of highest weight on the test rows; the ensemble predicts "
        "with all of them."
    )


def fitted_note(pair: Pair, names: Names) -> str:
    """Say to which rows the runs were fitted."""
    fitted = [loaded.fitted_split for loaded in pair]
    if fitted[0] == fitted[1]:
        return f"Both were fitted to {fitted_words(pair[0])}."
    more = fitted.index(JOINED)
    return (
        f"{plain(names[more])} was fitted to the training and the validation rows, "
        f"{plain(names[1 - more])} to the training rows alone."
    )


def score_table(
    pair: Pair, names: Names, differences: dict[str, ScoreDifference]
) -> pd.DataFrame:
    """Return the test scores and the sizes of both runs, as text."""
    rows = {}
    found = [split_scores(loaded, "test") for loaded in pair]
    for metric, title in TITLES.items():
        if metric not in found[0]:
            continue
        each = differences.get(metric)
        rows[f"{title}, test"] = (
            *(significant(scores[metric]) for scores in found),
            significant(found[1][metric] - found[0][metric]),
            f"{significant(each.low)} to {significant(each.high)}" if each else "",
        )
    summaries = [loaded.run.summary for loaded in pair]
    for name, key in (
        ("leaves", "leaves"),
        ("splits", "splits"),
        ("depth", "depth"),
        ("trees", "estimators"),
    ):
        values = [summary.get(key) for summary in summaries]
        if any(value is not None for value in values):
            rows[name] = (*(f"{v:,}" if v is not None else "1" for v in values), "", "")
    n_fitted = [loaded.n_rows("fitted") for loaded in pair]
    rows["rows fitted to"] = (*(f"{n:,}" for n in n_fitted), "", "")
    seconds = [duration(summary.get("seconds")) for summary in summaries]
    rows["training time"] = (*seconds, "", "")
    columns = [*names, f"{names[1]} minus {names[0]}", "95% interval"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)
