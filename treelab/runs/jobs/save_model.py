"""Keeping a finished model with its run, wherever the model comes from."""

from collections.abc import Sequence

from treelab.data.split import SPLITS, Split
from treelab.runs.jobs.model_facts import Model, model_size
from treelab.runs.store.run import QUICK_LEARNERS, Run
from treelab.runs.store.run_store import RunStore


def keep_model(
    store: RunStore,
    run_id: str,
    model: Model,
    split: Split,
    *,
    seconds: float,
    device: str,
    notes: Sequence[str] = (),
) -> dict:
    """Save a run's model and return the run's summary of it.

    Parameters
    ----------
    store : RunStore
    run_id : str
    model : Tree, WeightedTrees or PruningPath
        With the names of its target.
    split : Split
        The run's rows.
    seconds : float
        What the training took.
    device : str
        Where it was trained, for people.
    notes : sequence of str
        To be said before what is odd about the rows.

    Returns
    -------
    dict
        ``leaves``, ``splits``, ``depth``, ``seconds``, ``device``, ``rows``, ``notes``.
    """
    store.add_model(run_id, model)
    return {
        **model_size(model),
        "seconds": seconds,
        "device": device,
        "rows": {name: len(split.rows(name)[1]) for name in SPLITS},
        "notes": [*notes, *split.notes],
    }


def device_used(run: Run) -> str:
    """Name the device that a run was trained on, for people."""
    if run.learner in QUICK_LEARNERS:
        return "CPU"
    from treelab.learners.common.device import (  # loads torch
        device_name,
        resolve_device,
    )

    return device_name(resolve_device(run.device))
