"""``treelab backup``: a copy of the data folder as one zip file."""

import sys
from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import command, printable
from treelab.runs.care.backup import back_up
from treelab.runs.store.run_store import default_home
from treelab.trees.words import counted


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
    home = Path(arguments.home or default_home()).expanduser().absolute()
    file = Path(arguments.file).expanduser().absolute()
    made = back_up(home, file, anyway=arguments.anyway)
    print(
        f"{counted(made.n_runs, 'run')} and {counted(made.n_tables, 'table')} in "
        f"{file}, {file.stat().st_size / 1e6:,.1f} MB."
    )
    return say_damage(made.damage)


def say_damage(damage: dict[str, str]) -> int:
    """Print what is damaged in a backup; return 1 where anything is, else 0."""
    for what in damage.values():
        print(printable(f"Damaged or missing: {what}."), file=sys.stderr)
    return 1 if damage else 0
