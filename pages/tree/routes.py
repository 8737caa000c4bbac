"""Where rows go: of each class, of a file, of another time."""

from pathlib import Path

import numpy as np
import streamlit as st

from pages.cached.routing import (
    RoutedRows,
    months_of,
    routed_file,
    routed_split,
    routing_shift_of,
)
from pages.cached.runs import LoadedRun, run_colors, run_tree
from pages.widgets.html import color_legend, scale
from pages.widgets.page import mode, show_figure
from pages.widgets.upload import KINDS, LABEL
from pages.widgets.words import (
    LONGEST_RULE,
    fitted_words,
    plain,
    short_rule,
    split_words,
)
from treelab.data.reading.read_table import ReadResult, read_table
from treelab.data.reading.table_error import ChoiceError
from treelab.data.split import SPLITS
from treelab.evaluation.metrics import dendrogram_purity
from treelab.evaluation.routing import (
    BY_CHANCE,
    LARGE,
    LITTLE,
    MOST_LISTED,
    LeafPurity,
    RouteSimilarity,
    RoutingShift,
    busiest_leaf,
    compare_routes,
    leaf_purity,
    parting_split,
    route_similarity,
    routing_table,
)
from treelab.figures.routing import (
    MOST_LEAVES,
    SMALL_WIDTH,
    WIDTH,
    difference_colors,
    difference_figure,
    heat_tree_figure,
    levels_to_draw,
    months_figure,
    purity_figure,
    similarity_figure,
)
from treelab.figures.style import VIRIDIS
from treelab.trees.feature import forms_of_model
from treelab.trees.text import prediction_label, split_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted, listed, percent

# The rows that are chosen, and the view of them.


EACH, ALIKE, TWO = "Each class", "How alike", "Difference of two"
AGAINST, PURITY = "Against fitted rows", "Purity of leaves"
FILE = "a file"


def show_routes(loaded: LoadedRun, estimator: int | None) -> None:
    """Let the visitor choose rows, and show where they go."""
    routed = _pick_rows(loaded, estimator)
    if routed is not None:
        _show_views(loaded, estimator, routed)


def _pick_rows(loaded: LoadedRun, estimator: int | None) -> RoutedRows | None:
    """Let the visitor choose the rows, and send them through the tree."""
    split = st.segmented_control(
        "Rows",
        [*SPLITS[::-1], FILE],
        default="test",
        required=True,
        format_func=lambda name: name if name == FILE else split_words(loaded, name),
        wrap=True,
        key="routing-rows",
        persist_state="session",
    )
    if split == FILE:
        return pick_file(loaded, estimator)
    return routed_split(loaded, split, estimator)


def _show_each(loaded: LoadedRun, routed: RoutedRows, kind: str) -> None:
    """Draw a small tree for each class that the visitor chose."""
    shown = st.pills(
        kind,
        list(routed.names),
        selection_mode="multi",
        default=list(routed.names)[:FIRST_SHOWN],
        format_func=plain,
        wrap=True,
        key=f"routing-kinds-{loaded.run.id}{'' if routed.is_stored else '-file'}",
    )
    if not shown:
        st.info("Choose at least one above to see its routing.")
        return
    show_heat_trees(routed, shown, _pick_levels(loaded, routed))


def _pick_levels(loaded: LoadedRun, routed: RoutedRows) -> int:
    """Let the visitor choose how deep a large tree is drawn."""
    tree = routed.tree
    levels = levels_to_draw(tree)
    if levels == tree.depth:
        return levels
    return st.slider(
        f"Levels drawn, of {tree.depth}",
        1,
        tree.depth,
        levels,
        key=f"routing-levels-{loaded.run.id}-{tree.n_nodes}",
        width=320,
        help="A circle on the last level has splits below it; the table has all.",
    )


def _show_views(loaded: LoadedRun, estimator: int | None, routed: RoutedRows) -> None:
    """Show the findings, and below them the view that the visitor chose."""
    is_number = loaded.model.classes is None
    kind = f"Bands of {plain(loaded.model.target)}" if is_number else "Classes"
    found = alike(routed)
    shift = routing_shift_of(loaded, estimator, routed)
    if found is not None:
        st.header(plain(most_alike_words(found)), anchor=False)
        st.markdown(plain(least_alike_words(routed, found)))
    if shift is not None:
        st.markdown(plain(shift_words(routed, shift, fitted_words(loaded))))
    names = {EACH: "Each band" if is_number else EACH}
    view = st.segmented_control(
        "View",
        [
            EACH,
            *([ALIKE, TWO] if found is not None else []),
            *([AGAINST] if shift is not None else []),
            *([PURITY] if not is_number and loaded.has_labels else []),
        ],
        default=EACH,
        required=True,
        format_func=lambda view: names.get(view, view),
        wrap=True,
        key=f"routing-view-{loaded.run.id}",
    )
    if view == EACH:
        _show_each(loaded, routed, kind)
    elif view == ALIKE and found is not None:
        show_similarity(routed, found)
    elif view == TWO and found is not None:
        levels = _pick_levels(loaded, routed)
        show_difference(routed, found, levels, loaded.run.id)
    elif view == AGAINST and shift is not None:
        levels = _pick_levels(loaded, routed)
        show_shift(loaded, estimator, routed, shift, levels)
    elif view == PURITY:
        show_purity(loaded, routed)
    with st.expander("As a table"):
        name = st.selectbox("Rows of", routed.names, key="routing-table-kind")
        show_table(routed, name)


# The difference of two classes: at each node, which of them more rows pass.


def show_difference(
    routed: RoutedRows, found: RouteSimilarity, levels: int, key: str
) -> None:
    """Let the visitor choose two classes, and draw how their routes differ."""
    places = [found.names[i] for i in found.most_alike]
    left, right = st.columns(2)
    first = left.selectbox(
        "More of this",
        found.names,
        index=found.names.index(places[0]),
        key=f"difference-first-{key}",
    )
    second = right.selectbox(
        "than of this",
        found.names,
        index=found.names.index(places[1]),
        key=f"difference-second-{key}",
    )
    if first == second:
        st.info("Choose two different classes.", icon=":material/info:")
        return
    words = difference_words(routed, first, second)
    st.markdown(f"**{plain(words)}**")
    low, middle, high = difference_colors(mode())
    st.html(
        scale(
            (low, middle, high),
            f"more of {second} (−100 points)",
            f"more of {first} (+100 points)",
        )
    )
    show_figure(
        difference_figure(
            routed.tree,
            routed.table(first),
            routed.table(second),
            names=[f"{routed.rows_name}s of {name}" for name in (first, second)],
            max_depth=levels,
            mode=mode(),
        ),
        key="routing-difference",
        alt=words,
    )
    st.caption(
        "Each node: of the first class's rows the percentage that passes it, less that "
        "of the second's, in percentage points. Circles: splits, squares: leaves; yes "
        "goes left."
    )


def difference_words(routed: RoutedRows, first: str, second: str) -> str:
    """Write where the rows of two classes part."""
    rows = routed.rows[[routed.names.index(first), routed.names.index(second)]]
    node, fraction = parting_split(routed.tree, *rows)
    if fraction == 0:
        return f"{first} and {second} take the same route."
    left = rows[:, routed.tree.left[node]] / rows[:, node]
    at = "the root, " if node == 0 else ""
    split = split_text(routed.tree, node, most=MOST_LISTED)
    overlap = percent(round(route_similarity(rows)[0, 1], 2))
    return (
        f"Route overlap of “{first}” and “{second}”: {overlap}. Most separate at "
        f"{at}“{split}”: it holds for {percent(left[0])} and {percent(left[1])} of "
        "those that reach it."
    )


# Rows from a file that the visitor brings, sent through the tree and not stored.


def pick_file(loaded: LoadedRun, estimator: int | None) -> RoutedRows | None:
    """Let the visitor choose a file; None until the tree can read one."""
    file = st.file_uploader(
        LABEL,
        type=KINDS,
        key="routing-file",
        help="It is read for this page and not stored.",
    )
    if file is None:
        columns = listed(run_tree(loaded, estimator).columns)
        st.info(
            plain(
                f"The tree reads {columns}. With a column {loaded.model.target!r} the "
                "rows are shown by class, with a column of dates (2024-01-31) by month."
            ),
            icon=":material/info:",
        )
        return None
    try:
        sheet = None
        try:
            read = _read(*loaded.key, file.file_id, file.name, sheet, file, loaded)
        except ChoiceError as several:
            sheet = st.selectbox(
                "Sheet or table", several.choices, key=f"routing-sheet-{file.file_id}"
            )
            read = _read(*loaded.key, file.file_id, file.name, sheet, file, loaded)
        file_key = f"{file.file_id} {sheet or ''}"
        routed = routed_file(loaded, estimator, read, file_key, file.name)
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    if read.notes:
        with st.expander(f"How {plain(file.name)} was read"):
            for note in read.notes:
                st.caption(plain(note))
    return routed


@st.cache_resource(show_spinner="Reading the file…", max_entries=2)
def _read(
    home: Path, run_id: str, epoch, file_id, name, sheet, _file, _loaded
) -> ReadResult:
    """Read an uploaded file as the run's model does, once."""
    forms = forms_of_model(_loaded.model)
    content = _file.getvalue()
    return read_table(content, name, as_in=forms, one_column=True, sheet=sheet)


# Where the rows of each class go: a small tree a class, and the same as a table.


FIRST_SHOWN = 12  # classes that are shown until others are asked for
_IN_TWOS = 4  # trees; more of them stand in three columns


def show_heat_trees(routed: RoutedRows, shown: list[str], levels: int) -> None:
    """Draw one small tree a class, each with the finding as its title.

    Parameters
    ----------
    routed : RoutedRows
    shown : list of str
        Names of the classes.
    levels : int
        Deepest level that is drawn.
    """
    st.html(scale(VIRIDIS, "no row", "all rows of the class"))
    across, width = (2, WIDTH) if len(shown) <= _IN_TWOS else (3, SMALL_WIDTH)
    for first in range(0, len(shown), across):
        columns = st.columns(across, gap="medium")
        for column, name in zip(columns, shown[first : first + across]):
            with column, st.container(border=True, height="stretch"):
                _show_heat_tree(routed, name, levels, width)
    st.caption(
        "Each node is as bright as the fraction of the class's rows that pass it: all "
        "of them at the root, and all of them again in the leaves together. Circles: "
        "splits, squares: leaves; yes goes left."
    )


def _show_heat_tree(routed: RoutedRows, name: str, levels: int, width: int) -> None:
    """Draw where the rows of one class go, under the leaf where most of them end."""
    place = routed.names.index(name)
    n_rows = int(routed.rows[place, 0])
    if n_rows == 0:
        st.markdown(f"**{plain(name)}** has no {routed.rows_name}.")
        return
    table = routed.table(name)
    leaf = busiest_leaf(routed.tree, table)
    counts = counted(n_rows, routed.rows_name)
    fraction = f"{table.fraction[leaf]:.0%}"
    st.markdown(
        f"**{plain(name)}: {fraction} end in one leaf**, which predicts "
        f"“{plain(table.prediction[leaf])}”; {counts}",
        help=plain(_leaf_rule(routed.tree, leaf)),
    )
    show_figure(
        _heat_tree(routed.key, name, levels, width, mode(), routed),
        key=f"{'wide-' * (width == WIDTH)}heat-{place}",
        alt=f"Of {counts} of {name}, {fraction} end in one leaf: "
        f"{_leaf_rule(routed.tree, leaf)}.",
    )


@st.cache_resource(show_spinner=False, max_entries=96)
def _heat_tree(key: tuple, name: str, levels: int, width: int, mode, _routed):
    """Draw a class's rows in the tree, once."""
    return heat_tree_figure(
        _routed.tree,
        _routed.table(name),
        rows_name=f"{_routed.rows_name}s of {name}",
        max_depth=levels,
        with_scale=False,
        width=width,
        mode=mode,
    )


def show_table(routed: RoutedRows, name: str) -> None:
    """List the nodes with the rows of one class that pass them."""
    table = routed.table(name)
    columns = ["node", "level", "condition", "prediction", "rows"]
    st.dataframe(
        table.assign(node=table.index)[[*columns, "fraction", "level_fraction"]],
        hide_index=True,
        key="routing-table",
        column_config={
            "fraction": st.column_config.NumberColumn("of all", format="percent"),
            "level_fraction": st.column_config.NumberColumn(
                "of its level", format="percent"
            ),
        },
    )


def _leaf_rule(tree: Tree, leaf: int) -> str:
    """Write a leaf's rule; of a very long one, where to find it."""
    rule = short_rule(tree, leaf)
    return rule if len(rule) <= LONGEST_RULE else f"node {leaf} of the table below"


# The leaves as clusters: how pure they are, and what they tell of the class.


def show_purity(loaded: LoadedRun, routed: RoutedRows) -> None:
    """Draw the rows of each class in each leaf, and list the leaves."""
    found, dendrogram = _measured(routed.key, routed)
    words = _words(routed, found)
    st.markdown(f"**{plain(words)}**")
    colors = {str(label): color for label, color in run_colors(loaded).items()}
    st.html(color_legend({name: colors[name] for name in found.rows if name in colors}))
    show_figure(
        purity_figure(found, colors, mode=mode()), key="routing-purity", alt=words
    )
    shown = min(MOST_LEAVES, len(found.leaves))
    in_tree = f" Dendrogram purity: {dendrogram:.2f}." if dendrogram >= 0 else ""
    which = f"The {shown} leaves of most rows" if shown < len(found.leaves) else "Bars"
    st.caption(
        f"{which}: leaves that {routed.rows_name}s reach, left to right in the tree; "
        "behind each its purity, the fraction of its most frequent class. Mutual "
        f"information adjusted for chance: {found.adjusted:.2f} (0: leaves drawn at "
        f"random, 1: leaves and classes are the same).{in_tree}"
    )
    tree = routed.tree
    st.dataframe(
        found.leaves.assign(
            node=found.leaves.index,
            prediction=[prediction_label(tree, node) for node in found.leaves.index],
        ).join(found.rows.add_prefix("rows of "))[
            [
                *("node", "rows", "label", "purity", "prediction"),
                *(f"rows of {name}" for name in found.rows),
            ]
        ],
        hide_index=True,
        key="routing-purity-table",
        column_config={
            "label": "most frequent class",
            "purity": st.column_config.NumberColumn("purity", format="percent"),
        },
    )


@st.cache_resource(show_spinner="Measuring the leaves…", max_entries=16)
def _measured(key: tuple, _routed: RoutedRows) -> tuple[LeafPurity, float]:
    """Return the leaves' purity, and that of the whole tree as a dendrogram."""
    found = leaf_purity(_routed.tree, _routed.names, _routed.rows)
    grouped = _routed.group >= 0
    purity = dendrogram_purity(
        _routed.tree.parent, _routed.leaf[grouped], _routed.group[grouped]
    )
    return found, purity


def _words(routed: RoutedRows, found: LeafPurity) -> str:
    """Write how pure the leaves are, and how much of the class they tell."""
    known = found.information / found.entropy if found.entropy else 1.0
    return (
        f"{percent(found.purity)} of the {routed.rows_name}s are of their leaf's most "
        f"frequent class ({percent(found.one_leaf)} if all were in one). The "
        f"{counted(len(found.leaves), 'leaf', 'leaves')} hold {found.information:.2f} "
        f"of {found.entropy:.2f} bits about the class, {percent(known)}."
    )


# Whether rows look like those the tree was fitted to: in words, a tree, by month.


_LEAST_SCALE = 0.1  # difference at which colours are strongest, at least
_FEWEST_MONTHS = 2


def shift_words(routed: RoutedRows, shift: RoutingShift, fitted: str) -> str:
    """Write whether rows look like the fitted ones, and where they do not."""
    psi = f"PSI {shift.psi:.2f}; chance level {shift.psi_by_chance:.2f}"
    n_splits = counted(routed.tree.n_splits, "split")
    if shift.splits.empty:
        return "All rows end in the tree's only leaf."
    split = shift.widest_split
    if split is None:
        return (
            f"No significant drift against the {fitted} at any of {n_splits} ({psi})."
        )
    how = "Slight" if shift.psi < LITTLE else "Significant"
    node = shift.splits.loc[split]
    most_at = split_text(routed.tree, split, most=MOST_LISTED)
    return (
        f"{how} drift against the {fitted} at {shift.n_differing} of {n_splits} "
        f"({psi}). Most at “{most_at}”: it holds for "
        f"{percent(node['holds'])} of those that reach it, of the fitted rows for "
        f"{percent(node['fitted_holds'])}."
    )


def show_shift(
    loaded: LoadedRun,
    estimator: int | None,
    routed: RoutedRows,
    shift: RoutingShift,
    levels: int,
) -> None:
    """Draw at each node how many more of these rows pass it than of the fitted ones."""
    fitted = routed_split(loaded, loaded.fitted_split, estimator)
    new, old = (routing_table(each.tree, each.passing) for each in (routed, fitted))
    names = [f"{routed.rows_name}s", fitted_words(loaded)]
    most = max(float(np.abs(new["fraction"] - old["fraction"]).max()), _LEAST_SCALE)
    points = f"{100 * most:.0f} points"
    low, middle, high = difference_colors(mode())
    st.html(
        scale(
            (low, middle, high),
            f"fewer of the {names[0]} (−{points})",
            f"more of them (+{points})",
        )
    )
    words = shift_words(routed, shift, names[1])
    differing = shift.splits.index[shift.splits["differs"]]
    show_figure(
        difference_figure(
            routed.tree,
            new,
            old,
            names=names,
            marked=np.isin(np.arange(routed.tree.n_nodes), differing),
            most=most,
            max_depth=levels,
            mode=mode(),
        ),
        key="routing-shift",
        alt=words,
    )
    st.caption(
        f"Each node: the percentage of the {names[0]} that passes it, less that of the "
        f"{names[1]}. Ring and star: the rows that reach this split part differently "
        f"by more than chance (Fisher's exact test, two-sided; {BY_CHANCE:.0%} false "
        "discoveries among all splits). PSI: population stability index of the leaves, "
        f"usually called little below {LITTLE} and large above {LARGE}."
    )
    _show_splits(routed, shift)
    for column in routed.months:
        _show_months(loaded, estimator, routed, column)


def _show_splits(routed: RoutedRows, shift: RoutingShift) -> None:
    """List the splits, those first at which the rows part differently."""
    splits = shift.splits.assign(
        node=shift.splits.index,
        condition=[
            split_text(routed.tree, node, most=MOST_LISTED)
            for node in shift.splits.index
        ],
    )
    splits = splits.iloc[np.lexsort([-splits["rows"], splits["p_value"]])]
    st.dataframe(
        splits[
            ["node", "condition", "rows", "holds", "fitted_holds", "psi", "differs"]
        ],
        hide_index=True,
        key="routing-shift-splits",
        column_config={
            "rows": "rows here",
            "holds": st.column_config.NumberColumn("holds for", format="percent"),
            "fitted_holds": st.column_config.NumberColumn(
                "of fitted rows", format="percent"
            ),
            "psi": st.column_config.NumberColumn(
                "PSI", format="%.3f", help="Of the split's two sides."
            ),
            "differs": st.column_config.CheckboxColumn(
                "differs", help="By more than chance, all splits taken together."
            ),
        },
    )


def _show_months(
    loaded: LoadedRun, estimator: int | None, routed: RoutedRows, column: str
) -> None:
    """Draw the stability index by month."""
    found = months_of(loaded, estimator, routed, column)
    if len(found) < _FEWEST_MONTHS:
        return
    differing = found["month"][found["differs"]].tolist()
    if differing:
        which = ", ".join(differing[:6]) + (", …" if len(differing) > 6 else "")
        title = f"By {column}: {len(differing)} of {len(found)} months differ ({which})"
    else:
        title = f"By {column}: no month differs by more than chance"
    st.subheader(plain(title), anchor=False)
    show_figure(
        months_figure(found, mode=mode()), key=f"routing-months-{column}", alt=title
    )
    n_unknown = int((np.asarray(routed.months[column]) == "").sum())
    unknown = f" {counted(n_unknown, 'row')} without a date." if n_unknown else ""
    st.caption(
        f"PSI of each month's rows against the {fitted_words(loaded)}; a month of few "
        "rows has a larger one by chance (dotted). Star: at some split its rows part "
        f"differently by more than chance, all months and splits taken together."
        f"{unknown}"
    )


# How alike the routes of the classes are, in a sentence and as a matrix.


def alike(routed: RoutedRows) -> RouteSimilarity | None:
    """Compare the routes of the classes that have rows; None where nothing parts."""
    present = np.flatnonzero(routed.rows[:, 0])
    if len(present) < 2 or routed.tree.n_splits == 0:
        return None
    return compare_routes([routed.names[i] for i in present], routed.rows[present])


def most_alike_words(found: RouteSimilarity) -> str:
    """Write which classes' routes are most alike."""
    first, second = found.most_alike
    pair = f"“{found.names[first]}” and “{found.names[second]}”"
    overlap = percent(round(found.similarity[first, second], 2))
    which = "Route overlap of" if len(found.names) == 2 else "Most similar routes:"
    return f"{which} {pair}{':' if len(found.names) == 2 else ','} {overlap}"


def least_alike_words(routed: RoutedRows, found: RouteSimilarity) -> str:
    """Write which classes' routes are least alike, and where they part."""
    first, second = found.least_alike
    rows = [routed.rows[routed.names.index(found.names[i])] for i in (first, second)]
    node, fraction = parting_split(routed.tree, *rows)
    where = "the root, " if node == 0 else ""
    parting = (
        f"{percent(round(fraction, 2))} of their rows separate at {where}"
        f"“{split_text(routed.tree, node, most=MOST_LISTED)}”."
    )
    if len(found.names) == 2:
        return parting
    pair = f"“{found.names[first]}” and “{found.names[second]}”"
    overlap = percent(round(found.similarity[first, second], 2))
    return f"Least similar: {pair}, {overlap}; {parting}"


def show_similarity(routed: RoutedRows, found: RouteSimilarity) -> None:
    """Draw the matrix with its dendrogram."""
    with st.container(width=980):
        show_figure(
            similarity_figure(found, mode=mode()),
            key="routes-alike",
            alt=f"{most_alike_words(found)}. {least_alike_words(routed, found)}",
        )
    absent = [name for name in routed.names if name not in found.names]
    left_out = f" No {routed.rows_name}: {', '.join(absent)}." if absent else ""
    st.caption(
        f"Rows: {int(routed.rows[:, 0].sum()):,} {routed.rows_name}s. 1: the rows of "
        "both classes fill each leaf alike; 0: they part at the root. In between it "
        "is the fraction of the nodes below the root that the rows of both pass "
        "together, paired as well as possible (Bray and Curtis's similarity of the two "
        "distributions over the nodes). Right: the classes joined by mean similarity."
        + plain(left_out)
    )
