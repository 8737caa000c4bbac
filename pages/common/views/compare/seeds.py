"""Both learners on several data splits, and whether they differ by chance alone."""

import streamlit as st

from pages.common.cached.store import finished_runs
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.compare.comparison import Names, Pair, pair_colors
from pages.common.words import plain, score
from treelab.evaluation.comparison.seeds import (
    FEWEST,
    SeedComparison,
    compare_over_seeds,
)
from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.comparison.seeds import seeds_figure
from treelab.runs.jobs.splits.repeats import run_kind, runs_by_seed
from treelab.trees.text.numerals import counted, significant

CHANCE = 0.05  # a p value below it is called more than chance


def show_seeds(pair: Pair, names: Names) -> None:
    """Test the difference over all data splits on which both learners were trained."""
    first, second = (runs_by_seed(loaded.run, finished_runs()) for loaded in pair)
    if run_kind(pair[0].run) == run_kind(pair[1].run):
        st.markdown("Both runs are of one learner and the same settings.")
        return
    seeds = sorted(set(first) & set(second))
    if len(seeds) < FEWEST:
        st.markdown(
            "Both were trained on one data split only. *Repeat on more splits*, below "
            "the chart of score against size, trains both again with the same settings "
            "on other rows: from two data splits on it is tested here whether the "
            "difference is more than chance."
        )
        return
    scores = [score(first[s]) for s in seeds], [score(second[s]) for s in seeds]
    found = compare_over_seeds(
        *scores, pair[0].n_rows("fitted"), len(pair[0].split.y_test)
    )
    metric = TITLES[headline(pair[0].run.problem.task)]
    st.markdown(plain(_words(found, names, metric)))
    show_figure(
        seeds_figure(
            seeds,
            scores,
            names,
            f"{metric}, test",
            colors=pair_colors(pair),
            mode=mode(),
        ),
        key="seeds",
        alt=f"{metric} of both learners on {len(seeds)} data splits.",
    )
    st.caption(
        "Test scores of all runs of these two learners with the same settings and "
        "features, a line for each seed of the data split. The t-test (Nadeau and "
        "Bengio) allows for rows that the data splits share."
    )


def _words(found: SeedComparison, names: Names, metric: str) -> str:
    """Say which learner is better over data splits, and how sure that is."""
    low, high, mean = found.low, found.high, found.mean
    better, other = names[1], names[0]
    if mean < 0:
        better, other, low, high, mean = names[0], names[1], -high, -low, -mean
    splits = counted(len(found.difference), "data split")
    if found.clear:
        text = f"More than chance over {splits}: {better} gains {significant(mean)}"
    else:
        text = f"No clear difference over {splits}: {better} gains {significant(mean)}"
    text += (
        f" {metric} over {other} on average, {found.level:.0%} interval "
        f"{significant(low)} to {significant(high)} (corrected resampled t-test, p = "
        f"{significant(found.t_p, 2)}). Wilcoxon's signed-rank test: p = "
        f"{significant(found.wilcoxon_p, 2)}"
    )
    if found.least_wilcoxon_p > CHANCE:
        text += (
            f", which so few data splits cannot bring below "
            f"{significant(found.least_wilcoxon_p, 2)}"
        )
    return f"{text}."
