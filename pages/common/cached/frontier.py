"""The trees by size of each run that compares with one, measured once."""

from collections.abc import Sequence
from dataclasses import dataclass

from pages.common.cached.loaded_run import LoadedRun, load_readable
from pages.common.cached.predictions import split_scores
from pages.common.cached.pruning_steps import pruning_steps
from pages.common.cached.store import finished_runs, newest_of_each_kind
from treelab.evaluation.frontier import HELD_OUT, FrontierLine, frontier_line
from treelab.evaluation.metrics import headline
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
