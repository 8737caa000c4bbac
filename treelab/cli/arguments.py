"""Arguments that several commands of ``python -m treelab`` share."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from treelab.cli.worker import add_home
from treelab.data.reading.read import read_table


def add_table(parser: ArgumentParser) -> None:
    """Add the table's file."""
    parser.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")


def add_seed(parser: ArgumentParser) -> None:
    """Add ``--seed``."""
    parser.add_argument(
        "--seed", type=int, default=0, help="deals the rows, starts the trees"
    )


def add_settings(parser: ArgumentParser, example: str) -> None:
    """Add ``--set``, with an example for its help."""
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"a setting of the learner, such as {example}; may be repeated",
    )


def add_device(parser: ArgumentParser) -> None:
    """Add ``--device``."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")


def add_run(parser: ArgumentParser) -> None:
    """Add the run's title and the store that keeps it."""
    parser.add_argument("--name", default="", help="title of the run")
    add_home(parser)


def read_named(table: str):
    """Read the table that was named, and say what was odd about it.

    Returns
    -------
    frame : DataFrame
    name : str

    Raises
    ------
    OSError, ValueError
        If it cannot be read.
    """
    path = Path(table)
    read = read_table(path, path.name)
    for note in read.notes:
        print(note, file=sys.stderr)
    return read.frame, path.name
