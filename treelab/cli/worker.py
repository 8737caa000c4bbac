"""``python -m treelab worker``: train what waits in a run store."""

import argparse

from treelab.runs.store.run_store import RunStore, default_home
from treelab.runs.workers.worker import Worker


def add_home(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the run store's folder."""
    parser.add_argument(
        "--home",
        metavar="DIR",
        help=f"folder of the run store (default: TREELAB_HOME, else {default_home()})",
    )


def add_command(commands) -> None:
    """Add ``worker`` to the commands."""
    parser = commands.add_parser(
        "worker",
        help="train the runs that wait in a run store, until told to end",
        description="Trains the runs that wait in a run store, one after the other, "
        "until it gets Ctrl-C or SIGTERM. The app starts its workers by itself.",
    )
    add_home(parser)
    parser.add_argument(
        "--slot",
        default="cpu:0",
        help='"cpu:N", "cuda:N" for a GPU, or "quick" for CART alone (default: cpu:0)',
    )
    parser.add_argument(
        "--leave-when-unused",
        action="store_true",
        help="end when no app is left and no run waits",
    )
    parser.set_defaults(command=work)


def work(chosen: argparse.Namespace) -> None:
    """Be a worker."""
    store = RunStore(chosen.home)
    Worker(store, chosen.slot, leave_when_unused=chosen.leave_when_unused).work()
