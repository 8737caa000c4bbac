"""What the Look pages have in common: the run, its colours, its pictures of trees."""

import html

import streamlit as st

from pages.common.look import (
    View,
    drawn_tree,
    heaviest_estimators,
    label_colors,
    open_run,
)
from pages.common.picker import pick_run
from pages.common.theme import dot, mode
from pages.common.words import SPLIT_NAMES
from treelab.figures.tree import thumbnail_svg
from treelab.figures.weights import percent
from treelab.figures.words import count

_MOST_IN_LEGEND = 12
_THUMBNAILS = 6


def pick_view(**options) -> View:
    """Let the visitor choose a run, and say so where it still grows.

    Takes the options of ``pick_run``.
    """
    run = pick_run(growing=True, **options)
    view = open_run(run)
    if view.epoch is not None:
        grows = "It still trains" if run.state == "running" else "It kept no model"
        st.info(
            f"{grows}; this is its tree of epoch {view.epoch:g}.",
            icon=":material/hourglass_top:",
        )
        if run.state == "running":
            st.button("Show the newest tree", icon=":material/refresh:")
    return view


def pick_estimator(view: View) -> int | None:
    """Let the visitor choose one of an ensemble's heaviest trees; None for one tree."""
    if not view.is_ensemble:
        return None
    index, weight = heaviest_estimators(view)
    key = f"estimator-{view.run.id}"
    if st.session_state.get(key) not in index.tolist():
        st.session_state[key] = int(index[0])
    total = count(view.model.n_estimators, "tree")
    st.markdown(
        f"**The ensemble answers, not this one tree.** Its {total} share each answer; "
        f"these {min(_THUMBNAILS, len(index))} have the most say on the "
        f"{len(view.split.X_test):,} test rows."
    )
    colors = label_colors(view)
    with st.container(horizontal=True, key="thumbnails"):
        for e, say in zip(index[:_THUMBNAILS].tolist(), weight):
            with st.container(width=160, gap="xxsmall"):
                lit = st.session_state[key] == e
                tree = drawn_tree(view, e)
                st.image(thumbnail_svg(tree, colors, mode=mode(), lit=lit), width=160)
                st.button(
                    f"Tree {e} · {percent(float(say))}",
                    key=f"open-{view.run.id}-{e}",
                    type="primary" if lit else "secondary",
                    width=160,
                    help=f"Tree {e} has {percent(float(say))} of the say, on average "
                    "over the test rows.",
                    on_click=st.session_state.__setitem__,
                    args=(key, e),
                )
    return st.session_state[key]


def class_legend(view: View) -> None:
    """Name the classes' colours, the most frequent class first."""
    colors = label_colors(view)
    items = [dot(color, str(label)) for label, color in colors.items()]
    more = len(items) - _MOST_IN_LEGEND
    if more > 0:
        items = [*items[:_MOST_IN_LEGEND], html.escape(f"and {more} more")]
    if items:
        spans = "".join(f'<span class="key">{item}</span>' for item in items)
        st.html(f'<div class="legend">{spans}</div>')


def part_words(view: View, part: str) -> str:
    """Name a part of the rows with its size: "test, 114 rows"."""
    return f"{SPLIT_NAMES[part]}, {count(len(view.split.rows(part)[1]), 'row')}"

