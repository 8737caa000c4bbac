"""What Compare measures of runs, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached import store as stored
from pages.cached.predictions import heaviest_scores, probabilities, split_scores
from pages.cached.runs import (
    LoadedRun,
    copied,
    load_readable,
    one_output,
    run_colors,
    run_tree,
    shared,
)
from pages.cached.store import store, table
from pages.cached.tree_pictures import pruning_steps, run_at
from treelab.data.columns import column_kind
from treelab.evaluation import comparison, pruning
from treelab.evaluation.frontier import HELD_OUT, TEST, FrontierLine, frontier_line
from treelab.evaluation.greedy_gap import GreedyGap, greedy_gap
from treelab.figures.comparison import Surface
from treelab.figures.viewer.payload import keys, small_trees, to_json
from treelab.runs.jobs.repeats import runs_by_seed
from treelab.runs.store.run import Run
from treelab.trees.tree import Tree

GRID = 101  # places along each axis of a surface
MARKING_ROWS = 2_000  # test rows by which the splits of two trees are compared
GREEDY_ROWS = 50_000  # on which greedy trees are grown; of more rows a sample


@shared(32, "Growing greedy trees at every split…")
def greedy_gap_of(loaded: LoadedRun) -> GreedyGap | None:
    """Return the split of a run's tree that greedy would not make, where one pays."""
    rows = [loaded.rows(name).sample(GREEDY_ROWS) for name in ("fitted", "test")]
    return greedy_gap(run_tree(loaded), *rows)


@copied(32)
def number_columns(pair: tuple[LoadedRun, LoadedRun]) -> tuple[str, ...]:
    """Return the number columns of both runs, the most used by both first."""
    first, second = (loaded.split.X_train for loaded in pair)
    both = [n for n in first if n in second and column_kind(first[n]) == "number"]
    models = [own.model if own.is_ensemble else run_tree(own) for own in pair]
    return comparison.most_used([*map(comparison.column_use, models)], both)


@shared(48)
def held_row(loaded: LoadedRun, place: int | None) -> pd.DataFrame:
    """Return a test row, or where none is named the typical training row."""
    if place is None:
        return comparison.typical_row(loaded.split.X_train)
    return loaded.split.X_test.iloc[[place]]


@shared(64, "Predicting the plane…")
def surface_of(
    loaded: LoadedRun,
    columns: tuple[str, str],
    box: tuple[float, float, float, float],
    place: int | None,
) -> Surface:
    """Return a run's predictions on a plane, (GRID, GRID)."""
    x, y = np.linspace(*box[:2], GRID), np.linspace(*box[2:], GRID)
    row = held_row(loaded, place)
    return Surface(x, y, comparison.surface(loaded.model, row, columns, x, y))


@shared(48)
def curves_of(loaded: LoadedRun, label) -> comparison.ClassCurves:
    """Return a run's curves of one class against the rest, on the test rows."""
    column = list(loaded.model.classes).index(label)
    _, truth, weight = loaded.split.rows("test")
    is_class = (truth == label).to_numpy()
    return comparison.class_curves(is_class, probabilities(loaded)[:, column], weight)


@copied(32)
def marked_splits(
    pair: tuple[LoadedRun, LoadedRun], estimators: tuple[int | None, int | None]
) -> tuple[list[str], list[str]]:
    """Return the keys of the splits that only one of two trees has, of each."""
    tree, other = map(run_tree, pair, estimators)
    X, X_other = (own.split.X_test.iloc[:MARKING_ROWS] for own in pair)
    found = comparison.own_splits(tree, other, X, X_other)
    of_other = comparison.own_splits(other, tree, X_other, X)
    names, other_names = keys(tree), keys(other)
    return [names[j] for j in found], [other_names[j] for j in of_other]


SPLIT_OF = {HELD_OUT: "valid", TEST: "test"}  # whose rows score an ensemble
MOST_TREES = 10  # of an ensemble that are marked; more are no small model


@dataclass(frozen=True, eq=False)
class RunOnFrontier:
    """A run, and its trees by size; an ensemble has none."""

    loaded: LoadedRun
    line: FrontierLine | None
    trees: Sequence[Tree] = ()  # by the steps of the line

    def score(self, column: str) -> float:
        """Return an ensemble's own score on the rows of a column."""
        return split_scores(self.loaded, SPLIT_OF[column])[self.loaded.headline]

    def at(self, place: int) -> LoadedRun:
        """Return the run as if it had retained the tree of a row of its line."""
        return run_at(self.loaded, int(self.line.table["step"][place]))


def few_trees(own: RunOnFrontier, column: str) -> pd.DataFrame | None:
    """Return what the heaviest trees of an ensemble reach alone; see ``DrawnLine``."""
    if own.line is not None:
        return None
    counts, scores = heaviest_scores(own.loaded)
    leaves = own.loaded.run.summary["leaves"] / own.loaded.model.n_estimators
    found = pd.DataFrame({"trees": counts, "leaves": leaves * np.array(counts)})
    found["score"] = scores.get(SPLIT_OF[column], np.nan)
    return found[(found["trees"] <= MOST_TREES) & found["score"].notna()]


def comparable_runs(run: Run, most: int) -> list[Run]:
    """Return finished runs with a run's test rows and loss, one of each kind."""
    alike = [own for own in stored.finished_runs() if own.loss == run.loss]
    has_same = comparison.have_same_test_rows
    same = [own for own in alike if has_same(own.problem, run.problem)]
    return stored.newest_of_each_kind(without_sizes(same))[:most]


def without_sizes(runs: Sequence[Run]) -> list[Run]:
    """Leave out sizes chosen by hand where the run that has them all is there."""
    ids = {run.id for run in runs}
    return [run for run in runs if run.summary.get("pruned_from") not in ids]


@shared(64)
def small_pictures(own: RunOnFrontier) -> str:
    """Return the trees of a run's line as small pictures, in JSON; null without."""
    if own.line is None:
        return "null"
    trees = [own.trees[int(step)] for step in own.line.table["step"]]
    colors = run_colors(own.loaded) or None
    return to_json(small_trees(trees, split=own.loaded.fitted_split, colors=colors))


def on_frontier(loaded: LoadedRun, leaves: int | None = None) -> RunOnFrontier:
    """Return a run with its trees by size, its own or one of so many leaves chosen."""
    if loaded.is_ensemble:
        return RunOnFrontier(loaded, None)
    steps = pruning_steps(loaded)
    chosen = steps.own
    if leaves in (sizes := steps.table["leaves"].tolist()):
        chosen = sizes.index(leaves)
    return RunOnFrontier(loaded, frontier_line(steps.judged, chosen), steps.trees)


def runs_on_frontier(pair: Sequence[LoadedRun], most: int) -> list[RunOnFrontier]:
    """Return the runs of a pair first, then others with the same test rows.

    A run whose size was chosen by hand is a point on the line of the run that has all
    its sizes.
    """
    first, sizes = {}, {}
    for loaded in pair:
        own = trained_run(loaded.run)
        first[own.id] = own
        if own.id != loaded.run.id:
            sizes[own.id] = loaded.run.summary.get("leaves")
    others = {run.id: run for run in comparable_runs(pair[0].run, most)}
    found = load_readable([*(first | others).values()][:most])
    return [on_frontier(loaded, sizes.get(loaded.run.id)) for loaded in found]


def trained_run(run: Run) -> Run:
    """Return the run that was trained, of one whose size was chosen by hand."""
    return stored.find_run(run.summary.get("pruned_from")) or run


def band_of(run: Run, column: str, output: str = "") -> tuple[pd.DataFrame | None, int]:
    """Return a run's scores by size over data splits, and how many splits these are.

    None where there are fewer than two. An ensemble has one score a split, whatever its
    size: one row.
    """
    runs = list(runs_by_seed(trained_run(run), stored.finished_runs()).values())
    if len(runs) < comparison.FEWEST_SPLITS:
        return None, len(runs)
    if "estimators" in run.summary:
        scores = [own.metrics[SPLIT_OF[column]][run.headline] for own in runs]
        mean, error = comparison.mean_over_splits(scores)
        found = {"leaves": [1], "mean": [mean], "standard_error": [error]}
        return pd.DataFrame(found), len(runs)
    found = [_line(store().home, own.id, output) for own in runs]
    lines = [line for line in found if line is not None]
    band = comparison.split_band(lines, column)
    return (None if band.empty else band), len(lines)


@st.cache_resource(
    show_spinner="Measuring the trees of each data split…", max_entries=256
)
def _line(home: Path, run_id: str, output: str) -> FrontierLine | None:
    """A finished run's trees by size, of an output's scores if one is named.

    None where its files are gone or damaged.

    Read past the caches of the runs that are looked at, which these would push out.
    """
    try:
        run, model = store().run(run_id), store().model(run_id)
        path = None if output else store().path(run_id)
        split = run.problem.split(table(run.problem.table_id))
    except (LookupError, OSError, ValueError):
        return None
    own = LoadedRun(run, model, split)
    own = one_output(own, output) if output else own
    steps = pruning.pruning_steps(own.model, path, own.split, own.fitted_split)
    return frontier_line(steps.judged, steps.chosen)
