"""Training longer: a finished run's training goes on, as a run of its own.

Only where no schedule needs a known end: argmin trees and GradTree with early stopping,
when they ended because their epochs were used up. Else learning rates fall over the
whole training, so that it is done again with more steps instead.
"""

import shutil

from treelab.runs.jobs.resume.checkpoints import FOLDER, goes_on_later
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore

TIMES = 2  # as many epochs


def can_train_longer(store: RunStore, run: Run) -> bool:
    """Whether a run's training can go on where it ended."""
    has_ended = run.state == "done" and goes_on_later(run)
    return has_ended and (store.folder(run.id) / FOLDER).is_dir()


def train_longer(store: RunStore, run: Run) -> str:
    """Create a run that trains on with twice the epochs; return its id.

    It ends as a training that had so many from the start, but for one measurement of
    the validation loss where the first ended. Nobody trains it before it is submitted.

    Raises
    ------
    ValueError
        If the training cannot go on.
    """
    if not can_train_longer(store, run):
        raise ValueError(
            f"The training of {run.title!r} cannot go on: it ended before its epochs "
            "were used up, or its schedule needs a known end. Train it again with more "
            "of them."
        )
    epochs = run.settings["max_epochs"] * TIMES
    run_id = store.create(
        run.learner,
        run.settings | {"max_epochs": epochs},
        run.problem,
        device=run.device,
        title=f"{run.short_title}, {epochs:,} epochs",
    )
    shutil.copytree(store.folder(run.id) / FOLDER, store.folder(run_id) / FOLDER)
    return run_id
