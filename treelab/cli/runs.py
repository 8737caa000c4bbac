"""``python -m treelab runs``: list the runs of a store."""

import json
import time
from argparse import Namespace
from sys import stderr

from treelab.cli.common.arguments import add_home, add_json
from treelab.cli.common.printable import printable
from treelab.cli.common.run_report import run_facts
from treelab.evaluation.metrics import headline
from treelab.runs.store.database import StoreError
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore


def add_command(commands) -> None:
    """Add ``runs`` to the commands."""
    parser = commands.add_parser("runs", help="list the runs, newest first")
    add_home(parser)
    add_json(parser, "print all that is known of the runs as JSON")
    parser.set_defaults(command=list_runs)


def list_runs(arguments: Namespace) -> None:
    """Print a line for each run."""
    store = RunStore(arguments.home)
    try:
        store.interrupt_dead_runs()
    except StoreError as error:  # the list can still be read
        print(f"treelab: runs of dead processes stay as they are. {error}", file=stderr)
    runs = store.runs()
    if arguments.json:
        print(json.dumps([run_facts(run) for run in runs], indent=1))
        return
    if not runs:
        print(f"No run yet in {store.home}.")
        return
    rows = [
        (
            run.id,
            run.state,
            printable(run.title),
            _test_score(run),
            f"{run.summary['leaves']:,}" if "leaves" in run.summary else "",
            f"{run.elapsed:.1f} s",
            time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created)),
        )
        for run in runs
    ]
    rows.insert(0, ("run", "state", "title", "test score", "leaves", "time", "created"))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def _test_score(run: Run) -> str:
    """Format the headline score on the test rows, with its name."""
    name = headline(run.problem.task)
    scores = run.metrics.get("test", {})
    return f"{name} {scores[name]:.3f}" if name in scores else ""
