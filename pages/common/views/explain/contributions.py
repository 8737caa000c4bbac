"""What each feature changes in the prediction for one row."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.trees import shown_tree
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.explain.story import predicted_output
from pages.common.widgets.row import Row
from pages.common.words import fitted_words, named_with_unit, plain
from treelab.evaluation.explanations import (
    Contributions,
    Reason,
    ensemble_contributions,
    has_shapley,
    joined,
    path_contributions,
    reasons,
    shapley_contributions,
)
from treelab.figures.explanations import contributions_figure, signed
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree
from treelab.trees.words import significant

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
    model = loaded.model if loaded.is_ensemble else shown_tree(loaded)
    if isinstance(model, Tree) and model.n_splits == 0:
        return
    st.subheader("What each feature changes", anchor=False)
    method = PATH
    if isinstance(model, Tree) and has_shapley(model):
        method = st.segmented_control(
            "Method",
            [PATH, SHAPLEY],
            default=PATH,
            required=True,
            label_visibility="collapsed",
            key=f"contributions-{loaded.run.id}",
            help=_HELP,
        )
    output = predicted_output(row)
    if isinstance(model, WeightedTrees):
        found = ensemble_contributions(model, row.values, output)
    elif method == PATH:
        found = path_contributions(model, row.values, output)
    else:
        with st.spinner("Sharing the difference…"):
            found = shapley_contributions(model, row.values, output)
    listed = reasons(model, row.values, found)
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
    model = loaded.model
    if model.classes is not None:
        what = "log-odds" if _has_log_odds(loaded) else "probability"
        return f"{what} of “{row.predicted}”"
    return named_with_unit(model.target, model.target_unit)


def _has_log_odds(loaded: LoadedRun) -> bool:
    """Whether log-odds add up, not probabilities."""
    model = loaded.model
    is_sum = isinstance(model, WeightedTrees) and model.leaf_output == "logits"
    return is_sum and model.classes is not None


def _sentence(loaded: LoadedRun, found: Contributions, listed: list[Reason]) -> str:
    """Write from where to where the prediction goes, and what moves it most."""
    start, end = significant(found.base), significant(found.prediction)
    mean = f"the mean of the {fitted_words(loaded)}"
    if loaded.is_ensemble:
        mean = "what these trees predict on average"
    unit = " log-odds" if _has_log_odds(loaded) else ""
    words = f"From {plain(start)}, {mean}, to {plain(end)}{unit}"
    if not listed:
        return f"{words}: no feature changes anything."
    moves = [f"{plain(own.name)} ({plain(signed(own.change))})" for own in listed[:2]]
    return f"{words}: {joined(moves)} {'moves' if len(moves) == 1 else 'move'} it most."


def _method_words(loaded: LoadedRun, method: str) -> str:
    """Write how the changes were measured."""
    if method == SHAPLEY:
        return "Exact Shapley values of the columns (TreeSHAP); they add up."
    words = "Each split counts where it stands on the path (Saabas); changes add up."
    if loaded.is_ensemble:
        odds = "Log-odds are 0 at even odds. "
        if not _has_log_odds(loaded) or len(loaded.model.classes) > 2:
            odds = ""
        return f"{odds}{words} A tree counts by its weight on this row."
    if has_shapley(shown_tree(loaded)):
        return f"{words} One that only pays off further down gets little of it."
    return (
        f"{words} Shapley values are not offered: here splits add up several columns, "
        "or leaves are linear models, and each such sum counts as a whole."
    )
