"""``treelab bench``: how fast learners train on this machine."""

from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import Parser


def add_command(parent: Parser) -> None:
    """Add ``bench`` and its measurement to the commands."""
    parser = parent.command("bench", None, "measure speed on this machine")
    parser.commands = parser.add_subparsers(metavar="MEASUREMENT", required=True)
    speed = parser.command(
        "speed", _speed, "time a step of each operator against its dense formulation"
    )
    speed.option("--steps", "steps a measurement", type=int, default=10)
    speed.options("[device]")
    speed.option("--out", "JSON file to write", type=Path)


def _speed(chosen: Namespace) -> int:
    """Time the operators and print ratios."""
    from treelab.bench import report

    return report(steps=chosen.steps, device=chosen.device, out=chosen.out)
