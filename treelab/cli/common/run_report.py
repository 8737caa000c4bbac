"""What a command prints of a run that has ended."""

import json
import sys
from collections.abc import Mapping

import numpy as np

from treelab.cli.common.printable import printable
from treelab.data.folds import splits_words
from treelab.data.split import JOINED
from treelab.evaluation import metrics
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore

ROWS_WORDS = {"train": "training", JOINED: "training and validation"}


def print_report(
    store: RunStore, run: Run, *, as_json: bool = False, more: dict | None = None
) -> int:
    """Print a run's scores and size, or its error.

    Parameters
    ----------
    store : RunStore
    run : Run
    as_json : bool, default=False
        Print what is known of the run as JSON, and nothing else.
    more : dict, optional
        What the JSON has besides.

    Returns
    -------
    int
        The exit code: 0 when the run has a model, else 2.
    """
    if not run.has_model:
        error = f"treelab: {run.title} {run.state}. {run.error}"
        print(printable(error), file=sys.stderr)
        if store.log(run.id):
            log = store.folder(run.id) / "log.txt"
            print(f"The traceback is in {log}.", file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps(run_facts(run, **(more or {})), indent=1))
        return 0
    print(f"{printable(run.title)} ({run.state}), run {run.id}")
    _print_scores(run)
    if words := metrics.log_loss_words(run.metrics.get("test") or {}):
        print(f"Test {words}.")
    summary = run.summary
    trees = f"{summary['estimators']} trees, " if "estimators" in summary else ""
    print(
        f"{trees}{summary['leaves']} leaves, depth {summary['depth']}; "
        f"{summary['seconds']:.1f} s on {summary['device']}"
    )
    print(f"Fitted to {ROWS_WORDS[run.fitted_split]} rows")
    if run.follows_paper:
        print("Trained by the paper's recipe.")
    if run.provenance:
        print(run.provenance)
    print(f"Saved in {store.folder(run.id) / 'model'}")
    return 0


def run_facts(run: Run, **more) -> dict:
    """Return what is known of a run, and more, as values that JSON can hold."""
    problem = run.problem
    facts = {
        "id": run.id,
        "title": run.title,
        "learner": run.learner,
        "state": run.state,
        "error": run.error,
        "settings": run.settings,
        "table": problem.table_name,
        "target": problem.target,
        "task": problem.task,
        "seed": problem.seed,
        "split_by": problem.split_by,
        "split_column": problem.split_column,
        "n_folds": problem.n_folds,
        "created": run.created,
        "seconds": run.elapsed if run.started else None,
        "metrics": run.metrics,
        "summary": run.summary,
        **more,
    }
    return json.loads(json.dumps(facts, default=str), parse_constant=lambda _: None)


def print_splits(by_seed: Mapping[int, Run], *, as_json: bool = False) -> None:
    """Print the test scores of one learner on several data splits, and their mean."""
    runs = list(by_seed.values())
    if as_json:
        print(json.dumps([run_facts(run) for run in runs], indent=1))
        return
    name = metrics.headline(runs[0].problem.task)
    found = np.array([run.metrics["test"][name] for run in runs])
    n_folds = runs[0].problem.n_folds
    by = "fold" if n_folds else "the seed of the data split"
    print(f"Test {metrics.TITLES[name]} by {by}:")
    for seed, run, score in zip(by_seed, runs, found):
        repeat, fold = divmod(seed, n_folds) if n_folds else (0, seed - 1)
        again = f", repeat {repeat + 1}" if repeat else ""
        print(f"{fold + 1:8d}{score:19.4f}  run {run.id}{again}")
    if len(found) > 1:
        splits = splits_words(len(found), n_folds)
        spread = f"standard deviation {found.std(ddof=1):.4f}"
        print(f"{'mean':>8}{found.mean():19.4f}  {spread}, {splits}")


def _print_scores(run: Run) -> None:
    """Print a table of scores, a line for each part of the data split."""
    names = [name for name in run.metrics["train"] if name in metrics.TITLES]
    titles = "".join(metrics.TITLES[name].rjust(19) for name in names)
    print("".ljust(8) + titles + "rows".rjust(8))
    for split, scores in run.metrics.items():
        numbers = "".join(f"{scores[name]:19.4f}" for name in names)
        print(split.ljust(8) + numbers + f"{scores['n_rows']:8d}")
