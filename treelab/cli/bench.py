"""``python -m treelab bench``: repeat the papers' tables and measure speed."""

import os
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

from treelab.bench import COMMANDS as BENCHMARKS


def add_command(commands) -> None:
    """Add ``bench`` and its benchmarks to the commands."""
    parser = commands.add_parser(
        "bench", help="repeat the papers' tables and measure speed"
    )
    benchmarks = parser.add_subparsers(metavar="BENCHMARK", required=True)
    for add_benchmark in BENCHMARKS:
        add_benchmark(benchmarks)
    for benchmark in benchmarks.choices.values():
        command = partial(_in_own_folders, benchmark.get_default("command"))
        benchmark.set_defaults(command=command)


def _in_own_folders(command: Callable[[Namespace], int], chosen: Namespace) -> int:
    """Run a benchmark, whose stores are files of its own, never those on a server."""
    with patch.dict(os.environ, {"TREELAB_STORE": ""}):
        return command(chosen)
