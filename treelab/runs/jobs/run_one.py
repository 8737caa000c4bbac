"""A run from its id to its model: all that a worker does, wherever it runs."""

import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from treelab.data.split import Split
from treelab.learners.registry import CLUSTERS, make_estimator
from treelab.runs.jobs.clusters import find_clusters
from treelab.runs.jobs.heartbeat import Heartbeat
from treelab.runs.jobs.model_facts import model_scores, with_names
from treelab.runs.jobs.recorder import Interrupted, Recorder
from treelab.runs.jobs.save_model import device_used, keep_model
from treelab.runs.store.process import ProcessId
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.events import Callback, Progress, notify


def run_one(
    run_id: str,
    home: str | os.PathLike | None = None,
    *,
    callbacks: Sequence[Callback] = (),
) -> str:
    """Train one queued run in this process.

    This is the whole of what an executor is asked to do; everything else passes
    through the run store.

    Parameters
    ----------
    run_id : str
    home : path-like, optional
        Folder of the run store, see ``RunStore``.
    callbacks : sequence of callable
        Hear the training's reports beside the store.

    Returns
    -------
    str
        The state in which the run ended; its state as it is, unchanged, when it was
        not queued any more.
    """
    store = RunStore(home)
    owner = ProcessId.here()
    if not store.start(run_id, owner):
        return store.run(run_id).state
    with Heartbeat(lambda: store.beat(owner)):
        return train(store, run_id, callbacks=callbacks)


def train(
    store: RunStore,
    run_id: str,
    *,
    auto_device: str | None = None,
    callbacks: Sequence[Callback] = (),
    broken_off: Callable[[], bool] = lambda: False,
) -> str:
    """Train a run that this process owns, and end it in the store.

    A failure becomes the run's error, its traceback goes to the run's log.

    Parameters
    ----------
    auto_device : str, optional
        What "auto" and "cuda" mean here, "cuda:1" say; by default the learner knows.
    broken_off : callable, optional
        Answers True once the process has to end: the run becomes "interrupted".

    Returns
    -------
    str
        The state in which the run ended.
    """
    recorder = Recorder(store, run_id, broken_off)
    try:
        run = store.run(run_id)
        if auto_device is not None and run.device in ("auto", "cuda"):
            run = replace(run, device=auto_device)
        watch = Watch([recorder, *callbacks])
        if run.learner == CLUSTERS.key:
            found = find_clusters(store, run, callbacks=[watch])
            recorder.write()
        else:
            estimator, split, seconds = _fit(store, run, watch)
            recorder.write()
            found = _keep(store, run, estimator, split, seconds)
        state = "stopped" if watch.stop_asked else "done"
        store.finish(run_id, state, **found)
    except Interrupted:
        recorder.write()
        state, error = "interrupted", "The process that trained it was told to end."
        store.finish(run_id, state, error=error)
    except Exception as error:
        recorder.write()
        _log(store.folder(run_id), traceback.format_exc())
        state = "failed"
        store.finish(run_id, state, error=error_sentence(error))
    except BaseException:
        store.finish(run_id, "interrupted", error="The program that trained it ended.")
        raise
    return state


class Watch:
    """One callback of many, which remembers whether the training was told to stop."""

    def __init__(self, callbacks: Sequence[Callback]):
        self.stop_asked = False
        self._callbacks = callbacks

    def __call__(self, report: Progress) -> bool:
        """Tell every callback; True once one of them asked to stop."""
        self.stop_asked |= notify(self._callbacks, report)
        return self.stop_asked


def _fit(store: RunStore, run: Run, watch: Callback):
    """Split and train; return the estimator, the split, and the seconds it took."""
    began = time.monotonic()
    split = run.problem.split(store.table(run.problem.table_id))
    estimator = make_estimator(
        run.learner,
        run.problem.task,
        run.settings,
        random_state=run.problem.seed,
        device=run.device,
    )
    estimator.fit(
        split.X_train,
        split.y_train,
        X_valid=split.X_valid,
        y_valid=split.y_valid,
        callbacks=[watch],
    )
    return estimator, split, time.monotonic() - began


def _keep(
    store: RunStore, run: Run, estimator, split: Split, seconds: float
) -> dict[str, dict]:
    """Save the model; return the run's metrics and summary."""
    model = estimator.model_ = with_names(estimator.model_, run.problem)
    summary = keep_model(
        store, run.id, model, split, seconds=seconds, device=device_used(run)
    )
    metrics = model_scores(model, run.problem.task, split)
    return {"metrics": metrics, "summary": summary}


def error_sentence(error: Exception) -> str:
    """Say in one sentence what went wrong, to those who pressed the button."""
    if type(error).__name__ == "OutOfMemoryError":  # torch's, which we do not import
        return (
            "The GPU has too little free memory for this run; try a smaller batch_size "
            "or fewer trees, or train on the CPU."
        )
    if isinstance(error, MemoryError):
        return "This machine has too little free memory for this run."
    said = str(error).strip().split("\n")[0]
    if said and isinstance(error, (ValueError, ArithmeticError, OSError, ImportError)):
        return said
    return f"{type(error).__name__}: {said or 'no message'}. The log has the traceback."


def _log(folder: Path, text: str) -> None:
    """Add to a run's log."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.txt").open("a", encoding="utf-8") as file:
        file.write(text)
