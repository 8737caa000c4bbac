"""``treelab edit``: a log of edits, printed or replayed."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from treelab.cli.arguments import command, write_output
from treelab.cli.training import Trainer, print_report
from treelab.editing.log import TRAINERS, EditLog, Training, tree_hash
from treelab.runs.jobs.edited import bench_of, create_trained, save_edited
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore

ROOT = "root"


@command(
    "edit",
    "print a run's log of edits, or replay one on a run's tree",
    f"""
    Without --log: prints the edits that a run's tree came from, as JSON. With
    --log: applies a log to the run's tree and saves the result as a new run; where
    the log or --train says so, the tree is trained on. The same log on the same
    tree gives the same tree.

    run RUN  id of a run of one tree
    --log FILE  a log of edits, as JSON
    --train  train on after the edits (default: as the log says)
    --below PATH  regrow what hangs at this node, L and R from the root, such as LR,
        or "{ROOT}"; without it --train trains all that is not locked
    --leaves N  most leaves below that node
    [output]
    [home]
    """,
    train={"choices": TRAINERS},
    leaves=int,
)
def edit(arguments: Namespace) -> int:
    """Print a log, or replay one; return 0 when a tree was saved, else 2."""
    if arguments.train is None and (arguments.below, arguments.leaves) != (None, None):
        raise ValueError("--below and --leaves need --train.")
    store = RunStore(arguments.home)
    run = store.run(arguments.run)
    if arguments.log is None and arguments.train is None:
        write_output(
            arguments, store.plan(run.id, "edits") or _empty_log(store, run).to_json()
        )
        return 0
    log = _log(arguments, store, run)
    if log.training is None:
        run_id = save_edited(store, run, log)
    else:
        trainer = Trainer(store)
        run_id = create_trained(store, run, log)
        trainer.train([run_id])
    code = print_report(store, store.run(run_id))
    if code == 0:
        print(f"Tree {tree_hash(store.model(run_id))}")
    return code


def _log(arguments: Namespace, store: RunStore, run: Run) -> EditLog:
    """Return the log that a command names, with its training."""
    if arguments.log is None:
        log = _empty_log(store, run)
    else:
        log = EditLog.from_json(Path(arguments.log).read_text("utf-8"))
    if arguments.train is None:
        return log
    below = "" if arguments.below == ROOT else arguments.below
    return replace(log, training=Training(arguments.train, below, arguments.leaves))


def _empty_log(store: RunStore, run: Run) -> EditLog:
    """Return the log of a run's tree without an edit."""
    split = run.problem.split(store.table(run.problem.table_id))
    return replace(bench_of(store.model(run.id), split).start(), run=run.id)
