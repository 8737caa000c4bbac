"""``python -m treelab train``: train one learner on a table, here and now."""

import json
from argparse import Namespace

from treelab.cli.common.arguments import (
    add_device,
    add_json,
    add_problem,
    add_run,
    add_settings,
)
from treelab.cli.common.progress_bar import ProgressBar
from treelab.cli.common.run_report import print_report, print_splits, run_facts
from treelab.cli.common.tables import read_problem, store_problem
from treelab.data.problem import Problem
from treelab.learners.registry import LEARNERS, complete_settings
from treelab.learners.setting_text import parse_settings
from treelab.runs.jobs.run_one import run_one
from treelab.runs.jobs.splits.folds import create_folds, folds_of
from treelab.runs.jobs.splits.repeats import create_repeats, runs_by_seed
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore


def add_command(commands) -> None:
    """Add ``train`` to the commands."""
    parser = commands.add_parser(
        "train",
        help="train a tree on a table",
        description="Trains a tree and saves it in the run store, where the app shows "
        "it. Ctrl-C stops early and saves the best tree so far.",
    )
    add_problem(parser)
    parser.add_argument(
        "--truth",
        metavar="COLUMN",
        help="the target holds another model's predictions of this column: imitate it",
    )
    parser.add_argument(
        "--learner", default="gradtree", choices=LEARNERS, help="(default: gradtree)"
    )
    add_settings(parser, "max_depth=5")
    add_device(parser)
    parser.add_argument(
        "--repeats",
        type=int,
        default=0,
        metavar="N",
        help="train again on N more data splits, and print the mean; with --folds: "
        "deal the rows to all folds N more times (default: 0)",
    )
    parser.add_argument(
        "--folds",
        type=int,
        default=0,
        metavar="K",
        help="K-fold cross-validation: train K times, each row a test row in one of "
        "them, and print the mean",
    )
    add_run(parser)
    add_json(parser, "print the run as JSON, its scores among it")
    parser.set_defaults(command=train)


def train(arguments: Namespace) -> int:
    """Train and print the scores; return 0 when a model was saved, else 2."""
    if arguments.json and (arguments.repeats or arguments.folds):
        raise ValueError("--json prints one run; leave --repeats and --folds out.")
    if arguments.repeats < 0:
        raise ValueError(f"--repeats must be at least 0, got {arguments.repeats}.")
    settings = parse_settings(arguments.learner, arguments.settings)
    frame, problem = read_problem(arguments)
    complete_settings(arguments.learner, problem.task, settings)  # or refuse them
    store = RunStore(arguments.home)
    problem = store_problem(store, frame, problem)
    if problem.n_folds:
        return cross_validate(store, problem, settings, arguments)
    run_id = store.create(
        arguments.learner,
        settings,
        problem,
        device=arguments.device,
        title=arguments.name,
    )
    with ProgressBar() as bar:
        run_one(run_id, store.home, callbacks=[bar])
    run = store.run(run_id)
    if arguments.json and run.has_model:
        print(json.dumps(run_facts(run), indent=1))
        return 0
    code = print_report(store, run)
    if arguments.repeats and run.state == "done":
        return repeat(store, run, arguments.repeats)
    return code


def cross_validate(
    store: RunStore, problem: Problem, settings: dict, arguments: Namespace
) -> int:
    """Train on each fold that is not trained yet, and print the scores of all."""
    learner, is_first = arguments.learner, True
    n_repeats = 1 + arguments.repeats
    made = create_folds(
        store, learner, settings, problem, n_repeats=n_repeats, device=arguments.device
    )
    for run_id in made:  # made one after the other: what Ctrl-C leaves out never began
        if is_first and arguments.name:
            store.set_title(run_id, arguments.name)
        is_first = False
        with ProgressBar() as bar:
            state = run_one(run_id, store.home, callbacks=[bar])
        if state != "done":
            print_report(store, store.run(run_id))
            return 2
    found = folds_of(store, learner, settings, problem)
    print_splits({seed: run for seed, run in found.items() if run.metrics})
    return 0


def repeat(store: RunStore, run: Run, n_splits: int) -> int:
    """Train a run again on more data splits, and print their scores."""
    state = "done"
    for _ in range(n_splits):
        # One after the other: what Ctrl-C leaves out was never begun.
        (repeat_id,) = create_repeats(store, [run], 1)
        with ProgressBar() as bar:
            state = run_one(repeat_id, store.home, callbacks=[bar])
        if state != "done":
            print_report(store, store.run(repeat_id))
            break
    print_splits(runs_by_seed(run, store.runs()))
    return 0 if state == "done" else 2
