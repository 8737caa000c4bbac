"""Two runs side by side: the verdict, where they agree, who is right."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.comparison import comparable_runs
from pages.cached.predictions import (
    predictions,
    score_differences,
    split_scores,
    top_estimators,
)
from pages.cached.runs import LoadedRun, load_readable, run_tree
from pages.compare.pair import Names, Pair, names_of, pair_colors
from pages.widgets.html import chip
from pages.widgets.page import mode, show_figure
from pages.widgets.tree_viewer import note_empty_branch, show_tree
from pages.widgets.words import (
    duration,
    fitted_words,
    origin_words,
    plain,
    split_words,
    with_unit,
)
from treelab.data.split import JOINED
from treelab.evaluation.comparison import (
    Disagreement,
    agreement,
    disagreement,
    most_and_least_alike,
)
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.figures.comparison import agreement_figure, difference_figure
from treelab.figures.style import learner_color
from treelab.figures.viewer.payload import row_path, value_scale
from treelab.learners.common.origin import STARTS
from treelab.trees.words import counted, percent, significant

# Two runs beside each other: their difference in score, their trees, their sizes.


ON_ONE_SCALE = ("macro_f1", "accuracy", "r2")  # scores that one figure can hold


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
    return value_scale([run_tree(loaded, _heaviest(loaded)) for loaded in runs])


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
    tree = run_tree(loaded, estimator)
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


# How alike all runs with the same test rows predict.


MOST_RUNS = 14
FEW_RUNS = 6  # whose matrix takes half of the page


def show_agreement(pair: Pair, names: Names) -> None:
    """Draw the agreement of the pair and of the newest runs beside it."""
    ids = {loaded.run.id for loaded in pair}
    found = comparable_runs(pair[0].run, MOST_RUNS)
    others = load_readable([run for run in found if run.id not in ids])
    runs = [*pair, *others][:MOST_RUNS]
    task = pair[0].run.problem.task
    titles = list(names_of(runs))
    matrix = agreement(task, [predictions(loaded, "test") for loaded in runs])
    of_numbers = task == "regression"
    if np.isnan(matrix[np.triu_indices(len(runs), 1)]).all():
        st.markdown("Predictions of these runs do not vary: they cannot correlate.")
        return
    st.markdown(plain(_words(matrix, titles, of_numbers)))
    few = len(runs) <= FEW_RUNS
    with st.columns([1, 1])[0] if few else st.container():
        show_figure(
            agreement_figure(matrix, titles, as_percent=not of_numbers, mode=mode()),
            key="agreement",
            alt="Agreement of every two runs on the test rows.",
        )
    what = (
        "Correlation of the predictions of every two runs"
        if of_numbers
        else "Percentage of rows that every two runs predict alike"
    )
    st.caption(
        f"{what}; {split_words(pair[0], 'test')}. All finished runs with these test "
        f"rows, of equal ones the newest, {MOST_RUNS} at most."
    )


def _words(matrix: np.ndarray, titles: list[str], of_numbers: bool) -> str:
    """Say which two runs agree most, and which least."""

    def value(pair: tuple[int, int]) -> str:
        own = float(matrix[pair])
        return f"a correlation of {significant(own)}" if of_numbers else percent(own)

    most, least = most_and_least_alike(matrix)
    first, second = (titles[i] for i in most)
    if most == least:
        return f"{first} and {second} agree: {value(most)}."
    one, other = (titles[i] for i in least)
    return (
        f"{first} and {second} are most alike ({value(most)}), {one} and {other} "
        f"least ({value(least)})."
    )


# The test rows on which two runs differ.


MOST_ROWS = 200  # rows that are listed
ROW, TARGET, CORRECT, CLOSER = "test row", "target", "correct", "closer"
HEADS = {ROW, TARGET, CORRECT, CLOSER}  # names that no run may have in the table


def show_disagreement(pair: Pair, names: Names) -> None:
    """Show on how many test rows the runs differ, and list those rows."""
    X, y = pair[0].split.rows("test")
    task = pair[0].run.problem.task
    found = disagreement(task, y, *(predictions(loaded, "test") for loaded in pair))
    if found.rows.empty:
        st.markdown(f"Both predict the same on all {counted(len(y), 'test row')}.")
        return
    st.markdown(_summary(found, pair, names))
    first, second = (f"{name} (run)" if name in HEADS else name for name in names)
    names = first, second
    rows = found.rows[:MOST_ROWS]
    last = CORRECT if found.mean_distance is None else CLOSER
    facts = pd.DataFrame(
        {
            ROW: rows["position"] + 1,
            TARGET: rows["truth"],
            names[0]: rows["first"],
            names[1]: rows["second"],
            last: [(*names, "neither")[which] for which in rows["better"]],
        }
    )
    if found.mean_distance is None:
        facts = facts.astype(dict.fromkeys((TARGET, *names), str))
    _show_rows(facts, X.iloc[rows["position"]], pair, names)


def _summary(found: Disagreement, pair: Pair, names: Names) -> str:
    """Write how often the runs differ, and which of them is better there."""
    first, second = map(plain, names)
    n_rows = counted(found.n_rows, "test row")
    if found.mean_distance is None:
        return (
            f"They differ on {len(found.rows):,} of {n_rows}: {first} is correct on "
            f"{found.first_better:,}, {second} on {found.second_better:,}, neither on "
            f"{found.neither:,}."
        )
    distance = plain(with_unit(pair[0], found.mean_distance))
    return (
        f"{second} is closer to the target on {found.second_better:,} of {n_rows}, "
        f"{first} on {found.first_better:,}. The predictions differ by {distance} on "
        "average; the largest differences come first."
    )


def _show_rows(facts: pd.DataFrame, X: pd.DataFrame, pair: Pair, names: Names) -> None:
    """List rows with their predictions, then their columns; open the chosen one."""
    X = X.rename(columns={name: f"{name} " for name in X if name in facts})
    chosen = st.dataframe(
        pd.concat([facts, X.reset_index(drop=True)], axis=1),
        hide_index=True,
        key="rows-that-differ",
        placeholder="–",
        on_select="rerun",
        selection_mode="single-row",
        column_config={ROW: st.column_config.NumberColumn(pinned=True)},
    ).selection.rows
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
            st.page_link(
                "pages/explain.py",
                label=f"Explain {plain(name)} on row {row:,}",
                icon=":material/help:",
                query_params={"run": loaded.run.id, "row": str(row)},
            )


# One or two more runs beside the pair: their scores, sizes and trees.


SIZES = ("leaves", "splits", "depth")


def show_others(pair: Pair, names: Names, others: Sequence[LoadedRun]) -> None:
    """Show what each of them scores beside both of the pair, as a table."""
    metric = headline(pair[0].run.problem.task)
    rows = {}
    for loaded, name in zip(others, names_of(others)):
        found = [score_differences(own, loaded)[metric] for own in pair]
        summary = loaded.run.summary
        rows[name] = (
            significant(found[0].second),
            *(
                f"{significant(each.estimate)} "
                f"({significant(each.low)} to {significant(each.high)})"
                for each in found
            ),
            *(f"{summary[key]:,}" if key in summary else "" for key in SIZES),
        )
    columns = [
        f"{TITLES[metric]}, test",
        *(f"minus {plain(name)} (95% interval)" for name in names),
        *SIZES,
    ]
    st.table(pd.DataFrame.from_dict(rows, orient="index", columns=columns))


def show_other_trees(
    others: Sequence[LoadedRun], names: Names, place: int | None, scale: dict | None
) -> None:
    """Draw their trees beside each other, and a test row's path."""
    if not others:
        return
    for column, loaded, name, key in zip(
        st.columns(2, gap="large"),
        others,
        names_of(others),
        ("third", "fourth"),
    ):
        with column:
            show_side(loaded, name, key, place, scale)
