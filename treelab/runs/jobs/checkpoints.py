"""A run's checkpoints: in its folder, until it is done."""

import json
import shutil

import pandas as pd

import treelab
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.checkpointer import CHECKPOINT_SECONDS, Checkpointer
from treelab.training.events import HISTORY

FOLDER = "checkpoint"


def checkpointer_of(store: RunStore, run: Run) -> Checkpointer:
    """Return what saves a run's training, and what it goes on from.

    A run that is taken up again and has no checkpoint begins anew, its curve, too.
    """
    identity = json.dumps(
        [
            treelab.__version__,
            *(run.learner, run.settings, run.problem.to_dict(), run.device),
        ],
        sort_keys=True,
    )
    found = Checkpointer(store.folder(run.id) / FOLDER, identity, CHECKPOINT_SECONDS)
    if run.attempts > 1 and found.is_empty:
        store.replace_events(run.id, pd.DataFrame(columns=HISTORY))
        store.replace_snapshots(run.id, {})
    return found


def drop_checkpoints(store: RunStore, run_id: str) -> None:
    """Remove the checkpoints of a run that needs them no more."""
    shutil.rmtree(store.folder(run_id) / FOLDER, ignore_errors=True)
