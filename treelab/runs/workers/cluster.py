"""The Dask cluster on which runs are trained, where ``TREELAB_CLUSTER`` names one.

A worker there gets the address of the store, and takes the runs that wait from it as
any worker does; all else passes through the store, which all machines see.
"""

from __future__ import annotations

import os
import platform
import secrets
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import treelab
from treelab.runs.store.files import open_private
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server
from treelab.trees.words import counted

if TYPE_CHECKING:  # loading it takes a second, and it is an extra
    from distributed import Client

CONNECT_SECONDS = 10
SLOT = "cluster"  # of the worker that hands runs on to the cluster
MARK = "cluster.txt"  # in the data folder, by which a machine knows it for the same


def cluster_address() -> str:
    """Address of the Dask scheduler to train on, empty for this machine."""
    return os.environ.get("TREELAB_CLUSTER", "").strip()


def check_cluster(store: RunStore) -> None:
    """Raise unless runs of a store can be trained on the cluster that is named, if any.

    ImportError if Dask's ``distributed`` is not installed. ValueError if other machines
    cannot open the store.
    """
    if not (address := cluster_address()):
        return
    _check_installed(address)
    if not isinstance(store.database, Server):
        raise ValueError(
            f"TREELAB_CLUSTER={address} needs a store that all machines of the cluster "
            "see: set TREELAB_STORE to the address of a PostgreSQL database "
            "(postgresql://user:password@host/name), and TREELAB_HOME to a folder that "
            "all of them share. Or unset TREELAB_CLUSTER to train on this machine."
        )


def _check_installed(address: str) -> None:
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

    ImportError if Dask's ``distributed`` is not installed. OSError if no scheduler
    answers at the address.
    """
    _check_installed(address)
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(
            f"No Dask scheduler answers at TREELAB_CLUSTER={address}: {error}. Start "
            "it, or unset TREELAB_CLUSTER to train on this machine."
        ) from error


def worker_addresses(client: Client) -> list[str]:
    """List the addresses of the cluster's workers."""
    return list(client.scheduler_info(n_workers=-1)["workers"])


def misfits(client: Client, store: RunStore | None = None) -> dict[str, str]:
    """Say by address why some workers cannot train.

    They have another treelab or Python than this machine, or do not see the store.
    Without one whose runs they are to train, they need no store.
    """
    answers: Any = client.run(eval, _VERSIONS, on_error="return")  # this client waits
    found = {address: _difference(answer) for address, answer in answers.items()}
    alike = [address for address, sentence in found.items() if not sentence]
    if store is not None and alike:
        where = (str(store.home), store.database, _mark(store.home))
        seen: Any = client.run(_why_unseen, *where, workers=alike, on_error="return")
        found |= {address: str(sentence) for address, sentence in seen.items()}
    return {address: sentence for address, sentence in found.items() if sentence}


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


def _mark(home: Path) -> str:
    """Return what the data folder is known by, written once."""
    path = home / MARK
    with suppress(FileExistsError), open_private(path, "x", "utf-8") as file:
        file.write(secrets.token_hex(8))
    return path.read_text("utf-8")


def _why_unseen(home: str, server: Server, mark: str) -> str:
    """Say on a worker why it cannot use the store, "" where it can."""
    path = Path(home) / MARK
    if not path.is_file() or path.read_text("utf-8") != mark:
        return f"its folder {home} is not the one that the app has under this name"
    try:
        RunStore(home, server).queued()
    except (OSError, ValueError, ImportError) as error:
        return f"it cannot use the store: {error}"
    return ""


def work_once(home: str, server: Server, no_help: frozenset[str]) -> set[str]:
    """Train the queue's next run on a worker of the cluster.

    Where none waits, try one trial of a sweep in training. Returns the sweeps at which
    help broke; ``no_help`` are those of before.
    """
    from treelab.runs.jobs.run_one import run_next
    from treelab.runs.jobs.sweep import SEARCH, help_sweep  # loads Optuna

    store = RunStore(home, server)
    broken: set[str] = set()
    if run_next(store):
        return broken
    for run_id in set(store.in_stage(SEARCH)) - no_help:
        try:
            if help_sweep(store, run_id):
                break
        except Exception:  # the sweep goes on without
            traceback.print_exc()
            broken.add(run_id)
    return broken


@contextmanager
def using(
    address: str, store: RunStore | None = None
) -> Iterator[tuple[Client, list[str]]]:
    """Connect to a Dask scheduler; yield its client, and the workers that can train.

    They have to see the store, if any. How many there are is said on standard error.
    ImportError if Dask's ``distributed`` is not installed. OSError if no scheduler
    answers, or none of its workers can train.
    """
    client = connect(address)
    try:
        wrong = misfits(client, store)
        workers = [own for own in worker_addresses(client) if own not in wrong]
        if not workers:
            why = f"can train: {next(iter(wrong.values()))}." if wrong else "is there."
            raise OSError(
                f"The Dask cluster at {address} has no worker: none {why} Start one: "
                f"dask worker {address} --nthreads 1."
            )
        number = counted(len(workers), "worker")
        print(f"Training on the Dask cluster at {address}, {number}.", file=sys.stderr)
        yield client, workers
    finally:
        with suppress(OSError):
            client.close()
