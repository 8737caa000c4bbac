"""Both learners on several data splits, and whether they differ by chance alone."""

import streamlit as st

from pages.common.cached.store import finished_runs
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.views.compare.comparison import Names, Pair, pair_colors
from pages.common.words import plain, score
from treelab.data.folds import N_FOLDS, fold_name, splits_words
from treelab.data.split import JOINED
from treelab.evaluation.comparison import (
    FEWEST_SEEDS,
    SeedComparison,
    compare_over_seeds,
)
from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.comparison import seeds_figure
from treelab.runs.jobs.splits.folds import on_folds, runs_by_fold
from treelab.runs.jobs.splits.repeats import run_kind
from treelab.runs.store.run import Run
from treelab.trees.words import significant

CHANCE = 0.05  # a p value below it is called more than chance


def show_seeds(pair: Pair, names: Names) -> None:
    """Test the difference over all data splits on which both learners were trained."""
    if run_kind(on_folds(pair[0].run, 0)) == run_kind(on_folds(pair[1].run, 0)):
        st.markdown("Both runs are of one learner and the same settings.")
        return
    known = finished_runs()
    shown = False
    for n_folds in sorted({0, N_FOLDS, pair[0].run.problem.n_folds}):
        first, second = (runs_by_fold(own.run, known, n_folds) for own in pair)
        seeds = sorted(set(first) & set(second))
        if len(seeds) >= FEWEST_SEEDS:
            both = [(first[seed], second[seed]) for seed in seeds]
            _show_test(both, pair, names)
            shown = True
    if not shown:
        st.markdown(
            "Both were trained on one data split only. *Repeat on more splits* and "
            "*5-fold cross-validation*, below the chart of score against size, train "
            "both again with the same settings on other rows: from two data splits on "
            "it is tested here whether the difference is more than chance."
        )


def _show_test(both: list[tuple[Run, Run]], pair: Pair, names: Names) -> None:
    """Show both scores of each data split, or fold, and test their difference."""
    scores = [score(own[0]) for own in both], [score(own[1]) for own in both]
    problems = [own.problem for own, _ in both]
    n_folds = problems[0].n_folds
    if n_folds:  # a run's title has them
        first, second = (name.removesuffix(f", {n_folds} folds") for name in names)
        names = first, second
    splits = splits_words(len(both), n_folds)
    rows = both[0][0].metrics
    n_fitted = rows["train"]["n_rows"]
    if both[0][0].fitted_split == JOINED:
        n_fitted += rows["valid"]["n_rows"]
    found = compare_over_seeds(*scores, n_fitted, rows["test"]["n_rows"])
    metric = TITLES[headline(pair[0].run.problem.task)]
    st.markdown(plain(_words(found, names, metric, splits)))
    show_figure(
        seeds_figure(
            [fold_name(p.seed, n_folds) if n_folds else str(p.seed) for p in problems],
            scores,
            names,
            f"{metric}, test",
            split_title="" if n_folds else "seed",
            colors=pair_colors(pair),
            mode=mode(),
        ),
        key=f"seeds-{n_folds}",
        alt=f"{metric} of both learners on {splits}.",
    )
    each, shared = "seed of the data split", "data splits"
    if n_folds:
        each, shared = "fold", "the training rows of folds"
    st.caption(
        "Test scores of all runs of these two learners with the same settings and "
        f"features, a line for each {each}. The corrected t-test (Nadeau and Bengio"
        f"{'; for repeated folds Bouckaert and Frank' if n_folds else ''}) allows for "
        f"rows that {shared} share."
    )


def _words(found: SeedComparison, names: Names, metric: str, splits: str) -> str:
    """Say which learner is better over data splits, and how sure that is."""
    low, high, mean = found.low, found.high, found.mean
    better, other = names[1], names[0]
    if mean < 0:
        better, other, low, high, mean = names[0], names[1], -high, -low, -mean
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
            f", which so few splits cannot bring below "
            f"{significant(found.least_wilcoxon_p, 2)}"
        )
    return f"{text}."
