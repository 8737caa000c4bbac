"""A run's learner and settings again: on other data splits, on folds."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from treelab.data.folds import fold_name
from treelab.data.problem import Problem, folds_problem
from treelab.learners.registry import LEARNERS, complete_settings, learner_title
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, create_like
from treelab.runs.store.states import to_json

CUT_OFF = ("interrupted", "paused")  # states from which a run goes on by itself
# What a run's summary names the run by from which its tree was taken.
BY_HAND = ("pruned_from", "edited_from", "more_from", "chosen_from")


def can_be_repeated(run: Run) -> bool:
    """Whether a run was trained by a learner that can train it on other rows.

    A model from elsewhere was not, nor a tree that was edited or whose size was chosen
    by hand; clusters are found in all rows. Rows that a time or a mark sets apart are
    the same test rows with every seed.
    """
    by_hand = any(own in run.summary for own in BY_HAND)
    is_drawn = run.problem.can_have_folds and not run.problem.origin
    return run.learner in LEARNERS and not by_hand and is_drawn


def run_kind(run: Run) -> tuple:
    """Return what runs on several data splits have in common.

    A run that cannot be repeated is a kind of its own.
    """
    own = "" if can_be_repeated(run) else run.id
    return run.learner, str(run.settings), replace(run.problem, seed=0), own


def runs_by_seed(run: Run, runs: Iterable[Run]) -> dict[int, Run]:
    """Return a run by the seed of each data split, ascending.

    Runs of its kind that are done are looked for in ``runs``, the newest first. One
    that was stopped is not: it might have become better.
    """
    found = {run.problem.seed: run}
    kind = run_kind(run)
    for other in runs:
        is_done = other.state == "done" and other.has_model and other.metrics
        # The learner first: most runs need no closer look.
        if is_done and other.learner == run.learner and run_kind(other) == kind:
            found.setdefault(other.problem.seed, other)
    return dict(sorted(found.items()))


def repeats_of(run: Run, runs: Iterable[Run]) -> list[Run]:
    """Return the repeats of a run, or of the one that it repeats, itself left out."""
    original = run.repeat_of or run.id
    return [own for own in runs if own.repeat_of == original and own.id != run.id]


def all_repeats(runs: Iterable[Run], known: Sequence[Run], n_folds: int) -> list[Run]:
    """Return the repeats of some runs, and runs of their kind on so many folds."""
    runs = list(runs)
    found = {own.id: own for run in runs for own in repeats_of(run, known)}
    kinds = {run_kind(on_folds(run, n_folds)) for run in runs}
    found |= {r.id: r for r in known if r.problem.n_folds and run_kind(r) in kinds}
    return list(found.values())


def cut_off_runs(store: RunStore) -> dict[tuple[tuple, int], str]:
    """Return the runs that were interrupted or paused, by their kind and seed.

    Those that a learner trains by itself: none that searches settings, trains an
    edited tree or finds more trees.
    """
    found: dict[tuple[tuple, int], str] = {}
    for run in store.runs():
        is_cut_off = run.state in CUT_OFF and can_be_repeated(run)
        if is_cut_off and store.may_change(run) and not store.has_plan(run.id):
            found.setdefault((run_kind(run), run.problem.seed), run.id)
    return found


def _is_or_will_be(store: RunStore, run: Run) -> bool:
    """Whether a run is done, or will be as its learner trains it by itself."""
    return run.state == "done" or not (run.is_finished or store.has_plan(run.id))


def create_repeats(store: RunStore, runs: Sequence[Run], n_splits: int) -> list[str]:
    """Create the runs that repeat some runs on more data splits; return their ids.

    Runs with the same test rows are repeated on the same splits, those of the seeds
    that follow theirs. A seed on which all of them were trained counts as done, and a
    run that one of them has on a seed is not made twice. One that was cut off there
    goes on. Those that cannot be repeated are left out, and those of folds, see
    ``create_folds``. They are queued split by split; nobody trains them before they are
    submitted.
    """
    runs = [r for r in runs if can_be_repeated(r) and not r.problem.n_folds]
    known = {
        (run_kind(run), run.problem.seed)
        for run in store.runs()
        if _is_or_will_be(store, run)
    }
    cut_off = cut_off_runs(store)
    made: list[str] = []
    seeds_left = n_splits
    seed = min((run.problem.seed for run in runs), default=0)
    while runs and seeds_left > 0:
        seed += 1
        absent = {run_kind(run): run for run in runs}
        absent = {k: run for k, run in absent.items() if (k, seed) not in known}
        for kind, run in absent.items():
            waiting = cut_off.get((kind, seed), "")
            if not (waiting and store.resume(waiting)):
                original = _original(store, run)
                title = f"Repeat of {original.short_title}, seed {seed}"
                problem = replace(run.problem, seed=seed)
                own = {"problem": problem, "repeat_of": original.id}
                waiting = create_like(store, run, title, **own)
            made.append(waiting)
        seeds_left -= bool(absent)
    return made


def _original(store: RunStore, run: Run) -> Run:
    """Return the run that a repeat repeats, where it is left; else the run itself."""
    try:
        return store.run(run.repeat_of) if run.repeat_of else run
    except LookupError:
        return run


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
    cut off goes on where that was. What is left out of the settings is at its default;
    the problem's seed is that of a first fold, see ``folds_problem``; rows are dealt to
    all folds ``n_repeats`` times. Yields ids of queued runs; nobody trains them before
    they are submitted.
    """
    complete = complete_settings(learner, problem.task, dict(settings))
    known = folds_of(store, learner, settings, problem)
    kind = _kind_of(learner, settings, problem)
    cut_off = cut_off_runs(store)
    title, first = learner_title(learner), problem.seed
    original = _original(store, known[first]).id if first in known else ""
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


def create_next_folds(
    store: RunStore, learner: str, settings: Mapping, problem: Problem
) -> Iterator[str]:
    """Create the runs of folds that are not there yet, of one more shuffle if need be.

    The parameters are those of ``create_folds``; at least one id is yielded.
    """
    made, n_repeats = False, 0
    while not made:
        n_repeats += 1
        given = store, learner, settings, problem
        for run_id in create_folds(*given, n_repeats=n_repeats):
            made = True
            yield run_id


def folds_of(
    store: RunStore, learner: str, settings: Mapping, problem: Problem
) -> dict[int, Run]:
    """Return the runs of a cross-validation, done or waiting, by seed, ascending.

    Of several on one fold it is the newest; see ``create_folds``.
    """
    kind = _kind_of(learner, settings, problem)
    found: dict[int, Run] = {}
    for run in store.runs():
        is_same = run.learner == learner and run_kind(run) == kind
        if is_same and _is_or_will_be(store, run):
            found.setdefault(run.problem.seed, run)
    return dict(sorted(found.items()))


def _kind_of(learner: str, settings: Mapping, problem: Problem) -> tuple:
    """Return ``run_kind`` of the run that such a training would be."""
    complete = complete_settings(learner, problem.task, dict(settings))
    return learner, str(json.loads(to_json(complete))), replace(problem, seed=0), ""


def runs_by_fold(run: Run, runs: Iterable[Run], n_folds: int) -> dict[int, Run]:
    """Return the runs of a run's kind on the folds of its table, by seed, ascending.

    The run is of any data split, ``runs`` as in ``runs_by_seed``; 0 folds are the data
    splits without.
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
