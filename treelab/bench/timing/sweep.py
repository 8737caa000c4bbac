"""``bench sweep``: a sweep's trials one by one, and as batches, in seconds."""

import tempfile
import time
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from treelab.data.builtin import BUILTIN
from treelab.data.problem import Problem, make_problem
from treelab.learners.registry import LEARNERS, complete_settings
from treelab.runs.jobs.sweep import Search
from treelab.runs.store.run import Run
from treelab.runs.sweeps.plan import SweepPlan, presets
from treelab.runs.sweeps.study import (
    batch_words,
    best_trial,
    open_study,
    trial_table,
)

TABLE = "breast_cancer"
KEY = "gradtree"


@dataclass(frozen=True)
class SweepTime:
    """How long a sweep took.

    Attributes
    ----------
    batch : int
        Trials at once.
    seconds, processor_seconds : float
    best : float
        The highest score.
    words : str
        Which trials trained as batches.
    """

    batch: int
    seconds: float
    processor_seconds: float
    best: float
    words: str


def report(chosen: Namespace) -> int:
    """Time the same trials by each number at once, and print."""
    sizes = [int(size) for size in chosen.batches.split(",")]
    table = BUILTIN[TABLE]
    frame = table.load()
    problem = make_problem(frame, table.target, table_id="", table_name=TABLE)
    plan = SweepPlan(
        presets(KEY)["treelab"].of_task(LEARNERS[KEY], problem.task).space,
        chosen.trials,
        "own",
        seed=chosen.seed,
    )
    time_sweep(frame, problem, replace(plan, n_trials=1, batch=1), chosen.device)
    found = [
        time_sweep(frame, problem, replace(plan, batch=size), chosen.device)
        for size in sizes
    ]
    print(f"{chosen.trials} GradTree trials on {TABLE}, {chosen.device}")
    for each in found:
        ratio = each.processor_seconds / found[0].processor_seconds
        words = each.words or "each trained alone"
        print(
            f"{each.batch} at once: {each.seconds:.1f} s, {each.processor_seconds:.1f} "
            f"s of processor time ({ratio:.2f}); best {each.best:.4f}; {words}"
        )
    return 0


def time_sweep(
    frame: pd.DataFrame, problem: Problem, plan: SweepPlan, device: str
) -> SweepTime:
    """Search; all trials are drawn at random, so that a seed fixes them in any batch.

    Parameters
    ----------
    frame : DataFrame
    problem : Problem
    plan : SweepPlan
    device : str
    """
    settings = complete_settings(KEY, problem.task, {})
    run = Run("", "", KEY, settings, problem, device, "running", created=time.time())
    with tempfile.TemporaryDirectory() as folder:
        study = open_study(Path(folder), n_startup=plan.n_trials, seed=plan.seed)
        began, used = time.monotonic(), time.process_time()
        Search(run, plan, problem.split(frame), study, ()).run_trials()
        seconds, own = time.monotonic() - began, time.process_time() - used
        best = best_trial(study)
        return SweepTime(
            plan.batch or 1,
            seconds,
            own,
            float("nan") if best is None else float(best.value or 0),
            batch_words(trial_table(study)),
        )
