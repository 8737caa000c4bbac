"""What treelab runs on: free disk space, versions, programs."""

import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from treelab.runs.care.finding import Finding, note

PACKAGES = ("treelab", "torch", "streamlit")
LOW_BYTES = 10**9  # a run with its snapshots may take some tens of MB


def check_machine(home: Path) -> Iterator[Finding]:
    """Find what is free on the disk, and which versions are installed.

    Parameters
    ----------
    home : Path
        The data folder.
    """
    free = shutil.disk_usage(home).free
    words = f"{free / 1e9:,.1f} GB are free for {home}."
    if free < LOW_BYTES:
        yield Finding("disk", f"Only {words} Free some, before runs fail.")
    else:
        yield note("disk", words)
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            if package == "treelab":  # a checkout needs no installation
                continue
            yield Finding(
                "versions",
                f"{package} is not installed: pip install -r requirements.txt.",
            )
    yield note("versions", f"{', '.join(found)}.")
    dot = shutil.which("dot")
    yield note(
        "graphviz",
        f"dot is at {dot}."
        if dot
        else "There is no dot; only saving trees as SVG or PDF needs it.",
    )
