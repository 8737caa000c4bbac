"""What the trees have in common, where they lie apart, which rows they dispute."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.rashomon.trees import map_of, near_value, tree_predictions
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import fitted_words, plain, split_words
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.rashomon import column_use, otherwise
from treelab.figures.rashomon import likeness_map
from treelab.figures.style import escape_html
from treelab.runs.jobs.edited import run_constraints
from treelab.trees.rashomon import RashomonSet
from treelab.trees.words import counted, percent, shortest, significant

MOST_MAPPED = 200
MOST_NAMED = 12


def show_finding(
    loaded: LoadedRun, trees: RashomonSet, near: np.ndarray, tolerance: float
) -> None:
    """Say how many trees there are, and what their score is."""
    metric = TITLES[headline(loaded.run.problem.task)]
    own = trees.score[trees.chosen]
    n_others = len(near) - 1
    n_alike = trees.scores["alike"].iloc[near].nunique()
    if n_others:
        verb = "scores" if n_others == 1 else "score"
        st.header(
            f"{counted(n_others, 'other tree')} {verb} at most {shortest(tolerance)} "
            f"below this run's tree ({significant(own)} {metric})",
            anchor=False,
        )
    else:
        st.header(
            f"No other tree scores within {shortest(tolerance)} of this run's",
            anchor=False,
        )
    above = int((trees.score[near] > own).sum())
    better = "none scores above it"
    if above:
        better = f"{above} of them {'score' if above > 1 else 'scores'} above it"
    words = f"They make {counted(n_alike, 'different prediction')} of the training rows"
    looked = f"{counted(trees.n_candidates, 'different tree')} were looked at."
    if trees.complete is not None:
        st.markdown(f"{words}. {_completeness(loaded, trees, tolerance)}")
        st.caption(
            f"Score: {metric} on {fitted_words(loaded)}, to which the leaves were "
            "fitted; trees of a small depth are much alike in size, so it compares "
            "them, but is too high for new rows. Its standard error (±) is measured "
            "with leaf values refitted in folds. Test rows are not looked at."
        )
        return
    st.markdown(f"{words}; {better}. {looked}" if n_others else looked)
    st.caption(
        f"Score: the cross-validated {metric} of the run's tree of the same size, plus "
        "the difference from it, measured with leaf values refitted in 10 folds, three "
        f"times, on {fitted_words(loaded)}. These rows shaped the splits, so a "
        "difference of less than its standard error (±) means little. Test rows are "
        "not looked at."
    )


def _completeness(loaded: LoadedRun, trees: RashomonSet, tolerance: float) -> str:
    """Say of which trees none is left out."""
    whole = trees.complete
    assert whole is not None
    limits = " within the run's constraints"
    limits = limits if run_constraints(loaded.run).limits_splits else ""
    thresholds = counted(whole.n_cutpoints, "threshold")
    over = (
        f"tree of depth {whole.depth} over the {thresholds} "
        f"(at most {whole.n_thresholds} of a column){limits}"
    )
    looked = f"{significant(whole.n_trees)} trees were looked at"
    if whole.n_trees < 1e6:
        looked = f"{whole.n_trees:,.0f} trees were looked at"
    best = float(trees.score.max())
    if float(trees.score[trees.chosen]) - tolerance > whole.above:
        return f"**Complete:** no other {over} scores as well; {looked}."
    return (
        f"**Complete within {significant(best - whole.above)} of the best:** no other "
        f"{over} scores more than {significant(whole.above)}; below, there are too "
        f"many to list. {looked[0].upper()}{looked[1:]}."
    )


def show_columns(loaded: LoadedRun, trees: RashomonSet, places: np.ndarray) -> None:
    """List the columns that all of the trees test, and those that none does."""
    use = column_use([trees.trees[i] for i in places], loaded.run.problem.columns)
    in_all = use.index[use == len(places)].tolist()
    in_none = use.index[use == 0].tolist()
    st.markdown(f"**In all of them:** {_named(in_all)}.")
    st.markdown(f"**In none:** {_named(in_none)}.")
    some = use[(use > 0) & (use < len(places))]
    if len(some):
        st.dataframe(
            pd.DataFrame({"column": some.index, "trees": some / len(places)}),
            hide_index=True,
            height=min(38 + 35 * len(some), 220),
            key="rashomon-columns",
            column_config={
                "column": "in some",
                "trees": st.column_config.ProgressColumn(
                    "of the trees", format="percent", min_value=0, max_value=1
                ),
            },
        )


def show_map(loaded: LoadedRun, trees: RashomonSet, places: np.ndarray) -> int | None:
    """Draw how alike the trees predict; return the tree that was clicked."""
    mapped = places[:MOST_MAPPED]
    if trees.chosen in places and trees.chosen not in mapped:
        mapped = np.append(mapped[:-1], trees.chosen)
    if len(mapped) < 3:
        st.caption("A map needs three trees.")
        return None
    at = map_of(loaded, tuple(mapped.tolist()))
    own = np.flatnonzero(mapped == trees.chosen)
    hover = []
    for i in mapped.tolist():
        tree = trees.trees[i]
        columns = escape_html(", ".join(tree.columns[:6]))
        name = "This run's tree" if i == trees.chosen else f"Tree {i + 1}"
        leaves = counted(tree.n_leaves, "leaf", "leaves")
        hover.append(f"{name}: {significant(trees.score[i])}, {leaves}<br>{columns}")
    picked = show_figure(
        likeness_map(
            at,
            trees.score[mapped],
            mapped.tolist(),
            hover,
            own=int(own[0]) if len(own) else None,
            score_title=TITLES[headline(loaded.run.problem.task)],
            mode=mode(),
        ),
        key="rashomon-map",
        alt=f"Map of {len(mapped)} trees by how alike they predict.",
        on_select="rerun",
    )
    how = "share of rows that they predict alike"
    if loaded.model.classes is None:
        how = "mean squared difference of their predictions"
    sample = f" The {MOST_MAPPED} best are drawn." if len(places) > MOST_MAPPED else ""
    st.caption(
        f"Trees that lie close together predict alike ({how}, {fitted_words(loaded)}; "
        f"classical scaling to two axes, which have no unit). Click a point to see "
        f"its tree.{sample}"
    )
    points = picked.selection.points if picked else []
    return int(points[0]["customdata"][0]) if points else None


def show_disputed(loaded: LoadedRun, trees: RashomonSet, near: np.ndarray) -> None:
    """Say how many test rows some tree predicts otherwise; link to the worst."""
    st.subheader("Rows on which they disagree", anchor=False)
    predicted, _ = tree_predictions(loaded, "test")
    own = int(np.flatnonzero(near == trees.chosen)[0])
    share = otherwise(predicted[near], own, near_value(loaded))
    how = "another class"
    if loaded.model.classes is None:
        how = "a value more than 0.1 standard deviations away"
    st.markdown(
        f"At least one of these {counted(len(near), 'tree')} predicts {how} than this "
        f"run's for **{percent(float((share > 0).mean()))}** of the rows "
        f"({split_words(loaded, 'test')}), and half of them or more for "
        f"**{percent(float((share >= 0.5).mean()))}**."
    )
    if share.max() == 0:
        return
    row = int(share.argmax())
    st.markdown(
        f"The most disputed is test row {row + 1:,}: {percent(share[row])} of the "
        "trees predict otherwise."
    )
    st.page_link(
        "pages/explain.py",
        label="Explain the most disputed row",
        icon=":material/help:",
        query_params={"run": loaded.run.id, "row": str(row + 1)},
    )


def _named(columns: list[str]) -> str:
    """Name columns, the first dozen."""
    if not columns:
        return "no column"
    names = plain(", ".join(columns[:MOST_NAMED]))
    more = len(columns) - MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names
