"""``treelab report``: one run, or a comparison, as a document."""

from argparse import Namespace

from treelab.cli.arguments import add_home, add_output, write_output
from treelab.runs.store.run_store import RunStore


def add_command(commands) -> None:
    """Add ``report`` to the commands."""
    parser = commands.add_parser(
        "report",
        help="write a report of a run, or of a comparison, or a model card",
        description="Writes one HTML file that opens anywhere: data, settings, scores "
        "with intervals, score against size, the trees, explained rows, limits. Two to "
        "four runs of one table, target and seed are compared. With --format md: the "
        "model card of one run in Markdown.",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="ids of one to four runs"
    )
    parser.add_argument("--format", choices=("html", "md"), default="html")
    add_output(parser)
    add_home(parser)
    parser.set_defaults(command=report)


def report(arguments: Namespace) -> None:
    """Write the document."""
    from treelab.reports.run_report import model_card, run_report  # loads plotly

    store = RunStore(arguments.home)
    runs = [store.run(run_id) for run_id in dict.fromkeys(arguments.runs)]
    if arguments.format == "md":
        if len(runs) > 1:
            raise ValueError("A model card is of one run; name one, or write HTML.")
        write_output(arguments, model_card(store, runs[0]))
        return
    write_output(arguments, run_report(store, runs))
