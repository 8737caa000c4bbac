"""Trainings that go on: after a pause or a crash, or after their end."""

import json
import shutil

import pandas as pd

import treelab
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, create_like
from treelab.training.checkpointer import CHECKPOINT_SECONDS, Checkpointer
from treelab.training.events import HISTORY

FOLDER = "checkpoint"  # in a run's folder, until it is done
TIMES = 2  # as many epochs, of a training that goes on after its end


def checkpointer_of(store: RunStore, run: Run) -> Checkpointer:
    """Return what saves a run's training, and what it goes on from.

    A run that is taken up again and has no checkpoint begins anew, its curve, too.
    """
    # More epochs do not make it another training, see ``train_longer``.
    settings = {k: each for k, each in run.settings.items() if k != "max_epochs"}
    identity = json.dumps(
        [
            treelab.__version__,
            *(run.learner, settings, run.problem.to_dict(), run.device),
        ],
        sort_keys=True,
    )
    found = Checkpointer(store.folder(run.id) / FOLDER, identity, CHECKPOINT_SECONDS)
    if run.attempts > 1 and found.is_empty:
        store.replace_events(run.id, pd.DataFrame(columns=HISTORY))
        store.replace_snapshots(run.id, {})
    return found


def goes_on_later(run: Run) -> bool:
    """Whether a run that has used up its epochs may be trained longer.

    Only where no schedule needs a known end: else learning rates fall over the whole
    training, so that it is done again with more steps instead.
    """
    if run.learner == "gradtree":
        return run.settings.get("early_stopping", run.follows_paper)
    return run.learner == "argmin"


def keep_for_longer(store: RunStore, run: Run, checkpointer: Checkpointer) -> None:
    """Save how a training ended that may go on later; remove any other checkpoint."""
    if goes_on_later(run) and checkpointer.has_open_end:
        checkpointer.flush()
    else:
        drop_checkpoints(store, run.id)


def drop_checkpoints(store: RunStore, run_id: str) -> None:
    """Remove the checkpoints of a run that needs them no more."""
    shutil.rmtree(store.folder(run_id) / FOLDER, ignore_errors=True)


def can_train_longer(store: RunStore, run: Run) -> bool:
    """Whether a run's training can go on where it ended.

    That of an edited tree, or of more trees beside another's, is not its learner's.
    """
    has_ended = run.state == "done" and goes_on_later(run)
    is_kept = has_ended and (store.folder(run.id) / FOLDER).is_dir()
    return is_kept and not store.has_plan(run.id)


def train_longer(store: RunStore, run: Run) -> str:
    """Create a run that trains on with twice the epochs; return its id.

    It ends as a training that had so many from the start, but for one measurement of
    the validation loss where the first ended. Nobody trains it before it is submitted.
    ValueError if the training cannot go on.
    """
    if not can_train_longer(store, run):
        raise ValueError(
            f"The training of {run.title!r} cannot go on: it ended before its epochs "
            "were used up, or its schedule needs a known end. Train it again with more "
            "of them."
        )
    epochs = run.settings["max_epochs"] * TIMES
    settings = run.settings | {"max_epochs": epochs}
    title = f"{run.short_title}, {epochs:,} epochs"
    run_id = create_like(store, run, title, settings=settings)
    shutil.copytree(store.folder(run.id) / FOLDER, store.folder(run_id) / FOLDER)
    return run_id
