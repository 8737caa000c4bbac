"""A run from its id to its model: all that a worker does, wherever it runs."""

import json
import os
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.clusters import fit_clusters
from treelab.runs.jobs.edited import fit_edited
from treelab.runs.jobs.fit import (
    EventRecorder,
    Fitted,
    Interrupted,
    Lost,
    Paused,
    fit_learner,
)
from treelab.runs.jobs.memory import check_memory, is_out_of_memory
from treelab.runs.jobs.rashomon import fit_all, fit_more
from treelab.runs.jobs.resume import checkpointer_of, drop_checkpoints, keep_for_longer
from treelab.runs.jobs.save_model import save_fitted
from treelab.runs.store.database import StoreError
from treelab.runs.store.files import make_private_folder, open_private
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId, heartbeat
from treelab.training.events import Callback

PROCESS_ENDED = "The process that trained it was asked to end."
PROGRAM_ENDED = "The program that trained it ended."


def run_one(
    run_id: str,
    home: str | os.PathLike | None = None,
    *,
    callbacks: Sequence[Callback] = (),
) -> str:
    """Train one queued run in this process.

    Callbacks get the training's reports, beside the event recorder. Returns the state
    in which the run ended; its state as it is, unchanged, when it was not queued any
    more.
    """
    store = RunStore(home)
    owner = ProcessId.here()
    if not store.start(run_id, owner):
        return store.run(run_id).state
    return _train_alive(store, run_id, owner, callbacks)


def run_next(store: RunStore) -> bool:
    """Train the queue's next run in this process; False where none waits."""
    owner = ProcessId.here()
    run_id = store.claim_next(owner)
    if run_id is None:
        return False
    _train_alive(store, run_id, owner)
    return True


def _train_alive(
    store: RunStore, run_id: str, owner: ProcessId, callbacks: Sequence[Callback] = ()
) -> str:
    """Train a run, and record meanwhile that this process is alive."""

    def record() -> None:
        with suppress(StoreError):  # a server that is restarted: the next one comes
            store.heartbeat(owner)

    with heartbeat(record):
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

    A failure becomes the run's error, its traceback goes to the run's log. Returns the
    state in which it ended. ``auto_device`` is what "auto" and "cuda" mean here,
    "cuda:1" for example; by default the learner chooses. Callbacks get the training's
    reports, beside the event recorder. ``should_abort`` returns True once the process
    has to end: the run becomes "interrupted". As one that was paused, it goes on from
    its last checkpoint when it is resumed. A process that was taken for dead leaves the
    run as it is: others may have it by now.
    """
    recorder = EventRecorder(store, run_id, should_abort, callbacks)

    def end(state: str, **results: Any) -> bool:
        return store.finish(run_id, state, attempt=recorder.attempt, **results)

    try:
        run = store.run(run_id)
        recorder.attempt = run.attempts
        if auto_device is not None and run.device in ("auto", "cuda"):
            run = replace(run, device=auto_device)
        check_memory(store, run)
        fitted, seconds = _fit(store, run, recorder)
        recorder.flush()
        check = recorder.check_is_ours
        metrics, summary = save_fitted(store, run, fitted, seconds, check)
        state = "stopped" if recorder.stop_requested else "done"
        check()
        if state == "done" and recorder.checkpointer is not None:
            keep_for_longer(store, run, recorder.checkpointer)
        else:
            drop_checkpoints(store, run_id)
        if not end(state, metrics=metrics, summary=summary):
            raise Lost
    except Lost:
        return "interrupted"
    except Interrupted as ending:
        recorder.flush()
        state, error = "interrupted", PROCESS_ENDED
        if isinstance(ending, Paused):
            state, error = "paused", ""
        end(state, error=error)
    except Exception as error:
        recorder.flush()
        state = "failed"
        if store.why_ending(run_id, recorder.attempt) != "lost":
            _log(store.folder(run_id), traceback.format_exc())
        end(state, error=error_sentence(error))
    except BaseException:
        end("interrupted", error=PROGRAM_ENDED)
        raise
    return state


def _fit(store: RunStore, run: Run, recorder: EventRecorder) -> tuple[Fitted, float]:
    """Fit a run; where a GPU's memory is too small, once more with half the batch.

    Returns what was fitted, and the seconds that it took.
    """
    try:
        return _fit_once(store, run, recorder)
    except Exception as error:
        batch_size = run.settings.get("batch_size")
        if not is_out_of_memory(error) or not batch_size or batch_size < 2:
            raise
    # Outside of the clause: the error holds on to what it ran out of memory for.
    recorder.check_is_ours()
    drop_checkpoints(store, run.id)
    run = replace(run, settings=run.settings | {"batch_size": batch_size // 2})
    store.set_settings(run.id, run.settings)
    fitted, seconds = _fit_once(store, run, recorder)
    note = (
        f"The GPU's memory was too small for batches of {batch_size:,} rows, so it was "
        f"trained with {batch_size // 2:,}."
    )
    return replace(fitted, notes=(*fitted.notes, note)), seconds


def _fit_once(
    store: RunStore, run: Run, recorder: EventRecorder
) -> tuple[Fitted, float]:
    """Fit a run, from its checkpoint where it has one."""
    recorder.checkpointer = checkpointer = checkpointer_of(store, run)
    checkpointer.before_writing = recorder.check_is_ours
    began = time.monotonic()
    fitted = _fit_of(store, run)(store, run, [recorder, checkpointer])
    return fitted, time.monotonic() - began + checkpointer.seconds_before


def _fit_of(store: RunStore, run: Run) -> Callable[..., Fitted]:
    """Return what fits a run: its learner, an edited tree, other trees, or clusters.

    A sweep fits its learner many times.
    """
    if store.plan(run.id, "edits") is not None:
        return fit_edited
    if (more := store.plan(run.id, "more")) is not None:
        return fit_all if "all_of_depth" in json.loads(more) else fit_more
    if store.plan(run.id, "sweep") is not None:
        from treelab.runs.jobs.sweep import fit_sweep  # loads Optuna

        return fit_sweep
    return fit_clusters if run.learner == CLUSTERS.key else fit_learner


def error_sentence(error: Exception) -> str:
    """Explain in one sentence, to those who started the run, what went wrong."""
    if is_out_of_memory(error):
        return (
            "The GPU has too little free memory for this run; try a smaller batch_size "
            "or fewer trees, or train on the CPU."
        )
    if isinstance(error, MemoryError):
        if str(error).startswith("This training"):  # ours says how much
            return str(error)
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
