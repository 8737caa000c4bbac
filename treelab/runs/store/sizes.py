"""How much folders and files hold, and the limits that the environment sets."""

import os
from math import isfinite
from pathlib import Path


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

    Raises
    ------
    ValueError
        If it is not a number of at least 0.
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
