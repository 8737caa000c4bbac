"""What befalls a service: processes are killed, its disk fills up, rows are damaged."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import psutil

from treelab.bench.soak.service import Service
from treelab.runs.store.database import FILE, writing

OWN_MOUNTS = "TREELAB_SOAK_OWN_MOUNTS"  # set inside of a mount namespace
DISK_MB = 256  # of the disk that fills up
DAMAGED_ROWS = 20

Trouble = Callable[[Service, str], AbstractContextManager[None]]


@contextmanager
def worker_killed(service: Service, run_id: str) -> Iterator[None]:
    """Kill the workers."""
    for process in service.worker_processes():
        with suppress(psutil.NoSuchProcess):
            process.kill()
    yield


@contextmanager
def server_killed(service: Service, run_id: str) -> Iterator[None]:
    """Kill the server, which comes back as under systemd."""
    service.kill_server()
    service.start()
    yield


@contextmanager
def both_killed(service: Service, run_id: str) -> Iterator[None]:
    """Kill server and workers in one moment."""
    with worker_killed(service, run_id), server_killed(service, run_id):
        yield


@contextmanager
def rows_damaged(service: Service, run_id: str) -> Iterator[None]:
    """Put text and bytes in the place of numbers into event rows of a run."""
    damage = "epoch = 'twelve', train_loss = x'00FF', seconds = 'x', stage = x'FE'"
    with writing(service.home / FILE) as db:
        db.execute(
            f"UPDATE events SET {damage} WHERE number IN (SELECT number FROM events"
            " WHERE run_id = ? ORDER BY random() LIMIT ?)",
            (run_id, DAMAGED_ROWS),
        )
    yield


@contextmanager
def disk_full(service: Service, run_id: str) -> Iterator[None]:
    """Fill the data folder's disk to its last byte."""
    ballast = service.home / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        for size in (1_000_000, 1):
            with suppress(OSError):
                while file.write(b"0" * size):
                    pass
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(service: Service, run_id: str) -> Iterator[None]:
    """Let no file of the data folder be opened to write."""
    home = str(service.home)
    # A mount over the folder, as one whose files are open cannot be made read-only.
    _mount("--bind", home, home)
    _mount("-o", "remount,bind,ro", home)
    try:
        yield
    finally:
        _unmount(home)


KILLS: dict[str, Trouble] = {
    "worker killed": worker_killed,
    "server killed": server_killed,
    "both killed": both_killed,
}
ON_OWN_DISK: dict[str, Trouble] = {"disk full": disk_full, "read-only": read_only}
OTHERS: dict[str, Trouble] = {"event rows damaged": rows_damaged, **ON_OWN_DISK}


def planned(n_kills: int, seed: int) -> list[str]:
    """Return what is to happen, in random order: kills, and others beside them."""
    draw = random.Random(seed)
    kills = [name for _ in range(n_kills) for name in KILLS][:n_kills]
    n_others = max(1, n_kills // 10)
    others = [name for name in OTHERS if name not in ON_OWN_DISK or has_own_mounts()]
    names = kills + others * n_others
    draw.shuffle(names)
    return names


def has_own_mounts() -> bool:
    """Whether this process may mount disks that no other process sees."""
    return OWN_MOUNTS in os.environ


def may_have_own_mounts() -> bool:
    """Whether a process could be started that may; no rights are needed on Linux."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*_UNSHARE, "true"], capture_output=True)
    return tried.returncode == 0


def again_with_own_mounts() -> int:
    """Run this program's command again where it may mount; return its exit code."""
    command = [*_UNSHARE, sys.executable, *sys.orig_argv[1:]]
    return subprocess.call(command, env={**os.environ, OWN_MOUNTS: "1"})


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Give a folder a disk of its own, in memory."""
    _mount("-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=700", "none", str(folder))
    try:
        yield
    finally:
        _unmount(str(folder))


_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def _mount(*arguments: str) -> None:
    """Mount, or raise OSError that says why not."""
    tried = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if tried.returncode:
        raise OSError(f"mount {' '.join(arguments)}: {tried.stderr.strip()}")


def _unmount(folder: str) -> None:
    """Take away what was mounted last, once nothing in it is open."""
    subprocess.run(["umount", "--lazy", folder], check=True)
