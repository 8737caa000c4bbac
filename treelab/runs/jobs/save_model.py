"""Saving a finished model with its run, wherever the model comes from."""

import platform
import socket
from collections.abc import Callable
from importlib.metadata import version

import treelab
from treelab.data.split import SPLITS
from treelab.evaluation.metrics import COST_SAVED, split_scores
from treelab.learners.registry import IMPORTED, find_spec
from treelab.runs.jobs.fit import (
    Fitted,
    fitted_split,
    model_size,
    target_facts,
    with_names,
)
from treelab.runs.store.run import SAVING, Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server
from treelab.runs.store.workers import ProcessId


def save_fitted(
    store: RunStore, run: Run, fitted: Fitted, seconds: float, check: Callable[[], None]
) -> tuple[dict, dict]:
    """Score and save the model of a training of so many seconds, and its other trees.

    ``check`` is called before each of them is written; it raises where the run is
    another process's by now.

    Returns metrics and summary, see ``Run``. Clusters that predict themselves have no
    metrics. The summary has ``leaves``, ``splits``, ``depth``, ``fitted`` (see
    ``fitted_split``), ``seconds``, ``device``, ``rows``, ``notes``, ``versions``, what
    was measured, and ``loss`` where it is another than the squared error.
    """
    metrics = _scores(fitted)
    device = device_used(run)
    if isinstance(store.database, Server):  # where several machines train
        device += f" of {socket.gethostname()}"
    summary = _save(store, run, fitted, seconds=seconds, device=device, check=check)
    return metrics, summary


def save_as_run(
    store: RunStore,
    fitted: Fitted,
    title: str,
    parent: Run | None = None,
    edits: str = "",
) -> str:
    """Save a model that was not trained now as a run that is done; return its id.

    One that cannot be scored becomes no run. Its learner, its settings and what its
    training took are those of the run of whose model it was made; without such a
    parent it was trained elsewhere. ``edits`` is the log, as JSON, that it came from.
    """
    metrics = _scores(fitted)
    settings: dict = {}
    learner, asked_device = IMPORTED, "cpu"
    seconds, device = 0.0, "no device: trained elsewhere"
    if parent is not None:
        learner, settings = parent.learner, parent.settings
        asked_device = parent.device
        seconds = parent.summary.get("seconds", parent.elapsed)
        device = parent.summary.get("device", parent.device)
    given = learner, settings, fitted.problem, asked_device, title
    run_id = store.create(*given, parent=parent, stage=SAVING)
    store.start(run_id, ProcessId.here())
    try:
        if edits:
            store.add_plan(run_id, "edits", edits)
        run = store.run(run_id)
        summary = _save(store, run, fitted, seconds=seconds, device=device)
    except BaseException:
        store.finish(run_id, "failed", error="Its model could not be saved.")
        raise
    store.finish(run_id, "done", metrics=metrics, summary=summary)
    return run_id


def _scores(fitted: Fitted) -> dict:
    """Score a model on each data split; clusters that predict themselves are not."""
    if fitted.problem.origin:
        return {}
    return split_scores(fitted.model, fitted.problem.task, fitted.split)


def _save(
    store: RunStore,
    run: Run,
    fitted: Fitted,
    *,
    seconds: float,
    device: str,
    check: Callable[[], None] = lambda: None,
) -> dict:
    """Save a model and other trees with the names of their target; sum them up.

    The model comes last: a run that has one has all that belongs to it.
    """
    split, facts = fitted.split, target_facts(fitted.problem, fitted.split.X_train)
    model = with_names(fitted.model, fitted.problem, split.X_train)
    check()
    store.remove_trees(run.id)  # those of an attempt that was cut off as it saved them
    if fitted.path is not None:
        check()
        store.add_path(run.id, fitted.path.with_target(**facts))
    if fitted.rashomon is not None:
        check()
        store.add_rashomon(run.id, fitted.rashomon.with_target(**facts))
    summary = {
        **model_size(model),
        "fitted": fitted_split(model, split),
        "seconds": seconds,
        "device": device,
        "rows": {name: split.n_rows(name) for name in SPLITS},
        "notes": [*fitted.notes, *split.notes],
        "versions": versions(),
    }
    if model.loss is not None:
        summary["loss"] = model.loss.to_dict()
    if fitted.path is not None and run.constraints.class_costs:
        summary["held_out_title"] = COST_SAVED
    if fitted.origin is not None:
        summary["origin"] = fitted.origin.to_dict()
    check()
    store.add_model(run.id, model)
    return summary | fitted.measured


def versions() -> dict[str, str]:
    """Return the versions of what trains, by name."""
    found = {"treelab": treelab.__version__, "Python": platform.python_version()}
    return found | {name: version(name) for name in ("numpy", "scikit-learn", "torch")}


def device_used(run: Run) -> str:
    """Name for display the device that a run was trained on."""
    spec = find_spec(run.learner)
    if spec is not None and spec.cpu_only:
        return "CPU"
    from treelab.training.device import device_name, resolve_device  # loads torch

    return device_name(resolve_device(run.device))
