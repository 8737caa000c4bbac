"""What Compare measures of runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.predictions import heaviest_scores, split_scores
from pages.cached.runs import BY_KEY, LoadedRun, load_readable, run_colors, run_tree
from pages.cached.store import (
    find_run,
    finished_runs,
    newest_of_each_kind,
    store,
    table,
)
from pages.cached.tree_pictures import pruning_steps, step_predictions
from treelab.data.columns import column_kind
from treelab.data.split import Rows
from treelab.evaluation import pruning as pruning_table
from treelab.evaluation.comparison import (
    FEWEST_SPLITS,
    ClassCurves,
    class_curves,
    column_use,
    have_same_test_rows,
    mean_over_splits,
    most_used,
    own_splits,
    split_band,
    surface,
    typical_row,
)
from treelab.evaluation.frontier import HELD_OUT, FrontierLine, frontier_line
from treelab.evaluation.greedy_gap import GreedyGap, greedy_gap
from treelab.evaluation.metrics import headline
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.figures.viewer.payload import keys, small_trees, to_json
from treelab.runs.jobs.fit import fitted_split
from treelab.runs.jobs.repeats import runs_by_seed
from treelab.runs.store.run import Run
from treelab.trees.tree import Tree

# What Compare measures of runs, computed once.


GRID = 101  # places along each axis of a surface
MARKING_ROWS = 2_000  # test rows by which the splits of two trees are compared
GREEDY_ROWS = 50_000  # on which greedy trees are grown; of more rows a sample


@st.cache_resource(
    show_spinner="Growing greedy trees at every split…",
    max_entries=32,
    hash_funcs=BY_KEY,
)
def greedy_gap_of(loaded: LoadedRun) -> GreedyGap | None:
    """Return the split of a run's tree that greedy would not make, where one pays."""
    train, test = loaded.rows("fitted"), loaded.split.rows("test")
    return greedy_gap(run_tree(loaded), _some_rows(train), _some_rows(test))


@st.cache_data(show_spinner=False, max_entries=32, hash_funcs=BY_KEY)
def number_columns(pair: tuple[LoadedRun, LoadedRun]) -> tuple[str, ...]:
    """Return the number columns of both runs, the most used by both first."""
    first, second = (loaded.split.X_train for loaded in pair)
    shared = [
        name
        for name in first
        if name in second and column_kind(first[name]) == "number"
    ]
    uses = [column_use(own.model if own.is_ensemble else run_tree(own)) for own in pair]
    return most_used(uses, shared)


def held_row(loaded: LoadedRun, place: int | None) -> pd.DataFrame:
    """Return a test row, or where none is named the typical training row."""
    if place is None:
        return _typical_row(*loaded.key, loaded)
    return loaded.split.X_test.iloc[[place]]


@st.cache_resource(
    show_spinner="Predicting the plane…", max_entries=64, hash_funcs=BY_KEY
)
def surface_of(
    loaded: LoadedRun,
    columns: tuple[str, str],
    box: tuple[float, float, float, float],
    place: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (GRID,), y (GRID,) and a run's predictions (GRID, GRID) on a plane."""
    x, y = np.linspace(*box[:2], GRID), np.linspace(*box[2:], GRID)
    row = held_row(loaded, place)
    return x, y, surface(loaded.model, row, columns, x, y)


@st.cache_resource(show_spinner=False, max_entries=48, hash_funcs=BY_KEY)
def probabilities(loaded: LoadedRun) -> np.ndarray:
    """Return class probabilities of the test rows, in [0, 1]; never changed."""
    return np.clip(loaded.model.predict_proba(loaded.split.X_test), 0, 1)


def curves_of(loaded: LoadedRun, label) -> ClassCurves:
    """Return a run's curves of one class against the rest, on the test rows."""
    return _curves(*loaded.key, str(label), label, loaded)


@st.cache_resource(show_spinner=False, max_entries=48)
def _curves(home: Path, run_id: str, epoch, name: str, _label, _loaded) -> ClassCurves:
    """``curves_of``, by values that name them."""
    column = list(_loaded.model.classes).index(_label)
    _, truth, weight = _loaded.split.rows("test")
    is_class = (truth == _label).to_numpy()
    return class_curves(is_class, probabilities(_loaded)[:, column], weight)


@st.cache_resource(show_spinner=False, max_entries=16)
def _typical_row(home: Path, run_id: str, epoch, _loaded) -> pd.DataFrame:
    """``held_row`` of no row, by values that name it."""
    return typical_row(_loaded.split.X_train)


@st.cache_data(show_spinner=False, max_entries=32, hash_funcs=BY_KEY)
def marked_splits(
    pair: tuple[LoadedRun, LoadedRun], estimators: tuple[int | None, int | None]
) -> tuple[list[str], list[str]]:
    """Return the keys of the splits that only one of two trees has, of each."""
    (tree, X), (other, X_other) = (
        (run_tree(own, estimator), own.split.X_test.iloc[:MARKING_ROWS])
        for own, estimator in zip(pair, estimators)
    )
    found = own_splits(tree, other, X, X_other), own_splits(other, tree, X_other, X)
    names = keys(tree), keys(other)
    first, second = ([own[j] for j in at] for own, at in zip(names, found))
    return first, second


def _some_rows(rows: Rows) -> Rows:
    """Return rows, a sample of them where they are many."""
    if len(rows.X) <= GREEDY_ROWS:
        return rows
    drawn = np.random.default_rng(0).permutation(len(rows.X))[:GREEDY_ROWS]
    return rows.take(np.sort(drawn))


# The trees by size of runs that compare, and over data splits, measured once.


MOST_TREES = 10  # of an ensemble that are marked; more are no small model


@dataclass(frozen=True, eq=False)
class RunOnFrontier:
    """A run, and its trees by size; an ensemble has none.

    Attributes
    ----------
    loaded : LoadedRun
    line : FrontierLine or None
    trees : sequence of Tree
        By the steps of the line.
    """

    loaded: LoadedRun
    line: FrontierLine | None
    trees: Sequence[Tree] = ()

    def score(self, column: str) -> float:
        """Return an ensemble's own score on the rows of a column."""
        split = "valid" if column == HELD_OUT else "test"
        return split_scores(self.loaded, split)[headline(self.loaded.model.task)]


def few_trees(own: RunOnFrontier, column: str) -> pd.DataFrame | None:
    """Return what the heaviest trees of an ensemble reach alone; see ``DrawnLine``."""
    if own.line is not None:
        return None
    counts, scores = heaviest_scores(own.loaded)
    leaves = own.loaded.run.summary["leaves"] / own.loaded.model.n_estimators
    found = pd.DataFrame({"trees": counts, "leaves": leaves * np.array(counts)})
    found["score"] = scores.get("valid" if column == HELD_OUT else "test", np.nan)
    return found[(found["trees"] <= MOST_TREES) & found["score"].notna()]


def comparable_runs(run: Run, most: int) -> list[Run]:
    """Return finished runs with a run's test rows, one of each kind, newest first."""
    same = [r for r in finished_runs() if have_same_test_rows(r.problem, run.problem)]
    return newest_of_each_kind(without_sizes(same))[:most]


def without_sizes(runs: Sequence[Run]) -> list[Run]:
    """Leave out sizes chosen by hand where the run that has them all is there."""
    ids = {run.id for run in runs}
    return [run for run in runs if run.summary.get("pruned_from") not in ids]


def small_pictures(own: RunOnFrontier) -> str:
    """Return the trees of a run's line as small pictures, in JSON; null without."""
    return (
        _small_pictures(*own.loaded.key, own.line.chosen, own) if own.line else "null"
    )


@st.cache_resource(show_spinner=False, max_entries=64)
def _small_pictures(home: Path, run_id: str, epoch, chosen, _own) -> str:
    """``small_pictures``, by values that name the run."""
    trees = [_own.trees[int(step)] for step in _own.line.table["step"]]
    loaded = _own.loaded
    return to_json(
        small_trees(trees, split=loaded.fitted_split, colors=run_colors(loaded) or None)
    )


def on_frontier(loaded: LoadedRun, leaves: int | None = None) -> RunOnFrontier:
    """Return a run with its trees by size, its own or one of so many leaves chosen."""
    if loaded.is_ensemble:
        return RunOnFrontier(loaded, None)
    steps = pruning_steps(loaded)
    chosen = steps.chosen
    if leaves in (sizes := steps.table["leaves"].tolist()):
        chosen = sizes.index(leaves)
    return RunOnFrontier(loaded, frontier_line(steps.table, chosen), steps.trees)


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


def differences_at(
    first: RunOnFrontier, second: RunOnFrontier, places: tuple[int, int]
) -> dict[str, ScoreDifference]:
    """Return how the test scores of a tree of each run differ.

    Parameters
    ----------
    first, second : RunOnFrontier
        Both with a line.
    places : tuple of two int
        Rows of the trees in their lines' tables.
    """
    pair = first, second
    steps = [int(own.line.table.loc[at, "step"]) for own, at in zip(pair, places)]
    keys = tuple((own.loaded.key, step) for own, step in zip(pair, steps))
    return _differences(keys, pair)


@st.cache_data(show_spinner="Resampling the test rows…", max_entries=48)
def _differences(keys: tuple, _pair) -> dict[str, ScoreDifference]:
    """``differences_at``, by values that name the trees."""
    predicted: list[np.ndarray] = []
    for own, (_, step) in zip(_pair, keys):
        steps = pruning_steps(own.loaded)
        predicted.append(step_predictions(own.loaded, steps, step, tree_alone=False))
    loaded = _pair[0].loaded
    task = loaded.run.problem.task
    _, truth, weight = loaded.split.rows("test")
    return paired_bootstrap(task, truth.to_numpy(), *predicted, weight)


def trained_run(run: Run) -> Run:
    """Return the run that was trained, of one whose size was chosen by hand."""
    return find_run(run.summary.get("pruned_from")) or run


def band_of(
    run: Run, column: str, known: Sequence[Run]
) -> tuple[pd.DataFrame | None, int]:
    """Return a run's scores by size over data splits, and how many splits these are.

    Parameters
    ----------
    run : Run
    column : {"held_out", "test"}
    known : sequence of Run
        Among which those of other data splits are looked for.

    Returns
    -------
    band : DataFrame or None
        None where there are fewer than two splits. An ensemble has one score a split,
        whatever its size: one row.
    n_splits : int
    """
    runs = list(runs_by_seed(trained_run(run), known).values())
    if len(runs) < FEWEST_SPLITS:
        return None, len(runs)
    if "estimators" in run.summary:
        split, name = (
            ("valid" if column == HELD_OUT else "test"),
            headline(run.problem.task),
        )
        mean, error = mean_over_splits([own.metrics[split][name] for own in runs])
        found = {"leaves": [1], "mean": [mean], "standard_error": [error]}
        return pd.DataFrame(found), len(runs)
    lines = [line for own in runs if (line := _line(store().home, own.id)) is not None]
    band = split_band(lines, column)
    return (None if band.empty else band), len(lines)


@st.cache_resource(
    show_spinner="Measuring the trees of each data split…", max_entries=256
)
def _line(home: Path, run_id: str) -> FrontierLine | None:
    """A finished run's trees by size; None where its files are gone or damaged.

    Read past the caches of the runs that are looked at, which these would push out.
    """
    try:
        run, model = store().run(run_id), store().model(run_id)
        path = store().path(run_id)
        split = run.problem.split(table(run.problem.table_id))
    except (LookupError, OSError, ValueError):
        return None
    path = path if path is not None and pruning_table.is_scored(path) else None
    steps = pruning_table.pruning_steps(model, path, split, fitted_split(model, split))
    return frontier_line(steps.table, steps.chosen)
