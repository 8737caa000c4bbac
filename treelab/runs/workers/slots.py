"""How many workers a machine gets, and what each is for.

- "quick" takes the learners that are trained in a moment, and nothing else, so CART
  never waits behind a long training. It needs no torch and is small.
- "cuda:0", "cuda:1", ... one a GPU.
- "cpu:0", "cpu:1", ... on a machine without a GPU: four, so that every learner of a
  page's "Train" starts at once and all curves move together. They share the cores;
  which of them ends first does not change, and nothing takes longer in total. Each
  takes about 0.4 GB, so a small machine gets fewer.

- "cluster" alone, where ``TREELAB_CLUSTER`` names a Dask scheduler: it trains nothing
  here and has runs trained there.

``TREELAB_SLOTS`` sets the number of slots of each GPU, or of the CPU; with 0 nothing is
trained here.
"""

import os
import shutil
import subprocess
from functools import cache

import joblib
import psutil

from treelab.runs.workers.cluster import SLOT, cluster_address

QUICK = "quick"
FIRST_CPU = "cpu:0"  # its worker sees to kernels that are not compiled yet
CPU_SLOTS = 4
BYTES_PER_SLOT = 1.5e9  # of the machine's memory, for a worker and a table


@cache
def gpu_names() -> tuple[str, ...]:
    """Names of the GPUs that this process may use, found without loading torch."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    listed = subprocess.run(
        [command, "--query-gpu=name", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:  # a driver without a GPU
        return ()
    names = tuple(line.strip() for line in listed.stdout.splitlines() if line.strip())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return names
    chosen = [part for part in visible.split(",") if part.strip() not in ("", "-1")]
    return names[: len(chosen)]


def slots_wanted() -> int | None:
    """Read ``TREELAB_SLOTS``; None when it is not set."""
    text = os.environ.get("TREELAB_SLOTS", "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(
            f"TREELAB_SLOTS must be a whole number of at least 0, got {text!r}."
        )
    return int(text)


def planned_slots() -> list[str]:
    """List the slots of this machine, one for each worker."""
    wanted = slots_wanted()
    if cluster_address():
        return [SLOT]
    if wanted == 0:
        return []
    gpus = len(gpu_names())
    if gpus:
        return [QUICK] + [
            f"cuda:{gpu}" if place == 0 else f"cuda:{gpu}#{place}"
            for place in range(wanted or 1)
            for gpu in range(gpus)
        ]
    room = int(psutil.virtual_memory().total / BYTES_PER_SLOT)
    n_slots = wanted or max(1, min(CPU_SLOTS, room))
    return [QUICK] + [f"cpu:{place}" for place in range(n_slots)]


def slot_device(slot: str) -> str | None:
    """Device of a slot: "cuda:N", or None where the run's own choice stands."""
    return slot.split("#")[0] if slot.startswith("cuda") else None


def threads_per_slot(slot: str) -> int:
    """Threads that a worker computes with: the cores, shared among the CPU slots.

    A fixed number, whatever else is running, so that a seed gives the same tree.
    """
    cores = joblib.cpu_count()
    if not slot.startswith("cpu"):
        return cores
    return max(1, cores // sum(name.startswith("cpu") for name in planned_slots()))


def describe_device() -> str:
    """Name for display what this machine trains on: its GPUs, or the CPU."""
    names = gpu_names()
    if names:
        return names[0] if len(names) == 1 else f"{len(names)} GPUs, {names[0]}"
    cores = joblib.cpu_count()
    return f"CPU, {cores} core{'s' * (cores != 1)}"
