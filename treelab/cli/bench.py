"""``python -m treelab bench``: repeat the papers' tables and measure speed."""

from treelab.bench import COMMANDS as BENCHMARKS


def add_command(commands) -> None:
    """Add ``bench`` and its benchmarks to the commands."""
    parser = commands.add_parser(
        "bench", help="repeat the papers' tables and measure speed"
    )
    benchmarks = parser.add_subparsers(metavar="BENCHMARK", required=True)
    for add_benchmark in BENCHMARKS:
        add_benchmark(benchmarks)
