"""Score against size: the chart, what the trees of a size reach, a point of it."""

import math
from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.cached import comparison as cached
from pages.cached.predictions import score_differences
from pages.cached.tree_pictures import pruning_steps, sketch
from pages.compare.pair import Pair
from pages.state.choices import choose_run, current_runs
from pages.tree.size import save_step
from pages.widgets.page import ASSETS, mode, pick_one, show_figure
from pages.widgets.runs import names_and_colors
from pages.widgets.tree_viewer import tree_viewer
from pages.widgets.words import explained, guarded, plain
from treelab.evaluation.frontier import HELD_OUT, TEST, size_words
from treelab.evaluation.metrics import TITLES
from treelab.figures.frontier import DrawnLine, frontier_figure
from treelab.figures.style import learner_symbol
from treelab.figures.viewer.page import viewer_script, viewer_style
from treelab.trees.words import counted, significant

COLUMNS = {TEST: "Test rows", HELD_OUT: "Held-out rows"}


WIDTH, HOVER_HEIGHT = 380, 200  # pixels of the card, and of the tree in it

_mount = st.components.v2.component(
    "treelab_hover_tree",
    js=viewer_script() + (ASSETS / "hover-tree.js").read_text("utf-8"),
    css=viewer_style() + (ASSETS / "hover-tree.css").read_text("utf-8"),
)


ENSEMBLE = -1  # in the place of a tree's row
POINT_HEIGHT = 240  # pixels of the tree


def take_click(chart: str, runs: Sequence[cached.RunOnFrontier]) -> None:
    """Make a clicked point's tree the one that all pages show."""
    for point in clicked_points(chart):
        named = point.get("customdata")
        if isinstance(named, list | tuple):  # that of a mean has none
            explained(_use, runs[int(named[0])], int(named[1]))()


def clicked_points(chart: str) -> list:
    """Return the points of a chart that are selected; none where it is gone."""
    state = st.session_state.get(chart)
    return [] if state is None else state.selection.points


def _pick_point(
    chart: str, runs: Sequence[cached.RunOnFrontier], names: Sequence[str]
) -> None:
    """Let the visitor pick a run and a size, see that tree, and use it everywhere."""
    ids = [own.loaded.run.id for own in runs]
    known = dict(zip(ids, names))
    run_id = st.selectbox("Run", ids, format_func=known.get, key=f"{chart}-run")
    own, name = runs[ids.index(run_id)], known[run_id]
    place = ENSEMBLE
    if own.line is not None:
        table, chosen = own.line.table, own.line.chosen
        leaves = [counted(int(n), "leaf", "leaves") for n in table["leaves"]]
        place = len(leaves) - 1 if chosen is None else chosen
        if len(leaves) > 1:
            place = st.select_slider(
                "Leaves",
                range(len(leaves)),
                place,
                format_func=leaves.__getitem__,
                key=f"{chart}-size-{run_id}{own.loaded.output}",
            )
        known = [
            f"{significant(table[column][place])} on {rows.lower()}"
            for column, rows in COLUMNS.items()
            if not math.isnan(table[column][place])
        ]
        words = plain(f"{name}, {leaves[place]}: {', '.join(known)}")
        st.markdown(f"**{words}**")
        step = int(table["step"][place])
        picture = sketch(own.loaded, own.trees[step], f"frontier {step}")
        look = {"height": POINT_HEIGHT, "controls": False, "compact": True}
        tree_viewer(picture, f"{chart}-tree", **look)
    st.button(
        "Use this tree",
        icon=":material/check:",
        key=f"{chart}-use",
        help="All pages then show it; a size that is not the run's own is saved as a "
        "run.",
        on_click=explained(_use, own, place),
    )


def _use(own: cached.RunOnFrontier, place: int) -> None:
    """Make the tree of a point the one that all pages show; save it where it is new."""
    run_id = own.loaded.run.id
    if own.line is not None:
        step = int(own.line.table["step"][place])
        if step != pruning_steps(own.loaded).own:
            if own.loaded.output:
                raise ValueError(
                    "This size is of one output alone. On Tree, Keep this size saves "
                    "a tree of all of them."
                )
            run_id = save_step(own.loaded, step)
    choose_run(run_id)


MOST_RUNS = 8
QUICK_WORK = 1_000_000  # trees by rows of ensembles that are looked at at once
CHART_HEIGHT = 230  # pixels


@st.fragment
@guarded
def show_frontier(pair: Pair) -> None:
    """Draw all runs with the pair's test rows, and what its trees of one size reach.

    Runs of another loss have another score; of a pair with two there is no chart.
    """
    if pair[0].model.loss != pair[1].model.loss:
        return
    runs = cached.runs_on_frontier(pair, MOST_RUNS)
    if all(own.line is None for own in runs):
        return
    # A click counts for these runs alone.
    key = "frontier-of-" + "-".join(own.loaded.run.id for own in runs)
    names = names_and_colors(current_runs())
    titles = [names[own.loaded.run.id][0] for own in runs]
    held_out = {own.run.held_out_title for own in pair}
    with st.container(horizontal=True, vertical_alignment="bottom", key="frontier"):
        st.header("Score against size", anchor=False, width="content")
        column = pick_one(
            "Scores on",
            COLUMNS if len(held_out) == 1 else {TEST: COLUMNS[TEST]},
            key=f"frontier-{key}",
            help="Test rows chose nothing. Held-out rows are those of "
            "cross-validation, or the validation rows.",
        )
        leaves = _pick_leaves(runs)
        few = _pick_few(runs)
        st.space("stretch")
        picker = st.popover(
            "Pick a tree",
            icon=":material/account_tree:",
            key="frontier-pick",
            on_change="rerun",
        )
        if picker.open:
            with picker:
                _pick_point(key, runs, titles)
    if leaves is not None:
        at = (own.at(own.line.place_for(leaves)) for own in runs[:2])
        best = score_differences(*at)[runs[0].loaded.headline]
        lines = [own.line for own in runs[:2]]
        st.markdown(plain(size_words(best, lines, titles, leaves)))
    metric = TITLES[runs[0].loaded.headline]
    if column == HELD_OUT:
        (metric,) = held_out
        runs = [own for own in runs if own.loaded.run.held_out_title == metric]
    drawn = [_drawn_line(own, names, column, few) for own in runs]
    title = f"{metric}, {COLUMNS[column].lower()}"
    look = {"score_title": title, "height": CHART_HEIGHT, "mode": mode()}
    show_figure(
        frontier_figure(drawn, column, **look),
        key=key,
        alt=f"{metric} of each run's trees against their leaves.",
        on_select=partial(take_click, key, runs),
    )
    # While the pointer rests on a point, its tree; each has the number of its run.
    lines = ",".join(cached.small_pictures(own) for own in runs)
    size = f'"width":{WIDTH},"height":{HOVER_HEIGHT}'
    data = f'{{"chart":"still-{key}",{size},"lines":[{lines}]}}'
    with st.container(key=f"aside-still-{key}"):  # see the style sheet
        _mount(key=f"hover-still-{key}", data=data.encode())
    st.caption(
        f"Ring: the selected tree. {_band_words(drawn, column)}"
        f"{'Star: each row by its heaviest trees alone. ' * few}"
        "Point at a tree to see it; click a tree to use it on every page."
    )


def _drawn_line(
    own: cached.RunOnFrontier, names: dict, column: str, few: bool
) -> DrawnLine:
    """Return what is drawn of a run."""
    run, (name, color) = own.loaded.run, names[own.loaded.run.id]
    band, n_splits = cached.band_of(run, column, own.loaded.output)
    more = {"symbol": learner_symbol(run.learner, run.settings)}
    if own.line is None:
        name += f", {counted(own.loaded.model.n_estimators, 'tree')}"
        more["score"] = own.score(column)
        more["few_trees"] = cached.few_trees(own, column) if few else None
    return DrawnLine(name, color, own.line, band=band, n_splits=n_splits, **more)


def _band_words(drawn: Sequence[DrawnLine], column: str) -> str:
    """Say what the bands around the lines are, "" where there is none."""
    n_splits = sorted({own.n_splits for own in drawn if own.band is not None})
    if not n_splits:
        return "Band: one standard error. " if column == HELD_OUT else ""
    splits = " to ".join(map(str, dict.fromkeys((n_splits[0], n_splits[-1]))))
    return f"Dashed, with band: mean of {splits} data splits ± its standard error. "


def _pick_leaves(runs: Sequence[cached.RunOnFrontier]) -> int | None:
    """Let the visitor ask what two runs reach at one size; None at first."""
    leaves = [own.line.table["leaves"] for own in runs[:2] if own.line is not None]
    if len(leaves) < 2:
        return None
    low = max(int(own.iloc[0]) for own in leaves)
    high = max(low, *(int(own.iloc[-1]) for own in leaves))
    return st.number_input(
        f"Maximum leaves ({low} to {high})",
        low,
        high,
        None,
        key="frontier-leaves-" + "-".join(own.loaded.run.id for own in runs[:2]),
        placeholder="any",
        width=210,
        help="Compares the trees of this size instead of those that were selected.",
    )


def _pick_few(runs: Sequence[cached.RunOnFrontier]) -> bool:
    """Let the visitor mark what few trees of an ensemble reach, where there is one."""
    work = sum(
        own.model.n_estimators * (own.n_rows("valid") + own.n_rows("test"))
        for own in (each.loaded for each in runs if each.line is None)
    )
    return work > 0 and st.toggle(
        "Few trees of ensembles",
        work <= QUICK_WORK,
        key="frontier-few",
        help="What an ensemble predicts if only the 1, 2, 3, 5 or 10 trees decide that "
        "have the highest weight for a row; on large tables it takes a while.",
    )
