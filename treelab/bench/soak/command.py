"""``python -m treelab bench soak`` and ``bench cluster-sweep``."""

from argparse import Namespace
from pathlib import Path


def add_soak(commands) -> None:
    """Add ``bench soak``."""
    parser = commands.add_parser(
        "soak", help="kill, fill and damage a running app, and see what is lost"
    )
    parser.add_argument("--kills", type=int, default=50, help="(default: 50)")
    parser.add_argument("--seed", type=int, default=0, help="of what happens when")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.set_defaults(command=_soak)


def _soak(chosen: Namespace) -> int:
    """Trouble an app and print what held."""
    from treelab.bench.soak.soak import soak

    return soak(chosen.kills, chosen.seed, chosen.out)


def add_cluster_sweep(commands) -> None:
    """Add ``bench cluster-sweep``."""
    parser = commands.add_parser(
        "cluster-sweep",
        help="a sweep on a Dask cluster of this machine, one worker killed in it",
    )
    parser.add_argument("--trials", type=int, default=50, help="(default: 50)")
    parser.add_argument("--workers", type=int, default=2, help="(default: 2)")
    parser.set_defaults(command=_cluster_sweep)


def _cluster_sweep(chosen: Namespace) -> int:
    """Sweep on a cluster, and print whether it is complete."""
    from treelab.bench.soak.cluster_sweep import sweep_on_cluster

    return sweep_on_cluster(chosen.trials, chosen.workers)
