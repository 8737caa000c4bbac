"""A tree as a still drawing."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, run_colors
from pages.common.html import color_legend
from pages.common.theme import mode
from pages.common.words import plain
from treelab.figures.tree import plan_picture, tree_alt
from treelab.runs.jobs.model_facts import without_origin
from treelab.trees.dot import to_dot
from treelab.trees.tree import Tree

_MORE_LEVELS = 3  # that a visitor may add to those drawn at first


def draw_tree(tree: Tree, loaded: LoadedRun, key: str) -> None:
    """Draw a tree as a still picture; of a large one, its upper levels.

    Parameters
    ----------
    tree : Tree
    loaded : LoadedRun
        The run it belongs to, for the classes' colours.
    key : str
        Names the picture's controls.
    """
    colors = run_colors(loaded)
    plan = plan_picture(tree)
    if plan.depth < tree.depth:
        depth = st.slider(
            f"Levels drawn, of {tree.depth}",
            1,
            min(tree.depth, plan.depth + _MORE_LEVELS),
            plan.depth,
            key=f"levels-{key}-{loaded.run.id}-{tree.n_nodes}",
            width=320,
            help="The tree has more branches than fit on a page. What is not drawn is "
            "counted below its branch; the rules list every leaf.",
        )
        plan = plan_picture(tree, depth=depth)
    text = to_dot(
        tree,
        palette=colors or None,
        mode=mode(),
        legend=False,
        layout=plan.layout,
    )
    with st.container(
        key=f"tree-{'fit' if plan.fits else 'scroll'}-{key}",
        # Centred, the left of what is scrolled could not be reached.
        horizontal_alignment="center" if plan.fits else "left",
    ):
        st.graphviz_chart(text, alt=tree_alt(tree))
    if legend := color_legend(colors):
        st.html(legend)


def tree_notes(tree: Tree, loaded: LoadedRun) -> None:
    """Write the notes of a tree below its picture."""
    for note in without_origin(tree, loaded.run.provenance).notes:
        st.caption(plain(note))
