"""K-fold cross-validation as runs: one for each fold of each repeat."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from treelab.data.folds import fold_name
from treelab.data.problem import Problem, folds_problem
from treelab.learners.registry import complete_settings, learner_title
from treelab.runs.jobs.splits.repeats import (
    can_be_repeated,
    cut_off_runs,
    run_kind,
    runs_by_seed,
)
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.states import to_json


def create_folds(
    store: RunStore,
    learner: str,
    settings: Mapping,
    problem: Problem,
    *,
    n_repeats: int = 1,
    device: str = "auto",
) -> Iterator[str]:
    """Create the runs of a cross-validation that are not there yet, one at a time.

    The run of the first fold stands for all; the others are its repeats. A fold on
    which a run of this kind was trained, or waits, counts as done; one whose run was
    cut off goes on where that was.

    Parameters
    ----------
    store : RunStore
    learner : str
    settings : mapping
        Of the learner; what is left out is at its default.
    problem : Problem
        Its seed is that of a first fold, see ``folds_problem``.
    n_repeats : int, default=1
        How often rows are dealt to all folds.
    device : str, default="auto"

    Yields
    ------
    str
        The id of a run in the state "queued"; nobody trains it before it is submitted.
    """
    complete = complete_settings(learner, problem.task, dict(settings))
    known = folds_of(store, learner, settings, problem)
    kind = learner, str(json.loads(to_json(complete))), replace(problem, seed=0), ""
    cut_off = cut_off_runs(store)
    title, first = learner_title(learner), problem.seed
    original = known[first].repeat_of or known[first].id if first in known else ""
    for seed in range(first, first + problem.n_folds * n_repeats):
        if seed in known:
            continue
        waiting = cut_off.get((kind, seed), "")
        if waiting and store.resume(waiting):
            original = original or store.run(waiting).repeat_of or waiting
            yield waiting
            continue
        name = f"{title}, {fold_name(seed, problem.n_folds)}"
        if not original:
            name = f"{title}, {problem.n_folds} folds · {problem.table_name}"
        run_id = store.create(
            learner,
            complete,
            replace(problem, seed=seed),
            device=device,
            title=name,
            repeat_of=original,
        )
        original = original or run_id
        yield run_id


def folds_of(
    store: RunStore, learner: str, settings: Mapping, problem: Problem
) -> dict[int, Run]:
    """Return the runs of a cross-validation, done or waiting, by seed, ascending.

    Of several on one fold it is the newest; see ``create_folds``.
    """
    complete = complete_settings(learner, problem.task, dict(settings))
    kind = str(json.loads(to_json(complete))), replace(problem, seed=0)
    found: dict[int, Run] = {}
    for run in store.runs():
        is_alike = (str(run.settings), replace(run.problem, seed=0)) == kind
        counts = run.state == "done" or not run.is_finished
        if run.learner == learner and is_alike and counts and can_be_repeated(run):
            found.setdefault(run.problem.seed, run)
    return dict(sorted(found.items()))


def runs_by_fold(run: Run, runs: Iterable[Run], n_folds: int) -> dict[int, Run]:
    """Return the runs of a run's kind on the folds of its table, by seed, ascending.

    Parameters
    ----------
    run : Run
        Of any data split.
    runs : iterable of Run
        See ``runs_by_seed``.
    n_folds : int
        0 for the data splits without folds.
    """
    if run.problem.n_folds == n_folds:
        return runs_by_seed(run, runs)
    kind = run_kind(on_folds(run, n_folds))
    for other in runs:
        own = other.problem.n_folds == n_folds and run_kind(other) == kind
        if own and other.state == "done" and other.has_model and other.metrics:
            return runs_by_seed(other, runs)
    return {}


def on_folds(run: Run, n_folds: int) -> Run:
    """Return a run as if its problem had so many folds, 0 for none, where it can."""
    if not run.problem.can_have_folds:
        return run
    problem = folds_problem(folds_problem(run.problem, 0), n_folds)
    return replace(run, problem=problem)
