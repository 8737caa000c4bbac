"""Score against number of leaves, for all runs with the same test rows."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from pages.common.cached.frontier import (
    RunOnFrontier,
    band_of,
    few_trees,
    on_frontier,
    runs_on_frontier,
    without_sizes,
)
from pages.common.cached.loaded_run import load_readable
from pages.common.cached.store import finished_runs
from pages.common.page import show_figure
from pages.common.store_trouble import guarded
from pages.common.theme import mode
from pages.common.views.compare.comparison import Names, Pair
from pages.common.views.compare.repeats import show_repeats
from pages.common.views.frontier.finding import COLUMNS, show_finding
from pages.common.views.frontier.hover import hover_trees
from pages.common.views.frontier.point import show_point, take_click
from pages.common.views.results import names_and_colors, ranked_runs
from treelab.evaluation.frontier import HELD_OUT
from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.frontier import DrawnLine, frontier_figure
from treelab.runs.store.run import Run
from treelab.trees.words import counted

MOST_RUNS = 8
QUICK_WORK = 1_000_000  # trees by rows of ensembles that are looked at at once
FIRST_LEAVES = 8  # at which two runs are compared until the visitor says otherwise


def show_frontier(pair: Pair, names: Names) -> None:
    """Draw all runs by size, and let the visitor repeat them on more data splits."""
    runs = runs_on_frontier(pair, MOST_RUNS)
    if all(own.line is None for own in runs):
        return
    _show_chart(pair, names, runs)
    show_repeats([own.loaded.run for own in runs], key="repeats")


@st.fragment
@guarded
def _show_chart(pair: Pair, names: Names, runs: list[RunOnFrontier]) -> None:
    """Draw all runs, say what the pair's trees of one size reach, show one clicked."""
    st.header("Score against size", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = st.segmented_control(
            "Scores on",
            list(COLUMNS),
            default=HELD_OUT,
            required=True,
            format_func=COLUMNS.__getitem__,
            key=f"frontier-{pair[0].run.id}-{pair[1].run.id}",
            help="Held-out rows chose the size: those of cross-validation, or the "
            "validation rows. Test rows chose nothing.",
        )
        leaves = _pick_leaves((runs[0], runs[1]))
        few = _pick_few(runs)
    if leaves is not None:
        show_finding((runs[0], runs[1]), names, column, leaves)
    metric = TITLES[headline(pair[0].run.problem.task)]
    by_run = names_and_colors([own.loaded.run for own in runs])
    drawn = _drawn_lines(runs, by_run, column, few=few)
    # A click counts for these runs alone.
    key = "frontier-of-" + "-".join(own.loaded.run.id for own in runs)
    show_figure(
        frontier_figure(
            drawn,
            column,
            score_title=f"{metric}, {COLUMNS[column].lower()}",
            mode=mode(),
        ),
        key=key,
        alt=f"{metric} of each run's trees against their leaves.",
        on_select=partial(take_click, key, runs),
    )
    hover_trees(runs, f"still-{key}")
    st.caption(
        f"Ring: the tree that a run retained. {_band_words(drawn)} "
        f"{'Star: each row by its heaviest trees alone. ' * few}"
        f"Test rows: {pair[0].n_rows('test'):,}. Point at a tree to see it; click it, "
        "and all pages show it."
    )
    show_point(key, runs, [own.name for own in drawn])


def show_small_frontier(runs: list[Run]) -> None:
    """Draw the finished runs that were tested on the same rows, small."""
    tested = without_sizes([run for run in ranked_runs(runs) if run.has_model])
    found = [on_frontier(loaded) for loaded in load_readable(tested[:MOST_RUNS])]
    if sum(own.line is not None for own in found) < 2:
        return
    metric = TITLES[headline(tested[0].problem.task)]
    names = names_and_colors(runs)
    drawn = _drawn_lines(found, names, HELD_OUT)
    st.markdown("**Score against size**")
    show_figure(
        frontier_figure(
            drawn,
            HELD_OUT,
            score_title=f"{metric}, {COLUMNS[HELD_OUT].lower()}",
            height=300,
            mode=mode(),
        ),
        key="small-frontier",
        alt=f"{metric} of each run's trees against their leaves.",
    )
    hover_trees(found, "still-small-frontier")
    st.caption(
        "The best tree of each size, on rows held out of training. Ring: the tree "
        f"that a run retained. {_band_words(drawn)} Point at a tree to see it."
    )


def _drawn_lines(
    runs: Sequence[RunOnFrontier],
    names: dict[str, tuple[str, str]],
    column: str,
    *,
    few: bool = False,
) -> list[DrawnLine]:
    """Return what is drawn of each run."""
    known, drawn = finished_runs(), []
    for own in runs:
        name, color = names[own.loaded.run.id]
        band, n_splits = band_of(own.loaded.run, column, known)
        line = DrawnLine(name, color, own.line, band=band, n_splits=n_splits)
        if own.line is None:
            trees = counted(own.loaded.model.n_estimators, "tree")
            line = replace(
                line,
                name=f"{name}, {trees}",
                score=own.score(column),
                few_trees=few_trees(own, column) if few else None,
            )
        drawn.append(line)
    return drawn


def _band_words(drawn: Sequence[DrawnLine]) -> str:
    """Say what the bands around the lines are."""
    n_splits = sorted({own.n_splits for own in drawn if own.band is not None})
    if not n_splits:
        return "Band: one standard error."
    splits = " to ".join(map(str, dict.fromkeys((n_splits[0], n_splits[-1]))))
    words = f"Dashed, with band: mean of {splits} data splits ± its standard error"
    others = any(own.band is None and own.line is not None for own in drawn)
    return f"{words}; other bands: one standard error." if others else f"{words}."


def _pick_leaves(pair: tuple[RunOnFrontier, RunOnFrontier]) -> int | None:
    """Let the visitor choose the size at which two runs are compared."""
    lines = [own.line for own in pair]
    if lines[0] is None or lines[1] is None:
        return None
    leaves = [line.table["leaves"] for line in lines if line is not None]
    low = max(int(own.iloc[0]) for own in leaves)
    high = max(low, *(int(own.iloc[-1]) for own in leaves))
    chosen = st.number_input(
        f"Leaves at most, {low} to {high}",
        low,
        high,
        min(max(low, FIRST_LEAVES), high),
        key="frontier-leaves-" + "-".join(own.loaded.run.id for own in pair),
        width=220,
        help="The two runs above are compared by their trees of this size.",
    )
    return int(chosen)


def _pick_few(runs: Sequence[RunOnFrontier]) -> bool:
    """Let the visitor mark what few trees of an ensemble reach, where there is one."""
    ensembles = [own.loaded for own in runs if own.line is None]
    if not ensembles:
        return False
    work = sum(
        own.model.n_estimators * (own.n_rows("valid") + own.n_rows("test"))
        for own in ensembles
    )
    return st.toggle(
        "Few trees of ensembles",
        work <= QUICK_WORK,
        key="frontier-few",
        help="What an ensemble predicts if only the 1, 2, 3, 5 or 10 trees decide that "
        "have the highest weight for a row; on large tables it takes a while.",
    )
