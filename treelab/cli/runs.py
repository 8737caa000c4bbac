"""``treelab runs``: list the runs of a store, pause, resume and delete them."""

import time
from argparse import Namespace
from sys import stderr

from treelab.cli.arguments import command, json_text, printable
from treelab.cli.training import Trainer, print_report, run_facts
from treelab.evaluation.metrics import TITLES
from treelab.runs.jobs.repeats import repeats_of
from treelab.runs.store.database import StoreError
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.words import counted


@command(
    "runs",
    "list the runs, newest first; pause, resume or delete one",
    """
    | --pause RUN  let a run save where its training is, and wait
    | --resume RUN  train a paused, interrupted or failed run on from there, here and
        now
    | --delete RUN  delete a run and its repeats, with curves, trees and models; tables
        stay
    [home]
    --json  print all that is known of the runs, or of one resumed, as JSON
    """,
)
def runs(arguments: Namespace) -> int:
    """List the runs, or pause, resume or delete one; return the exit code."""
    store = RunStore(arguments.home)
    if arguments.json and (arguments.pause or arguments.delete):
        raise ValueError("--json is for the list and --resume: leave it out.")
    if arguments.pause:
        return pause(store, arguments.pause)
    if arguments.resume:
        return resume(store, arguments.resume, as_json=arguments.json)
    if arguments.delete:
        return delete(store, arguments.delete)
    if why := store.why_empty():
        raise StoreError(why)
    list_runs(store, arguments)
    return 0


def pause(store: RunStore, run_id: str) -> int:
    """Ask a run to save where it is; return 0."""
    run = store.run(run_id)
    if run.is_finished:
        raise ValueError(
            f"The run {run_id} is {run.state}; only one that waits or "
            "trains can be paused."
        )
    store.request_pause(run_id)
    print(f"{printable(run.title)} is paused once its training is saved.")
    return 0


def resume(store: RunStore, run_id: str, *, as_json: bool) -> int:
    """Train a run on, and print its scores; return 0 when it has a model, else 2."""
    store.interrupt_dead_runs()
    run = store.run(run_id)
    trainer = Trainer(store)
    if not store.resume(run_id):
        raise ValueError(
            f"The run {run_id} is {run.state}; only one that is paused, interrupted or "
            "failed, and was trained here, can be resumed."
        )
    trainer.train([run_id])
    return print_report(store, store.run(run_id), as_json=as_json)


def delete(store: RunStore, run_id: str) -> int:
    """Delete a run and its repeats; return 0."""
    run = store.run(run_id)
    repeats = [] if run.repeat_of else repeats_of(run, store.runs())
    for each in (run, *repeats):
        store.delete(each.id)
    also = f" and its {counted(len(repeats), 'repeat')}" if repeats else ""
    print(f"Deleted {printable(run.title)}{also}.")
    return 0


def list_runs(store: RunStore, arguments: Namespace) -> None:
    """Print a line for each run."""
    try:
        store.interrupt_dead_runs()
    except StoreError as error:  # the list can still be read
        print(f"treelab: runs of dead processes stay as they are. {error}", file=stderr)
    runs = store.runs()
    if arguments.json:
        print(json_text([run_facts(run) for run in runs]))
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
    name = run.headline
    scores = run.metrics.get("test", {})
    return f"{TITLES[name]} {scores[name]:.3f}" if name in scores else ""
