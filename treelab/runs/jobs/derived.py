"""A model made of a run's by hand becomes a run that is done, a child of the first."""

from collections.abc import Callable, Mapping, Sequence

from treelab.evaluation.splits import split_scores
from treelab.runs.jobs.save_model import save_model
from treelab.runs.store.process import ProcessId
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning_path import Model


def with_origin_of(sentence: str, run: Run) -> str:
    """Add to how a model was made how the run's began, where that is known."""
    if run.origin is None:
        return sentence
    return f"{sentence} Of that run: {run.origin.headline}"


def save_derived(
    store: RunStore,
    run: Run,
    model: Model,
    title: str,
    notes: Sequence[str],
    facts: Mapping[str, object],
    *,
    settings: dict | None = None,
    add: Callable[[str], None] = lambda run_id: None,
) -> str:
    """Save a model as a run of the same problem; return its id.

    Parameters
    ----------
    store : RunStore
    run : Run
        Of whose model it was made.
    model : Tree, WeightedTrees or PruningPath
    title : str
        Of the new run.
    notes : sequence of str
        The first says how it was made, and is its provenance.
    facts : mapping
        Go into its summary, among them the run that it came from.
    settings : dict, optional
        By default the run's.
    add : callable, optional
        Called with the new id before the run is done, to store more with it.
    """
    split = run.problem.split(store.table(run.problem.table_id))
    given = run.settings if settings is None else settings
    run_id = store.create(
        run.learner, given, run.problem, device=run.device, title=title
    )
    store.start(run_id, ProcessId.here())
    summary = save_model(
        store,
        run_id,
        model,
        split,
        seconds=run.summary.get("seconds", run.elapsed),
        device=run.summary.get("device", run.device),
        notes=notes,
    )
    add(run_id)
    summary |= {**facts, "provenance": notes[0]}
    metrics = split_scores(model, run.problem.task, split)
    store.finish(run_id, "done", metrics=metrics, summary=summary)
    return run_id
