"""The losses of runs while they train."""

import numpy as np
import streamlit as st

from pages.cached.runs import preparation_events, run_events
from pages.cached.store import baseline_loss, target_variance
from pages.widgets.page import mode, pick_one, show_figure
from pages.widgets.words import plain
from treelab.data.problem import Problem
from treelab.figures.curves import Curve, loss_figure, loss_panels
from treelab.reports.run_curves import (
    MIXED_UNITS,
    OWN_LOSS,
    VARIANCE_UNIT,
    loss_unit,
    may_weigh_classes,
    reports_squares,
    run_curve,
)
from treelab.runs.store.run import Run
from treelab.trees.words import listed

CLUSTER_LOSS = "Squared distance of rows from their cluster's means"
X_TITLES = {
    "progress": "progress of the training (%)",
    "seconds": "seconds since the run began",
    "epoch": "epoch",
}
HEIGHT = 340  # of one chart, and of what holds its place
TOGETHER, APART = "one chart", "one per run"


def show_curves(
    runs: list[Run], names: dict[str, tuple], problem: Problem, *, of_clusters: bool
) -> None:
    """Draw the losses of all runs on one chart, or on one each.

    Names and colours are by the run's id; that of clusters has another loss.
    """
    by = st.session_state.get("curves-by", "progress")
    found = [(run, _curve(run, *names[run.id], by)) for run in reversed(runs)]
    found = [(run, own) for run, own in found if len(own.x) + len(own.before_x)]
    drawn, curves = [run for run, _ in found], [curve for _, curve in found]
    if not curves and any(not run.is_finished for run in runs):
        st.skeleton(HEIGHT)
        return
    unit = VARIANCE_UNIT if of_clusters else loss_unit(problem, drawn)
    # Losses of their own have scales of their own.
    is_apart = unit == OWN_LOSS or st.session_state.get("curves-as") == APART
    is_apart = is_apart and bool(curves)
    has_baseline = not (of_clusters or is_apart or unit in (MIXED_UNITS, OWN_LOSS))
    baseline = baseline_loss(runs[0].problem) if has_baseline else None
    ends = [(run.id, run.is_finished) for run in runs]
    figure = _figure(ends, curves, X_TITLES[by], is_apart, unit, mode(), baseline)
    # Above the chart: one that grows would push its own control off the screen.
    with st.popover("View", icon=":material/tune:", type="tertiary"):
        given = {"persist_state": "session"}
        if unit != OWN_LOSS:
            pick_one("Curves", [TOGETHER, APART], "curves-as", **given)
        given["help"] = "Progress: share of the epochs that a run trains, at most."
        pick_one("x axis", [*X_TITLES], "curves-by", **given)
    show_figure(figure, key="loss")
    what = CLUSTER_LOSS if of_clusters else "Mean loss per row"
    weighted = {run.problem.weighted_words for run in runs}
    what += plain(weighted.pop()) if len(weighted) == 1 else ""
    has_both = any(np.isfinite(curve.valid_loss).sum() > 1 for curve in curves)
    words = " The mark: lowest validation loss." if has_both else ""
    weighed = [names[run.id][0] for run in drawn if may_weigh_classes(run)]
    if baseline is not None and weighed:
        those = listed(weighed, write=plain)
        words += f" Rare classes may weigh more for {those} than for the baseline."
    points = [curve.valid_loss for curve in curves if len(curve.x) == 1]
    if any(np.isfinite(own).any() for own in points):  # without a curve, as CART
        words += " Single points: filled on training rows, hollow on held-out rows."
    st.caption(f"{what}.{words}{_preparing_words(runs, names)}")


def _key(curve: Curve) -> tuple:
    """Return what the figure's cache knows a run's curve by."""
    newest = *curve.x[-1:], *curve.train_loss[-1:]
    n_points = len(curve.before_x), len(curve.x)
    return curve.name, curve.color, curve.start, *n_points, *newest


@st.cache_resource(show_spinner=False, max_entries=32, hash_funcs={Curve: _key})
def _figure(ends, curves: list[Curve], x_title, is_apart, y_title, mode, baseline):
    """Draw curves once for all who watch them, anew as points come and runs end."""
    given = {"x_title": x_title, "y_title": y_title, "mode": mode}
    if is_apart:
        return loss_panels(curves, **given)
    return loss_figure(curves, baseline=baseline, **given)


def _curve(run: Run, name: str, color: str, by: str) -> Curve:
    """Return a run's curve, in the chart's unit."""
    events = run_events(run)
    before = preparation_events(run) if run.state == "running" else None
    variance = target_variance(run.problem) if reports_squares(run) else None
    given = {"by": by, "before": before, "variance": variance}
    return run_curve(run, events, name, color, **given)


def _preparing_words(runs: list[Run], names: dict[str, tuple[str, str]]) -> str:
    """Say which runs are in a stage that comes before their curve."""
    preparing = [run for run in runs if run.state == "running" and run.epoch > 0]
    words = "".join(
        f" {plain(names[run.id][0])}: {plain(run.stage)} first, then its curve."
        for run in preparing
        if not len(run_events(run))
    )
    if any(len(preparation_events(run)) for run in preparing):
        words += " Dotted: trees of the cross-validation, on rows that they do not see."
    return words
