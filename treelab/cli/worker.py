"""``treelab worker``: train the runs that wait in a run store."""

from argparse import Namespace

from treelab.cli.arguments import add_home
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.cluster import SLOT, check_cluster
from treelab.runs.workers.worker import Worker


def add_command(commands) -> None:
    """Add ``worker`` to the commands."""
    parser = commands.add_parser(
        "worker",
        help="train the runs that wait in a run store, until it is ended",
        description="Trains the runs that wait in a run store, one after the other, "
        "until it gets Ctrl-C or SIGTERM. The app starts its workers by itself.",
    )
    add_home(parser)
    parser.add_argument(
        "--slot",
        default="cpu:0",
        help='"cpu:N", "cuda:N" for a GPU, "quick" for CART alone, or "cluster" '
        "to have runs trained by the Dask cluster of TREELAB_CLUSTER (default: cpu:0)",
    )
    parser.add_argument(
        "--end-when-unused",
        action="store_true",
        help="end when no app is left and no run waits",
    )
    parser.set_defaults(command=work)


def work(arguments: Namespace) -> None:
    """Train the runs that wait."""
    store = RunStore(arguments.home)
    unused = arguments.end_when_unused
    if arguments.slot != SLOT:
        Worker(store, arguments.slot, end_when_unused=unused).work()
        return
    check_cluster(store)
    from treelab.runs.workers.cluster_worker import ClusterWorker  # loads Dask

    ClusterWorker(store, end_when_unused=unused).work()
