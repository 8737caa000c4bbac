"""Score against number of leaves, for all runs with the same test rows."""

import math

import streamlit as st

from pages.common.cached.frontier import (
    RunOnFrontier,
    differences_at,
    on_frontier,
    runs_on_frontier,
)
from pages.common.cached.loaded_run import load_readable
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.compare.comparison import Names, Pair
from pages.common.views.results import names_and_colors, ranked_runs
from pages.common.views.tree_viewer import show_tree
from pages.common.words import plain
from treelab.evaluation.frontier import HELD_OUT, TEST, compare_lines
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.figures.frontier import DrawnLine, frontier_figure
from treelab.runs.store.run import Run
from treelab.trees.text.numerals import counted, significant

MOST_RUNS = 8
FIRST_LEAVES = 8  # at which two runs are compared until the visitor says otherwise
COLUMNS = {HELD_OUT: "Held-out rows", TEST: "Test rows"}


@st.fragment
def show_frontier(pair: Pair, names: Names) -> None:
    """Draw all runs, say what the pair's trees of one size reach, show one clicked."""
    runs = runs_on_frontier(pair, MOST_RUNS)
    if all(own.line is None for own in runs):
        return
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
    if leaves is not None:
        _show_finding((runs[0], runs[1]), names, column, leaves)
    metric = TITLES[headline(pair[0].run.problem.task)]
    by_run = names_and_colors([own.loaded.run for own in runs])
    drawn = [_drawn(own, *by_run[own.loaded.run.id], column) for own in runs]
    clicked = show_figure(
        frontier_figure(
            drawn,
            column,
            score_title=f"{metric}, {COLUMNS[column].lower()}",
            mode=mode(),
        ),
        # A click counts for these runs alone.
        key="frontier-of-" + "-".join(own.loaded.run.id for own in runs),
        alt=f"{metric} of each run's trees against their leaves.",
        on_select="rerun",
    )
    st.caption(
        "Ring: the tree that a run retained. Band: one standard error. "
        f"Test rows: {pair[0].n_rows('test'):,}. Click a point to see its tree."
    )
    points = [p for p in clicked.selection.points if "customdata" in p]
    if points:
        number, place = points[0]["customdata"][:2]
        _show_clicked(runs[int(number)], drawn[int(number)].name, int(place))


def show_small_frontier(runs: list[Run]) -> None:
    """Draw the finished runs that were tested on the same rows, small."""
    tested = [run for run in ranked_runs(runs) if run.has_model]
    found = [on_frontier(loaded) for loaded in load_readable(tested[:MOST_RUNS])]
    if sum(own.line is not None for own in found) < 2:
        return
    metric = TITLES[headline(tested[0].problem.task)]
    names = names_and_colors(runs)
    st.markdown("**Score against size**")
    show_figure(
        frontier_figure(
            [_drawn(own, *names[own.loaded.run.id], HELD_OUT) for own in found],
            HELD_OUT,
            score_title=f"{metric}, {COLUMNS[HELD_OUT].lower()}",
            height=300,
            mode=mode(),
        ),
        key="small-frontier",
        alt=f"{metric} of each run's trees against their leaves.",
    )
    st.caption(
        "The best tree of each size, on rows held out of training. Ring: the tree "
        "that a run retained. Band: one standard error."
    )


def _drawn(own: RunOnFrontier, name: str, color: str, column: str) -> DrawnLine:
    """Return what is drawn of a run."""
    if own.line is None:
        trees = counted(own.loaded.model.n_estimators, "tree")
        return DrawnLine(f"{name}, {trees}", color, score=own.score(column))
    return DrawnLine(name, color, own.line)


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


def _show_finding(
    pair: tuple[RunOnFrontier, RunOnFrontier], names: Names, column: str, leaves: int
) -> None:
    """Say what two runs reach at one size, and whether that is more than chance."""
    if words := _finding_words(pair, names, column, leaves):
        st.markdown(plain(words))
    places = [own.line.place_for(leaves) for own in pair if own.line is not None]
    if len(places) < 2 or places[0] is None or places[1] is None:
        return
    found = differences_at(*pair, (places[0], places[1]))
    best = found[headline(pair[0].loaded.run.problem.task)]
    st.markdown(f"**{plain(_advice(best, names, leaves))}** {_test_words(best, names)}")


def _advice(best: ScoreDifference, names: Names, leaves: int) -> str:
    """Say which learner to prefer at a size."""
    of_leaves = f"a tree of at most {counted(leaves, 'leaf', 'leaves')}"
    if best.winner is None:
        return f"For {of_leaves} neither is clearly better."
    return f"For {of_leaves} prefer {names[best.winner]}."


def _test_words(best: ScoreDifference, names: Names) -> str:
    """Write both scores on the test rows, and the interval of their difference."""
    if best.low == best.high == 0:
        return plain(
            f"On the same {best.n_rows:,} test rows both reach "
            f"{significant(best.first)} {best.title}, in every resample."
        )
    scores = (
        f"{names[0]} {significant(best.first)}, {names[1]} {significant(best.second)}"
    )
    return plain(
        f"On the same {best.n_rows:,} test rows {scores} {best.title}; "
        f"{best.level:.0%} interval of {names[1]} less {names[0]} "
        f"{significant(best.low)} to {significant(best.high)}."
    )


def _finding_words(
    pair: tuple[RunOnFrontier, RunOnFrontier], names: Names, column: str, leaves: int
) -> str:
    """Say what the trees of two runs reach at one size."""
    one, other = (own.line for own in pair)
    assert one is not None
    assert other is not None
    found = compare_lines(one, other, column, leaves)
    if found is None:
        return ""
    scores = [(names[0], found.first), (names[1], found.second)]
    if not found.first_is_better:
        scores.reverse()
    at = counted(leaves, "leaf", "leaves")
    words = ", ".join(f"{name} {significant(score)}" for name, score in scores)
    start = f"At {at}, {COLUMNS[column].lower()}: {words}."
    if math.isclose(found.first, found.second):
        return start
    worse = scores[1][0]
    if found.n_leaves_needed is None:
        return f"{start} {worse} reaches that at no size."
    needed = counted(found.n_leaves_needed, "leaf", "leaves")
    return f"{start} {worse} needs {needed} for the same."


def _show_clicked(own: RunOnFrontier, name: str, place: int) -> None:
    """Draw the tree of the point that was clicked."""
    assert own.line is not None
    row = own.line.table.loc[place]
    leaves = counted(int(row["leaves"]), "leaf", "leaves")
    known = [
        f"{significant(row[column])} on {COLUMNS[column].lower()}"
        for column in COLUMNS
        if not math.isnan(row[column])
    ]
    st.subheader(plain(f"{name}, {leaves}: {', '.join(known)}"), anchor=False)
    step = int(row["step"])
    show_tree(own.loaded, own.trees[step], "frontier", f"frontier {step}", height=420)
