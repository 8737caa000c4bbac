"""``treelab report``: one run, or a comparison, as a document."""

from argparse import Namespace

from treelab.cli.arguments import command, format_of, write_output
from treelab.runs.store.run_store import RunStore

ENDINGS = {"html": "html", "htm": "html", "md": "md"}


@command(
    "report",
    "write a report of a run, or of a comparison, or a model card",
    """
    Writes one HTML file that opens anywhere: data, settings, scores with intervals,
    score against size, the trees, explained rows, limits. Two to four runs of one
    table, target and seed are compared. With --format md: the model card of one run
    in Markdown.

    runs RUN  ids of one to four runs
    --format  default: what the ending of the output says; html without one
    [output]
    [home]
    """,
    runs={"nargs": "+"},
    format={"choices": ("html", "md")},
)
def report(arguments: Namespace) -> None:
    """Write the document."""
    from treelab.reports.run_report import model_card, run_report  # loads plotly

    store = RunStore(arguments.home)
    runs = [store.run(run_id) for run_id in dict.fromkeys(arguments.runs)]
    if format_of(arguments, ENDINGS, "html") == "md":
        if len(runs) > 1:
            raise ValueError("A model card is of one run; name one, or write HTML.")
        write_output(arguments, model_card(store, runs[0]))
        return
    write_output(arguments, run_report(store, runs))
