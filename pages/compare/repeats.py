"""The same learners on other splits, and whether the difference stays."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import streamlit as st

from pages.cached.comparison import trained_run
from pages.cached.runs import LoadedRun
from pages.cached.store import all_runs, finished_runs, store
from pages.compare.pair import Names, Pair, pair_colors
from pages.state.choices import start_folds, start_repeats
from pages.widgets.page import mode, show_figure
from pages.widgets.watcher import Watcher
from pages.widgets.words import explained, plain
from treelab.data.folds import N_FOLDS, fold_name, splits_words
from treelab.data.split import JOINED
from treelab.evaluation.comparison import FEWEST_SEEDS, compare_over_seeds
from treelab.evaluation.metrics import TITLES
from treelab.figures.comparison import seeds_figure
from treelab.runs.jobs import repeats as jobs
from treelab.runs.run_words import repeats_words, score
from treelab.runs.store.run import Run, shared_headline
from treelab.trees.words import counted

FIRST_MORE = 4  # data splits, until the visitor says otherwise
MOST_MORE = 20


def show_repeats(
    runs: Sequence[Run],
    *,
    key: str,
    only_begun: bool = False,
    outputs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Offer repeats on more data splits, and follow them; or only those begun.

    Of runs of several outputs scores are of those that are named, by run.
    """
    trained = [*{own.id: own for own in map(trained_run, runs)}.values()]
    trained = [run for run in trained if jobs.can_be_repeated(run)]
    apart = [run for run in trained if not run.problem.n_folds]

    def find() -> list[Run]:
        return jobs.all_repeats(trained, all_runs(), N_FOLDS)

    before = find()
    if not trained or (only_begun and not before):
        return
    active = any(not run.is_finished for run in before)
    can_fold = all(run.problem.can_have_folds for run in trained)
    # Once, where a learner is shown with and without folds.
    alike = {jobs.run_kind(jobs.on_folds(r, N_FOLDS)): r for r in trained}.values()
    words = partial(_words, trained, outputs)

    def follow() -> None:
        """Show the field, the button and the progress, in one place at all times."""
        repeats = find()
        waiting = [run for run in repeats if not run.is_finished]

        def stop() -> None:
            for run in waiting:
                if store().may_change(run):
                    store().request_stop(run.id)

        with st.container(horizontal=True, vertical_alignment="bottom", key=key):
            more = st.number_input(
                "More data splits",
                1,
                MOST_MORE,
                FIRST_MORE,
                key=f"{key}-more",
                width=150,
                help="Each splits the rows anew, by another seed.",
            )
            repeat = st.button(
                "Repeat on more splits",
                icon=":material/repeat:",
                key=f"{key}-start",
                disabled=not apart,
                help=f"Trains {counted(len(apart), 'run')} on each of them, with the "
                "same settings, in the queue behind other runs. The chart then shows "
                "the mean over data splits and its standard error.",
            )
            fold = st.button(
                "5-fold cross-validation",
                icon=":material/splitscreen:",
                key=f"{key}-folds",
                disabled=not can_fold,
                help="Trains each with the same settings five times, each row being a "
                "test row once. Press again for a new shuffle."
                if can_fold
                else "Rows are split at random or by group for it.",
            )
            st.button(
                "Stop",
                icon=":material/stop:",
                key=f"{key}-stop",
                type="tertiary",
                disabled=not waiting,
                on_click=explained(stop),
                help="Takes the repeats that wait out of the queue and stops those in "
                "training; what was stopped does not count.",
            )
        st.caption(plain(words(repeats)))
        try:
            if repeat:
                start_repeats(apart, int(more))
            if fold:
                start_folds([(r.learner, r.settings, r.problem) for r in alike])
        except ValueError as error:
            st.error(plain(error), icon=":material/error:")
        else:
            if repeat or fold or _have_changed(before, repeats):
                st.rerun()

    watcher = Watcher(
        f"{key}-repeats",
        2.0 if active else None,
        is_over=lambda: _have_changed(before, find()),
    )
    watcher.part("all", lambda: words(find()), follow)
    watcher.start()


def _have_changed(before: list[Run], repeats: list[Run]) -> bool:
    """Whether the chart has, or whether there is something to wait for."""
    was, now = ([run.is_finished for run in own] for own in (before, repeats))
    return sum(was) != sum(now) or all(was) != all(now)


def _words(runs: list[Run], outputs: Mapping[str, str], repeats: list[Run]) -> str:
    """Say on how many data splits the runs were trained, and what goes on."""
    waiting = [run for run in repeats if not run.is_finished]
    if waiting:
        now = [run for run in waiting if run.state == "running"]
        at = f"; {now[-1].short_title} {now[-1].progress:.0%}" if now else ""
        n_done = sum(run.state == "done" for run in repeats)
        total = n_done + len(waiting)
        return f"{n_done} of {counted(total, 'repeat')} trained{at}."
    return repeats_words(runs, repeats, finished_runs(), outputs)


def n_data_splits(loaded: LoadedRun) -> int:
    """Count the data splits, or folds, on which a run's learner was trained."""
    run, known = trained_run(loaded.run), finished_runs()
    folds = {run.problem.n_folds, N_FOLDS}
    return max(len(jobs.runs_by_fold(run, known, n_folds)) for n_folds in folds)


def show_seeds(pair: Pair, names: Names) -> None:
    """Repeat both on more data splits, and test the difference over them."""
    runs = [loaded.run for loaded in pair]
    outputs = {trained_run(loaded.run).id: loaded.output for loaded in pair}
    show_repeats(runs, key="repeats", outputs=outputs)
    if not all(run.problem.can_have_folds for run in runs):
        column = runs[0].problem.split_column
        st.markdown(plain(f"Split by {column}, the test rows are always the same."))
        return
    if len({jobs.run_kind(jobs.on_folds(run, 0)) for run in runs}) == 1:
        st.markdown("Both runs are of one learner and the same settings.")
        return
    tests = []
    for n_folds in sorted({0, N_FOLDS, runs[0].problem.n_folds}):
        first, second = (jobs.runs_by_fold(r, finished_runs(), n_folds) for r in runs)
        tests.append([(first[s], second[s]) for s in sorted(first.keys() & second)])
    tests = [both for both in tests if len(both) >= FEWEST_SEEDS]
    for both in tests:
        _show_test(both, pair, names)
    if not tests:
        st.markdown(
            "With two or more data splits, a test of the difference stands here."
        )


def _n_fitted(run: Run) -> int:
    """Count the rows that a run was fitted to."""
    fitted = ("train", "valid") if run.fitted_split == JOINED else ("train",)
    return sum(run.metrics[split]["n_rows"] for split in fitted)


def _show_test(both: list[tuple[Run, Run]], pair: Pair, names: Names) -> None:
    """Show both scores of each data split, or fold, and test their difference."""
    key = shared_headline([own.run for own in pair])
    scores = [
        [score(own[k], "test", key, pair[k].output) for own in both] for k in (0, 1)
    ]
    problems = [own.problem for own, _ in both]
    n_folds = problems[0].n_folds
    # A run's title has its folds.
    names = tuple(name.removesuffix(f", {n_folds} folds") for name in names)
    splits = splits_words(len(both), n_folds)
    # Of two that were fitted to other rows, the fewer: no order of them is surer.
    n_fitted = min(map(_n_fitted, both[0]))
    n_test = both[0][0].metrics["test"]["n_rows"]
    found = compare_over_seeds(*scores, n_fitted, n_test)
    metric = TITLES[key]
    st.markdown(plain(found.sentences(names, metric, splits)))
    each = [fold_name(p.seed, n_folds) if n_folds else str(p.seed) for p in problems]
    look = {"split_title": "" if n_folds else "seed", "colors": pair_colors(pair)}
    show_figure(
        seeds_figure(each, scores, names, f"{metric}, test", **look, mode=mode()),
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
