"""The Dask cluster on which runs are trained, where ``TREELAB_CLUSTER`` names one.

Its machines need treelab and nothing else of ours: tables, settings, events and models
pass through Dask.
"""

from __future__ import annotations

import os
import platform
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import treelab

if TYPE_CHECKING:  # loading it takes a second, and it is an extra
    from distributed import Client

CONNECT_SECONDS = 10
SLOT = "cluster"  # of the worker that hands runs on to the cluster
PLACE = "place.txt"  # in a run's folder: which worker there trained it last


def cluster_address() -> str:
    """Address of the Dask scheduler to train on, empty for this machine."""
    return os.environ.get("TREELAB_CLUSTER", "").strip()


def place_of(folder: Path) -> str:
    """Name the worker of the cluster that trains a run, "" where none has begun.

    Parameters
    ----------
    folder : Path
        Of the run.
    """
    path = folder / PLACE
    return path.read_text("utf-8") if path.is_file() else ""


def check_installed(address: str) -> None:
    """Raise ImportError, with what to do, unless Dask's ``distributed`` is there."""
    try:
        found = find_spec("distributed")
    except ValueError:  # it was tried before, and is not
        found = None
    if found is None:
        raise ImportError(
            f"TREELAB_CLUSTER={address} asks for a Dask cluster, but the package "
            'distributed is not installed. Install it (pip install ".[cluster]"), or '
            "unset TREELAB_CLUSTER to train on this machine."
        )


def connect(address: str) -> Client:
    """Connect to a Dask scheduler.

    Raises
    ------
    ImportError
        If Dask's ``distributed`` is not installed.
    OSError
        If no scheduler answers at the address.
    """
    check_installed(address)
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(
            f"No Dask scheduler answers at TREELAB_CLUSTER={address}: {error}. Start "
            "it, or unset TREELAB_CLUSTER to train on this machine."
        ) from error


def worker_names(client: Client) -> dict[str, str]:
    """Return the names of the cluster's workers, by address."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {address: _name(address, facts) for address, facts in workers.items()}


def misfits(client: Client) -> dict[str, str]:
    """Say by address why some workers cannot train: they differ from this machine."""
    found: Any = client.run(eval, _VERSIONS, on_error="return")  # this client waits
    return {
        address: sentence
        for address, answer in found.items()
        if (sentence := _difference(answer))
    }


# Text, not a function of ours: a worker without treelab could not read that.
_VERSIONS = (
    "(__import__('treelab').__version__, __import__('platform').python_version())"
)


def _difference(answer: tuple[str, str] | Exception) -> str:
    """Say what a worker has in another version than this machine, "" for nothing."""
    if isinstance(answer, ModuleNotFoundError):
        return "it has no treelab"
    if isinstance(answer, Exception):
        return f"it does not answer: {answer!r}"
    version, python = answer
    if version != treelab.__version__:
        return f"it has treelab {version}, here is {treelab.__version__}"
    here = platform.python_version()
    if python.split(".")[:2] != here.split(".")[:2]:
        return f"it has Python {python}, here is {here}"
    return ""


def _name(address: str, facts: dict) -> str:
    """Name a worker for display: as it was named, else by where it listens."""
    where = address.split("://")[-1]
    name = str(facts.get("name", address))
    return where if name in (address, where) else f"{name} ({where})"
