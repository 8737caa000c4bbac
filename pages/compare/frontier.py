"""Score against size: the chart, what it shows, a point of it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from pages.cached.comparison import (
    RunOnFrontier,
    band_of,
    differences_at,
    few_trees,
    on_frontier,
    runs_on_frontier,
    small_pictures,
    without_sizes,
)
from pages.cached.runs import load_readable
from pages.cached.store import find_run, finished_runs, store
from pages.cached.tree_pictures import pruning_steps, sketch
from pages.compare.comparison import Names, Pair
from pages.compare.repeats import show_repeats
from pages.state.run import choose_run
from pages.tree.size import save_step
from pages.widgets.page import ASSETS, mode, show_figure
from pages.widgets.run_cards import names_and_colors, ranked_runs
from pages.widgets.store_trouble import explained, guarded
from pages.widgets.tree_viewer import tree_viewer
from pages.widgets.words import plain
from treelab.evaluation.frontier import HELD_OUT, TEST, compare_lines
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.figures.frontier import DrawnLine, frontier_figure
from treelab.figures.viewer.page import viewer_script, viewer_style
from treelab.runs.store.run import Run
from treelab.trees.words import counted, significant

# What the trees of two runs reach at one size, in words.


COLUMNS = {HELD_OUT: "Held-out rows", TEST: "Test rows"}


def show_finding(
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


# The small tree of the point of a chart that the pointer rests on.


WIDTH, HOVER_HEIGHT = 380, 200  # pixels of the card, and of the tree in it

# The card is no part of the page's flow: the component takes no room.
_STYLE = """
.beside-point {
  position: fixed; inset: 0 auto auto 0; margin: 0; padding: 6px 10px 10px;
  overflow: hidden; box-sizing: border-box;
  border: 1px solid var(--tl-grid); border-radius: 10px;
  background: var(--tl-background); box-shadow: 0 4px 18px rgb(0 0 0 / .22);
  pointer-events: none;
}
.beside-point .tl-viewer .pane { border: 0; }
"""

_mount = st.components.v2.component(
    "treelab_hover_tree",
    js=viewer_script() + (ASSETS / "hover-tree.js").read_text("utf-8"),
    css=viewer_style() + _STYLE,
)


def hover_trees(runs: Sequence[RunOnFrontier], chart: str) -> None:
    """Show the tree of a point while the pointer rests on it.

    Parameters
    ----------
    runs : sequence of RunOnFrontier
        By the number that the chart's points carry.
    chart : str
        Key of the container that the chart is in, as ``show_figure`` names it.
    """
    lines = ",".join(small_pictures(own) for own in runs)
    size = f'"width":{WIDTH},"height":{HOVER_HEIGHT}'
    data = f'{{"chart":"{chart}",{size},"lines":[{lines}]}}'
    with st.container(key=f"aside-{chart}"):  # see the style sheet
        _mount(key=f"hover-{chart}", data=data.encode())


# A point of the chart, by a click or by fields: its tree, which all pages may show.


ENSEMBLE = -1  # in the place of a tree's row
USED = "frontier-used"  # the point chosen last, the run that came of it
POINT_HEIGHT = 240  # pixels of the tree


def take_click(chart: str, runs: Sequence[RunOnFrontier]) -> None:
    """Put a clicked point into the fields, and make it the one that all pages show."""
    for point in clicked_points(chart):
        named = point.get("customdata")
        if not isinstance(named, list | tuple):  # that of a mean
            continue
        own, place = runs[int(named[0])], int(named[1])
        run_id = own.loaded.run.id
        st.session_state[f"{chart}-run"] = run_id
        if place != ENSEMBLE:
            st.session_state[f"{chart}-size-{run_id}"] = place
        _use(own, place)
        return


def clicked_points(chart: str) -> list:
    """Return the points of a chart that are selected; none where it is gone."""
    state = st.session_state.get(chart)
    return [] if state is None else state.selection.points


def show_point(chart: str, runs: Sequence[RunOnFrontier], names: Sequence[str]) -> None:
    """Let the visitor pick a run and a size, and show that tree and what to do with it.

    Parameters
    ----------
    chart : str
        Key of the chart that the points are of.
    runs : sequence of RunOnFrontier
    names : sequence of str
        As the chart names them.
    """
    by_id = {own.loaded.run.id: (own, name) for own, name in zip(runs, names)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        run_id = st.selectbox(
            "Look at a tree of",
            list(by_id),
            index=None,
            format_func=lambda own_id: by_id[own_id][1],
            placeholder="a run",
            key=f"{chart}-run",
            width=300,
        )
        if run_id is None:
            return
        own, name = by_id[run_id]
        place = _pick_place(chart, own)
    if place != ENSEMBLE:
        _show_tree(chart, own, name, place)
    _offer(chart, own, place)


def _pick_place(chart: str, own: RunOnFrontier) -> int:
    """Let the visitor pick one of a run's sizes, at first the one that it retained."""
    if own.line is None:
        return ENSEMBLE
    leaves = own.line.table["leaves"].tolist()
    if len(leaves) == 1:
        return 0
    key = f"{chart}-size-{own.loaded.run.id}"  # which a click sets, too
    own_size = len(leaves) - 1 if own.line.chosen is None else own.line.chosen
    st.session_state.setdefault(key, own_size)
    return st.select_slider(
        "Leaves",
        range(len(leaves)),
        format_func=lambda place: f"{leaves[place]:,}",
        key=key,
        width=300,
    )


def _show_tree(chart: str, own: RunOnFrontier, name: str, place: int) -> None:
    """Draw the tree of a point small, under its size and scores."""
    assert own.line is not None
    row = own.line.table.loc[place]
    leaves = counted(int(row["leaves"]), "leaf", "leaves")
    known = [
        f"{significant(row[column])} on {COLUMNS[column].lower()}"
        for column in COLUMNS
        if not math.isnan(row[column])
    ]
    words = plain(f"{name}, {leaves}: {', '.join(known)}")
    st.markdown(f"**{words}**")
    step = int(row["step"])
    tree_viewer(
        sketch(own.loaded, own.trees[step], f"frontier {step}"),
        f"{chart}-tree",
        height=POINT_HEIGHT,
        controls=False,
        compact=True,
    )


def _offer(chart: str, own: RunOnFrontier, place: int) -> None:
    """Offer to make a point's tree the one that all pages show, or say that it is."""
    point = own.loaded.run.id, place
    used, run_id, is_new = st.session_state.get(USED, (None, None, False))
    run = find_run(run_id) if used == point else None
    if run is None:  # not chosen, or deleted since
        st.button(
            "Use this run" if place == ENSEMBLE else "Use this size",
            icon=":material/check:",
            key=f"{chart}-use",
            help="Tree, Pruning, Routing and Explain then show it; a size that is not "
            "the run's own is saved as a run.",
            on_click=explained(_use),
            args=(own, place),
        )
        return
    name = f"**{plain(run.short_title)}**"
    pages = "Tree, Pruning, Routing and Explain"
    words = f"{pages} now show {name}."
    if is_new:
        words = f"{name} is saved as a run, and {pages} now show it."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(words, width="content")
        address = {"run": run.id}
        st.page_link("pages/tree.py", label="See the tree", query_params=address)


def _use(own: RunOnFrontier, place: int) -> None:
    """Make the tree of a point the one that all pages show; save it where it is new."""
    known = {run.id for run in store().runs()}
    point = own.loaded.run.id, place
    run_id = own.loaded.run.id
    if own.line is not None:
        steps, step = pruning_steps(own.loaded), int(own.line.table["step"][place])
        if step != steps.own:
            run_id = save_step(own.loaded, steps, step)
    choose_run(run_id)
    st.session_state[USED] = point, run_id, run_id not in known


# Score against number of leaves, for all runs with the same test rows.


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
