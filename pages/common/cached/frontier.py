"""The trees by size of each run that compares with one, measured once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, load_readable
from pages.common.cached.predictions import split_scores
from pages.common.cached.pruning_steps import pruning_steps, step_predictions
from pages.common.cached.store import finished_runs, newest_of_each_kind
from treelab.evaluation.frontier import HELD_OUT, FrontierLine, frontier_line
from treelab.evaluation.metrics import headline
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.evaluation.same_test_rows import have_same_test_rows
from treelab.runs.store.run import Run
from treelab.trees.tree import Tree


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


def comparable_runs(run: Run, most: int) -> list[Run]:
    """Return finished runs with a run's test rows, one of each kind, newest first."""
    same = [r for r in finished_runs() if have_same_test_rows(r.problem, run.problem)]
    return newest_of_each_kind(same)[:most]


def on_frontier(loaded: LoadedRun) -> RunOnFrontier:
    """Return a run with its trees by size."""
    if loaded.is_ensemble:
        return RunOnFrontier(loaded, None)
    steps = pruning_steps(loaded)
    return RunOnFrontier(loaded, frontier_line(steps.table, steps.chosen), steps.trees)


def runs_on_frontier(pair: Sequence[LoadedRun], most: int) -> list[RunOnFrontier]:
    """Return the runs of a pair first, then others with the same test rows."""
    ids = {loaded.run.id for loaded in pair}
    others = [run for run in comparable_runs(pair[0].run, most) if run.id not in ids]
    return [on_frontier(own) for own in [*pair, *load_readable(others)][:most]]


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
    return paired_bootstrap(task, loaded.split.y_test.to_numpy(), *predicted)
