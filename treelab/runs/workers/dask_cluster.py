"""Training on a Dask cluster, where ``TREELAB_CLUSTER`` names one.

The cluster's machines need treelab installed, and the run store's folder on a disk
that all of them share and on which SQLite's write-ahead log works.
"""

import os
from concurrent.futures import Executor

CONNECT_SECONDS = 10


def cluster_address() -> str:
    """Address of the Dask scheduler to train on, empty for this machine."""
    return os.environ.get("TREELAB_CLUSTER", "").strip()


def cluster_executor(address: str) -> Executor:
    """Connect to a Dask scheduler.

    Raises
    ------
    ImportError
        If Dask's ``distributed`` is not installed.
    OSError
        If no scheduler answers at the address.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            f"TREELAB_CLUSTER={address} asks for a Dask cluster, but the package "
            "distributed is not installed. Install it (pip install distributed), or "
            "unset TREELAB_CLUSTER to train on this machine."
        ) from error
    try:
        return Client(address, timeout=CONNECT_SECONDS).get_executor()
    except (OSError, ValueError) as error:
        raise OSError(
            f"No Dask scheduler answers at TREELAB_CLUSTER={address}: {error}. Start "
            "it, or unset TREELAB_CLUSTER to train on this machine."
        ) from error
