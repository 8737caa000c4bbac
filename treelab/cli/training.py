"""What `train` and its kin share: a trainer, its progress, its report."""

import math
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import numpy as np
from tqdm import tqdm

from treelab.cli.arguments import json_text, printable
from treelab.data.folds import splits_words
from treelab.evaluation import metrics
from treelab.evaluation.comparison import RowCosts
from treelab.learners.registry import IMPORTED
from treelab.runs.jobs.run_one import run_one
from treelab.runs.run_words import fitted_words
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.states import SILENT_SECONDS, TRAINER_ENDED
from treelab.runs.workers.cluster import check_cluster, cluster_address, using
from treelab.runs.workers.queue import Queue
from treelab.training.events import Callback, Progress
from treelab.trees.pruning_path import Model
from treelab.trees.words import counted, joined, significant


@contextmanager
def progress_bar() -> Iterator[Callback]:
    """Draw a progress bar; yield what moves it, and asks to stop on Ctrl-C.

    A second Ctrl-C aborts the training.
    """
    stops: list[int] = []

    def request_stop(number: int, *_) -> None:
        stops.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("Stopping; the best tree so far is saved.", file=sys.stderr)

    def move(report: Progress) -> bool:
        bar.total = report.max_epochs
        if math.isfinite(report.valid_loss):
            losses = {"train": report.train_loss, "valid": report.valid_loss}
            written = {name: f"{loss:.4g}" for name, loss in losses.items()}
            bar.set_postfix(written, refresh=False)
        bar.set_description(report.stage, refresh=False)
        bar.update(report.total_epoch - bar.n)
        return bool(stops)

    with tqdm(unit=" epochs", disable=None, file=sys.stderr) as bar:
        previous = signal.signal(signal.SIGINT, request_stop)
        try:
            yield move
        finally:
            signal.signal(signal.SIGINT, previous)


def print_report(
    store: RunStore, run: Run, *, as_json: bool = False, more: dict | None = None
) -> int:
    """Print a run's scores and size, or its error.

    As JSON it is what is known of the run, with ``more``, and nothing else. Returns the
    exit code: 0 when the run has a model and its summary, else 2.
    """
    if not run.has_model:
        error = f"treelab: {run.title} {run.state}. {run.error}"
        print(printable(error), file=sys.stderr)
        if store.log(run.id):
            log = store.folder(run.id) / "log.txt"
            print(f"The traceback is in {log}.", file=sys.stderr)
        return 2
    if as_json:
        print(json_text(run_facts(run, **(more or {}))))
        return 0
    print(f"{printable(run.title)} ({run.state}), run {run.id}")
    if run.metrics:  # clusters that a run found itself have none
        _print_scores(run, store.model(run.id))
    if costs := _costs(store, run):
        print(printable(costs.sentence([run.title])))
    if words := metrics.log_loss_words(run.metrics.get("test") or {}):
        print(f"Test {words}.")
    test = run.metrics.get("test") or {}
    if words := metrics.output_words(test):
        print(f"Test rows: {printable(words)}.")
    if words := metrics.total_words(test, run.problem.target, run.problem.weight):
        print(f"Test rows: {printable(words)}.")
    summary = run.summary
    trees = f"{summary['estimators']} trees, " if "estimators" in summary else ""
    leaves = counted(summary["leaves"], "leaf", "leaves")
    print(
        f"{trees}{leaves}, depth {summary['depth']}; "
        f"{summary['seconds']:.1f} s on {summary['device']}"
    )
    if run.learner != IMPORTED:  # whose rows are not known
        print(f"Fitted to {fitted_words(run)}{run.problem.weighted_words}")
    if run.follows_paper:
        print("Trained by the paper's recipe.")
    if run.provenance:
        print(run.provenance)
    print(f"Saved in {store.folder(run.id) / 'model'}")
    return 0


def _costs(store: RunStore, run: Run) -> RowCosts | None:
    """Measure a run by the costs of errors that it was trained by; None without."""
    if not (run.constraints.class_costs and run.metrics.get("test")):
        return None
    from treelab.reports.run_report import costs_on_test_rows, read_facts

    return costs_on_test_rows(read_facts(store, [run]))


def run_facts(run: Run, **more) -> dict:
    """Return what is known of a run, and more."""
    problem = run.problem
    names = ("id", "title", "learner", "state", "error", "settings")
    of_problem = ("task", "seed", "split_by", "split_column", "n_folds")
    return {
        **{name: getattr(run, name) for name in names},
        "table": problem.table_name,
        "target": problem.target_name,
        "weighted_by": problem.weighting,
        **{name: getattr(problem, name) for name in of_problem},
        "created": run.created,
        "seconds": run.elapsed if run.started else None,
        "metrics": run.metrics,
        "summary": run.summary,
        **more,
    }


def print_splits(
    store: RunStore, by_seed: Mapping[int, Run], *, as_json: bool = False
) -> None:
    """Print the test scores of one learner on several data splits, and their mean.

    Where errors have costs, what a test row costs stands below.
    """
    runs = list(by_seed.values())
    if as_json:
        print(json_text([run_facts(run) for run in runs]))
        return
    name = runs[0].headline
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
    if costs := [own.mean[0] for run in runs if (own := _costs(store, run))]:
        print(
            "By the costs of errors by which they were trained, a test row costs "
            f"{joined([*map(significant, costs)])}; the mean is "
            f"{significant(float(np.mean(costs)))}."
        )


def _print_scores(run: Run, model: Model) -> None:
    """Print a table of scores, a line for each part of the data split.

    Errors in the target's units are of any size, and of times they are times.
    """
    names = [name for name in run.metrics["train"] if name in metrics.TITLES]
    lines = [["", *(metrics.TITLES[name] for name in names), "rows"]]
    for split, scores in run.metrics.items():
        texts = (
            metrics.score_text(name, scores[name], model)
            if name in metrics.IN_UNITS
            else f"{scores[name]:.4f}"
            for name in names
        )
        lines.append([split, *map(printable, texts), str(scores["n_rows"])])
    width = max(19, 2 + max(len(text) for line in lines for text in line))
    for split, *numbers, rows in lines:
        numbers = [text.rjust(width) for text in numbers]
        print(split.ljust(8) + "".join(numbers) + rows.rjust(8))


LOOK_SECONDS = 0.3
AGAIN_SECONDS = 5.0  # after its worker died, a run is queued again by then


class Trainer:
    """Trains runs with a progress bar; Ctrl-C stops them and saves the best so far.

    Where ``TREELAB_CLUSTER`` names a cluster, it says on standard error that it trains
    there, and all runs go there at once. ImportError, ValueError or OSError if the
    cluster cannot be used: before a run is made.
    """

    def __init__(self, store: RunStore):
        self._store = store
        self._on_cluster = bool(cluster_address())
        if self._on_cluster:
            check_cluster(store)
            with using(cluster_address(), store):
                pass  # or it cannot be used

    def train(self, run_ids: Iterable[str]) -> Run | None:
        """Train runs; return the first that did not end "done", None for none.

        Here one is taken after the other, and none after one that was stopped.
        """
        if self._on_cluster:
            return self._train_there(list(run_ids))
        for run_id in run_ids:
            with progress_bar() as bar:
                run_one(run_id, self._store.home, callbacks=[bar])
            run = self._store.run(run_id)
            if run.state != "done":
                return run
        return None

    def _train_there(self, run_ids: list[str]) -> Run | None:
        """Queue the runs, and wait for all of them."""
        queue = Queue(self._store)
        for run_id in run_ids:
            queue.submit(run_id)
        trouble, is_stopped = "", False
        with progress_bar() as bar:
            while True:
                queue.check()
                runs = self._runs(run_ids)
                waiting = [run for run in runs if not _has_ended(run)]
                if bar(_progress(runs)) and not is_stopped:
                    is_stopped = True
                    for run in waiting:
                        self._store.request_stop(run.id)
                if not waiting:
                    return next((run for run in runs if run.state != "done"), None)
                before, trouble = trouble, queue.startup_error()
                if trouble and trouble != before:
                    print(trouble, file=sys.stderr)
                time.sleep(LOOK_SECONDS)

    def _runs(self, run_ids: list[str]) -> list[Run]:
        """Return the runs as they are now, without those that were deleted."""
        found = []
        for run_id in run_ids:
            with suppress(LookupError):
                found.append(self._store.run(run_id))
        return found


def _has_ended(run: Run) -> bool:
    """Whether a run has ended, and is not about to be taken by another worker."""
    lost = run.state == "interrupted" and run.error == TRAINER_ENDED
    ago = time.time() - (run.finished or 0.0)  # it was then last heard of
    return run.is_finished and not (lost and ago < SILENT_SECONDS + AGAIN_SECONDS)


def _progress(runs: list[Run]) -> Progress:
    """Return how far runs are together, in epochs of those that have begun."""
    running = [run for run in runs if run.state == "running"]
    stage = running[0].stage if running else ""
    if len(runs) > 1:
        stage = f"{sum(run.is_finished for run in runs)} of {len(runs)} runs"
    return Progress(
        epoch=sum(run.epoch for run in runs),
        max_epochs=sum(run.max_epochs for run in runs),
        train_loss=math.nan,
        valid_loss=math.nan,
        seconds=0.0,
        stage=stage,
    )
