"""How far two runs' trees are from the best ones of their depth."""

import streamlit as st

from pages.cached.comparison import comparable_runs
from pages.cached.runs import LoadedRun, load_readable, run_tree
from pages.cached.store import size_path_of
from pages.compare.pair import Names, Pair
from pages.widgets.words import fitted_words, plain
from treelab.evaluation.optimality import OptimalityGap, optimality_gap
from treelab.trees.words import counted, significant

MOST_RUNS = 50  # among which an optimal tree is looked for


def show_optimality(pair: Pair, names: Names) -> None:
    """Say how many more errors each tree makes than the best one of its depth."""
    runs = comparable_runs(pair[0].run, MOST_RUNS)
    optimal = load_readable([run for run in runs if run.learner == "optimal"])
    if not optimal:
        return
    best = optimal[0]
    path = size_path_of(best.run)
    searched = [run_tree(best)] if path is None else list(path.trees)
    lines = []
    for loaded, name in zip(pair, names):
        if loaded.is_ensemble or loaded.has_predictor or loaded.run.id == best.run.id:
            continue
        gap = optimality_gap(run_tree(loaded), searched, *best.rows("fitted"))
        if gap is not None:
            lines.append(_words(gap, name, loaded))
    if lines:
        st.caption(
            f"On the {fitted_words(best)} of the optimal tree: {'; '.join(lines)}. "
            "Among its thresholds none is better where its note says proven."
        )


def _words(gap: OptimalityGap, name: str, loaded: LoadedRun) -> str:
    """Write the two errors."""
    if loaded.model.classes is not None:
        errors = counted(int(gap.error), "error")
        least = f"{gap.least_error:,.0f}"
    else:
        errors = f"squared error {significant(gap.error)}"
        least = significant(gap.least_error)
    return f"{plain(name)} (depth {gap.depth}): {errors}, the optimal tree {least}"
