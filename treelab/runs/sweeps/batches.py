"""Which of a sweep's trials train as one batch, where the learner can do that."""

from collections.abc import Hashable, Sequence
from typing import Any

from treelab.learners.registry import complete_settings, find_spec, make_estimator
from treelab.runs.jobs.memory import free_bytes, needed_bytes
from treelab.runs.store.run import Run
from treelab.runs.sweeps.plan import SweepPlan

ON_CUDA = 8  # trials at once; on the CPU one, as a batch is slower there
MEMORY = 0.5  # fraction of what is free that a batch may take


def trial_settings(run: Run, drawn: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of a trial that drew some."""
    return complete_settings(run.learner, run.problem.task, {**run.settings, **drawn})


def trial_estimator(run: Run, settings: dict[str, Any]) -> Any:
    """Build the untrained estimator of a trial's settings."""
    return make_estimator(
        run.learner,
        run.problem.task,
        settings,
        random_state=run.problem.seed,
        device=run.device,
    )


def trains_batches(run: Run) -> bool:
    """Whether the run's learner trains several settings as one batch."""
    spec = find_spec(run.learner)
    return spec is not None and spec.trains_batches


def trials_at_once(run: Run, plan: SweepPlan) -> int:
    """Trials that are asked for together, to be trained as one batch where they agree.

    More than one only of a learner that trains batches.
    """
    if _batch_key(run, {}, 1) is None:
        return 1
    if plan.batch is not None:
        return plan.batch
    return ON_CUDA if _is_on_cuda(run) else 1


def batches(run: Run, drawn: Sequence[dict[str, Any]], n_rows: int) -> list[list[int]]:
    """Group trials that train as one batch; return their places.

    Parameters
    ----------
    run : Run
    drawn : sequence of dict
        The settings that each trial drew.
    n_rows : int
        On which a trial is trained.
    """
    if len(drawn) == 1:
        return [[0]]
    groups: dict[Hashable, list[int]] = {}
    for place, own in enumerate(drawn):
        key = _batch_key(run, own, n_rows)
        groups.setdefault(("alone", place) if key is None else key, []).append(place)
    free = MEMORY * _free(run)
    return [
        part
        for own in groups.values()
        for part in _within(free, own, [_needed(run, drawn[p], n_rows) for p in own])
    ]


def _batch_key(run: Run, drawn: dict[str, Any], n_rows: int) -> Hashable:
    """Name what trials share that train as one; None for a trial that trains alone."""
    if not trains_batches(run):
        return None
    try:
        return trial_estimator(run, trial_settings(run, drawn)).batch_key(n_rows)
    except ValueError:  # its fit will say why
        return None


def _needed(run: Run, drawn: dict[str, Any], n_rows: int) -> float:
    """Estimate the bytes that a trial takes."""
    settings = {**run.settings, **drawn}
    return needed_bytes(run.learner, settings, run.problem, n_rows)


def _within(free: float, group: list[int], needed: list[float]) -> list[list[int]]:
    """Cut a group into those that fit into memory together, of one at least."""
    parts: list[list[int]] = [[]]
    taken = 0.0
    for place, own in zip(group, needed):
        taken += own
        if parts[-1] and taken > free:
            parts.append([])
            taken = own
        parts[-1].append(place)
    return parts


def _is_on_cuda(run: Run) -> bool:
    """Whether the run trains on a GPU."""
    from treelab.learners.common.device import resolve_device  # loads torch

    return resolve_device(run.device).type == "cuda"


def _free(run: Run) -> float:
    """Bytes that are free where the run trains."""
    if not _is_on_cuda(run):
        return free_bytes()
    import torch

    from treelab.learners.common.device import resolve_device

    return float(torch.cuda.mem_get_info(resolve_device(run.device))[0])
