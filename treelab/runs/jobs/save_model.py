"""Saving a finished model with its run, wherever the model comes from."""

import platform
import socket
from collections.abc import Sequence
from importlib.metadata import version

import treelab
from treelab.data.split import SPLITS, DataSplit
from treelab.evaluation.metrics import COST_SAVED
from treelab.evaluation.splits import split_scores
from treelab.learners.registry import find_spec
from treelab.runs.jobs.fit import (
    Fitted,
    fitted_split,
    model_size,
    target_facts,
    with_names,
)
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server
from treelab.trees.constraints import Constraints
from treelab.trees.pruning_path import Model


def save_fitted(
    store: RunStore, run: Run, fitted: Fitted, seconds: float
) -> tuple[dict, dict]:
    """Save and score the model of a training, and save its other trees.

    Parameters
    ----------
    store : RunStore
    run : Run
    fitted : Fitted
    seconds : float
        What the training took.

    Returns
    -------
    metrics, summary : dict
        See ``Run``. Clusters that predict themselves have no metrics.
    """
    model = with_names(fitted.model, fitted.problem, fitted.split.X_train)
    metrics = {}
    if not fitted.problem.origin:
        metrics = split_scores(model, fitted.problem.task, fitted.split)
    summary = save_model(
        store,
        run.id,
        model,
        fitted.split,
        seconds=seconds,
        device=device_used(run) + _of_machine(store),
        notes=fitted.notes,
    )
    if fitted.path is not None:
        facts = target_facts(fitted.problem, fitted.split.X_train)
        store.add_path(run.id, fitted.path.with_target(**facts))
    if fitted.rashomon is not None:
        facts = target_facts(fitted.problem, fitted.split.X_train)
        store.add_rashomon(run.id, fitted.rashomon.with_target(**facts))
    asked = Constraints.read(run.settings.get("constraints"))
    if fitted.path is not None and asked.class_costs:
        summary["held_out_title"] = COST_SAVED
    if fitted.origin is not None:
        summary["origin"] = fitted.origin.to_dict()
    return metrics, summary | fitted.measured


def save_model(
    store: RunStore,
    run_id: str,
    model: Model,
    split: DataSplit,
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
    split : DataSplit
        The run's rows.
    seconds : float
        What the training took.
    device : str
        What it was trained on, for display.
    notes : sequence of str
        Sentences that come before the split's own.

    Returns
    -------
    dict
        ``leaves``, ``splits``, ``depth``, ``fitted`` (see ``fitted_split``),
        ``seconds``, ``device``, ``rows``, ``notes``, ``versions``; ``loss`` where it is
        another than the squared error.
    """
    store.add_model(run_id, model)
    return {
        **model_size(model),
        **({} if model.loss is None else {"loss": model.loss.to_dict()}),
        "fitted": fitted_split(model, split),
        "seconds": seconds,
        "device": device,
        "rows": {name: split.n_rows(name) for name in SPLITS},
        "notes": [*notes, *split.notes],
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what trains, by name."""
    found = {"treelab": treelab.__version__, "Python": platform.python_version()}
    return found | {name: version(name) for name in ("numpy", "scikit-learn", "torch")}


def device_used(run: Run) -> str:
    """Name for display the device that a run was trained on."""
    spec = find_spec(run.learner)
    if spec is not None and spec.cpu_only:
        return "CPU"
    from treelab.learners.common.base import (  # loads torch
        device_name,
        resolve_device,
    )

    return device_name(resolve_device(run.device))


def _of_machine(store: RunStore) -> str:
    """Name this machine, where several train for a store; else ""."""
    shared = isinstance(store.database, Server)
    return f" of {socket.gethostname()}" if shared else ""
