"""How many trees of an ensemble may decide, and what fewer cost."""

import streamlit as st

from pages.common.cached.deciders import heaviest_scores
from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.predictions import top_estimators
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import SPLIT_NAMES, split_words
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.ensembles import deciders_figure
from treelab.trees.words import counted, significant

CLOSE = 0.01  # a score that is at most so much lower is as good


@st.fragment
def show_dial(loaded: LoadedRun) -> None:
    """Let the visitor say how many trees may decide, and show what that costs."""
    if are_equal(top_estimators(loaded)[1]):
        st.info(
            f"All {counted(loaded.model.n_estimators, 'tree')} have the same weight, "
            "so none decides more than another.",
            icon=":material/info:",
        )
        return
    counts, scores = heaviest_scores(loaded)
    metric = TITLES[headline(loaded.run.problem.task)]
    chosen_by = "valid" if "valid" in scores else "test"
    judged, tested = scores[chosen_by], scores["test"]
    enough = int((judged >= judged[-1] - CLOSE).argmax())
    shown = st.select_slider(
        "How many trees may decide",
        range(len(counts)),
        value=enough,
        format_func=lambda at: _count_words(counts, at),
        key=f"deciders-{loaded.run.id}",
        help="Each row is predicted by its trees of highest weight alone, their "
        "weights scaled up to 1. Nothing is trained anew.",
    )
    alone = _count_words(counts, shown)
    st.header(
        f"{significant(tested[shown])} {metric} with {alone}; "
        f"{significant(tested[-1])} with all {counts[-1]:,}",
        anchor=False,
    )
    st.caption(
        f"Scores: {split_words(loaded, 'test')}. The fewest trees within {CLOSE} of "
        f"all of them on {SPLIT_NAMES[chosen_by]} rows: {counts[enough]:,}. Which "
        "trees they are differs by row."
    )
    show_figure(
        deciders_figure(
            counts,
            {
                split_words(loaded, split): of_split
                for split, of_split in scores.items()
            },
            shown=shown,
            score_title=metric,
            mode=mode(),
        ),
        key="deciders",
        alt=f"{metric} against the number of trees that decide.",
    )


def _count_words(counts: tuple[int, ...], at: int) -> str:
    """Name a number of trees; the last one is all."""
    return "all" if at == len(counts) - 1 else counted(counts[at], "tree")
