"""How alike the routes of the classes are, in a sentence and as a matrix."""

import numpy as np
import streamlit as st

from pages.common.cached.routing import RoutedRows
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import plain
from treelab.evaluation.routing import (
    MOST_LISTED,
    RouteSimilarity,
    compare_routes,
    parting_split,
)
from treelab.figures.routing import similarity_figure
from treelab.trees.text import split_text
from treelab.trees.words import percent


def alike(routed: RoutedRows) -> RouteSimilarity | None:
    """Compare the routes of the classes that have rows; None where nothing parts."""
    present = np.flatnonzero(routed.rows[:, 0])
    if len(present) < 2 or routed.tree.n_splits == 0:
        return None
    return compare_routes([routed.names[i] for i in present], routed.rows[present])


def most_alike_words(found: RouteSimilarity) -> str:
    """Write which classes' routes are most alike."""
    first, second = found.most_alike
    pair = f"{found.names[first]} and {found.names[second]}"
    similarity = f"{found.similarity[first, second]:.2f}"
    if len(found.names) == 2:
        return f"{pair} share {similarity} of their routes"
    return f"{pair} take the most similar routes ({similarity})"


def least_alike_words(routed: RoutedRows, found: RouteSimilarity) -> str:
    """Write which classes' routes are least alike, and where they part."""
    first, second = found.least_alike
    rows = [routed.rows[routed.names.index(found.names[i])] for i in (first, second)]
    node, fraction = parting_split(routed.tree, *rows)
    where = "the root, " if node == 0 else ""
    parting = (
        f"{percent(round(fraction, 2))} of their rows part at {where}"
        f"“{split_text(routed.tree, node, most=MOST_LISTED)}”."
    )
    if len(found.names) == 2:
        return parting
    pair = f"{found.names[first]} and {found.names[second]}"
    return f"Least alike: {pair} ({found.similarity[first, second]:.2f}); {parting}"


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
