"""Two runs beside each other: which is better, its trees, what differs in them."""

from collections.abc import Callable, Sequence
from itertools import compress

import pandas as pd
import streamlit as st

from pages.cached.comparison import marked_splits
from pages.cached.predictions import score_differences, split_scores, top_estimators
from pages.cached.runs import LoadedRun, run_tree
from pages.cached.tree_pictures import tree_picture
from pages.compare.costs import cost_words
from pages.compare.pair import SIDES, Names, Pair, names_of, pair_colors
from pages.compare.repeats import n_data_splits
from pages.widgets.page import cells, mode, show_figure
from pages.widgets.tree_viewer import note_empty_branch, tree_viewer
from pages.widgets.words import fitted_words, plain
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES, score_text
from treelab.figures.comparison import difference_figure
from treelab.figures.html import chip
from treelab.figures.style import learner_color
from treelab.figures.viewer.payload import row_path, value_scale
from treelab.learners.registry import IMPORTED
from treelab.runs.jobs.import_model import NOTE
from treelab.runs.run_words import duration, origin_words, score
from treelab.runs.store.run import shared_headline
from treelab.trees.words import joined, signed, significant

SIZES = {
    "leaves": "leaves",
    "splits": "splits",
    "depth": "depth",
    "estimators": "trees",
}


def show_verdict(pair: Pair, names: Names, others: Sequence[LoadedRun]) -> None:
    """Say which run is better, by how much, on which rows; list all scores."""
    differences = score_differences(*pair)
    best = differences[shared_headline([own.run for own in pair])]
    look = {"colors": pair_colors(pair), "mode": mode()}
    with st.container(border=True, key="verdict"):
        words, chart = st.columns([1, 1], gap="large", vertical_alignment="center")
        with words:
            st.header(plain(best.finding(names)), anchor=False)
            st.markdown(plain(best.interval_words(names)))
            if cost := cost_words(pair, names):
                st.markdown(plain(cost))
            if outputs := _outputs([*pair, *others]):
                st.caption(plain(f"Scores on this page are of {outputs} alone."))
            if set(pair[0].run.problem.columns) != set(pair[1].run.problem.columns):
                st.caption("The two runs use different features.")
            if pair[0].model.loss != pair[1].model.loss:
                st.caption("The two runs were trained for different losses.")
            is_imported = [own.run.learner == IMPORTED for own in pair]
            if any(is_imported):
                st.caption(plain(f"{joined([*compress(names, is_imported)])}: {NOTE}"))
            if max(map(n_data_splits, pair)) == 1:
                st.caption(
                    "Based on one data split; repeat it to see how stable this is "
                    "(tab Repeats)."
                )
        with chart:
            show_figure(
                difference_figure(differences, *names, **look),
                key="difference",
                alt=f"{best.finding(names)}.",
            )
        st.dataframe(_score_table([*pair, *others]), key="scores")


def _outputs(runs: list[LoadedRun]) -> str:
    """Name the output that is looked at, of each run where they are several."""
    found = {name: own.output for name, own in zip(names_of(runs), runs) if own.output}
    if len({*found.values()}) < 2:
        return "".join({*found.values()})
    return joined([f"{output} of {name}" for name, output in found.items()])


def _score_table(runs: list[LoadedRun]) -> pd.DataFrame:
    """Return the test scores and the sizes of runs, a row each, as text."""
    best, names = shared_headline([loaded.run for loaded in runs]), names_of(runs)
    rows = []
    for loaded in runs:
        found, summary = split_scores(loaded, "test"), loaded.run.summary
        against = ""
        if loaded is not runs[0]:
            own = score_differences(runs[0], loaded)[best]
            against = f"{signed(own.low, 2)} to {signed(own.high, 2)}"
            against = "same predictions" if own.same else against
        row = {TITLES[best]: "", f"− {names[0]} (95% CI)": against}
        row |= {
            title: score_text(key, found[key], loaded.model)
            for key, title in TITLES.items()
            if key in found
        }
        for key, name in SIZES.items():
            row[name] = f"{summary[key]:,}" if key in summary else ""
        is_known = loaded.run.learner != IMPORTED
        row["fitted to"] = fitted_words(loaded) if is_known else "not known"
        row["training time"] = duration(summary.get("seconds") if is_known else None)
        rows.append(row)
    table = pd.DataFrame(rows, index=list(names)).fillna("")  # what only some have
    return table.loc[:, (table != "").any()]


TREE_HEIGHT, LOW_HEIGHT = 320, 230  # pixels, and where the verdict's table is long
ACROSS = 3  # trees beside each other


def show_trees(
    pair: Pair, names: Names, others: Sequence[LoadedRun], place: int | None
) -> dict[str, Callable]:
    """Draw the trees and a test row's path; return a tab of others without room."""
    runs, all_names = [*pair, *others], [*names, *names_of(others)]
    estimators = [_heaviest(loaded) for loaded in runs]
    metric = shared_headline([loaded.run for loaded in runs])
    trees = [*map(run_tree, runs, estimators)]
    marked = marked_splits(pair, (estimators[0], estimators[1]))
    n_first = 2 if len(runs) > ACROSS else len(runs)
    height = TREE_HEIGHT if n_first == len(runs) else LOW_HEIGHT
    given = {"metric": metric, "place": place, "scale": value_scale(trees)}
    given["height"] = height
    marks = (*marked, *([] for _ in others))
    sides = [*zip(runs, all_names, SIDES, estimators, marks)]

    def draw(sides: Sequence, across: int) -> None:
        for column, (*side, own) in zip(cells(len(sides), across, gap="large"), sides):
            with column:
                _show_side(*side, marked=own, **given)

    draw(sides[:n_first], n_first)
    found = " and ".join(
        f"{len(own):,} of {tree.n_splits:,} in {plain(name)}"
        for own, tree, name in zip(marked, trees, names)
    )
    rows = " and ".join(dict.fromkeys(map(fitted_words, pair)))
    st.caption(
        f"Dashed outline: only this tree has the split ({found}; 98% of test rows sent "
        f"alike count as the same). Counts: {rows}."
    )
    rest = sides[n_first:]
    return {"Other trees": lambda *_: draw(rest, ACROSS)} if rest else {}


def _show_side(
    loaded: LoadedRun,
    name: str,
    key: str,
    estimator: int | None,
    metric: str,
    place: int | None,
    **options,
) -> None:
    """Draw one run's tree, of an ensemble the one of highest weight, below its score.

    The score is the one by which all of the runs compare.
    """
    color = learner_color(loaded.run.learner, loaded.run.settings)
    label, value = name, score(loaded.run, metric=metric)
    if loaded.variant and loaded.has_labels:
        value = split_scores(loaded, "test")[metric]
    if value is not None or not loaded.variant:
        label += f" · {loaded.run.state if value is None else significant(value)}"
    words = ["" if loaded.variant else origin_words(loaded.run)]
    if estimator is not None:
        of_all = f"Tree {estimator} of {loaded.model.n_estimators:,}"
        how = f"{of_all}, the one of highest weight; the ensemble predicts with all."
        if are_equal(top_estimators(loaded)[1]):
            how = f"{of_all}; all have the same weight and predict together."
        words.append(how)
    st.html(chip(color, label))
    tree = run_tree(loaded, estimator)
    paths, row = [], None
    if place is not None:
        row = loaded.split.X_test.iloc[[place]]
        paths.append(row_path(tree, row, f"test row {place + 1:,}"))
    picture = tree_picture(loaded, tree, f"tree {estimator}").payload
    name = f"tree-view-{key}-{loaded.run.id}"
    options["controls"] = False  # a click unfolds; all else is on the page Tree
    tree_viewer(picture, name, paths=paths, **options)
    st.caption(plain(" ".join(filter(None, words))))
    if row is not None:
        note_empty_branch(loaded, row, estimator)


def _heaviest(loaded: LoadedRun) -> int | None:
    """Return an ensemble's tree of highest weight; None for a single tree."""
    return int(top_estimators(loaded)[0][0]) if loaded.is_ensemble else None
