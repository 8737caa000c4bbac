"""The command line: ``treelab train``, ``predict``, ``export``, ..."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from treelab.cli.arguments import COMMANDS, EXAMPLES, EXIT_CODES

FILES = (  # with their commands
    *("app", "train", "sweep", "cluster", "predict", "explain", "edit", "export"),
    *("report", "compare", "runs", "import_model", "worker", "care", "users", "bench"),
    "completion",
)


def build_parser(prog: str = "treelab") -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``command`` to a function."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Decision trees that people can read and that gradients train.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in FILES:
        import_module(f"treelab.cli.{name}")
    for name in EXAMPLES:
        COMMANDS[name](commands)
    parser.set_defaults(build_parser=build_parser)  # whose completion is asked for
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    What a user can put right ends as one sentence on stderr and the code 2.
    """
    return run_command(build_parser(), arguments)


def run_command(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> int:
    """Parse arguments, run the ``command`` that they set, and return its exit code."""
    parsed = parser.parse_args(arguments)
    try:
        return parsed.command(parsed) or 0
    except BrokenPipeError:  # who reads has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, LookupError, OSError, ImportError) as error:
        print(f"treelab: {_sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _sentence(error: Exception) -> str:
    """Format an error without the system's codes and quotes."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)
