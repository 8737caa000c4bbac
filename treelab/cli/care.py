"""``treelab doctor``, ``backup``, ``restore``: looking after a data folder."""

import json
import math
import sys
from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import command, printable
from treelab.runs.care.backup import MOST_BYTES, back_up, restore
from treelab.runs.care.doctor import Diagnosis, examine
from treelab.runs.care.retention import Limits
from treelab.runs.store.run_store import default_home
from treelab.trees.words import counted


@command(
    "doctor",
    "examine the data folder",
    """
    Examines the data folder: database, runs, tables, workers, disk, versions. Exit
    code 0: all is well, or was mended; 1: something is not; 2: there is nothing to
    examine.

    [home]
    --repair  mend what is safe: remove leftovers, end dead runs, set rows right;
        never removes a model or a table
    --clean  delete finished runs older than TREELAB_KEEP_DAYS days, and the oldest
        while the folder takes more than TREELAB_MOST_GB, with tables only they need
    --json  print JSON
    """,
)
def examine_home(arguments: Namespace) -> int:
    """Examine the data folder and print what was found."""
    home = _home(arguments)
    if arguments.clean and Limits.from_environment() == Limits():
        raise ValueError(
            "--clean would delete nothing: set TREELAB_KEEP_DAYS, TREELAB_MOST_GB or "
            "both, or leave --clean out."
        )
    found = examine(home, repair=arguments.repair, clean=arguments.clean)
    trouble = [finding for finding in found if finding.is_trouble]
    if arguments.json:
        report = {
            "home": str(home),
            "healthy": not trouble,
            "findings": [finding.to_dict() for finding in found],
        }
        print(json.dumps(report, indent=2))
        return 1 if trouble else 0
    for finding in found:
        print(printable(_line(finding)))
    mendable = sum(finding.mend is not None for finding in trouble)
    if not trouble:
        print("All is well.")
    elif mendable:
        print(f"{len(trouble):,} to look at; --repair mends {mendable:,} of them.")
    else:
        print(f"{len(trouble):,} to look at.")
    return 1 if trouble else 0


def _line(finding: Diagnosis) -> str:
    """Return a finding as a line: a mark, what it is about, what was found."""
    mark = "✗" if finding.is_trouble else "✓"
    text = f"{mark} {finding.about}: {finding.message}"
    return f"{text} Mended: {finding.remedy}" if finding.is_mended else text


@command(
    "backup",
    "copy the data folder into a zip file",
    """
    Copies runs, models and tables into one zip file, while the app and its workers
    go on. An older file of this name is replaced once the new one was read and is
    what was stored. Exit code 1: made, but something is damaged; 2: not made, an
    older one stays.

    file FILE.zip
    --anyway  back up also where tables or models are damaged, and name them
    [home]
    """,
)
def make_backup(arguments: Namespace) -> int:
    """Write the backup, and print what it holds."""
    home = _home(arguments)
    file = Path(arguments.file).expanduser().absolute()
    made = back_up(home, file, anyway=arguments.anyway)
    print(
        f"{counted(made.n_runs, 'run')} and {counted(made.n_tables, 'table')} in "
        f"{file}, {file.stat().st_size / 1e6:,.1f} MB."
    )
    return _say_damage(made.damage)


def _say_damage(damage: dict[str, str]) -> int:
    """Print what is damaged in a backup; return 1 where anything is, else 0."""
    for what in damage.values():
        print(printable(f"Damaged or missing: {what}."), file=sys.stderr)
    return 1 if damage else 0


@command(
    "restore",
    "make a data folder from a backup",
    """
    Makes a data folder from a file of `backup`. The folder must be new or empty.
    Exit code 1: made, but something is damaged; 2: not made.

    file FILE.zip
    [home]
    --most-gb GB  refuse what is larger unpacked (default: %(default)g)
    --anyway  restore what is whole of a damaged backup, and name the rest
    """,
    most_gb={"type": float, "default": MOST_BYTES / 1e9},
)
def restore_home(arguments: Namespace) -> int:
    """Restore the backup, and say where."""
    home = _home(arguments)
    if not 0 < arguments.most_gb < math.inf:
        raise ValueError(f"--most-gb must be above 0, got {arguments.most_gb:g}.")
    file, most_bytes = Path(arguments.file).expanduser(), round(arguments.most_gb * 1e9)
    found = restore(file, home, most_bytes=most_bytes, anyway=arguments.anyway)
    print(f"{counted(found.n_runs, 'run')} in {home}.")
    return _say_damage(found.damage)


def _home(arguments: Namespace) -> Path:
    """Return the data folder that a command is about."""
    return Path(arguments.home or default_home()).expanduser().absolute()
