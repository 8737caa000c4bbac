"""Files of the data folder: private, how much they hold, what lies there."""

import os
import threading
from math import isfinite
from pathlib import Path
from typing import IO, Any

from treelab.trees.words import counted

FILE_MODE = 0o600
FOLDER_MODE = 0o700
OWNER = "run.txt"  # beside what a run saved: the run's id
WAY_OUT = (
    "Put a backup in its place. Without one, `treelab doctor --repair` lists "
    "the tables again; models stay in their folders, from which `treelab "
    "import` reads them."
)


class StoreError(OSError):
    """The run store cannot be read or written; its message says why and what to do."""


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter; one that is there stays as it is."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def open_private(path: Path, mode: str, encoding: str | None = None) -> IO[Any]:
    """Open a file; one that is made is readable by its owner only."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, FILE_MODE)

    return open(path, mode, encoding=encoding, opener=opener)


def write_private(path: Path, content: str | bytes) -> None:
    """Write a private file in the place of what is there: whole, or not at all."""
    part = path.with_suffix(f".{os.getpid()}{threading.get_ident()}.part")
    try:
        with open_private(part, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        part.replace(path)
    except BaseException:  # a full disk, perhaps
        part.unlink(missing_ok=True)
        raise


def remains(home: Path) -> str:
    """Count the runs with trees and the tables of a data folder; "" for none."""
    n_runs = sum(map(holds_trees, home.glob("runs/*")))
    n_tables = sum(1 for _ in home.glob("tables/*.parquet"))
    words = [counted(n_runs, "run folder")] * (n_runs > 0)
    return " and ".join(words + [counted(n_tables, "table")] * (n_tables > 0))


def holds_trees(folder: Path) -> bool:
    """Whether a run's folder holds trees: a model, or some of its training."""
    return any(path.suffix in (".json", ".safetensors") for path in folder.rglob("*"))


def check_owner(folder: Path) -> None:
    """Raise ValueError if another run saved this folder of a run's folder.

    One that an earlier treelab saved names no run.
    """
    named = folder / OWNER
    if named.is_file() and (owner := named.read_text("utf-8")) != folder.parent.name:
        raise ValueError(f"Its folder {folder.name!r} is that of the run {owner!r}.")


def folder_size(folder: Path) -> int:
    """Return the bytes of all files in a folder; 0 where there is none."""
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.lstat(os.path.join(place, file)).st_size
            except OSError:  # deleted since it was listed
                continue
    return total


def table_size(home: Path, table_id: str) -> int:
    """Return the bytes of a table's file in a data folder; 0 where there is none."""
    path = home / "tables" / f"{table_id}.parquet"
    return path.stat().st_size if path.exists() else 0


def megabytes(n_bytes: float) -> str:
    """Write a size: "0.3 MB", "12 MB", "3.4 GB"."""
    if n_bytes >= 10**9:
        return f"{n_bytes / 1e9:,.1f} GB"
    return f"{n_bytes / 1e6:,.{0 if n_bytes >= 10**7 else 1}f} MB"


def limit_of(name: str) -> float | None:
    """Read a limit from the environment; None where it is not set.

    ValueError if it is not a number of at least 0.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a number of at least 0, got {text!r}.")
    return value
