"""A run as the pages read it: its model, its trees, its events."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.store import shared_store, split_of, store, table
from treelab.data.split import DataSplit, Rows
from treelab.editing.edits import EDITS
from treelab.evaluation.comparison import trained_costs
from treelab.evaluation.metrics import headline
from treelab.evaluation.routing import RoutedRows
from treelab.figures.style import label_colors
from treelab.learners.registry import IMPORTED, find_spec
from treelab.runs.jobs.fit import fitted_split
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import default_home
from treelab.trees.constraints import ConstraintCheck, constraint_checks
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import Model, shown_tree
from treelab.trees.tree import Tree

WHOLE = "table"  # its rows, whatever their data split


@dataclass(frozen=True)
class LoadedRun:
    """A run with its model and its rows."""

    run: Run
    model: Model  # until it is there, the newest snapshot
    split: DataSplit
    epoch: float | None = None  # of the snapshot
    variant: str = ""  # which tree of the run's path, where not the retained one
    output: str = ""  # which of several outputs, where it is looked at alone

    @property
    def key(self) -> tuple:
        """What caches know the run and its model by."""
        return default_home(), self.run.id, self.epoch, self.variant, self.output

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the numbers that the model predicts together; () for one."""
        return getattr(self.model, "outputs", ())

    def of_output(self, name: str) -> "LoadedRun":
        """Return the run as if its tree predicted one of its outputs alone."""
        return _of_output(self, name) if self.outputs else self

    @property
    def fitted_split(self) -> str:
        """Name of the rows that the model was fitted to; see ``fitted_split``."""
        return fitted_split(self.model, self.split)

    def rows(self, split: str) -> Rows:
        """Return rows with their weights: of a data split, "fitted", or the ``WHOLE``.

        These are all rows of the run's table that have a target, in its order.
        """
        if split == WHOLE:
            return _whole(self)
        return self.split.rows(self.fitted_split if split == "fitted" else split)

    def n_rows(self, split: str) -> int:
        """Count the rows that ``rows`` returns."""
        return self.split.n_rows(self.fitted_split if split == "fitted" else split)

    @property
    def headline(self) -> str:
        """Key of the score by which the model is compared: of its loss, or its task."""
        return headline(self.run.problem.task, self.model.loss)

    @property
    def has_labels(self) -> bool:
        """Whether the target is known, and is not what the run itself found."""
        return not self.run.problem.origin

    @property
    def units(self) -> dict[str, str]:
        """Units of columns; of numbers that stood among words the model alone knows."""
        of_model = {own.column: own.unit for own in self.model.features if own.unit}
        return dict(self.run.problem.units) | of_model

    @property
    def is_ensemble(self) -> bool:
        """Whether a prediction is that of many trees together."""
        return isinstance(self.model, WeightedTrees)

    @property
    def is_single_tree(self) -> bool:
        """Whether it ended with one tree that predicts what people know."""
        return self.epoch is None and self.has_labels and not self.is_ensemble


# How Streamlit's caches tell runs apart, tables that were brought, rows in a tree, and
# edits: by what names them, not by their content. By its fields alone the edit that
# forbids a column would be one that allows it.
_OF_A_TREE = ("feature", "threshold", "missing_left", "left", "right", "value")
BY_KEY: dict[str | type, Callable] = {
    LoadedRun: attrgetter("key"),
    Run: lambda run: (default_home(), run.id),
    "pages.cached.predictions.GivenTable": attrgetter("key", "fill_absent"),
    "pages.cached.comparison.RunOnFrontier": attrgetter("loaded.key"),
    RoutedRows: attrgetter("key"),
    **dict.fromkeys(EDITS.values(), lambda edit: json.dumps(edit.to_dict())),
    # The columns, too: trees of columns that are alike have the same thresholds.
    Tree: lambda tree: tuple(getattr(tree, own).tobytes() for own in _OF_A_TREE),
}


def shared(most: int, spinner: str | bool = False, **how) -> Callable:
    """Cache what a function of runs returns: one object for all, never changed."""
    how |= {"show_spinner": spinner, "max_entries": most}
    return st.cache_resource(hash_funcs=BY_KEY, **how)


def copied(most: int, spinner: str | bool = False) -> Callable:
    """Cache what a function of runs returns; each reader gets a copy."""
    return st.cache_data(show_spinner=spinner, max_entries=most, hash_funcs=BY_KEY)


@shared(2)
def _whole(loaded: LoadedRun) -> Rows:
    """Return the rows of a run's table."""
    return loaded.split.whole()


@shared(16)
def _model_of(run: Run) -> Model:
    """Return the model that a finished run saved."""
    return shared_store().model(run.id)


@shared(16)
def size_path_of(run: Run) -> SizePath | None:
    """Return a run's best tree at each size, None where it has none."""
    return shared_store().path(run.id) if run.has_model else None


def one_output(loaded: LoadedRun, name: str) -> LoadedRun:
    """Return a run with one output, its impurities and its scores."""
    run, split = loaded.run, loaded.split.of_target(name)
    model = loaded.model.of_output(name)
    if not loaded.model.levels:
        model = model.with_rows(*split.rows(loaded.fitted_split))
    of_name = {part: found["outputs"][name] for part, found in run.metrics.items()}
    run = replace(run, metrics=of_name)
    return replace(loaded, run=run, model=model, split=split, output=name)


_of_output = shared(64)(one_output)


OUTPUT = "output"  # key of the session's choice


def chosen_output(loaded: LoadedRun) -> str:
    """Return which of several outputs the visitor looks at; "" where there is one."""
    if not loaded.outputs:
        return ""
    chosen = st.session_state.get(OUTPUT)
    main = loaded.outputs[loaded.model.main_output]
    return chosen if chosen in loaded.outputs else main


def load_run(run: Run) -> LoadedRun:
    """Return a run with its model, or with its newest snapshot while it trains.

    Of a tree of several outputs it is the one that the visitor looks at.

    Raises
    ------
    LookupError, OSError, ValueError
        If the model, or the table it was trained on, is gone or cannot be read.
    """
    whole = load_whole(run)
    return whole.of_output(chosen_output(whole))


def load_whole(run: Run) -> LoadedRun:
    """Return a run as ``load_run`` does, but with all outputs of its tree."""
    if run.has_model:
        return LoadedRun(run, _model_of(run), split_of(run.problem))
    for epoch in reversed(store().snapshots(run.id)):
        try:
            tree = store().snapshot(run.id, epoch)
        except LookupError:  # thinned out since it was listed; an older one stays
            continue
        return LoadedRun(run, tree, rows_for(run, tree), epoch)
    now = store().run(run.id)
    if now.has_model:  # it ended since it was listed
        return load_whole(now)
    words = f"The run {run.title!r} ({run.state}) has no tree yet."
    raise LookupError(f"{words} {run.way_to_model}".strip())


def epoch_words(run: Run, epoch: float) -> str:
    """Name the tree of an epoch: of an ensemble it is one of many."""
    spec = find_spec(run.learner)
    one = spec is None or spec.single_tree
    words = "" if one else ", the tree of highest weight"
    return (f"epoch {round(epoch, 1):g}" if epoch > 0 else "its start") + words


def load_readable(runs: list[Run]) -> list[LoadedRun]:
    """Return runs with their models, but for those whose files are gone or damaged.

    For a look at many runs: the page of one says what is wrong with it.
    """
    found = []
    for run in runs:
        with suppress(LookupError, OSError, ValueError):
            found.append(load_run(run))
    return found


def rows_for(run: Run, tree: Tree) -> DataSplit:
    """Return a run's rows; until clusters are found, they are those of this tree."""
    problem = run.problem
    if not problem.awaits_clusters:
        return split_of(problem)
    frame = table(problem.table_id)
    clusters = tree.predict(problem.table(frame))
    return problem.split(frame.assign(**{problem.target: clusters}))


def run_colors(loaded: LoadedRun) -> dict:
    """Return a hex colour for each class, the most frequent in training first."""
    if loaded.model.classes is None:
        return {}
    return label_colors(loaded.split.y_train, loaded.model.classes)


def error_costs(loaded: LoadedRun, labels: Sequence) -> np.ndarray | None:
    """Return costs, (true, predicted), where a run was trained by costs; else None."""
    return trained_costs(loaded.run.constraints, loaded.model.classes or (), labels)


def ranked_classes(loaded: LoadedRun) -> list:
    """Return the classes, the most frequent in training first."""
    return list(run_colors(loaded))


@shared(256, "Routing the rows…")
def run_tree(loaded: LoadedRun, estimator: int | None = None) -> Tree:
    """Return a run's tree, or one of its ensemble, with its rows; never changed."""
    tree = shown_tree(loaded.model, estimator=estimator)
    # Clusters count no labels or all rows, and an imported tree counts other rows.
    is_other = tree.n_rows[0] != loaded.n_rows("fitted")
    if loaded.is_ensemble or loaded.run.learner == IMPORTED or is_other:
        tree = tree.with_rows(*loaded.rows("fitted"))
    return tree


@copied(48)
def kept_constraints(run: Run, tree: Tree) -> list[ConstraintCheck]:
    """Return what was asked of a run's trees, and where one breaks it."""
    return constraint_checks(tree, run.constraints)


FRESH_SECONDS = 0.8  # for which what one watcher has read serves the others


class _Curve:
    """One run's events, as far as they were read."""

    def __init__(self):
        self.lock = threading.Lock()
        self.events: pd.DataFrame | None = None
        self.read = 0.0  # on the monotonic clock


def run_events(run: Run) -> pd.DataFrame:
    """Return a row an epoch, reading from the store only what is new; never changed."""
    # Read once more at the end: the curve may then be another, see RetainedCurve. A
    # resumed run's may be fewer.
    curve = _curve(default_home(), run.id, run.attempts, run.is_finished)
    with curve.lock:
        before, now = curve.events, time.monotonic()
        is_fresh = run.is_finished or now - curve.read <= FRESH_SECONDS
        if before is not None and is_fresh:
            return before
        last = -1 if before is None or before.empty else before["epoch"].max()
        new = shared_store().events(run.id, last)
        if before is None or len(new):
            curve.events = pd.concat([before, new], ignore_index=True)
        curve.read = now
        return curve.events


@shared(64, ttl=FRESH_SECONDS)
def preparation_events(run: Run) -> pd.DataFrame:
    """Return the curve of a running run's cross-validation; never changed."""
    return shared_store().preparation(run.id)


@st.cache_resource(show_spinner=False, max_entries=64)
def _curve(home: Path, run_id: str, attempts: int, is_finished: bool) -> _Curve:
    """What was read of a run's curve, one for all sessions."""
    return _Curve()
