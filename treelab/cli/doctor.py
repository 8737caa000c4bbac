"""``treelab doctor``: what is wrong with a data folder, and mend it."""

import json
from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import command, printable
from treelab.runs.care.doctor import Diagnosis, examine
from treelab.runs.store.run_store import default_home


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
    home = Path(arguments.home or default_home()).expanduser().absolute()
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
