"""The difference of two classes: at each node, which of them more rows pass."""

import streamlit as st

from pages.common.cached.routing import RoutedRows
from pages.common.html import scale
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import plain
from treelab.evaluation.routing import (
    MOST_LISTED,
    RouteSimilarity,
    parting_split,
    route_similarity,
)
from treelab.figures.routing import difference_colors, difference_figure
from treelab.trees.text import split_text
from treelab.trees.words import percent


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
    return (
        f"{first} and {second} share {route_similarity(rows)[0, 1]:.2f} of their "
        f"routes. Most part at {at}“{split}”: it holds for "
        f"{percent(left[0])} and {percent(left[1])} of those that reach it."
    )
