"""The losses that a run reported, as a chart takes them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from treelab.data.problem import Problem
from treelab.figures.curves import Curve
from treelab.figures.style import learner_symbol
from treelab.learners.common.origin import STARTS
from treelab.runs.store.run import Run
from treelab.trees.losses import SQUARED_ERROR

# Learners that report squared units; the others report parts of the variance.
SQUARED = {"cart", "optimal"}
VARIANCE_UNIT = "squared error / variance"
NATS = "log loss (nats)"
MIXED_UNITS = "log loss (nats); GET: squared error"
OWN_LOSS = "each run's own loss"  # of those that were asked for another one
USUAL = (SQUARED_ERROR.name, "cross_entropy")


def loss_unit(problem: Problem, runs: Sequence[Run]) -> str:
    """Name the unit of the losses of some runs on one chart."""
    if any(map(has_own_loss, runs)):
        return OWN_LOSS
    if problem.task == "regression":
        return VARIANCE_UNIT
    return MIXED_UNITS if any(run.learner == "get" for run in runs) else NATS


def has_own_loss(run: Run) -> bool:
    """Whether a run was asked for another loss than most have."""
    return run.settings.get("loss", USUAL[0]) not in USUAL


def may_weigh_classes(run: Run) -> bool:
    """Whether rows of some classes may count for more in the losses of a run.

    As they do where gradients are to see them so; of GradTree's default folds decide.
    """
    if run.learner not in ("gradtree", "grande", "argmin"):
        return False
    asked = run.settings.get("class_weight")
    by_folds = asked == "auto" and run.learner == "gradtree"
    has_costs = "class_costs" in (run.settings.get("constraints") or {})
    return by_folds or has_costs or asked not in (None, "auto")


def reports_squares(run: Run) -> bool:
    """Whether a run's losses are in squared units of the target."""
    return (
        run.problem.task == "regression"
        and run.learner in SQUARED
        and not has_own_loss(run)
    )


def run_curve(
    run: Run,
    events: pd.DataFrame,
    name: str,
    color: str,
    *,
    by: str = "epoch",
    before: pd.DataFrame | None = None,
    variance: float | None = None,
) -> Curve:
    """Return a run's curve in the unit of ``loss_unit``.

    Events are a row an epoch, as ``RunStore.events`` reads them; name and colour (hex)
    are those of the legend. The axis is ``by`` "epoch", "seconds" or "progress", in
    percent of the epochs. ``before`` is the curve of a cross-validation that came
    before, as ``RunStore.preparation`` reads it; its epochs are counted anew: where
    there are others, it is shown by seconds alone. ``variance`` is the target's, for
    one that ``reports_squares``.
    """
    scale = 1 / variance if variance else 1.0
    if before is None or not (by == "seconds" or events.empty):
        before = events.iloc[:0]
    start = ""
    if len(events) and events["epoch"].iloc[0] == 0:  # what it was is known in the end
        start = f"start: {STARTS[run.origin.start]}" if run.origin else "start"
    return Curve(
        name,
        color,
        _place(run, events, by),
        events["train_loss"].to_numpy() * scale,
        events["valid_loss"].to_numpy() * scale,
        start,
        learner_symbol(run.learner, run.settings),
        before_x=_place(run, before, by),
        before_loss=before["valid_loss"].to_numpy() * scale,
    )


def _place(run: Run, events: pd.DataFrame, by: str) -> np.ndarray:
    """Return where events lie on the chart's axis."""
    if by != "progress" or events.empty:
        return events.get(by, events["epoch"]).to_numpy(dtype=float)
    epoch = events["epoch"].to_numpy(dtype=float)
    last = epoch[-1]
    if run.progress < 1:  # without what a cross-validation before it has taken
        last = max(run.max_epochs - max(run.epoch - last, 0.0), last)
    return 100 * epoch / last if last > 0 else np.full(len(epoch), 100.0)
