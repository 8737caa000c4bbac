"""Trees that score alike: filtered, drawn, counted, more of them."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.comparison import MARKING_ROWS
from pages.cached.rashomon import (
    DEFAULT_TOLERANCE,
    group_rows,
    map_of,
    near_value,
    tree_predictions,
    trees_like,
)
from pages.cached.runs import LoadedRun, error_costs, ranked_classes
from pages.cached.store import queue, store, table
from pages.cached.tree_pictures import sketch
from pages.state.run import choose_run
from pages.widgets.page import mode, show_figure
from pages.widgets.store_trouble import explained
from pages.widgets.tree_viewer import tree_viewer
from pages.widgets.watcher import follow_runs
from pages.widgets.words import duration, fitted_words, plain, run_name, split_words
from treelab.evaluation.comparison import cost_curve, own_splits
from treelab.evaluation.fairness import RATES, gaps_of_models
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.rashomon import TreeFilter, column_use, otherwise, passing
from treelab.figures.rashomon import likeness_map
from treelab.figures.style import escape_html
from treelab.figures.viewer.payload import keys
from treelab.runs.jobs.edited import run_constraints
from treelab.runs.jobs.rashomon import (
    N_RESTARTS,
    N_THRESHOLDS,
    can_find_more,
    create_all,
    create_more,
    save_member,
)
from treelab.runs.store.run import Run
from treelab.trees.rashomon import RashomonSet
from treelab.trees.words import counted, percent, shortest, significant

# Within a tolerance: what was found, the map, the gallery.


_MOST = 0.05  # tolerance


def show_alternatives(loaded: LoadedRun) -> None:
    """Show the trees that score like a run's own, and what they have in common."""
    trees = trees_like(loaded)
    if trees is None:
        st.info(
            "There are no other trees to compare with this one: it does not split, or "
            "its leaves are linear models.",
            icon=":material/info:",
        )
        return
    _show_set(loaded, trees)


def _show_set(loaded: LoadedRun, trees: RashomonSet) -> None:
    """Show the trees within a tolerance, and what they have in common."""
    tolerance = st.slider(
        "Tolerance",
        0.0,
        _MOST,
        DEFAULT_TOLERANCE,
        0.005,
        format="%.3f",
        key="rashomon-tolerance",
        width=420,
        help="How far below this run's tree another one may score.",
    )
    near = trees.within(tolerance)
    st.caption("Equally accurate trees: choose by simplicity, cost or fairness.")
    show_finding(loaded, trees, near, tolerance)
    offer_more(loaded, trees)
    if len(near) < 2:
        return
    filtered = pick_filters(loaded, trees, near)
    if not len(filtered.places):
        st.info("No tree passes these filters.", icon=":material/filter_alt_off:")
        return
    if len(filtered.places) < len(near):
        st.markdown(f"{len(filtered.places)} of {len(near)} trees pass the filters.")
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("How alike they predict", anchor=False)
        clicked = show_map(loaded, trees, filtered.places)
    with right:
        st.subheader("Columns they test", anchor=False)
        show_columns(loaded, trees, filtered.places)
    if clicked is not None and clicked in filtered.facts:
        st.subheader("The tree that you clicked", anchor=False)
        beside, _ = st.columns([2, 1])
        with beside:
            show_card(
                loaded, trees, clicked, tolerance, filtered.facts[clicked], "clicked"
            )
    st.subheader("The trees", anchor=False)
    show_gallery(loaded, trees, filtered, tolerance)
    show_disputed(loaded, trees, np.asarray(near))


# Which trees of the set are shown: by columns, size, order, rates and costs.


DIRECTIONS = {"up": "never falls", "down": "never rises"}


@dataclass(frozen=True)
class Filtered:
    """Trees that pass, and what was measured of them by the way.

    Attributes
    ----------
    places : int array
        In the set, the best first.
    facts : dict of int to list of str
        Sentences on single trees, by place.
    """

    places: np.ndarray
    facts: dict[int, list[str]]


def pick_filters(loaded: LoadedRun, trees: RashomonSet, near: np.ndarray) -> Filtered:
    """Let the visitor say what a tree must be like; return those that are."""
    with st.expander("Filters", icon=":material/filter_alt:", key="rashomon-filters"):
        wanted = _structure(loaded, trees, near)
        rate, cost = None, None
        if loaded.model.classes is not None:
            rate = _rates(loaded)
        if loaded.model.classes is not None and len(loaded.model.classes) == 2:
            cost = _costs(loaded)
    places = near[passing([trees.trees[i] for i in near], wanted)]
    facts: dict[int, list[str]] = {int(place): [] for place in places}
    for limit in (rate, cost):
        if limit is not None and len(places):
            places = limit(places, facts)
    return Filtered(places, facts)


def _structure(loaded: LoadedRun, trees: RashomonSet, near: np.ndarray) -> TreeFilter:
    """Ask for columns, leaves and order."""
    left, middle, right = st.columns(3)
    columns = list(loaded.run.problem.columns)
    without = left.multiselect(
        "Uses none of",
        columns,
        key="rashomon-without",
        placeholder="any column",
        help="Trees that test one of these columns are left out.",
    )
    sizes = [trees.trees[i].n_leaves for i in near]
    low, high = min(sizes), max(sizes)
    most = None
    if low < high:
        most = middle.slider(
            "At most leaves", low, high, high, key=f"rashomon-leaves-{low}-{high}"
        )
    numbers = [
        feature.column
        for feature in trees.tree.features
        if feature.kind == "number" and trees.tree.weights is None
    ]
    column = None
    if numbers:
        column = right.selectbox(
            "Monotone in",
            numbers,
            index=None,
            key="rashomon-monotone",
            placeholder="no column",
            help="Checked on the leaves' boxes, so on every possible row, not on a "
            "sample.",
        )
    monotone: tuple[tuple[str, str], ...] = ()
    if column is not None:
        what = "prediction"
        if loaded.model.classes is not None:
            what = f"probability of “{plain(loaded.model.classes[-1])}”"
        direction = right.segmented_control(
            f"With it the {what}",
            list(DIRECTIONS),
            default="up",
            required=True,
            format_func=DIRECTIONS.__getitem__,
            key="rashomon-direction",
        )
        monotone = ((column, direction),)
    return TreeFilter(tuple(without), most, monotone)


def _rates(loaded: LoadedRun):
    """Ask for a group column and how far a rate may be apart."""
    first, second, third, fourth = st.columns(4)
    frame = table(loaded.run.problem.table_id)
    names = [name for name in frame if name != loaded.run.problem.target]
    column = first.selectbox(
        "Rates by group of",
        names,
        index=None,
        key="rashomon-group",
        placeholder="no column",
        help="Any column of the table, also one that no tree may use.",
    )
    if column is None:
        return None
    labels = ranked_classes(loaded)
    label = second.selectbox(
        "Class", labels[::-1], format_func=str, key="rashomon-class"
    )
    rate = third.selectbox("Rate", list(RATES), key="rashomon-rate")
    most = fourth.slider(
        "At most apart",
        0.0,
        1.0,
        1.0,
        0.01,
        key="rashomon-apart",
        help="Highest minus lowest rate of the groups, on the rows the run was fitted "
        "to.",
    )
    code = list(loaded.model.classes).index(label)

    def limit(places: np.ndarray, facts: dict[int, list[str]]) -> np.ndarray:
        """Return the trees whose groups are near enough."""
        predicted = tree_predictions(loaded, "fitted")[0][places] == code
        is_class = (loaded.rows("fitted").y == label).to_numpy()
        group = group_rows(loaded, column, "fitted")
        gaps = gaps_of_models(predicted, is_class, group, rate)
        for place, gap in zip(places.tolist(), gaps.tolist()):
            words = "unknown" if np.isnan(gap) else significant(gap)
            facts[place].append(f"{rate} apart by {words}")
        return places[~(gaps > most)]

    return limit


def _costs(loaded: LoadedRun):
    """Ask what errors cost, and how much a row may cost at the best threshold."""
    first, second, third = st.columns(3)
    label = loaded.model.classes[1]
    costs = error_costs(loaded, loaded.model.classes)
    each = (1.0, 1.0) if costs is None else (float(costs[0, 1]), float(costs[1, 0]))
    false_positive = first.number_input(
        f"Cost of a false “{plain(label)}”",
        0.0,
        value=each[0],
        key=f"rashomon-fp-{loaded.run.id}",
    )
    false_negative = second.number_input(
        f"Cost of a missed “{plain(label)}”",
        0.0,
        value=each[1],
        key=f"rashomon-fn-{loaded.run.id}",
    )
    most = third.number_input(
        "Mean cost of a row at most",
        0.0,
        value=None,
        key="rashomon-cost",
        placeholder="any",
        help="At each tree's cheapest threshold, on the rows the run was fitted to, "
        "which makes it a little too low.",
    )
    if most is None and false_positive == false_negative == 1.0:
        return None

    def limit(places: np.ndarray, facts: dict[int, list[str]]) -> np.ndarray:
        """Return the trees that are cheap enough."""
        chance = tree_predictions(loaded, "fitted")[1]
        assert chance is not None
        is_class = (loaded.rows("fitted").y == label).to_numpy()
        cost = []
        for place in places.tolist():
            curve = cost_curve(is_class, chance[place], false_positive, false_negative)
            cost.append(float(curve.cost.min()))
            facts[place].append(
                f"costs {significant(cost[-1])} a row from {curve.cheapest:.2f} on"
            )
        return places if most is None else places[np.array(cost) <= most]

    return limit


# A gallery of trees that score alike, each with a button that chooses it.


IN_A_ROW, ROWS_SHOWN = 3, 2
BEST, SMALLEST, OTHERWISE = "best score", "fewest leaves", "most different"


def show_gallery(
    loaded: LoadedRun, trees: RashomonSet, shown: Filtered, tolerance: float
) -> None:
    """Draw the trees small, a page at a time."""
    n_page = IN_A_ROW * ROWS_SHOWN
    n_pages = -(-len(shown.places) // n_page)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        order = st.segmented_control(
            "First",
            (BEST, SMALLEST, OTHERWISE),
            default=BEST,
            required=True,
            wrap=True,
            key="rashomon-order",
            help="Dashed outline: a split that this run's tree does not have. “Most "
            "different” from this run's tree, on the rows it was fitted to.",
        )
        page = 1
        if n_pages > 1:
            page = st.number_input(
                f"Page, 1 to {n_pages}",
                1,
                n_pages,
                key=f"rashomon-page-{n_pages}",
                width=140,
            )
    places = _ordered(loaded, trees, shown.places, order)
    places = places[(page - 1) * n_page : page * n_page].tolist()
    for first in range(0, len(places), IN_A_ROW):
        columns = st.columns(IN_A_ROW, gap="medium")
        for column, place in zip(columns, places[first : first + IN_A_ROW]):
            with column:
                show_card(loaded, trees, place, tolerance, shown.facts[place])


def show_card(
    loaded: LoadedRun,
    trees: RashomonSet,
    place: int,
    tolerance: float,
    facts: list[str],
    where: str = "gallery",
) -> None:
    """Draw one tree small, with its score, its columns and the button."""
    tree = trees.trees[place]
    is_own = place == trees.chosen
    score, error = trees.scores[["score", "standard_error"]].iloc[place]
    size = counted(tree.n_leaves, "leaf", "leaves")
    name = "This run's tree" if is_own else f"Tree {place + 1}"
    st.markdown(f"**{name}** · {significant(score)} ± {error:.3f} · {size}")
    tree_viewer(
        sketch(loaded, tree, f"rashomon {place}"),
        f"rashomon-{where}-{loaded.run.id}-{place}",
        height=210,
        marked=_differing(loaded, trees, place),
        controls=False,
        compact=True,
    )
    words = [", ".join(tree.columns), *facts]
    if not is_own:
        predicted, _ = tree_predictions(loaded, "fitted")
        share = float(np.mean(predicted[place] != predicted[trees.chosen]))
        if loaded.model.classes is not None:
            words.append(f"predicts {percent(share)} of the rows otherwise")
    st.caption(f"{plain('; '.join(words))}.")
    chosen = st.button(
        "Choose this tree",
        key=f"rashomon-choose-{where}-{loaded.run.id}-{place}",
        icon=":material/check:",
        disabled=is_own,
        on_click=_choose,
        args=(loaded, trees, place, tolerance),
    )
    if chosen:
        st.rerun()  # the picker above shows the new run


def _differing(loaded: LoadedRun, trees: RashomonSet, place: int) -> list[str]:
    """Return the keys of the splits that this run's tree does not have."""
    if place == trees.chosen:
        return []
    tree, rows = trees.trees[place], loaded.split.X_test.iloc[:MARKING_ROWS]
    differing = own_splits(tree, trees.trees[trees.chosen], rows)
    name = keys(tree)
    return [name[node] for node in differing]


def _ordered(
    loaded: LoadedRun, trees: RashomonSet, places: np.ndarray, order: str
) -> np.ndarray:
    """Return the trees in the order that was asked for."""
    if order == SMALLEST:
        size = np.array([trees.trees[i].n_leaves for i in places])
        return places[np.argsort(size, kind="stable")]
    if order == OTHERWISE:
        predicted, _ = tree_predictions(loaded, "fitted")
        own = predicted[trees.chosen].astype(float)
        apart = np.abs(predicted[places] - own)
        if loaded.model.classes is not None:
            apart = apart > 0
        return places[np.argsort(-apart.mean(axis=1), kind="stable")]
    return places


def _choose(
    loaded: LoadedRun, trees: RashomonSet, place: int, tolerance: float
) -> None:
    """Save a tree as a run, and make it the one that all pages show."""
    run_id = save_member(store(), loaded.run, trees, place, tolerance)
    choose_run(run_id)


# More trees beside a run's own: a batch of restarts, or all trees of a small depth.


def offer_more(loaded: LoadedRun, trees: RashomonSet) -> None:
    """Offer to look for more trees, and list the runs that did or do."""
    if loaded.run.problem.origin:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if can_find_more(loaded.run) and trees.complete is None:
            st.button(
                "Find more",
                icon=":material/search:",
                key=f"rashomon-more-{loaded.run.id}",
                help=f"Trains {N_RESTARTS} more trees of each size on all rows, as a "
                "run of its own; nothing is chosen again.",
                on_click=explained(_start),
                args=(loaded,),
            )
        with st.popover("All trees of a small depth", icon=":material/select_all:"):
            _ask_for_all(loaded)
        follow_runs("more", lambda: _children(loaded.run), lambda: _list(loaded))


def _ask_for_all(loaded: LoadedRun) -> None:
    """Ask for a depth and thresholds, and offer to look at every tree of these."""
    run_id = loaded.run.id
    depth = st.segmented_control(
        "Depth",
        list(N_THRESHOLDS),
        default=2,
        required=True,
        key=f"rashomon-depth-{run_id}",
        help="Most splits on a path.",
    )
    n_thresholds = st.number_input(
        "Candidate thresholds of a column",
        1,
        100,
        N_THRESHOLDS[depth],
        key=f"rashomon-thresholds-{run_id}-{depth}",
        help="At quantiles of its values; a column of fewer values gets them all.",
    )
    st.caption(
        "Every tree over these thresholds is looked at, as a run of its own, and those "
        "near the best are listed: then it is known that there are no others. They "
        "are scored on the training rows."
    )
    st.button(
        f"Look at all trees of depth {depth}",
        type="primary",
        key=f"rashomon-all-{run_id}",
        on_click=explained(_start_all),
        args=(loaded, depth, n_thresholds),
    )


def _start(loaded: LoadedRun) -> None:
    """Queue the run that finds more trees."""
    queue().submit(create_more(store(), loaded.run))


def _start_all(loaded: LoadedRun, depth: int, n_thresholds: int) -> None:
    """Queue the run that looks at all trees of a depth."""
    queue().submit(create_all(store(), loaded.run, depth, n_thresholds))


def _children(run: Run) -> list[Run]:
    """Return the runs that look for trees beside a run's, newest first."""
    found = []
    for other in store().runs():
        if other.learner != run.learner or other.problem != run.problem:
            continue
        more = store().more(other.id)
        if more is not None and json.loads(more)["run"] == run.id:
            found.append(other)
    return found


def _list(loaded: LoadedRun) -> None:
    """Write the newest run that looks for more, and its state."""
    children = _children(loaded.run)
    if not children:
        return
    child = children[0]
    if not child.has_model:
        left = child.remaining
        words = "" if left is None else f", {duration(left)} left"
        error = f". {child.error}" if child.error else ""
        st.markdown(plain(f"{run_name(child)}: {child.state}{words}{error}"))
        return
    if st.button(
        f"See what was found: {plain(run_name(child))}",
        icon=":material/arrow_forward:",
        key=f"rashomon-see-{child.id}",
    ):
        choose_run(child.id)


# What the trees have in common, where they lie apart, which rows they dispute.


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
    words = f"{counted(n_alike, 'different prediction')} of the training rows"
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
    for where, names in (("In all of them", in_all), ("In none", in_none)):
        if names:
            st.markdown(f"**{where}:** {_named(names)}.")
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
    names = plain(", ".join(columns[:MOST_NAMED]))
    more = len(columns) - MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names
