"""What each feature changes in a tree's prediction for one row."""

from contextlib import nullcontext

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.trees import shown_tree
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.explain.story import predicted_output
from pages.common.widgets.row import Row
from pages.common.words import fitted_words, plain
from treelab.evaluation.explanations.contributions import (
    Contributions,
    has_shapley,
    path_contributions,
    shapley_contributions,
)
from treelab.evaluation.explanations.reasons import Reason, joined, reasons
from treelab.figures.explanations.contributions import contributions_figure, signed
from treelab.trees.text.numerals import significant

PATH, SHAPLEY = "Along the path", "Shapley values"
MOST_REASONS = 6
_HELP = (
    "Along the path each split moves the mean prediction of its rows to that of the "
    "rows on this row's side (Saabas). Shapley values share the same difference so "
    "that the order of the splits does not matter (TreeSHAP, by the rows of each "
    "branch); the first one takes seconds."
)


@st.fragment
def show_contributions(loaded: LoadedRun, row: Row) -> None:
    """Draw what moves the prediction from the mean to where it is."""
    tree = shown_tree(loaded)
    if tree.n_splits == 0:
        return
    st.subheader("What each feature changes", anchor=False)
    method = PATH
    if has_shapley(tree):
        method = st.segmented_control(
            "Method",
            [PATH, SHAPLEY],
            default=PATH,
            required=True,
            label_visibility="collapsed",
            key=f"contributions-{loaded.run.id}",
            help=_HELP,
        )
    explain = shapley_contributions if method == SHAPLEY else path_contributions
    with st.spinner("Sharing the difference…") if method == SHAPLEY else nullcontext():
        found = explain(tree, row.values, predicted_output(loaded, row))
    listed = reasons(tree, row.values, found)
    st.markdown(_sentence(loaded, found, listed))
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_figure(
            contributions_figure(
                [own.name for own in listed],
                [own.change for own in listed],
                found.base,
                title=_title(loaded, row),
                mode=mode(),
            ),
            key="contributions",
            alt=_sentence(loaded, found, listed),
        )
    with right:
        st.markdown("**Reasons, the strongest first**")
        st.markdown(
            "\n".join(
                f"{i}. {plain(own.fact)}: {plain(signed(own.change))}"
                for i, own in enumerate(listed[:MOST_REASONS], 1)
            )
        )
        st.caption(_method_words(loaded, method))


def _title(loaded: LoadedRun, row: Row) -> str:
    """Name what is explained, with its unit."""
    if loaded.model.classes is not None:
        return f"probability of “{loaded.model.predict(row.values)[0]}”"
    unit = loaded.model.target_unit
    return f"{loaded.model.target} ({unit})" if unit else str(loaded.model.target)


def _sentence(loaded: LoadedRun, found: Contributions, listed: list[Reason]) -> str:
    """Write from where to where the prediction goes, and what moves it most."""
    start, end = significant(found.base), significant(found.prediction)
    words = (
        f"From {plain(start)}, the mean of the {fitted_words(loaded)}, to {plain(end)}"
    )
    if not listed:
        return f"{words}: no feature changes anything."
    moves = [f"{plain(own.name)} ({plain(signed(own.change))})" for own in listed[:2]]
    return f"{words}: {joined(moves)} {'moves' if len(moves) == 1 else 'move'} it most."


def _method_words(loaded: LoadedRun, method: str) -> str:
    """Write how the changes were measured."""
    if method == SHAPLEY:
        return "Exact Shapley values of the columns (TreeSHAP); they add up."
    words = "Each split counts where it stands on the path (Saabas); changes add up."
    if has_shapley(shown_tree(loaded)):
        return words
    return (
        f"{words} Shapley values are not offered: here splits add up several columns, "
        "or leaves are linear models, and each such sum counts as a whole."
    )
