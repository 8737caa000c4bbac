"""``treelab restore``: a data folder from a backup."""

from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import command
from treelab.cli.backup import say_damage
from treelab.runs.care.backup import MOST_BYTES, restore
from treelab.runs.store.run_store import default_home
from treelab.trees.words import counted


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
    home = Path(arguments.home or default_home()).expanduser().absolute()
    file, most_bytes = Path(arguments.file).expanduser(), round(arguments.most_gb * 1e9)
    found = restore(file, home, most_bytes=most_bytes, anyway=arguments.anyway)
    print(f"{counted(found.n_runs, 'run')} in {home}.")
    return say_damage(found.damage)
