"""Fitting a run's learner to the training rows of its table, reported to the store."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.problem import Problem
from treelab.data.split import JOINED, SPLITS, DataSplit, Rows
from treelab.editing.regrow import class_weights
from treelab.evaluation.comparison import trained_costs
from treelab.evaluation.rashomon import gather
from treelab.learners.common.origin import Origin
from treelab.learners.registry import make_estimator
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.checkpointer import Checkpointer
from treelab.training.events import Callback, Progress, RetainedCurve, notify
from treelab.trees.cells import noted_form
from treelab.trees.constraints import violations
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.losses import LOSSES, Loss
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import Model, PruningPath, shown_tree
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree

WRITE_SECONDS = 0.1  # reports that come faster are written together
SNAPSHOT_SECONDS = 2.0  # at the least, between two snapshots
SNAPSHOT_FRACTION = 0.05  # of the training's time may go into snapshots
GATHERED_ROWS = 100_000  # on more, trees of a path are compared when a page asks


def with_names(model: Model, problem: Problem, X: pd.DataFrame | None = None) -> Model:
    """Return a model with what ``target_facts`` says, which no learner is given."""
    facts = target_facts(problem, X)
    if isinstance(model, PruningPath):
        trees = (replace(tree, **facts) for tree in model.trees)
        return replace(model, trees=tuple(trees))
    return replace(model, **facts)


def target_facts(problem: Problem, X: pd.DataFrame | None = None) -> dict[str, Any]:
    """Return the name, the unit and the cells' form of what a problem predicts.

    ``X`` is the table that was trained on, with its note on how it was read.
    """
    units = dict(problem.units)
    unit, per = (units.get(name, "") for name in (problem.target, problem.exposure))
    if {units.get(name, "") for name in problem.targets} != {unit}:
        unit = ""  # a word for all of them
    form = None
    # A rate is written nowhere, and several targets each in a way of its own.
    if X is not None and not problem.exposure and not problem.more_targets:
        form = noted_form(X, problem.target)
    return {
        "target": problem.target_name,
        "target_unit": f"{unit}/{per}" if unit and per else unit,
        "target_form": form,
    }


def without_origin(tree: Tree, provenance: str) -> Tree:
    """Return a tree without the note of its origin, for where that is said already."""
    notes = tuple(note for note in tree.notes if note != provenance)
    return tree if notes == tree.notes else replace(tree, notes=notes)


def fitted_split(model: Model, split: DataSplit) -> str:
    """Name the rows that a model was fitted to, by its count of them.

    They are ``JOINED`` where the validation rows trained as well, else "train".
    """
    if isinstance(model, WeightedTrees):
        n_rows = 0 if model.n_rows is None else int(model.n_rows[0, 0])
    else:
        tree = model.tree if isinstance(model, PruningPath) else model
        n_rows = int(tree.n_rows[0])
    return JOINED if n_rows == split.n_rows(JOINED) else "train"


def model_size(model: Model) -> dict[str, int]:
    """Count the leaves, splits and levels of the trees by which a model is shown.

    Returns ``leaves``, ``splits`` and ``depth``; ``estimators`` for an ensemble, whose
    leaves and splits are those of all its trees; ``strengths`` for a path, whose tree
    is the chosen one, and ``predictors`` where one on top of it predicts.
    """
    if isinstance(model, WeightedTrees):
        return _ensemble_size(model)
    tree = shown_tree(model)
    size = {"leaves": tree.n_leaves, "splits": tree.n_splits, "depth": tree.depth}
    if isinstance(model, PruningPath):
        size["strengths"] = len(model)
        if model.has_predictor:
            size["predictors"] = 1  # on top of the tree
    return size


def _ensemble_size(model: WeightedTrees) -> dict[str, int]:
    """Count what training rows reach in all trees, without building any of them."""
    n_splits = model.n_leaves - 1
    n_rows = np.ones((model.n_estimators, n_splits + model.n_leaves))
    if model.n_rows is not None:
        n_rows = model.n_rows
    divides = model.divides
    level = np.zeros(n_rows.shape, dtype=np.int64)
    for node in range(n_splits):
        below = level[:, node] + divides[:, node]
        level[:, 2 * node + 1] = level[:, 2 * node + 2] = below
    return {
        "estimators": model.n_estimators,
        "leaves": int((n_rows[:, n_splits:] > 0).sum()),
        "splits": int(divides.sum()),
        "depth": int(level.max()),
    }


def rashomon_set(
    run: Run, own: Tree, others: Sequence[Tree], rows: Rows, path: SizePath | None
) -> RashomonSet:
    """Return the trees near a run's own that keep the run's constraints.

    The others are what else its training left; the trees by size of its path are looked
    at as well. ``rows`` are those that they were trained on.
    """
    trees = [*others, *(() if path is None else path.trees)]
    constraints, classes = run.constraints, own.classes or ()
    return gather(
        own,
        trees,
        rows,
        class_weights(own),
        path,
        costs=trained_costs(constraints, classes, classes),
        keeps=lambda tree: not violations(tree, constraints),
    )


def why_no_others(tree: Tree) -> str:
    """Say why no other trees compare with a run's, scored alike; "" if they do."""
    reasons = {
        "it does not split": not tree.n_splits,
        "it predicts several numbers": bool(tree.outputs),
        "its leaves are linear models": tree.leaf_weights is not None,
        "its loss is not the squared error": tree.loss is not None,
    }
    return " and ".join(reason for reason, holds in reasons.items() if holds)


class Interrupted(Exception):
    """Training was aborted, because its process has to end."""


class Lost(Interrupted):
    """Training was aborted, because others took its process for dead."""


class Paused(Interrupted):
    """Training was aborted, because somebody paused it."""


def check_is_ours(store: RunStore, run_id: str, attempt: int | None) -> None:
    """Raise ``Lost`` where a run has ended, or others took it up in another attempt."""
    if store.why_ending(run_id, attempt) == "lost":
        raise Lost


class EventRecorder:
    """Training callback that saves the loss curves, and now and then the tree.

    The first report of a stage is written at once, later ones at most ten times a
    second. Of the reports in between, the one with the lowest validation loss and the
    last one are written, so that the curve has its start, its lowest point and its end.
    Seconds are counted from when the recorder was made: what a learner does before its
    own clock starts, as growing first trees, counts as well.

    Where ``should_abort`` returns True at a report, ``Interrupted`` is raised, once the
    checkpointer of the training under way has saved its state. Callbacks get each
    report, too; when one returns True, the training stops, as ``stop_requested`` then
    says.
    """

    def __init__(
        self,
        store: RunStore,
        run_id: str,
        should_abort: Callable[[], bool] = lambda: False,
        callbacks: Sequence[Callback] = (),
    ):
        self.attempt: int | None = None  # at the run, see ``Run``; None for any
        self.checkpointer: Checkpointer | None = None
        self.stop_requested = False
        self._store = store
        self._run_id = run_id
        self._should_abort, self._callbacks = should_abort, callbacks
        self._pending: list[Progress] = []
        self._stage: tuple | None = None  # of the last report
        self._next_write = 0.0
        self._next_snapshot = 0.0
        self._made = time.monotonic()
        self._before: float | None = None  # seconds until the learner's clock started

    def __call__(self, report: Progress) -> bool:
        """Record a report; True asks the training to stop."""
        self._record(report)
        self.stop_requested |= notify(self._callbacks, report)
        return self.stop_requested

    def _record(self, report: Progress) -> None:
        """Write a report, or let it wait to be written."""
        if self._before is None:
            passed = time.monotonic() - self._made
            self._before = max(passed - report.seconds, 0.0)
        report = replace(report, seconds=report.seconds + self._before)
        if report.retained is not None:
            self._retain(report.retained)
            return
        stage = (report.stage, report.is_preparation)
        if stage != self._stage:
            self.write()
            self._stage, self._next_write, self._next_snapshot = stage, 0.0, 0.0
        self._pending.append(report)
        if self._should_abort():
            self._abort(Interrupted())
        if time.monotonic() >= self._next_write:
            self.write()
            if not self.stop_requested:
                self._save_snapshot(report)
            self._next_write = time.monotonic() + WRITE_SECONDS

    def write(self) -> None:
        """Write the pending reports; raises ``Paused`` where a pause was asked for.

        Raises ``Lost`` where the run has ended without this training.
        """
        if not self.flush() and not self.stop_requested:
            self.check_is_ours()
            if self._store.why_ending(self._run_id, self.attempt) == "pause":
                self._abort(Paused())
            else:
                self.stop_requested = True

    def flush(self) -> bool:
        """Write the pending reports, as training has ended; whether it was to go on."""
        reports, self._pending = _lowest_and_last(self._pending), []
        if not reports:
            return True
        return self._store.add_events(self._run_id, reports, self.attempt)

    def check_is_ours(self) -> None:
        """Raise ``Lost`` where the run has ended, or others took it up again."""
        check_is_ours(self._store, self._run_id, self.attempt)

    def _abort(self, error: Interrupted) -> None:
        """End the training, after a checkpoint where one can be made."""
        if self.checkpointer is not None and self.checkpointer.in_stage:
            self.checkpointer.end_with(error)
            return
        if self.checkpointer is not None:
            self.checkpointer.flush()
        raise error

    def _retain(self, curve: RetainedCurve) -> None:
        """Put the curve and the trees of the retained candidate in the place of all."""
        self.write()
        self.check_is_ours()
        seconds = curve.history["seconds"] + (self._before or 0.0)
        self._store.replace_events(self._run_id, curve.history.assign(seconds=seconds))
        trees = {
            epoch: self._single_tree(build())
            for epoch, build in curve.snapshots.items()
        }
        if known := {epoch: tree for epoch, tree in trees.items() if tree is not None}:
            self._store.replace_snapshots(self._run_id, known)

    def _save_snapshot(self, report: Progress) -> None:
        """Save the tree of this moment when a snapshot is due."""
        began = time.monotonic()
        if report.snapshot is None or began < self._next_snapshot:
            return
        tree = self._single_tree(report.snapshot())
        if tree is not None:
            self._store.add_snapshot(self._run_id, report.epoch, tree)
        now = time.monotonic()
        self._next_snapshot = now + max(
            SNAPSHOT_SECONDS, (now - began) / SNAPSHOT_FRACTION
        )

    def _single_tree(self, model) -> Tree | None:
        """Return the tree that shows a model while it trains; None for an ensemble.

        It has the name of its target, which no learner knows.
        """
        if isinstance(model, PruningPath):
            model = model.trees[model.chosen]
        if not isinstance(model, Tree):
            return None
        try:
            facts = target_facts(self._store.run(self._run_id).problem)
        except LookupError:  # the run was deleted meanwhile
            return None
        return replace(model, **facts)


def _lowest_and_last(reports: list[Progress]) -> list[Progress]:
    """Pick the report of the lowest validation loss and the last one, in order."""
    if len(reports) <= 2:
        return reports
    *earlier, last = reports
    measured = [r for r in earlier if r.valid_loss == r.valid_loss]
    lowest = min(measured, key=lambda r: r.valid_loss, default=earlier[-1])
    return [lowest, last]


@dataclass(frozen=True)
class Fitted:
    """What comes out of a training."""

    model: Model
    problem: Problem  # what the model predicts
    split: DataSplit  # the rows on which it was trained, validated and is to be scored
    # Sentences on how it was trained, for the run's summary.
    notes: tuple[str, ...] = ()
    # What the training measured or names, for the run's summary.
    measured: dict[str, float | str] = field(default_factory=dict)
    origin: Origin | None = None  # how the model came about
    # The best tree at each number of leaves, where the learner finds them.
    path: SizePath | None = None
    # Other trees that score alike, of a learner of one tree.
    rashomon: RashomonSet | None = None


def fit_learner(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Split a run's table and fit the run's learner.

    ValueError if the rows or the settings allow no training.
    """
    split = run.problem.split(store.table(run.problem.table_id))
    estimator = run_estimator(run)
    check_loss(getattr(estimator, "loss", ""), run.problem, split)
    fit_rows(
        estimator, split.rows("train"), split.rows("valid"), callbacks, split.groups
    )
    path = getattr(estimator, "path_", None)  # ensembles have none
    path = path if isinstance(path, SizePath) else None  # argmin's is its model
    batch = getattr(estimator, "batch_", None)
    rashomon = None
    is_wanted = batch is not None or len(split.y_train) <= GATHERED_ROWS
    if path is not None and is_wanted and not why_no_others(estimator.model_):
        rows = split.rows(fitted_split(estimator.model_, split))
        trees = [] if batch is None else batch.export(rows.X, rows.y)
        rashomon = rashomon_set(run, estimator.model_, trees, rows, path)
    return Fitted(
        estimator.model_,
        run.problem,
        split,
        origin=estimator.origin_,
        path=path,
        rashomon=rashomon,
    )


def check_loss(loss: str, problem: Problem, split: DataSplit) -> None:
    """Raise ValueError unless a loss knows the targets of all rows of a split.

    It names the row of the table, counted from 1; scored rows are looked at, too.
    """
    if loss not in LOSSES:
        return
    y = pd.concat([split.rows(name).y for name in SPLITS])
    rows = (y.index + 1).to_numpy()
    Loss.named(loss).check_target(y.to_numpy(), repr(problem.target_name), rows)


def first_of(store: RunStore, run: Run, first_id: str) -> tuple[Run, Any, DataSplit]:
    """Return the run whose tree a run begins with, its model, and the rows of both.

    ValueError if it is gone.
    """
    try:
        first = store.run(first_id)
        model = store.model(first_id)
    except LookupError as error:
        raise ValueError(f"The run of the first tree is gone. {error}") from error
    return first, model, run.problem.split(store.table(run.problem.table_id))


def fit_rows(
    estimator,
    train: Rows,
    valid: Rows | None,
    callbacks: Sequence[Callback],
    groups: pd.Series | None,
) -> None:
    """Fit an estimator to rows with their weights; hold others out to validate.

    ``groups`` are those of all rows of the table, see ``DataSplit``.
    """
    from sklearn.utils.validation import has_fit_parameter  # takes a moment

    given: dict[str, Any] = {}
    if valid is not None:
        given = {"X_valid": valid.X, "y_valid": valid.y}
    if train.weight is not None:  # learners without weights take no such argument
        given["sample_weight"] = train.weight
        if valid is not None:
            given["sample_weight_valid"] = valid.weight
    if groups is not None and has_fit_parameter(estimator, "groups"):
        given["groups"] = groups.loc[train.X.index]
        if valid is not None:
            given["groups_valid"] = groups.loc[valid.X.index]
    estimator.fit(train.X, train.y, callbacks=callbacks, **given)


def run_estimator(run: Run):
    """Build the untrained estimator that a run asks for."""
    return make_estimator(
        run.learner,
        run.problem.task,
        run.settings,
        random_state=run.problem.seed,
        device=run.device,
    )
