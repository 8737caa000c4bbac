"""``python -m treelab restore``: a data folder from a backup."""

from argparse import Namespace
from pathlib import Path

from treelab.cli.common.arguments import add_home
from treelab.runs.care.restore import MOST_BYTES, restore
from treelab.runs.store.run_store import default_home


def add_command(commands) -> None:
    """Add ``restore`` to the commands."""
    parser = commands.add_parser(
        "restore",
        help="make a data folder from a backup",
        description="Makes a data folder from a file of `backup`. The folder must be "
        "new or empty.",
    )
    parser.add_argument("file", metavar="FILE.zip")
    add_home(parser)
    parser.add_argument(
        "--most-gb",
        type=float,
        default=MOST_BYTES / 1e9,
        metavar="GB",
        help="refuse what is larger unpacked (default: %(default)g)",
    )
    parser.set_defaults(command=restore_home)


def restore_home(arguments: Namespace) -> None:
    """Restore the backup, and say where."""
    home = Path(arguments.home or default_home()).expanduser().absolute()
    most_bytes = round(arguments.most_gb * 1e9)
    n_runs = restore(Path(arguments.file).expanduser(), home, most_bytes=most_bytes)
    print(f"{n_runs:,} runs in {home}.")
