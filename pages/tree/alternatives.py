"""Trees that score alike: filtered, drawn, counted, more of them."""

import json
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.cached import rashomon as cached
from pages.cached.comparison import MARKING_ROWS
from pages.cached.runs import LoadedRun, error_costs, run_tree
from pages.cached.store import queue, store
from pages.cached.tree_pictures import sketch
from pages.compare.costs import ask_costs
from pages.state.choices import choose_run
from pages.tree.groups import ask_group
from pages.widgets.page import cells, mode, page_link, pick_one, show_figure
from pages.widgets.tree_viewer import tree_viewer
from pages.widgets.watcher import follow_runs
from pages.widgets.words import explained, fitted_words, plain, split_words
from treelab.evaluation.comparison import cost_curve, own_splits
from treelab.evaluation.fairness import RATES, gaps_of_models
from treelab.evaluation.metrics import COST_SAVED, TITLES
from treelab.evaluation.rashomon import TreeFilter, column_use, otherwise, passing
from treelab.figures.rashomon import likeness_map
from treelab.figures.style import escape_html
from treelab.figures.viewer.payload import keys
from treelab.runs.jobs import rashomon as jobs
from treelab.runs.jobs.fit import why_no_others
from treelab.runs.run_words import duration, run_name
from treelab.runs.store.run import Run
from treelab.trees.rashomon import RashomonSet
from treelab.trees.words import counted, percent, significant

_MOST = 0.05  # tolerance
Facts = dict[int, list[str]]  # sentences on single trees, by their place in the set


@dataclass(frozen=True)
class _Set:
    """The trees that score like a run's own, and those within a tolerance."""

    loaded: LoadedRun
    trees: RashomonSet
    tolerance: float
    near: np.ndarray  # places in the set, the best first

    @property
    def metric(self) -> str:
        """Name of the score."""
        by_costs = bool(self.loaded.run.constraints.class_costs)
        if self.trees.complete is not None:
            by_costs = self.trees.complete.by_costs
        return COST_SAVED if by_costs else TITLES[self.loaded.headline]

    def name(self, place: int) -> str:
        """Name a tree."""
        return "This run's tree" if place == self.trees.chosen else f"Tree {place + 1}"


def show_alternatives(loaded: LoadedRun) -> None:
    """Show the trees that score like a run's own, and what they have in common."""
    trees = cached.trees_like(loaded)
    if trees is None:
        whole = loaded.output and "it predicts several numbers"
        reason = whole or why_no_others(run_tree(loaded))
        words = f"There are no other trees to compare with this one: {reason}."
        st.info(words, icon=":material/info:")
        return
    words = "How far below this run's tree another one may score."
    given = {"format": "%.3f", "width": 420, "key": "rashomon-tolerance", "help": words}
    first = cached.DEFAULT_TOLERANCE
    tolerance = st.slider("Tolerance", 0.0, _MOST, first, 0.005, **given)
    own = _Set(loaded, trees, tolerance, trees.within(tolerance))
    words = "Trees within the tolerance: choose by simplicity, cost or fairness."
    st.caption(words)
    _show_finding(own)
    _offer_more(own)
    if len(own.near) < 2:
        return
    places, facts = _pick_filters(own)
    if not len(places):
        st.info("No tree passes these filters.", icon=":material/filter_alt_off:")
        return
    if len(places) < len(own.near):
        st.markdown(f"{len(places)} of {len(own.near)} trees pass the filters.")
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("How alike they predict", anchor=False)
        clicked = _show_map(own, places)
    with right:
        st.subheader("Columns they test", anchor=False)
        _show_columns(own, places)
    if clicked in facts:
        st.subheader("The tree that you clicked", anchor=False)
        with st.columns([2, 1])[0]:
            _show_card(own, clicked, facts[clicked], "clicked")
    st.subheader("The trees", anchor=False)
    _show_gallery(own, places, facts)
    _show_disputed(own)


DIRECTIONS = {"up": "never falls", "down": "never rises"}


def _pick_filters(own: _Set) -> tuple[np.ndarray, Facts]:
    """Let the visitor say what a tree must be like; return those that are."""
    classes = own.loaded.model.classes
    with st.expander("Filters", icon=":material/filter_alt:", key="rashomon-filters"):
        wanted = _structure(own)
        near = [own.trees.trees[i] for i in own.near]
        places = own.near[passing(near, wanted)]
        facts: Facts = {int(place): [] for place in places}
        if classes is not None:
            places = _near_rates(own, places, facts)
            if len(classes) == 2:
                places = _cheap(own, places, facts)
    return places, facts


def _structure(own: _Set) -> TreeFilter:
    """Ask for columns, leaves and order."""
    left, middle, right = st.columns(3)
    without = left.multiselect(
        "Uses none of",
        list(own.loaded.run.problem.columns),
        key="rashomon-without",
        placeholder="any column",
        help="Trees that test one of these columns are left out.",
    )
    sizes = [own.trees.trees[i].n_leaves for i in own.near]
    low, high = min(sizes), max(sizes)
    most = None
    if low < high:
        key = f"rashomon-leaves-{low}-{high}"
        most = middle.slider("At most leaves", low, high, high, key=key)
    tree, column, monotone = own.trees.tree, None, ()
    numbers = [own.column for own in tree.features if own.kind == "number"]
    if numbers and tree.weights is None:
        column = right.selectbox(
            "Monotone in",
            numbers,
            index=None,
            key="rashomon-monotone",
            placeholder="no column",
            help="Checked on the leaves' boxes, so on every possible row, not on a "
            "sample.",
        )
    if column is not None:
        what, classes = "prediction", own.loaded.model.classes
        if classes is not None:
            what = f"probability of “{plain(classes[-1])}”"
        with right:
            way = pick_one(f"With it the {what}", DIRECTIONS, "rashomon-direction")
        monotone = ((column, way),)
    return TreeFilter(tuple(without), most, monotone)


def _near_rates(own: _Set, places: np.ndarray, facts: Facts) -> np.ndarray:
    """Ask how far a rate of groups may be apart; return the trees where it is not."""
    asked = ask_group(own.loaded, "rashomon", "fitted")
    if asked is None:
        return places
    left, right = st.columns(2)
    rate = left.selectbox("Rate", list(RATES), key="rashomon-rate")
    words = (
        "Highest minus lowest rate of the groups, on the rows the run was fitted to. "
        "Trees that are chosen by it are likely further apart on new rows."
    )
    given = {"key": "rashomon-apart", "help": words}
    most = right.slider("At most apart", 0.0, 1.0, 1.0, 0.01, **given)
    label, group = asked
    code = list(own.loaded.model.classes).index(label)
    predicted = cached.tree_predictions(own.loaded, "fitted")[0][places] == code
    _, y, weight = own.loaded.rows("fitted")
    is_class = (y == label).to_numpy()
    gaps = gaps_of_models(predicted, is_class, group, rate, weight)
    for place, gap in zip(places.tolist(), gaps.tolist()):
        words = "unknown" if np.isnan(gap) else significant(gap)
        facts[place].append(f"{rate} apart by {words}")
    return places[~(gaps > most)]


def _cheap(own: _Set, places: np.ndarray, facts: Facts) -> np.ndarray:
    """Ask what errors cost, and how much a row may cost; return trees that keep it."""
    columns, classes = st.columns(3), own.loaded.model.classes
    costs = error_costs(own.loaded, classes)
    first = (1.0, 1.0) if costs is None else (costs[0, 1], costs[1, 0])
    label, key = classes[1], f"rashomon-{own.loaded.run.id}"
    false_positive, false_negative = ask_costs(columns, label, first, key)
    most = columns[2].number_input(
        "Mean cost of a row at most",
        0.0,
        value=None,
        format="%.6g",
        key="rashomon-cost",
        placeholder="any",
        help="At each tree's cheapest threshold, on the rows the run was fitted to, "
        "which makes it too low.",
    )
    if most is None and false_positive == false_negative == 1.0:
        return places
    chance = cached.tree_predictions(own.loaded, "fitted")[1]
    _, y, weight = own.loaded.rows("fitted")
    each = false_positive, false_negative, weight
    is_class, least = (y == label).to_numpy(), []
    for place in places.tolist():
        curve = cost_curve(is_class, chance[place], *each)
        least.append(float(curve.cost.min()))
        cost = f"costs {significant(least[-1])} a row from {curve.cheapest:.2f} on"
        facts[place].append(cost)
    return places if most is None else places[np.array(least) <= most]


IN_A_ROW, ROWS_SHOWN = 3, 2
BEST, SMALLEST, OTHERWISE = "best score", "fewest leaves", "most different"


def _show_gallery(own: _Set, places: np.ndarray, facts: Facts) -> None:
    """Draw the trees small, a page at a time."""
    n_page = IN_A_ROW * ROWS_SHOWN
    n_pages, page = -(-len(places) // n_page), 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        order = pick_one(
            "First",
            (BEST, SMALLEST, OTHERWISE),
            "rashomon-order",
            wrap=True,
            help="Dashed outline: a split that this run's tree does not have. “Most "
            "different” from this run's tree, on the rows it was fitted to.",
        )
        if n_pages > 1:
            key = f"rashomon-page-{n_pages}"
            label = f"Page, 1 to {n_pages}"
            page = st.number_input(label, 1, n_pages, key=key, width=140)
    ranked = places.tolist()
    if order == SMALLEST:
        ranked.sort(key=lambda place: own.trees.trees[place].n_leaves)
    elif order == OTHERWISE:
        ranked.sort(key=lambda place: -_apart(own, place))
    shown = ranked[(page - 1) * n_page : page * n_page]
    for column, place in zip(cells(len(shown), IN_A_ROW), shown):
        with column:
            _show_card(own, place, facts[place], "gallery")


def _apart(own: _Set, place: int) -> float:
    """Return on which fraction of the fitted rows, or how far, a tree is from ours."""
    predicted, _ = cached.tree_predictions(own.loaded, "fitted")
    apart = np.abs(predicted[place] - predicted[own.trees.chosen].astype(float))
    return float((apart if own.loaded.model.classes is None else apart > 0).mean())


def _show_card(own: _Set, place: int, facts: list[str], where: str) -> None:
    """Draw one tree small, with its score, its columns and the button."""
    loaded, tree, is_own = own.loaded, own.trees.trees[place], place == own.trees.chosen
    score, error = own.trees.scores[["score", "standard_error"]].iloc[place]
    size = counted(tree.n_leaves, "leaf", "leaves")
    st.markdown(f"**{own.name(place)}** · {significant(score)} ± {error:.3f} · {size}")
    rows, names = loaded.split.X_test.iloc[:MARKING_ROWS], keys(tree)
    others = [] if is_own else own_splits(tree, own.trees.tree, rows)
    tree_viewer(
        sketch(loaded, tree, f"rashomon {place}"),
        f"rashomon-{where}-{loaded.run.id}-{place}",
        height=210,
        marked=[names[i] for i in others],
        controls=False,
        compact=True,
    )
    words = [", ".join(tree.columns), *facts]
    if not is_own and loaded.model.classes is not None:
        words.append(f"predicts {percent(_apart(own, place))} of the rows differently")
    st.caption(f"{plain('; '.join(words))}.")
    if st.button(
        "Choose this tree",
        key=f"rashomon-choose-{where}-{loaded.run.id}-{place}",
        icon=":material/check:",
        disabled=is_own,
    ):
        given = store(), loaded.run, own.trees, place, own.tolerance
        choose_run(jobs.save_member(*given))


def _offer_more(own: _Set) -> None:
    """Offer to look for more trees, and list the runs that did or do."""
    run = own.loaded.run
    if run.problem.origin:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if jobs.can_find_more(run) and own.trees.complete is None:
            st.button(
                "Find more",
                icon=":material/search:",
                key=f"rashomon-more-{run.id}",
                help=f"Trains {jobs.N_RESTARTS} more trees of the chosen size, and "
                "some of others, on all rows, as a run of its own; nothing is chosen "
                "again.",
                on_click=explained(_look, jobs.create_more, run),
            )
        with st.popover("All trees of a small depth", icon=":material/select_all:"):
            _ask_for_all(run)
        follow_runs("more", lambda: _children(run), lambda: _show_newest(run))


def _ask_for_all(run: Run) -> None:
    """Ask for a depth and thresholds, and offer to look at every tree of these."""
    given = {"default": 2, "help": "Most splits on a path."}
    depths = list(jobs.N_THRESHOLDS)
    depth = pick_one("Depth", depths, f"rashomon-depth-{run.id}", **given)
    label = "Candidate thresholds of a column"
    words = "At quantiles of its values; a column of fewer values gets them all."
    given = {"key": f"rashomon-thresholds-{run.id}-{depth}", "help": words}
    n_thresholds = st.number_input(label, 1, 100, jobs.N_THRESHOLDS[depth], **given)
    st.caption(
        "Every tree over these thresholds is looked at, as a run of its own, and those "
        "near the best are listed: then it is known that there are no others. They "
        "are scored on the training rows."
    )
    st.button(
        f"Look at all trees of depth {depth}",
        type="primary",
        key=f"rashomon-all-{run.id}",
        on_click=explained(_look, jobs.create_all, run, depth, n_thresholds),
    )


def _look(create, *given) -> None:
    """Queue a run that looks for more trees."""
    queue().submit(create(store(), *given))


def _children(run: Run) -> list[Run]:
    """Return the runs that look for trees beside a run's, newest first."""
    return [
        other
        for other in store().runs()
        if (other.learner, other.problem) == (run.learner, run.problem)
        and (more := store().plan(other.id, "more")) is not None
        and json.loads(more)["run"] == run.id
    ]


def _show_newest(run: Run) -> None:
    """Write the newest run that looks for more, and its state."""
    child = next(iter(_children(run)), None)
    if child is None:
        return
    if not child.has_model:
        left = "" if child.remaining is None else f", {duration(child.remaining)} left"
        error = f". {child.error}" if child.error else ""
        st.markdown(plain(f"{run_name(child)}: {child.state}{left}{error}"))
    elif st.button(
        f"See what was found: {plain(run_name(child))}",
        icon=":material/arrow_forward:",
        key=f"rashomon-see-{child.id}",
    ):
        choose_run(child.id)


MOST_MAPPED, MOST_NAMED = 200, 12  # trees of the map, columns of a list


def _show_finding(own: _Set) -> None:
    """Say how many trees there are, and what their score is."""
    trees, loaded = own.trees, own.loaded
    score = trees.score[trees.chosen]
    rows_words = fitted_words(loaded) + loaded.run.problem.weighted_words
    st.header(trees.finding(own.tolerance, own.metric), anchor=False)
    n_alike = trees.scores["alike"].iloc[own.near].nunique()
    words = f"{counted(n_alike, 'different prediction')} of the training rows"
    if trees.complete is not None:
        limited = loaded.run.constraints.limits_splits
        within = " within the run's constraints" if limited else ""
        least, best = float(score) - own.tolerance, float(trees.score.max())
        st.markdown(f"{words}. {trees.complete.sentences(least, best, within)}")
        st.caption(
            f"Score: {own.metric} on {rows_words}, to which the leaves were "
            "fitted; trees of a small depth are much alike in size, so it compares "
            "them, but is too high for new rows. Its standard error (±) is measured "
            "with leaf values refitted in folds. Test rows are not looked at."
        )
        return
    above = int((trees.score[own.near] > score).sum())
    better = f"{above} of them {'score' if above > 1 else 'scores'} above it"
    better = better if above else "none scores above it"
    looked = f"{counted(trees.n_candidates, 'different tree')} were looked at."
    st.markdown(looked if len(own.near) < 2 else f"{words}; {better}. {looked}")
    st.caption(
        f"Score: the cross-validated {own.metric} of the run's tree of the same size, "
        "plus the difference from it, measured with leaf values refitted in 10 folds, "
        f"three times, on {rows_words}. These rows shaped the splits, so a difference "
        "of less than its standard error (±) means little. Test rows are not looked at."
    )


def _show_columns(own: _Set, places: np.ndarray) -> None:
    """List the columns that all of the trees test, and those that none does."""
    tested = [own.trees.trees[i] for i in places]
    use = column_use(tested, own.loaded.run.problem.columns)
    for where, n_trees in (("In all of them", len(places)), ("In none", 0)):
        if names := use.index[use == n_trees].tolist():
            more = f" and {len(names) - MOST_NAMED} more" * (len(names) > MOST_NAMED)
            st.markdown(f"**{where}:** {plain(', '.join(names[:MOST_NAMED]))}{more}.")
    some = use[(use > 0) & (use < len(places))]
    if len(some):
        bar = st.column_config.ProgressColumn(
            "of the trees", format="percent", min_value=0, max_value=1
        )
        st.dataframe(
            (some / len(places))
            .round(3)
            .rename_axis("column")
            .reset_index(name="trees"),
            hide_index=True,
            height=min(38 + 35 * len(some), 220),
            key="rashomon-columns",
            column_config={"column": "in some", "trees": bar},
        )


def _show_map(own: _Set, places: np.ndarray) -> int | None:
    """Draw how alike the trees predict; return the tree that was clicked."""
    loaded, trees = own.loaded, own.trees
    mapped = places[:MOST_MAPPED]
    if trees.chosen in places and trees.chosen not in mapped:
        mapped = np.append(mapped[:-1], trees.chosen)
    if len(mapped) < 3:
        st.caption("A map needs three trees.")
        return None
    hover, drawn = [], mapped.tolist()
    for i in drawn:
        columns = escape_html(", ".join(trees.trees[i].columns[:6]))
        leaves = counted(trees.trees[i].n_leaves, "leaf", "leaves")
        score = significant(trees.score[i])
        hover.append(f"{own.name(i)}: {score}, {leaves}<br>{columns}")
    ours = drawn.index(trees.chosen) if trees.chosen in drawn else None
    points = cached.map_of(loaded, tuple(drawn)), trees.score[mapped], drawn, hover
    look = {"score_title": own.metric, "mode": mode()}
    picked = show_figure(
        likeness_map(*points, own=ours, **look),
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


def _show_disputed(own: _Set) -> None:
    """Say how many test rows some tree predicts otherwise; link to the worst."""
    loaded, near = own.loaded, own.near
    st.subheader("Rows on which they disagree", anchor=False)
    predicted, _ = cached.tree_predictions(loaded, "test")
    ours = int(np.flatnonzero(near == own.trees.chosen)[0])
    share = otherwise(predicted[near], ours, cached.near_value(loaded))
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
        "trees predict differently."
    )
    label = "Explain the most disputed row"
    page_link("explain", label, run=loaded.run.id, row=str(row + 1))
