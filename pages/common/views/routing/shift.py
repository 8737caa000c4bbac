"""Whether rows look like those the tree was fitted to: in words, a tree, by month."""

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.routing import RoutedRows, months_of, routed_split
from pages.common.html import scale
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import fitted_words, plain
from treelab.evaluation.routing import (
    BY_CHANCE,
    LARGE,
    LITTLE,
    MOST_LISTED,
    RoutingShift,
    routing_table,
)
from treelab.figures.routing import difference_colors, difference_figure, months_figure
from treelab.trees.text import split_text
from treelab.trees.words import counted, percent

_LEAST_SCALE = 0.1  # difference at which colours are strongest, at least
_FEWEST_MONTHS = 2


def shift_words(routed: RoutedRows, shift: RoutingShift, fitted: str) -> str:
    """Write whether rows look like the fitted ones, and where they do not."""
    n_rows = f"The {counted(len(routed.leaf), routed.rows_name)}"
    psi = f"PSI {shift.psi:.2f}, {shift.psi_by_chance:.2f} expected by chance"
    n_splits = counted(routed.tree.n_splits, "split")
    if shift.splits.empty:
        return f"{n_rows} all end in the tree's only leaf."
    split = shift.widest_split
    if split is None:
        return (
            f"{n_rows} look like the {fitted} that the tree was fitted to: at none of "
            f"its {n_splits} do they part differently by more than chance ({psi})."
        )
    how = "differ a little from" if shift.psi < LITTLE else "do not look like"
    node = shift.splits.loc[split]
    most_at = split_text(routed.tree, split, most=MOST_LISTED)
    return (
        f"{n_rows} {how} the {fitted} that the tree was fitted to: at "
        f"{shift.n_differing} of its {n_splits} they part differently by more than "
        f"chance ({psi}). Most at “{most_at}”: it holds for "
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
