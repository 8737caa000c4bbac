"""Runs in words: their names, their scores, what they found."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from treelab.data.folds import N_FOLDS, fold_name, splits_words
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation.comparison import have_same_test_rows
from treelab.evaluation.metrics import TITLES, log_loss_words
from treelab.learners.common.origin import STARTS
from treelab.learners.registry import CLUSTERS, IMPORTED, learner_title
from treelab.runs.jobs.repeats import on_folds, run_kind, runs_by_fold, runs_by_seed
from treelab.runs.store.run import Run, shared_headline
from treelab.trees.words import counted, significant


def run_name(run: Run) -> str:
    """Return a run's name without its table, which the page names already."""
    if not has_default_name(run):
        return run.short_title
    paper = " (paper)" if run.follows_paper else ""
    return f"{learner_title(run.learner, run.settings)}{paper}"


def run_names(runs: Sequence[Run]) -> dict[str, str]:
    """Name runs, newest first, so that no two are alike; the oldest has no number."""
    return distinct({run.id: run_name(run) for run in runs})


def distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Number names, newest first, of which some are alike; the oldest stays bare.

    A select box tells its options by their words: of two that read alike it would take
    the first, whichever was chosen.
    """
    own: dict[str, str] = {}
    for key, name in reversed([*names.items()]):
        numbered, number = name, 2
        while numbered in own.values():
            numbered, number = f"{name} {number}", number + 1
        own[key] = numbered
    return {key: own[key] for key in names}


def has_default_name(run: Run) -> bool:
    """Whether nobody gave a run a name of its own."""
    return run.title == f"{learner_title(run.learner)} · {run.problem.table_name}"


def origin_words(run: Run) -> str:
    """Write in one or two sentences how a run's model came about; "" where unknown."""
    recipe = "Paper's recipe. " if run.follows_paper else ""
    return recipe + (run.origin.headline if run.origin else run.provenance)


def fitted_words(run: Run) -> str:
    """Name the rows that a run's model was fitted to; its own clusters are of all."""
    if run.learner == CLUSTERS.key and run.problem.origin:
        return "all rows"
    return f"{SPLIT_NAMES[run.fitted_split]} rows"


def score(
    run: Run, split: str = "test", metric: str = "", output: str = ""
) -> float | None:
    """Return a run's score on a split, its headline's or a named one; None without.

    Of several outputs it is that of the one named, where the run has each one's.
    """
    found: dict = run.metrics.get(split, {})
    return found.get("outputs", {}).get(output, found).get(metric or run.headline)


def score_words(run: Run) -> str:
    """Write a run's headline score on its test rows, with metric; else its state."""
    value = score(run)
    if value is None:
        return run.state
    metric = TITLES[run.headline]
    rows = f"{run.metrics['test']['n_rows']:,.0f} rows{run.problem.weighted_words}"
    return f"{significant(value)} {metric} · test, {rows}"


def duration(seconds: float | None) -> str:
    """Write a time span in the units that read well; a dash for none."""
    if seconds is None:
        return "–"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def note_words(run: Run) -> str:
    """Write how far a run has come, what it found, or why it failed."""
    if run.state == "running":
        return _progress(run)
    found = score_words(run) if run.metrics else ""
    if run.learner == CLUSTERS.key:
        found = clusters_found(run)
    if run.state == "paused":
        return f"paused at {run.progress:.0%}" if run.attempts else "not begun"
    if run.state in ("failed", "interrupted") or not found:
        return run.error
    parts = [found, log_loss_words(run.metrics.get("test", {}))]
    return " · ".join([*filter(None, parts), duration(run.elapsed)])


def _progress(run: Run) -> str:
    """Write how far a run in training has come."""
    if run.pause_requested:
        return "saves where it is"
    if run.stop_requested:
        return "saves its best tree so far"
    where = [f"on {run.machine}"] if run.machine else []  # nothing for this one
    if not run.max_epochs:
        return " · ".join([f"preparing, {duration(run.elapsed)}", *where])
    stage = [run.stage] if run.stage else []
    left = run.remaining
    left_words = [] if left is None else [f"at most {duration(left)} left"]
    return " · ".join([*stage, f"{run.progress:.0%}", *left_words, *where])


def ranked_runs(runs: list[Run]) -> list[Run]:
    """Return the runs that compare with the newest that has a score, best first.

    They were tested on its rows and trained for its loss.
    """
    scored = _scored(runs)
    same = [
        run
        for run in scored
        if have_same_test_rows(run.problem, scored[0].problem)
        and run.loss == scored[0].loss
    ]
    return sorted(same, key=lambda run: run.metrics["test"][run.headline], reverse=True)


def result_words(
    runs: list[Run], names: Mapping[str, str], write: Callable[[str], str] = str
) -> str:
    """Write one line on what runs found, best first; "" while a run goes on.

    Runs of other test rows or another loss are counted apart: they do not compare. They
    have names by their ids, and ``write`` makes Markdown of names and columns.
    """
    ranked = ranked_runs(runs)
    if not ranked or any(not run.is_finished for run in runs):
        return ""
    all_columns = {run.problem.columns for run in ranked}
    found = []
    for run in ranked:
        value = run.metrics["test"][run.headline]
        own = f"{write(names[run.id])} {significant(value)}{_size_words(run)}"
        if len(all_columns) > 1:
            own += f" from {counted(len(run.problem.columns), 'feature')}"
        if run.origin is not None and run.origin.equals_start:
            own += f" (equals its start, {STARTS[run.origin.start]})"
        found.append(own)
    metric = TITLES[ranked[0].headline]
    n_rows = counted(int(ranked[0].metrics["test"]["n_rows"]), "test row")
    weighted = write(ranked[0].problem.weighted_words)
    words = f"**{', '.join(found)}**, {metric} on {n_rows}{weighted}"
    others = [run for run in _scored(runs) if run not in ranked]
    of_loss = sum(have_same_test_rows(o.problem, ranked[0].problem) for o in others)
    if n_rest := len(others) - of_loss:
        words += f". {counted(n_rest, 'run')} of another data split had other test rows"
    if of_loss:
        words += f". {counted(of_loss, 'run')} of another loss do not compare by it"
    return words


def _size_words(run: Run) -> str:
    """Write how large a run's model is, or that its size was chosen by hand."""
    if "pruned_from" in run.summary:
        return " (chosen by hand)"
    if "edited_from" in run.summary:
        return " (edited by hand)"
    if "estimators" in run.summary:
        return f" with {counted(run.summary['estimators'], 'tree')}"
    if "leaves" in run.summary:
        on_top = " and a predictor on top" if "predictors" in run.summary else ""
        return f" with {counted(run.summary['leaves'], 'leaf', 'leaves')}{on_top}"
    return ""


def _scored(runs: list[Run]) -> list[Run]:
    """Return the runs whose scores compare.

    An imported model may have been trained on the test rows.
    """
    return [run for run in runs if score(run) is not None and run.learner != IMPORTED]


def clusters_found(run: Run) -> str:
    """Write how many clusters a run found, "" before it has found any."""
    if not run.has_model:
        return ""
    words = counted(run.summary["leaves"], "cluster")
    if "purity" in run.summary:
        words += f", dendrogram purity {purity_words(run)}"
    return words


def purity_words(run: Run) -> str:
    """Write the purity of a run's clusters, beside that of all rows in one cluster."""
    words = significant(run.summary["purity"])
    if "one_cluster_purity" in run.summary:  # of runs since it is measured
        one = significant(run.summary["one_cluster_purity"])
        words += f" (all in one cluster: {one})"
    return words


def cluster_result_words(runs: list[Run]) -> str:
    """Write one line on what the newest run found; "" while a run goes on."""
    if any(not run.is_finished for run in runs):
        return ""
    for run in runs:
        if words := clusters_found(run):
            rows = run.summary["rows"]
            if "purity" in run.summary:  # the others were held out
                return f"**{words}** in {counted(rows['train'], 'training row')}"
            return f"**{words}** in {counted(sum(rows.values()), 'row')}"
    return ""


def repeats_words(
    runs: Sequence[Run],
    repeats: Sequence[Run],
    known: Sequence[Run],
    outputs: Mapping[str, str],
) -> str:
    """Say on how many data splits runs were trained, and which repeats failed.

    None of the repeats is still to be trained; the known runs are those that ended with
    a model. Of several outputs scores are of the one that is named by the run's id.
    """
    by_seed = {run.id: runs_by_seed(run, known) for run in runs}
    failed = [
        run
        for run in repeats
        if run.error and run.problem.seed not in by_seed.get(run.repeat_of, ())
    ]
    n_splits = [len(by_seed[run.id]) for run in runs if not run.problem.n_folds]
    words = ""
    if n_splits and max(n_splits) == 1:
        words = "Based on one data split; repeat it to see how stable this is."
    elif n_splits and min(n_splits) == max(n_splits):
        words = f"Trained on {counted(n_splits[0], 'data split')} each."
    elif n_splits:
        words = f"Trained on {min(n_splits)} to {max(n_splits)} data splits."
    words = f"{words} {_fold_words(runs, known, outputs)}".strip()
    if failed:
        words += f" {counted(len(failed), 'repeat')} failed: "
        words += failed[0].error
    return words


def _fold_words(
    runs: Sequence[Run], known: Sequence[Run], outputs: Mapping[str, str]
) -> str:
    """Write each learner's mean over folds and its standard deviation."""
    found, metric = {}, shared_headline(runs)
    for run in runs:
        of_folds = runs_by_fold(run, known, N_FOLDS).values()
        output = outputs.get(run.id, "")
        known_scores = [score(own, "test", metric, output) for own in of_folds]
        scores = [value for value in known_scores if value is not None]
        if len(scores) > 1:
            mean, spread = float(np.mean(scores)), float(np.std(scores, ddof=1))
            name = run_name(run).removesuffix(f", {N_FOLDS} folds")
            name = name.removesuffix(f", {fold_name(run.problem.seed, N_FOLDS)}")
            name += f" {significant(mean)} ± {significant(spread, 2)}"
            kind = run_kind(on_folds(run, N_FOLDS))
            found[kind] = f"{name} over {splits_words(len(scores), N_FOLDS)}"
    if not found:
        return ""
    each = ", ".join(found.values())
    return f"Test {TITLES[metric]}, mean ± standard deviation: {each}."
