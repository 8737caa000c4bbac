"""A run from its id to its model: all that a worker does, wherever it runs."""

import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.checkpoints import checkpointer_of, drop_checkpoints
from treelab.runs.jobs.clusters import fit_clusters
from treelab.runs.jobs.edited import fit_edited
from treelab.runs.jobs.event_recorder import EventRecorder, Interrupted, Paused
from treelab.runs.jobs.fit import Fitted, fit_learner
from treelab.runs.jobs.heartbeat import Heartbeat
from treelab.runs.jobs.save_model import save_fitted
from treelab.runs.store.private import make_private_folder, open_private
from treelab.runs.store.process import ProcessId
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.events import Callback, Progress, notify

PROCESS_ENDED = "The process that trained it was asked to end."
PROGRAM_ENDED = "The program that trained it ended."


def run_one(
    run_id: str,
    home: str | os.PathLike | None = None,
    *,
    callbacks: Sequence[Callback] = (),
) -> str:
    """Train one queued run in this process.

    This is all that an executor is asked to do; everything else passes through the
    run store.

    Parameters
    ----------
    run_id : str
    home : path-like, optional
        Folder of the run store, see ``RunStore``.
    callbacks : sequence of callable
        Called with the training's reports, beside the event recorder.

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
    with Heartbeat(lambda: store.heartbeat(owner)):
        return train(store, run_id, callbacks=callbacks)


def train(
    store: RunStore,
    run_id: str,
    *,
    auto_device: str | None = None,
    callbacks: Sequence[Callback] = (),
    should_abort: Callable[[], bool] = lambda: False,
) -> str:
    """Train a run that this process owns, and end it in the store.

    A failure becomes the run's error, its traceback goes to the run's log.

    Parameters
    ----------
    store : RunStore
    run_id : str
    auto_device : str, optional
        What "auto" and "cuda" mean here, "cuda:1" for example; by default the learner
        chooses.
    callbacks : sequence of callable
        Called with the training's reports, beside the event recorder.
    should_abort : callable, optional
        Returns True once the process has to end: the run becomes "interrupted". As one
        that was paused, it goes on from its last checkpoint when it is resumed.

    Returns
    -------
    str
        The state in which the run ended.
    """
    run = store.run(run_id)
    if auto_device is not None and run.device in ("auto", "cuda"):
        run = replace(run, device=auto_device)
    checkpointer = checkpointer_of(store, run)
    recorder = EventRecorder(store, run_id, should_abort, checkpointer)
    callback = CallbackList([recorder, *callbacks])
    try:
        fit = _fit_of(store, run)
        began = time.monotonic()
        fitted = fit(store, run, [callback, checkpointer])
        seconds = time.monotonic() - began + checkpointer.seconds_before
        recorder.flush()
        metrics, summary = save_fitted(store, run, fitted, seconds)
        state = "stopped" if callback.stop_requested else "done"
        store.finish(run_id, state, metrics=metrics, summary=summary)
        drop_checkpoints(store, run_id)
    except Interrupted as ending:
        recorder.flush()
        state, error = "interrupted", PROCESS_ENDED
        if isinstance(ending, Paused):
            state, error = "paused", ""
        store.finish(run_id, state, error=error)
    except Exception as error:
        recorder.flush()
        _log(store.folder(run_id), traceback.format_exc())
        state = "failed"
        store.finish(run_id, state, error=error_sentence(error))
    except BaseException:
        store.finish(run_id, "interrupted", error=PROGRAM_ENDED)
        raise
    return state


def _fit_of(store: RunStore, run: Run) -> Callable[..., Fitted]:
    """Return what fits a run: its learner, from an edited tree or not, or clusters.

    A sweep fits its learner many times.
    """
    if store.edits(run.id) is not None:
        return fit_edited
    if store.sweep(run.id) is not None:
        from treelab.runs.jobs.sweep import fit_sweep  # loads Optuna

        return fit_sweep
    return fit_clusters if run.learner == CLUSTERS.key else fit_learner


class CallbackList:
    """Callbacks as one, which remembers whether one of them asked to stop."""

    def __init__(self, callbacks: Sequence[Callback]):
        self.stop_requested = False
        self._callbacks = callbacks

    def __call__(self, report: Progress) -> bool:
        """Call every callback; True once one of them asked to stop."""
        self.stop_requested |= notify(self._callbacks, report)
        return self.stop_requested


def error_sentence(error: Exception) -> str:
    """Explain in one sentence, to those who started the run, what went wrong."""
    if type(error).__name__ == "OutOfMemoryError":  # torch's, which we do not import
        return (
            "The GPU has too little free memory for this run; try a smaller batch_size "
            "or fewer trees, or train on the CPU."
        )
    if isinstance(error, MemoryError):
        return "This machine has too little free memory for this run."
    message = str(error).strip().split("\n")[0]
    explained = (ValueError, ArithmeticError, OSError, ImportError)
    if message and isinstance(error, explained):
        return message
    name = type(error).__name__
    return f"{name}: {message or 'no message'}. The log has the traceback."


def _log(folder: Path, text: str) -> None:
    """Add to a run's log."""
    make_private_folder(folder)
    with open_private(folder / "log.txt", "a", "utf-8") as file:
        file.write(text)
