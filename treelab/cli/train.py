"""``treelab train``: train one learner on a table, now."""

from argparse import Namespace
from collections.abc import Iterator

from treelab.cli.arguments import command
from treelab.cli.tables import check_settings, read_problem, store_problem
from treelab.cli.training import Trainer, print_report, print_splits
from treelab.data.problem import Problem
from treelab.learners.registry import LEARNERS
from treelab.learners.setting_text import parse_settings
from treelab.runs.jobs.repeats import (
    create_folds,
    create_repeats,
    folds_of,
    runs_by_seed,
)
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore


@command(
    "train",
    "train a tree on a table",
    """
    Trains a tree and saves it in the run store, where the app shows it. Ctrl-C
    stops early and saves the best tree so far. Where TREELAB_CLUSTER names a Dask
    scheduler, runs train on its workers.

    [problem]
    --truth COLUMN  the target holds another model's predictions of this column:
        imitate it
    --learner  (default: gradtree)
    [settings]  max_depth=5
    [device]
    --repeats N  train again on N more data splits, and print the mean; with
        --folds: deal the rows to all folds N more times (default: 0)
    --folds K  K-fold cross-validation: train K times, each row a test row in one of
        them, and print the mean
    [run]
    --json  print the run as JSON, or the runs of all data splits
    """,
    learner={"default": "gradtree", "choices": LEARNERS},
    repeats={"type": int, "default": 0},
    folds={"type": int, "default": 0},
)
def train(arguments: Namespace) -> int:
    """Train and print the scores; return 0 when a model was saved, else 2."""
    if arguments.repeats < 0:
        raise ValueError(f"--repeats must be at least 0, got {arguments.repeats}.")
    settings = parse_settings(arguments.learner, arguments.settings)
    frame, problem = read_problem(arguments)
    if arguments.repeats and not problem.can_have_folds:
        raise ValueError(
            "--repeats needs rows that are split at random or by group: split by "
            f"{problem.split_column!r}, the test rows are always the same."
        )
    check_settings(arguments.learner, settings, frame, problem)
    store = RunStore(arguments.home)
    trainer = Trainer(store)
    problem = store_problem(store, frame, problem)
    store.interrupt_dead_runs()  # so that what a killed process began goes on
    if problem.n_folds:
        return cross_validate(trainer, store, problem, settings, arguments)
    run_id = store.create(
        arguments.learner,
        settings,
        problem,
        device=arguments.device,
        title=arguments.name,
    )
    trainer.train([run_id])
    run = store.run(run_id)
    repeats = arguments.repeats if run.state == "done" else 0
    code = 0
    if not (arguments.json and repeats):
        code = print_report(store, run, as_json=arguments.json)
    return repeat(trainer, store, run, arguments) if repeats else code


def cross_validate(
    trainer: Trainer,
    store: RunStore,
    problem: Problem,
    settings: dict,
    arguments: Namespace,
) -> int:
    """Train on each fold that is not trained yet, and print the scores of all."""
    learner = arguments.learner
    n_repeats = 1 + arguments.repeats
    made = create_folds(
        store, learner, settings, problem, n_repeats=n_repeats, device=arguments.device
    )
    if failed := trainer.train(_titled(store, made, arguments.name)):
        print_report(store, failed)
        return 2
    found = folds_of(store, learner, settings, problem)
    scored = {seed: run for seed, run in found.items() if run.metrics}
    if not scored:
        raise ValueError("All folds wait or train elsewhere already: see treelab runs.")
    print_splits(store, scored, as_json=arguments.json)
    return 0


def repeat(trainer: Trainer, store: RunStore, run: Run, arguments: Namespace) -> int:
    """Train a run again on more data splits, and print their scores."""
    # One after the other: what Ctrl-C leaves out was never begun.
    made = (create_repeats(store, [run], 1)[0] for _ in range(arguments.repeats))
    if failed := trainer.train(made):
        print_report(store, failed)
    print_splits(store, runs_by_seed(run, store.runs()), as_json=arguments.json)
    return 2 if failed else 0


def _titled(store: RunStore, made: Iterator[str], title: str) -> Iterator[str]:
    """Give the first of some runs a title, where there is one."""
    for place, run_id in enumerate(made):
        if place == 0 and title:
            store.set_title(run_id, title)
        yield run_id
