"""``python -m treelab backup``: a copy of the data folder as one zip file."""

from argparse import Namespace
from pathlib import Path

from treelab.cli.common.arguments import add_home
from treelab.runs.care.backup import back_up
from treelab.runs.store.run_store import default_home


def add_command(commands) -> None:
    """Add ``backup`` to the commands."""
    parser = commands.add_parser(
        "backup",
        help="copy the data folder into a zip file",
        description="Copies runs, models and tables into one zip file, while the app "
        "and its workers go on. An older file of this name is replaced.",
    )
    parser.add_argument("file", metavar="FILE.zip")
    add_home(parser)
    parser.set_defaults(command=make_backup)


def make_backup(arguments: Namespace) -> None:
    """Write the backup, and print what it holds."""
    home = Path(arguments.home or default_home()).expanduser().absolute()
    file = Path(arguments.file).expanduser().absolute()
    made = back_up(home, file)
    print(
        f"{made.n_runs:,} runs and {made.n_tables:,} tables in {file}, "
        f"{made.n_bytes / 1e6:,.1f} MB."
    )
