"""``treelab worker``: train the runs that wait in a run store."""

import re
from argparse import ArgumentTypeError, Namespace

from treelab.cli.arguments import command
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.cluster import SLOT, check_cluster
from treelab.runs.workers.worker import Worker


def _slots(text: str) -> str:
    """Read slots, those of GPUs also as the app counts them, cuda:0#1."""
    known = re.compile(r"quick|cpu:\d+|cuda:\d+(#\d+)?")
    if text != SLOT and not all(map(known.fullmatch, text.split(","))):
        raise ArgumentTypeError(f"{text!r} is none of cpu:N, cuda:N, quick and cluster")
    return text


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
    slot={"type": _slots, "default": "cpu:0"},
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
