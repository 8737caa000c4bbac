"""Benchmarks of the app: its pages, its viewer, a large table."""

from argparse import Namespace
from pathlib import Path


def add_first_minute(commands) -> None:
    """Add ``bench first-minute``."""
    parser = commands.add_parser(
        "first-minute",
        help="how soon a newcomer sees a curve and a tree, in a browser; exit code 1 "
        "where it takes too long",
    )
    parser.set_defaults(command=_first_minute)


def add_large(commands) -> None:
    """Add ``bench large``."""
    parser = commands.add_parser(
        "large", help="time and memory of a large table: read, trained on, shown"
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50, help="with the target")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument(
        "--learners", default="cart,gradtree", help="keys joined by commas"
    )
    parser.add_argument("--file", choices=["parquet", "csv"], default="parquet")
    parser.add_argument(
        "--keep-caches",
        action="store_true",
        help="a page finds what those before it cached, as in the app",
    )
    parser.set_defaults(command=_large)


def add_ui(commands) -> None:
    """Add ``bench ui``."""
    parser = commands.add_parser(
        "ui", help="server time of each page on a table of 32,561 rows"
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="folder with a manifest.json that has adult (default: a synthetic table)",
    )
    parser.add_argument(
        "--home", type=Path, help="folder of a run store to use again (default: none)"
    )
    parser.set_defaults(command=_ui)


def add_viewer(commands) -> None:
    """Add ``bench viewer``."""
    parser = commands.add_parser(
        "viewer", help="how soon the tree viewer draws, how smoothly it moves"
    )
    parser.set_defaults(command=_viewer)


def add_watchers(commands) -> None:
    """Add ``bench watchers``."""
    parser = commands.add_parser(
        "watchers", help="the server while many watch one run, and start runs at once"
    )
    parser.add_argument("--watchers", type=int, default=20, help="(default: 20)")
    parser.add_argument(
        "--polls", type=int, default=60, help="of each, one a second (default: 60)"
    )
    parser.add_argument("--starters", type=int, default=8, help="(default: 8)")
    parser.set_defaults(command=_watchers)


def _first_minute(_: Namespace) -> int:
    """Measure the first minute and print."""
    from treelab.bench.ui.first_minute import run_first_minute

    return run_first_minute()


def _large(chosen: Namespace) -> int:
    """Measure a large table and print."""
    from treelab.bench.large import run_large

    learners = [key for key in chosen.learners.split(",") if key]
    run_large(
        chosen.rows,
        chosen.columns,
        chosen.classes,
        learners,
        chosen.file,
        keeps_caches=chosen.keep_caches,
    )
    return 0


def _ui(chosen: Namespace) -> int:
    """Measure the pages and print."""
    from treelab.bench.ui.pages import run_ui

    run_ui(chosen.data, chosen.home)
    return 0


def _viewer(chosen: Namespace) -> int:
    """Measure the viewer in a browser and print."""
    from treelab.bench.viewer import run_viewer

    run_viewer()
    return 0


def _watchers(chosen: Namespace) -> int:
    """Measure the server under many sessions and print."""
    from treelab.bench.ui.watchers import run_watchers

    return run_watchers(chosen.watchers, chosen.polls, chosen.starters)


UI_COMMANDS = (add_first_minute, add_large, add_ui, add_viewer, add_watchers)
