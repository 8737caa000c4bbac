"""Tree: pick a run, look into what it learned, read it as rules, export it."""

import streamlit as st

from pages.cached.runs import LoadedRun, run_tree
from pages.cached.runs import rules as rules_of
from pages.cached.tree_pictures import (
    TreePicture,
    path_picture,
    pruning_steps,
    training_picture,
    tree_picture,
)
from pages.compare.outcomes import outcomes_title, show_outcomes
from pages.edit.log import is_single_tree, show_origin
from pages.state.run import select_node, selected_node
from pages.tree.facts import (
    draw_tree,
    has_sums,
    overview,
    report_of,
    show_facts,
    show_lens,
    show_node,
    show_rows,
    show_split,
    show_surrogate,
    tree_notes,
)
from pages.tree.groups import show_groups_of_tree
from pages.widgets.export import export_box, report_buttons
from pages.widgets.page import page_title
from pages.widgets.runs import pick_loaded_run
from pages.widgets.tree_choices import (
    AREAS,
    PATH,
    STATIC,
    TRAINING,
    TREE,
    TreeChoices,
    pick_estimator,
    tree_choices,
)
from pages.widgets.tree_viewer import HEIGHT, note_empty_branch, tree_viewer
from pages.widgets.words import fitted_words
from treelab.figures.viewer.payload import (
    FIRST_PATH,
    SECOND_PATH,
    class_flow,
    keys,
    node_at,
    row_path,
)
from treelab.trees.text import to_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted

RULE_WIDTH = 640  # pixels, of the rules' column
SUMS_HEIGHT = 112  # pixels of a rule of sums, which stands on several lines
WITH_SCRUBBER = HEIGHT - 50  # pixels of a picture that has a scrubber below
SLUGS = {TREE: "tree", TRAINING: "training", PATH: "path"}  # in component names


@st.fragment
def show_view(loaded: LoadedRun, estimator: int | None) -> None:
    """Draw the tree; beside it the node that is selected, below it that node's rows."""
    choices = tree_choices(loaded)
    left, right = st.columns([5, 2], gap="medium")
    drawn = run_tree(loaded, estimator)
    if choices.view == STATIC:
        with left:
            draw_tree(drawn, loaded, "learned")
            tree_notes(drawn, loaded)
        with right:
            show_facts(loaded, drawn)
    elif choices.view in AREAS:
        with left:
            kind = AREAS[choices.view]
            clicked = overview(drawn, loaded, kind, f"areas-{estimator}")
        if clicked is not None:
            select_node(loaded.run.id, keys(drawn)[clicked])
        show_selected(loaded, drawn, selected_node(loaded.run.id), right)
    else:
        show_viewer(loaded, estimator, choices, left, right)
    if loaded.has_labels and loaded.model.classes is not None:
        with st.expander("Rates by group", icon=":material/groups:", key="by-group"):
            show_groups(loaded, drawn)


def show_groups(loaded: LoadedRun, drawn: Tree) -> None:
    """Show rates by group; at nodes, too, where this tree makes the predictions."""
    if loaded.is_ensemble or loaded.has_predictor:
        show_groups_of_tree(loaded, None, None)
        return
    key = selected_node(loaded.run.id)
    node = None if key is None else node_at(drawn, key)
    show_groups_of_tree(loaded, drawn, node)


def picture_of(
    loaded: LoadedRun, estimator: int | None, choices: TreeChoices
) -> TreePicture:
    """Return what the viewer draws."""
    drawn = run_tree(loaded, estimator)
    if choices.view == TRAINING:
        picture = training_picture(loaded, drawn, choices.split)
        if picture is not None:
            return picture
    if choices.view == PATH:
        return path_picture(loaded, pruning_steps(loaded), choices.split)
    return tree_picture(loaded, drawn, f"tree {estimator}", choices.split)


def show_viewer(
    loaded: LoadedRun, estimator: int | None, choices: TreeChoices, left, right
) -> None:
    """Draw the tree in the viewer, and show the node that is selected there."""
    picture = picture_of(loaded, estimator, choices)
    first = picture.tree()
    paths = [
        row_path(first, loaded.split.X_test.iloc[[at]], f"test row {at + 1}", color)
        for at, color in zip(choices.places, (FIRST_PATH, SECOND_PATH))
    ]
    flow = None
    if choices.label is not None:
        flow = class_flow(first, *loaded.rows(choices.split), choices.label)
    with left:
        selection = tree_viewer(
            picture.payload,
            f"tree-view-{loaded.run.id}-{SLUGS[choices.view]}",
            paths=paths,
            flow=flow,
            select=selected_node(loaded.run.id),
            height=HEIGHT if choices.view == TREE else WITH_SCRUBBER,
            report_frames=choices.view != TREE,
        )
        select_node(loaded.run.id, selection.key)
        for at in choices.places:
            note_empty_branch(loaded, loaded.split.X_test.iloc[[at]], estimator)
    shown = picture.tree(selection.frame)
    show_selected(loaded, shown, selection.key, right)
    if shown is not first:
        with right:
            st.caption("Scores and rules on this page are those of the final tree.")


def show_selected(loaded: LoadedRun, shown: Tree, key: str | None, beside) -> None:
    """Show the node that is selected, or the whole tree's facts where none is."""
    node = None if key is None else node_at(shown, key)
    with beside:
        if node is None:
            show_facts(loaded, shown)
        else:
            show_node(loaded, shown, report_of(loaded, shown, node))
    if node is not None:
        show_split(loaded, shown, node)
        show_rows(loaded, shown, node, f"{loaded.run.id}-node-{key or 'root'}")


def show_rules(loaded: LoadedRun, tree: Tree, estimator: int | None) -> None:
    """List the tree's rules, and the tree as text."""
    st.header("Rules", anchor=False)
    rules = rules_of(loaded, estimator)
    is_number = tree.classes is None
    st.caption(
        f"{counted(len(rules), 'rule')}, one a leaf, the most frequent first; rows and "
        f"fractions are of {fitted_words(loaded)}."
        + ("" if is_number else " Confidence is the leaf's probability of its class.")
    )
    if is_number:
        rules = rules.drop(columns="confidence")
    else:
        rules["prediction"] = rules["prediction"].astype(str)
    unit = f" ({tree.target_unit})" if tree.target_unit else ""
    st.dataframe(
        rules,
        hide_index=True,
        row_height=SUMS_HEIGHT if has_sums(loaded) else None,  # the rules begin alike
        key="rules",
        column_order=["rule", "prediction", "formula", "confidence", "n_rows", "share"],
        column_config={
            "rule": st.column_config.TextColumn("if", width=RULE_WIDTH),
            "prediction": st.column_config.NumberColumn(
                f"then {tree.target}{unit}", format="%.4g"
            )
            if is_number
            else st.column_config.Column(f"then {tree.target}{unit}"),
            "formula": st.column_config.TextColumn("formula"),
            "confidence": st.column_config.NumberColumn(
                format="percent", width="small"
            ),
            "n_rows": st.column_config.NumberColumn(
                "rows", format="localized", width="small"
            ),
            "share": st.column_config.NumberColumn(
                "of all rows", format="percent", width="small"
            ),
        },
    )
    with st.expander("The tree as text"):
        st.code(to_text(tree), language=None, wrap_lines=True)


page_title(
    "What did it learn?",
    "The tree in the table's own columns and units; edges are as wide as the fraction "
    "of the rows that take them. Click a node to see its rows.",
)
loaded = pick_loaded_run()
estimator = pick_estimator(loaded)
if estimator is not None:
    st.header(f"Tree {estimator} of {loaded.model.n_estimators:,}", anchor=False)
tree = run_tree(loaded, estimator)
show_view(loaded, estimator)
if has_sums(loaded) and st.toggle("Show it without small weights", key="lens"):
    show_lens(loaded)
if is_single_tree(loaded.run) and loaded.epoch is None:
    show_origin(loaded)
export_box(loaded, tree, estimator)
report_buttons([loaded.run])
if loaded.run.problem.is_surrogate and loaded.epoch is None:
    show_surrogate(loaded)
if loaded.has_labels:
    with st.expander(outcomes_title(loaded), key="outcomes"):
        show_outcomes(loaded, "tree")
show_rules(loaded, tree, estimator)
