"""``python -m treelab bench soak``."""

from argparse import Namespace
from pathlib import Path


def add_soak(commands) -> None:
    """Add ``bench soak``."""
    parser = commands.add_parser(
        "soak", help="kill, fill and damage a running app, and see what is lost"
    )
    parser.add_argument("--kills", type=int, default=50, help="(default: 50)")
    parser.add_argument("--seed", type=int, default=0, help="of what happens when")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.set_defaults(command=_soak)


def _soak(chosen: Namespace) -> int:
    """Trouble an app and print what held."""
    from treelab.bench.soak.soak import soak

    return soak(chosen.kills, chosen.seed, chosen.out)
