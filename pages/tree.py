"""Tree: pick a run, look into what it learned, say it in rules."""

import json
from functools import partial

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.predictions import split_scores, tree_score
from pages.common.cached.store import store
from pages.common.cached.trees import drawn_tree, exported_tree
from pages.common.cached.trees import rules as rules_of
from pages.common.state.look_choices import (
    AREAS,
    PLAIN,
    SLUGS,
    TREE,
    look_choices,
    remember,
    selected,
)
from pages.common.theme import page_title
from pages.common.views.node_panel import facts_of, show_node, show_rows, show_split
from pages.common.views.overview import overview
from pages.common.views.parts import (
    draw_tree,
    facts_table,
    part_words,
    pick_estimator,
    pick_view,
    shown_rows,
    tree_notes,
)
from pages.common.views.viewer import HEIGHT, tree_viewer
from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.export import has_dot, picture_file
from treelab.figures.viewer.keys import keys, node_at
from treelab.reports.tree_page import html_page
from treelab.trees.code import LANGUAGES
from treelab.trees.text.dot import to_dot
from treelab.trees.text.numerals import counted, significant
from treelab.trees.text.rules import to_text
from treelab.trees.tree import Tree

WITH_SCRUBBER = HEIGHT - 50  # pixels of a picture that has a scrubber below


def show_score(loaded: LoadedRun, tree: Tree) -> None:
    """Show the score on test rows, or that clusters have none."""
    if not loaded.has_labels:
        st.metric("Clusters", f"{tree.n_leaves:,}")
        st.caption(
            "No labels are known, so no score tells whether these are the right ones."
        )
        return
    found = split_scores(loaded, "test")
    best = headline(loaded.run.problem.task)
    st.metric(
        f"{TITLES[best]} · {part_words(loaded, 'test')}",
        significant(found[best]),
        help="Of the whole ensemble." if loaded.is_ensemble else None,
    )
    others = [
        f"{TITLES[name]} {significant(found[name])}".replace(" ", "\N{NO-BREAK SPACE}")
        for name in TITLES
        if name in found and name != best
    ]
    st.caption(" · ".join(others))
    if loaded.has_predictor:
        st.caption(
            f"With the predictor on top. The tree alone: "
            f"{significant(tree_score(loaded, 'test'))} {TITLES[best]}.",
            help="Alone a tree answers with what most training rows of the leaf are, "
            "or with their mean. Train with “Predictor: leaf” for a tree that was "
            "trained to answer so.",
        )


def facts(loaded: LoadedRun, tree: Tree) -> None:
    """Show the score, and how large the tree is."""
    show_score(loaded, tree)
    sizes = {
        "Leaves": f"{tree.n_leaves:,}",
        "Splits": f"{tree.n_splits:,}",
        "Depth": f"{tree.depth:,}",
        "Columns asked": f"{len(tree.columns)} of {len(loaded.run.problem.columns)}",
    }
    if loaded.is_ensemble:
        sizes |= {"Trees in the ensemble": loaded.model.n_estimators}
    facts_table(sizes)


def picture(tree: Tree, kind: str) -> bytes:
    """Draw the whole tree as a file; made when it is asked for."""
    return picture_file(to_dot(tree), kind)


def page(loaded: LoadedRun, tree: Tree) -> str:
    """Write the tree as a page that opens without a server."""
    return html_page(tree, store(), loaded.run)


def as_json(tree: Tree) -> str:
    """Write the tree as JSON."""
    return json.dumps(tree.to_dict(), indent=1)


@st.fragment
def look(loaded: LoadedRun, estimator: int | None) -> None:
    """Draw the tree; beside it the node that is selected, below it that node's rows."""
    chosen = look_choices(loaded, estimator)
    left, right = st.columns([5, 2], gap="medium")
    if chosen.way == PLAIN:
        with left:
            draw_tree(chosen.picture.tree(None), loaded, "learned")
            tree_notes(chosen.picture.tree(None), loaded)
        with right:
            facts(loaded, chosen.picture.tree(None))
        return
    if chosen.way in AREAS:
        shown = chosen.picture.tree(None)
        with left:
            clicked = overview(shown, loaded, AREAS[chosen.way], f"areas-{estimator}")
        if clicked is not None:
            remember(loaded, keys(shown)[clicked])
        show_selected(loaded, shown, selected(loaded), right)
        return
    with left:
        seen = tree_viewer(
            chosen.picture.payload,
            f"tree-view-{loaded.run.id}-{SLUGS[chosen.way]}",
            paths=chosen.paths,
            flow=chosen.flow,
            select=selected(loaded),
            height=HEIGHT if chosen.way == TREE else WITH_SCRUBBER,
            report_frames=chosen.way != TREE,
        )
        remember(loaded, seen.key)
    shown = chosen.picture.tree(seen.frame)
    show_selected(loaded, shown, seen.key, right)
    if shown is not chosen.picture.tree(None):
        with right:
            st.caption("Scores and rules of this page are those of the tree it kept.")


def show_selected(loaded: LoadedRun, shown: Tree, key: str | None, beside) -> None:
    """Show the node that is selected, or the whole tree's facts where none is."""
    node = None if key is None else node_at(shown, key)
    with beside:
        if node is None:
            facts(loaded, shown)
        else:
            show_node(loaded, shown, facts_of(loaded, shown, node))
    if node is not None:
        show_split(loaded, shown, node)
        show_rows(loaded, shown, node, f"{loaded.run.id}-node-{key or 'root'}")


@st.fragment
def downloads(loaded: LoadedRun, tree: Tree, estimator: int | None) -> None:
    """Offer the tree as a picture, as code, as data and as text."""
    name = loaded.run.id if estimator is None else f"{loaded.run.id}-tree-{estimator}"
    whole = exported_tree(loaded, estimator)
    files = {
        f"Picture ({kind.upper()})": (kind, partial(picture, tree, kind), mime)
        for kind, mime in (("svg", "image/svg+xml"), ("pdf", "application/pdf"))
        if has_dot()
    }
    interactive = partial(page, loaded, tree)
    files["Interactive page (HTML)"] = "html", interactive, "text/html"
    files["Picture (DOT)"] = "dot", partial(to_dot, tree), "text/vnd.graphviz"
    for title, ending, write in LANGUAGES.values():
        files[title] = ending, partial(write, whole), "text/plain"
    files["Rules (text)"] = "txt", partial(to_text, tree), "text/plain"
    files["Data (JSON)"] = "json", partial(as_json, tree), "application/json"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.selectbox("Take it along", list(files), key="take-as")
        ending, data, mime = files[wanted]
        st.download_button(
            "Download",
            data,
            f"{name}.{ending}",
            mime,
            key=f"take-{name}-{ending}",
            on_click="ignore",
            icon=":material/download:",
            help=f"{wanted} of this tree, as a file.",
        )
    if wanted in (title for title, _, _ in LANGUAGES.values()):
        st.caption(
            "Runs without treelab and gives this tree's answer for every row"
            + (", not the ensemble's." if loaded.is_ensemble else ".")
        )
    elif not has_dot():
        st.caption("With Graphviz's dot installed there are SVG and PDF as well.")


page_title(
    "What did it learn?",
    "The tree in the table's own columns and units; an edge is as thick as the share "
    "of the rows that take it. Click a node to see its rows.",
)
loaded = pick_view()
estimator = pick_estimator(loaded)
if estimator is not None:
    st.header(f"Tree {estimator} of {loaded.model.n_estimators:,}", anchor=False)
tree = drawn_tree(loaded, estimator)
look(loaded, estimator)
downloads(loaded, tree, estimator)

st.header("As rules", anchor=False)
rules = rules_of(loaded, estimator)
st.caption(
    f"{counted(len(rules), 'rule')}, one a leaf, the most common first; rows and "
    f"shares are of {shown_rows(tree, loaded)}."
    + (" Confidence is the leaf's own." if tree.classes is not None else "")
)
if tree.classes is None:
    rules = rules.drop(columns="confidence")
else:
    rules["prediction"] = rules["prediction"].astype(str)
said = f"{tree.target} ({tree.target_unit})" if tree.target_unit else tree.target
st.dataframe(
    rules,
    hide_index=True,
    key="rules",
    column_order=["rule", "prediction", "formula", "confidence", "n_rows", "share"],
    column_config={
        "rule": st.column_config.TextColumn("if", width="large"),
        "prediction": st.column_config.Column(f"then {said}"),
        "formula": st.column_config.TextColumn("formula"),
        "confidence": st.column_config.NumberColumn(format="percent"),
        "n_rows": st.column_config.NumberColumn("rows", format="localized"),
        "share": st.column_config.NumberColumn(format="percent"),
    },
)
with st.expander("The tree as text"):
    st.code(to_text(tree), language=None)
