"""Tree: one viewer of a run's tree, its size above it, its tabs below."""

from functools import partial

import streamlit as st

from pages.cached.runs import LoadedRun, run_tree
from pages.cached.tree_pictures import training_picture, tree_picture
from pages.compare.errors import outcomes_title, show_outcomes
from pages.state.choices import select_node, selected_node
from pages.tree import facts
from pages.tree import size as sizes
from pages.tree.alternatives import show_alternatives
from pages.tree.edit import show_editing, show_edits
from pages.tree.groups import show_groups_of_tree
from pages.tree.routes import show_routes
from pages.widgets import tree_choices as views
from pages.widgets.export import export_box, report_buttons
from pages.widgets.page import load_figures_ahead, page_title, show_tabs
from pages.widgets.runs import pick_output, pick_whole_run
from pages.widgets.tree_viewer import HEIGHT, PANEL, note_empty_branch, tree_viewer
from pages.widgets.words import fitted_words, guarded, plain
from treelab.editing.apply import why_not_edited
from treelab.figures.viewer import payload as drawn
from treelab.learners.registry import IMPORTED
from treelab.trees.tree import Tree
from treelab.trees.words import short


@st.fragment
@guarded
def show_page(own: LoadedRun, estimator: int | None) -> None:
    """Show the viewer, and below it what is said of the tree that it shows."""
    view = f"tree-view-{own.run.id}"
    choices = views.tree_choices(own)
    if choices.view == views.EDIT:
        if reason := why_not_edited(run_tree(own), own.run.constraints):
            st.info(reason, icon=":material/info:")
        else:
            if sizes.named_size(own.run.id):
                st.caption(
                    "The retained tree is edited. To edit another size, keep it."
                )
            show_editing(own, view)
        return
    size = sizes.size_of(own, view, choices.split)
    loaded = size.shown if size else own
    one = pick_output(loaded)
    left, right = st.columns([5, 2], gap="medium")
    with left:
        tree, key = draw(loaded, one, size, estimator, choices, view)
    with right.container(height=PANEL, border=False, key="beside"):
        show_beside(loaded, one, own, tree, key)
        if size is not None and key is None:
            sizes.offer_run(size)
    show_parts(loaded, one, size, estimator)


def draw(
    loaded: LoadedRun,
    one: LoadedRun,
    size: sizes.Size | None,
    estimator: int | None,
    choices: views.TreeChoices,
    view: str,
) -> tuple[Tree, str | None]:
    """Draw the tree as it was asked for; return it, and the key of the node chosen."""
    run_id, tree = loaded.run.id, run_tree(loaded, estimator)
    if choices.view == views.STATIC:
        facts.draw_tree(tree, loaded, "learned")
        return tree, None
    if choices.view in views.AREAS:
        name = f"areas-{estimator}{loaded.variant}"
        clicked = facts.overview(_of(one, tree), one, views.AREAS[choices.view], name)
        if clicked is not None:
            select_node(run_id, drawn.keys(tree)[clicked])
        return tree, selected_node(run_id)
    frame = None
    if size is None:
        picture = tree_picture(loaded, tree, f"tree {estimator}", choices.split)
    elif choices.view == views.TRAINING:
        final = run_tree(size.run)
        picture = training_picture(size.run, final, choices.split)
        picture = picture or tree_picture(size.run, final, "final", choices.split)
    else:
        picture = size.picture(choices.split)
    if choices.view == views.TREE:
        frame = picture.steps.index(size.step) if size is not None else None
        tree = picture.tree(frame)
    rows = [loaded.split.X_test.iloc[[at]] for at in choices.places]
    names = [f"test row {at + 1}" for at in choices.places]
    colors = drawn.FIRST_PATH, drawn.SECOND_PATH
    paths = [drawn.row_path(tree, *own) for own in zip(rows, names, colors)]
    selection = tree_viewer(
        picture.payload,
        view if choices.view == views.TREE else f"{view}-training",
        paths=paths,
        flow=choices.label and {"class": short(choices.label, drawn.NAME_LENGTH)},
        select=selected_node(run_id),
        frame=frame,
        height=HEIGHT,
        report_frames=True,
    )
    select_node(run_id, selection.key)
    for row in rows:
        note_empty_branch(loaded, row, estimator)
    if choices.view == views.TRAINING:
        tree = picture.tree(selection.frame)
        st.caption("What stands below is of the final tree.")
    return tree, selection.key


def _of(one: LoadedRun, tree: Tree) -> Tree:
    """Return a tree with the output that a run is looked at for."""
    return tree.of_output(one.output) if one.output else tree


def show_beside(
    loaded: LoadedRun, one: LoadedRun, own: LoadedRun, tree: Tree, key: str | None
) -> None:
    """Show the node that is selected, or the whole tree's facts where none is."""
    node = None if key is None else drawn.node_at(tree, key)
    if node is None:
        facts.show_facts(loaded, tree, own)
        return
    loaded, tree = one, _of(one, tree)
    facts.show_node(loaded, tree, node)
    if st.button("Rows at this node", icon=":material/table_rows:", key="node-rows"):
        facts.open_rows(loaded, tree, node, f"{loaded.run.id}-node-{key or 'root'}")


def show_parts(
    whole: LoadedRun, loaded: LoadedRun, size: sizes.Size | None, estimator: int | None
) -> None:
    """Show what is said of the tree, or of one of its outputs, a tab at a time."""
    tree, own = run_tree(loaded, estimator), size.run if size else loaded

    def others() -> None:
        if loaded is not own and not own.outputs:
            st.caption("Compared with the retained tree, not the size above.")
        show_alternatives(own)

    def export() -> None:
        export_box(whole, run_tree(whole, estimator), estimator)
        if whole.variant:
            st.caption("Report and model card are of the retained tree.")
        report_buttons([own])

    rules = partial(facts.show_rules, loaded, tree, estimator)
    parts = {"Rules": rules, "Routes": partial(show_routes, loaded, estimator)}
    if own.is_single_tree:
        parts["Alternatives"] = others
    scores = partial(show_scores, loaded, size, tree)
    show_tabs(parts | {"Scores": scores, "Export": export})


def show_scores(loaded: LoadedRun, size: sizes.Size | None, tree: Tree) -> None:
    """Show scores by size, where they come from, and the outcomes on test rows."""
    own = size.run if size else loaded
    words = own.run.provenance
    # An imported model's rows are not known; clusters without labels are of all rows.
    if own.run.learner != IMPORTED and own.has_labels:
        words += f" Fitted to {fitted_words(loaded)}."
    st.markdown(plain(words.strip()))
    show_edits(own)
    if size is None:
        sizes.show_dial(loaded)
    elif len(size.steps.trees) > 1:
        sizes.show_curve(size)
        if not own.outputs and st.toggle("Compare two sizes", key="two-sizes"):
            sizes.show_pair(size)
    if own.run.problem.is_surrogate and own.epoch is None:
        facts.show_surrogate(loaded)
    if not own.has_labels:
        return
    st.subheader(outcomes_title(loaded), anchor=False)
    show_outcomes(loaded, "tree")
    if loaded.model.classes is not None:
        st.subheader("Rates by group", anchor=False)
        key = selected_node(loaded.run.id)
        show_groups_of_tree(
            loaded, tree, None if key is None else drawn.node_at(tree, key)
        )


page_title(
    "What did it learn, and how small can it be?",
    "Click a node for its rows. Where there is a slider, it trains nothing.",
)
loaded = pick_whole_run()
estimator = views.pick_estimator(loaded)
if estimator is not None:
    st.subheader(f"Tree {estimator} of {loaded.model.n_estimators:,}", anchor=False)
show_page(loaded, estimator)
load_figures_ahead()
