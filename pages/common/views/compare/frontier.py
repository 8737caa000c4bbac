"""Score against number of leaves, for all runs with the same test rows."""

import math
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.common.cached.frontier import (
    RunOnFrontier,
    band_of,
    differences_at,
    few_trees,
    on_frontier,
    runs_on_frontier,
    sketches,
    without_sizes,
)
from pages.common.cached.loaded_run import load_readable
from pages.common.cached.pruning_steps import pruning_steps
from pages.common.cached.store import find_run, finished_runs, store
from pages.common.page import show_figure
from pages.common.state.chosen_run import choose_run
from pages.common.theme import mode
from pages.common.views.compare.comparison import Names, Pair
from pages.common.views.compare.repeats import show_repeats
from pages.common.views.results import names_and_colors, ranked_runs
from pages.common.views.tree_viewer import show_tree
from pages.common.widgets.chosen_step import save_step
from pages.common.words import plain
from treelab.evaluation.frontier import HELD_OUT, TEST, compare_lines
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.figures.frontier import DrawnLine, frontier_figure
from treelab.runs.store.run import Run
from treelab.trees.text.numerals import counted, significant

MOST_RUNS = 8
CLICKED = "frontier-clicked"  # what was clicked last, the run that came of it
QUICK_WORK = 1_000_000  # trees by rows of ensembles that are looked at at once
FIRST_LEAVES = 8  # at which two runs are compared until the visitor says otherwise
COLUMNS = {HELD_OUT: "Held-out rows", TEST: "Test rows"}


def show_frontier(pair: Pair, names: Names) -> None:
    """Draw all runs by size, and let the visitor repeat them on more data splits."""
    runs = runs_on_frontier(pair, MOST_RUNS)
    if all(own.line is None for own in runs):
        return
    _show_chart(pair, names, runs)
    show_repeats([own.loaded.run for own in runs], key="repeats")


@st.fragment
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
        _show_finding((runs[0], runs[1]), names, column, leaves)
    metric = TITLES[headline(pair[0].run.problem.task)]
    by_run = names_and_colors([own.loaded.run for own in runs])
    drawn = _drawn_lines(runs, by_run, column, few=few)
    # A click counts for these runs alone.
    key = "frontier-of-" + "-".join(own.loaded.run.id for own in runs)
    clicked = show_figure(
        frontier_figure(
            drawn,
            column,
            score_title=f"{metric}, {COLUMNS[column].lower()}",
            mode=mode(),
        ),
        key=key,
        alt=f"{metric} of each run's trees against their leaves.",
        on_select="rerun",
    )
    st.caption(
        f"Ring: the tree that a run retained. {_band_words(drawn)} "
        f"{'Star: each row by its heaviest trees alone. ' * few}"
        f"Test rows: {pair[0].n_rows('test'):,}. Point at a tree to see its first "
        "splits; click it, and all pages show it."
    )
    points = [p for p in clicked.selection.points if _names_a_tree(p)]
    if not points:
        st.session_state.pop(CLICKED, None)
        return
    number, place = map(int, points[0]["customdata"][:2])
    own = runs[number]
    _show_choice(own, place, (key, number, place))
    if place >= 0:
        _show_clicked(own, drawn[number].name, place)


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
    st.caption(
        "The best tree of each size, on rows held out of training. Ring: the tree "
        f"that a run retained. {_band_words(drawn)}"
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
        drawn.append(replace(line, sketches=sketches(own)))
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


def _names_a_tree(point) -> bool:
    """Whether a clicked point is a run's; those of a mean are not."""
    return isinstance(point.get("customdata"), list | tuple)


def _show_choice(own: RunOnFrontier, place: int, clicked: tuple) -> None:
    """Make a clicked tree the run that all pages show, once, and say what happened."""
    if st.session_state.get(CLICKED, (None,))[0] != clicked:
        known = {run.id for run in store().runs()}
        run_id = own.loaded.run.id
        if own.line is not None:
            steps, step = pruning_steps(own.loaded), int(own.line.table["step"][place])
            if step != steps.own:
                run_id = save_step(own.loaded, steps, step)
        choose_run(run_id)
        st.session_state[CLICKED] = clicked, run_id, run_id not in known
    _, run_id, is_new = st.session_state[CLICKED]
    run = find_run(run_id)
    if run is None:  # deleted since
        return
    name = f"**{plain(run.short_title)}**"
    pages = "Tree, Pruning, Routing and Explain"
    words = f"{pages} now show {name}."
    if is_new:
        words = f"{name} is saved as a run, and {pages} now show it."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(words, width="content")
        address = {"run": run_id}
        st.page_link("pages/tree.py", label="See the tree", query_params=address)


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
