"""``python -m treelab train``: train one learner on a table, here and now."""

from argparse import Namespace

from treelab.cli.common.arguments import add_device, add_problem, add_run, add_settings
from treelab.cli.common.settings import parse_settings
from treelab.cli.common.tables import read_problem, store_problem
from treelab.cli.progress_bar import ProgressBar
from treelab.cli.run_report import print_report
from treelab.learners.registry import LEARNERS, complete_settings
from treelab.runs.jobs.run_one import run_one
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
    add_run(parser)
    parser.set_defaults(command=train)


def train(arguments: Namespace) -> int:
    """Train and print the scores; return 0 when a model was saved, else 2."""
    settings = parse_settings(arguments.learner, arguments.settings)
    frame, problem = read_problem(arguments)
    complete_settings(arguments.learner, problem.task, settings)  # or refuse them
    store = RunStore(arguments.home)
    problem = store_problem(store, frame, problem)
    run_id = store.create(
        arguments.learner,
        settings,
        problem,
        device=arguments.device,
        title=arguments.name,
    )
    with ProgressBar() as bar:
        run_one(run_id, store.home, callbacks=[bar])
    return print_report(store, store.run(run_id))
