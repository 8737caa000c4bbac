"""How alike all runs with the same test rows predict."""

import numpy as np
import streamlit as st

from pages.common.cached.frontier import comparable_runs
from pages.common.cached.loaded_run import load_readable
from pages.common.cached.predictions import predictions
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.compare.comparison import Names, Pair
from pages.common.views.results import names_and_colors
from pages.common.words import plain, split_words
from treelab.evaluation.comparison import agreement, most_and_least_alike
from treelab.figures.comparison import agreement_figure
from treelab.trees.words import percent, significant

MOST_RUNS = 14
FEW_RUNS = 6  # whose matrix takes half of the page


def show_agreement(pair: Pair, names: Names) -> None:
    """Draw the agreement of the pair and of the newest runs beside it."""
    ids = {loaded.run.id for loaded in pair}
    found = comparable_runs(pair[0].run, MOST_RUNS)
    others = load_readable([run for run in found if run.id not in ids])
    runs = [*pair, *others][:MOST_RUNS]
    task = pair[0].run.problem.task
    by_run = names_and_colors([loaded.run for loaded in runs])
    titles = [by_run[loaded.run.id][0] for loaded in runs]
    matrix = agreement(task, [predictions(loaded, "test") for loaded in runs])
    of_numbers = task == "regression"
    if np.isnan(matrix[np.triu_indices(len(runs), 1)]).all():
        st.markdown("Predictions of these runs do not vary: they cannot correlate.")
        return
    st.markdown(plain(_words(matrix, titles, of_numbers)))
    few = len(runs) <= FEW_RUNS
    with st.columns([1, 1])[0] if few else st.container():
        show_figure(
            agreement_figure(matrix, titles, as_percent=not of_numbers, mode=mode()),
            key="agreement",
            alt="Agreement of every two runs on the test rows.",
        )
    what = (
        "Correlation of the predictions of every two runs"
        if of_numbers
        else "Percentage of rows that every two runs predict alike"
    )
    st.caption(
        f"{what}; {split_words(pair[0], 'test')}. All finished runs with these test "
        f"rows, of equal ones the newest, {MOST_RUNS} at most."
    )


def _words(matrix: np.ndarray, titles: list[str], of_numbers: bool) -> str:
    """Say which two runs agree most, and which least."""

    def value(pair: tuple[int, int]) -> str:
        own = float(matrix[pair])
        return f"a correlation of {significant(own)}" if of_numbers else percent(own)

    most, least = most_and_least_alike(matrix)
    first, second = (titles[i] for i in most)
    if most == least:
        return f"{first} and {second} agree: {value(most)}."
    one, other = (titles[i] for i in least)
    return (
        f"{first} and {second} are most alike ({value(most)}), {one} and {other} "
        f"least ({value(least)})."
    )
