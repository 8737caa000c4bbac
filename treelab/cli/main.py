"""The command line: ``python -m treelab train``, ``predict``, ``export``, ..."""

import argparse
import sys
from collections.abc import Sequence

from treelab.bench import COMMANDS as BENCHMARKS
from treelab.cli import cluster, import_model, models, train, worker


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``command`` to a function."""
    parser = argparse.ArgumentParser(
        prog="python -m treelab",
        description="Decision trees that people can read and that gradients train.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    train.add_command(commands)
    cluster.add_command(commands)
    models.add_commands(commands, _html_page)
    import_model.add_command(commands)
    worker.add_command(commands)
    benchmark = commands.add_parser(
        "bench", help="repeat the papers' tables and measure speed"
    )
    inner = benchmark.add_subparsers(metavar="BENCHMARK", required=True)
    for add_benchmark in BENCHMARKS:
        add_benchmark(inner)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    What a user can put right ends as one sentence on stderr and the code 2.
    """
    chosen = build_parser().parse_args(arguments)
    try:
        return chosen.command(chosen) or 0
    except (ValueError, LookupError, OSError, ImportError) as error:
        print(f"treelab: {_sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _html_page(*found) -> str:
    """Write a tree as a page; plotly is not loaded for other commands."""
    from treelab.reports.tree_page import html_page

    return html_page(*found)


def _sentence(error: Exception) -> str:
    """Say an error without the system's codes and quotes."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)
