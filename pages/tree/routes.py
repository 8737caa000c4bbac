"""Where rows go: of each class, of a file, of another time."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached import routing as cached
from pages.cached.runs import LoadedRun, run_colors, run_tree, shared
from pages.explain.new_rows import given_table, uploaded
from pages.widgets.page import cells, mode, pick_one, show_figure
from pages.widgets.words import (
    LONGEST_RULE,
    counted_split,
    fitted_words,
    percents,
    plain,
    refusals,
    short_rule,
)
from treelab.data.split import SPLITS
from treelab.evaluation import routing
from treelab.evaluation.metrics import dendrogram_purity, one_cluster_purity
from treelab.figures import routing as figures
from treelab.figures.html import color_legend, scale
from treelab.trees.colors import VIRIDIS, palette
from treelab.trees.text import prediction_label, split_text
from treelab.trees.words import counted, listed, percent, quoted

FILE = "a file"


def show_routes(loaded: LoadedRun, estimator: int | None) -> None:
    """Let the visitor choose rows, and show where they go."""
    routed = _pick_rows(loaded, estimator)
    if routed is None:
        return
    if loaded.model.has_predictor:
        st.caption("Predictions are those of the leaves, without the predictor on top.")
    is_number, run_id = loaded.model.classes is None, loaded.run.id
    each = "Each band" if is_number else "Each class"
    views = {each: partial(_show_each, loaded, routed)}
    present = np.flatnonzero(routed.rows[:, 0])
    if len(present) > 1 and routed.tree.n_splits:
        rows = routed.rows[present]
        found = routing.compare_routes([routed.names[i] for i in present], rows)
        words = found.parting_words(routed.tree, rows[[*found.least_alike]])
        st.header(plain(found.finding), anchor=False)
        st.markdown(plain(words))
        views["How alike"] = partial(_show_similarity, routed, found, words)
        views["Difference of two"] = partial(_show_two, routed, found, run_id)
    shift = cached.routing_shift_of(loaded, estimator, routed)
    if shift is not None:
        st.markdown(plain(shift.sentences(routed.tree, fitted_words(loaded))))
        show = partial(_show_shift, loaded, estimator, routed, shift)
        views["Against fitted rows"] = show
    if not is_number and loaded.has_labels:
        views["Purity of leaves"] = partial(_show_purity, loaded, routed)
    views[pick_one("View", list(views), f"routing-view-{run_id}", wrap=True)]()
    with st.expander("As a table"):
        name = st.selectbox("Rows of", routed.names, key="routing-table-kind")
        table = routed.table(name)
        columns = ["node", "level", "condition", "prediction", "rows"]
        titles = percents(fraction="of all", level_fraction="of its level")
        st.dataframe(
            table.assign(node=table.index)[[*columns, *titles]],
            hide_index=True,
            key="routing-table",
            column_config=titles,
        )


def _pick_rows(loaded: LoadedRun, estimator: int | None) -> routing.RoutedRows | None:
    """Let the visitor choose the rows; None until there is a file that can be read."""
    offered = {name: counted_split(loaded, name) for name in SPLITS[::-1]}
    given = {"wrap": True, "persist_state": "session"}
    split = pick_one("Rows", offered | {FILE: FILE}, "routing-rows", **given)
    if split != FILE:
        return cached.routed_split(loaded, split, estimator)
    words = "It is read for this page and not stored."
    file = uploaded("routing-file", help=words)
    if file is None:
        columns = listed(run_tree(loaded, estimator).columns, write=quoted)
        problem = loaded.run.problem
        known = [name for name in (problem.target, problem.exposure) if name]
        groups = "band" if loaded.model.classes is None else "class"
        words = (
            f"The tree reads {columns}. With {listed(known, write=quoted)} the rows "
            f"are shown by {groups}, with a column of dates (2024-01-31) by month."
        )
        st.info(plain(words), icon=":material/info:")
        return None
    with refusals():
        return cached.routed_file(loaded, estimator, given_table(loaded, *file))
    return None


def _pick_levels(routed: routing.RoutedRows) -> int:
    """Let the visitor choose how deep a large tree is drawn."""
    tree = routed.tree
    levels = figures.levels_to_draw(tree)
    if levels == tree.depth:
        return levels
    return st.slider(
        f"Levels drawn, of {tree.depth}",
        1,
        tree.depth,
        levels,
        key=f"routing-levels-{routed.key[1]}-{tree.n_nodes}",
        width=320,
        help="A circle on the last level has splits below it; the table has all.",
    )


FIRST_SHOWN = 12  # classes that are shown until others are asked for
_IN_TWOS = 4  # trees; more of them stand in three columns


def _show_each(loaded: LoadedRun, routed: routing.RoutedRows) -> None:
    """Draw a small tree for each class that the visitor chose."""
    about = f"{loaded.run.id}{loaded.output}{'' if routed.is_stored else '-file'}"
    bands = f"Bands of {plain(loaded.model.target)}"
    shown = st.pills(
        bands if loaded.model.classes is None else "Classes",
        list(routed.names),
        selection_mode="multi",
        default=list(routed.names)[:FIRST_SHOWN],
        format_func=plain,
        wrap=True,
        key=f"routing-kinds-{about}",
    )
    if not shown:
        st.info("Choose at least one above to see its routing.")
        return
    levels = _pick_levels(routed)
    st.html(scale(VIRIDIS, "no row", "all of its rows"))
    is_wide = len(shown) <= _IN_TWOS
    across, width = (2, figures.WIDTH) if is_wide else (3, figures.SMALL_WIDTH)
    for column, name in zip(cells(len(shown), across), shown):
        with column, st.container(border=True, height="stretch"):
            _show_heat_tree(routed, name, levels, width)
    st.caption(
        "Each node is as bright as the fraction of these rows that pass it: all at the "
        "root, and all again in the leaves together. Circles: splits, squares: leaves; "
        "yes goes left."
    )


def _show_heat_tree(
    routed: routing.RoutedRows, name: str, levels: int, width: int
) -> None:
    """Draw where the rows of one class go, under the leaf where most of them end."""
    n_rows = int(routed.of(name)[0])
    if n_rows == 0:
        st.markdown(f"**{plain(name)}** has no {routed.rows_name}.")
        return
    table = routed.table(name)
    tree = routed.tree
    leaf = routing.busiest_leaf(tree, table)
    rule = short_rule(tree, leaf)
    if len(rule) > LONGEST_RULE:
        rule = f"node {leaf} of the table below"
    counts, fraction = counted(n_rows, routed.rows_name), f"{table.fraction[leaf]:.0%}"
    predicts = plain(table.prediction[leaf])
    if tree.classes is not None:
        predicts = f"“{predicts}”"
    elif tree.leaf_weights is not None:
        predicts = f"{predicts} on average"
    st.markdown(
        f"**{plain(name)}: {fraction} end in one leaf**, which predicts "
        f"{predicts}; {counts}",
        help=plain(rule),
    )
    show_figure(
        _heat_tree(routed, name, levels, width, mode()),
        key=f"{'wide-' * (width == figures.WIDTH)}heat-{routed.names.index(name)}",
        alt=f"Of {counts} of {name}, {fraction} end in one leaf: {rule}.",
    )


@shared(96)
def _heat_tree(routed: routing.RoutedRows, name: str, levels: int, width: int, mode):
    """Draw a class's rows in the tree, once."""
    return figures.heat_tree_figure(
        routed.tree,
        routed.table(name),
        rows_name=f"{routed.rows_name}s of {name}",
        max_depth=levels,
        width=width,
        mode=mode,
    )


def _show_similarity(
    routed: routing.RoutedRows, found: routing.RouteSimilarity, words: str
) -> None:
    """Draw the matrix with its dendrogram; ``words`` are what it shows."""
    with st.container(width=980):
        show_figure(
            figures.similarity_figure(found, mode=mode()),
            key="routes-alike",
            alt=f"{found.finding}. {words}",
        )
    absent = [name for name in routed.names if name not in found.names]
    left_out = f" No {routed.rows_name}: {', '.join(absent)}." if absent else ""
    st.caption(
        f"Rows: {int(routed.rows[:, 0].sum()):,} {routed.rows_name}s. 1: the rows of "
        "both fill each leaf alike; 0: they part at the root. In between it "
        "is the fraction of the nodes below the root that the rows of both pass "
        "together, paired as well as possible (Bray and Curtis's similarity of the two "
        "distributions over the nodes). Right: joined by mean similarity."
        + plain(left_out)
    )


def _show_difference(
    routed: routing.RoutedRows, rows, ends: tuple[str, str], key: str, alt: str, **more
) -> None:
    """Draw how two groups of rows differ, each as ``routing_table`` describes it."""
    levels = _pick_levels(routed)
    points = f"{100 * more.get('most', 1):.0f} points"
    low, high = f"{ends[0]} (−{points})", f"{ends[1]} (+{points})"
    st.html(scale(palette(mode()).diverging, low, high))
    show_figure(
        figures.difference_figure(
            routed.tree, *rows, max_depth=levels, mode=mode(), **more
        ),
        key=key,
        alt=alt,
    )


def _show_two(
    routed: routing.RoutedRows, found: routing.RouteSimilarity, key: str
) -> None:
    """Let the visitor choose two classes, and draw how their routes differ."""
    labels = {"first": "More of this", "second": "than of this"}
    first, second = pair = [
        column.selectbox(
            labels[own], found.names, index=at, key=f"difference-{own}-{key}"
        )
        for own, at, column in zip(labels, found.most_alike, st.columns(2))
    ]
    if first == second:
        st.info("Choose two different ones.", icon=":material/info:")
        return
    rows = np.array([routed.of(name) for name in pair])
    node, fraction = routing.parting_split(routed.tree, *rows)
    words = f"{first} and {second} take the same route."
    if fraction:
        left = rows[:, routed.tree.left[node]] / rows[:, node]
        overlap = percent(round(routing.route_similarity(rows)[0, 1], 2))
        words = (
            f"Route overlap of “{first}” and “{second}”: {overlap}. Most separate at "
            f"{routing.split_name(routed.tree, node)}: it holds for {percent(left[0])} "
            f"and {percent(left[1])} of those that reach it."
        )
    st.markdown(f"**{plain(words)}**")
    _show_difference(
        routed,
        [routed.table(name) for name in pair],
        (f"more of {second}", f"more of {first}"),
        "routing-difference",
        words,
        names=[f"{routed.rows_name}s of {name}" for name in pair],
    )
    st.caption(
        "Each node: of the first's rows the percentage that passes it, less that "
        "of the second's, in percentage points. Circles: splits, squares: leaves; yes "
        "goes left."
    )


_LEAST_SCALE = 0.1  # difference at which colours are strongest, at least


def _show_shift(
    loaded: LoadedRun,
    estimator: int | None,
    routed: routing.RoutedRows,
    shift: routing.RoutingShift,
) -> None:
    """Draw at each node how many more of these rows pass it than of the fitted ones."""
    fitted = cached.routed_split(loaded, loaded.fitted_split, estimator)
    new, old = (
        routing.routing_table(each.tree, each.passing) for each in (routed, fitted)
    )
    names = [f"{routed.rows_name}s", fitted_words(loaded)]
    differing = shift.splits.index[shift.splits["differs"]]
    _show_difference(
        routed,
        [new, old],
        (f"fewer of the {names[0]}", "more of them"),
        "routing-shift",
        shift.sentences(routed.tree, names[1]),
        names=names,
        most=max(float(np.abs(new["fraction"] - old["fraction"]).max()), _LEAST_SCALE),
        marked=np.isin(np.arange(routed.tree.n_nodes), differing),
    )
    st.caption(
        f"Each node: the percentage of the {names[0]} that passes it, less that of the "
        f"{names[1]}. Ring and star: the rows that reach this split part differently "
        "by more than chance (Fisher's exact test, two-sided; "
        f"{routing.BY_CHANCE:.0%} false discoveries among all splits). PSI: population "
        f"stability index of the leaves, usually called little below {routing.LITTLE} "
        f"and large above {routing.LARGE}."
    )
    most, nodes = routing.MOST_LISTED, shift.splits.index
    words = [split_text(routed.tree, node, most=most) for node in nodes]
    splits = shift.splits.assign(node=nodes, condition=words)
    splits = splits.iloc[np.lexsort([-splits["rows"], splits["p_value"]])]
    columns = ["node", "condition", "rows", "holds", "fitted_holds", "psi", "differs"]
    by_chance = "By more than chance, all splits taken together."
    psi = {"format": "%.3f", "help": "Of the split's two sides."}
    titles = percents(holds="holds for", fitted_holds="of fitted rows") | {
        "rows": "rows here",
        "psi": st.column_config.NumberColumn("PSI", **psi),
        "differs": st.column_config.CheckboxColumn("differs", help=by_chance),
    }
    key = "routing-shift-splits"
    st.dataframe(splits[columns], hide_index=True, key=key, column_config=titles)
    for column in routed.months:
        found = cached.months_of(loaded, estimator, routed, column)
        if len(found) > 1:
            _show_months(loaded, routed, found, column)


def _show_months(
    loaded: LoadedRun, routed: routing.RoutedRows, found: pd.DataFrame, column: str
) -> None:
    """Draw the stability index by month."""
    differing = found["month"][found["differs"]].tolist()
    title = f"By {column}: no month differs by more than chance"
    if differing:
        which = ", ".join(differing[:6]) + (", …" if len(differing) > 6 else "")
        title = f"By {column}: {len(differing)} of {len(found)} months differ ({which})"
    st.subheader(plain(title), anchor=False)
    show_figure(
        figures.months_figure(found, mode=mode()),
        key=f"routing-months-{column}",
        alt=title,
    )
    n_unknown = int((np.asarray(routed.months[column]) == "").sum())
    unknown = f" {counted(n_unknown, 'row')} without a date." if n_unknown else ""
    st.caption(
        f"PSI of each month's rows against the {fitted_words(loaded)}; a month of few "
        "rows has a larger one by chance (dotted). Star: at some split its rows part "
        f"differently by more than chance, all months and splits taken together."
        f"{unknown}"
    )


def _show_purity(loaded: LoadedRun, routed: routing.RoutedRows) -> None:
    """Draw the rows of each class in each leaf, and list the leaves."""
    found, dendrogram, one = _purity(routed)
    leaves, tree = found.leaves, routed.tree
    words = found.sentences(f"{routed.rows_name}s")
    st.markdown(f"**{plain(words)}**")
    colors = {str(label): color for label, color in run_colors(loaded).items()}
    st.html(color_legend({name: colors[name] for name in found.rows if name in colors}))
    figure = figures.purity_figure(found, colors, mode=mode())
    show_figure(figure, key="routing-purity", alt=words)
    shown = min(figures.MOST_LEAVES, len(leaves))
    in_tree = f" Dendrogram purity: {dendrogram:.2f} (all in one cluster: {one:.2f})."
    in_tree = in_tree if dendrogram >= 0 else ""
    which = f"The {shown} leaves of most rows" if shown < len(leaves) else "Bars"
    st.caption(
        f"{which}: leaves that {routed.rows_name}s reach, left to right in the tree; "
        "behind each its purity, the fraction of its most frequent class. Mutual "
        f"information adjusted for chance: {found.adjusted:.2f} (0: leaves drawn at "
        f"random, 1: leaves and classes are the same).{in_tree}"
    )
    labels = [prediction_label(tree, node) for node in leaves.index]
    table = leaves.assign(node=leaves.index, prediction=labels)
    columns = ["node", "rows", "label", "purity", "prediction"]
    st.dataframe(
        table[columns].join(found.rows.add_prefix("rows of ")),
        hide_index=True,
        key="routing-purity-table",
        column_config={"label": "most frequent class"} | percents(purity="purity"),
    )


@shared(16, "Measuring the leaves…")
def _purity(routed: routing.RoutedRows) -> tuple[routing.LeafPurity, float, float]:
    """Return the leaves' purity, and those of the whole tree and of one cluster."""
    found = routing.leaf_purity(routed.tree, routed.names, routed.rows)
    grouped = routed.group >= 0
    leaf, group = routed.leaf[grouped], routed.group[grouped]
    whole = dendrogram_purity(routed.tree.parent, leaf, group)
    return found, whole, one_cluster_purity(group)
