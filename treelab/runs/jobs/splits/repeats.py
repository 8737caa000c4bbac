"""Repeats: a run's learner, settings and problem again, on other data splits."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from treelab.learners.registry import LEARNERS
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore

CUT_OFF = ("interrupted", "paused")  # states from which a run goes on by itself
# What a run's summary names the run by from which its tree was taken.
BY_HAND = ("pruned_from", "edited_from", "more_from", "chosen_from")


def can_be_repeated(run: Run) -> bool:
    """Whether a run was trained by a learner that can train it on other rows.

    A model from elsewhere was not, nor a tree that was edited or whose size was chosen
    by hand; clusters are found in all rows.
    """
    by_hand = any(own in run.summary for own in BY_HAND)
    return run.learner in LEARNERS and not by_hand and not run.problem.origin


def run_kind(run: Run) -> tuple:
    """Return what runs on several data splits have in common.

    A run that cannot be repeated is a kind of its own.
    """
    own = "" if can_be_repeated(run) else run.id
    return run.learner, str(run.settings), replace(run.problem, seed=0), own


def runs_by_seed(run: Run, runs: Iterable[Run]) -> dict[int, Run]:
    """Return a run by the seed of each data split, ascending.

    Parameters
    ----------
    run : Run
    runs : iterable of Run
        Where runs of its kind that are done are looked for, the newest first. One that
        was stopped is not: it might have become better.
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


def cut_off_runs(store: RunStore) -> dict[tuple[tuple, int], str]:
    """Return the runs that were interrupted or paused, by their kind and seed.

    Those that a learner trains by itself: none that searches settings, trains an
    edited tree or finds more trees.
    """
    found: dict[tuple[tuple, int], str] = {}
    for run in store.runs():
        is_cut_off = run.state in CUT_OFF and can_be_repeated(run)
        if is_cut_off and store.may_change(run):
            asked = (store.edits(run.id), store.more(run.id), store.sweep(run.id))
            if asked == (None, None, None):
                found.setdefault((run_kind(run), run.problem.seed), run.id)
    return found


def create_repeats(store: RunStore, runs: Sequence[Run], n_splits: int) -> list[str]:
    """Create the runs that repeat some runs on more data splits; return their ids.

    Runs with the same test rows are repeated on the same splits, those of the seeds
    that follow theirs. A seed on which all of them were trained counts as done, and a
    run that one of them has on a seed is not made twice. One that was cut off there
    goes on.

    Parameters
    ----------
    store : RunStore
    runs : sequence of Run
        Those that cannot be repeated are left out, and those of folds, see
        ``treelab/runs/jobs/splits/folds.py``.
    n_splits : int
        How many more data splits.

    Returns
    -------
    list of str
        Queued, split by split; nobody trains them before they are submitted.
    """
    runs = [r for r in runs if can_be_repeated(r) and not r.problem.n_folds]
    known = {
        (run_kind(run), run.problem.seed)
        for run in store.runs()
        if run.state == "done" or not run.is_finished
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
                waiting = _create_repeat(store, run, seed)
            made.append(waiting)
        seeds_left -= bool(absent)
    return made


def _create_repeat(store: RunStore, run: Run, seed: int) -> str:
    """Create a run's repeat on the data split of a seed."""
    return store.create(
        run.learner,
        run.settings,
        replace(run.problem, seed=seed),
        device=run.device,
        title=f"Repeat of {_original(store, run).short_title}, seed {seed}",
        repeat_of=_original(store, run).id,
    )


def _original(store: RunStore, run: Run) -> Run:
    """Return the run that a repeat repeats, where it is left; else the run itself."""
    try:
        return store.run(run.repeat_of) if run.repeat_of else run
    except LookupError:
        return run
