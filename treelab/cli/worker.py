"""``treelab worker``: train the runs that wait in a run store."""

from argparse import Namespace

from treelab.cli.arguments import command
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.cluster import SLOT, check_cluster
from treelab.runs.workers.worker import Worker


@command(
    "worker",
    "train the runs that wait in a run store, until it is ended",
    """
    Trains the runs that wait in a run store, one after the other, until it gets
    Ctrl-C or SIGTERM. The app starts its workers by itself.

    [home]
    --slot  "cpu:N", "cuda:N" for a GPU, "quick" for CART alone, or "cluster" to
        have runs trained by the Dask cluster of TREELAB_CLUSTER; on Linux several
        with commas, a process each (default: cpu:0)
    --end-when-unused  end when no app is left and no run waits
    """,
    slot={"default": "cpu:0"},
)
def work(arguments: Namespace) -> None:
    """Train the runs that wait."""
    store = RunStore(arguments.home)
    unused = arguments.end_when_unused
    if arguments.slot != SLOT:
        Worker(store, *arguments.slot.split(","), end_when_unused=unused).work()
        return
    check_cluster(store)
    from treelab.runs.workers.cluster_worker import ClusterWorker  # loads Dask

    ClusterWorker(store, end_when_unused=unused).work()
