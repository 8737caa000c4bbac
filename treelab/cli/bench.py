"""``treelab bench``: how fast learners train on this machine."""

from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import add_device


def add_command(commands) -> None:
    """Add ``bench`` and its measurement to the commands."""
    parser = commands.add_parser("bench", help="measure speed on this machine")
    measurements = parser.add_subparsers(metavar="MEASUREMENT", required=True)
    speed = measurements.add_parser(
        "speed", help="time a step of each operator against its dense formulation"
    )
    speed.add_argument("--steps", type=int, default=10, help="steps a measurement")
    add_device(speed)
    speed.add_argument("--out", type=Path, help="JSON file to write")
    speed.set_defaults(command=_speed)


def _speed(chosen: Namespace) -> int:
    """Time the operators and print ratios."""
    from treelab.bench import report

    return report(steps=chosen.steps, device=chosen.device, out=chosen.out)
