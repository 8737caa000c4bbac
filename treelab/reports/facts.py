"""What a report says of runs, read from the run store and measured from the models."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treelab.data.split import DataSplit
from treelab.evaluation.ensembles.estimator_weights import heaviest_estimators
from treelab.evaluation.frontier import FrontierLine, frontier_line
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import score_intervals
from treelab.evaluation.pruning_table import pruning_steps
from treelab.evaluation.same_test_rows import have_same_test_rows
from treelab.runs.jobs.residual import run_imitation
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.shown_tree import Model, shown_tree
from treelab.trees.tree import Tree

MOST_RUNS = 4


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A finished run with its model and its rows.

    Attributes
    ----------
    run : Run
    name : str
        Distinct from the other runs of a report.
    model : Tree, WeightedTrees or PruningPath
    split : DataSplit
    table_shape : (int, int)
        Rows and columns of the whole table.
    store : RunStore
    """

    run: Run
    name: str
    model: Model
    split: DataSplit
    table_shape: tuple[int, int]
    store: RunStore

    @property
    def metric(self) -> str:
        """Key of the headline score."""
        return headline(self.run.problem.task)

    @property
    def metric_title(self) -> str:
        """The headline score's name for people."""
        return TITLES[self.metric]

    @property
    def is_scored(self) -> bool:
        """Whether it predicts a target that it did not find itself."""
        return "test" in self.run.metrics and not self.run.problem.origin

    @property
    def score(self) -> float:
        """The headline score on the test rows, as all pages show it."""
        return self.run.metrics["test"][self.metric]

    @cached_property
    def predicted(self) -> np.ndarray:
        """Predictions for the test rows."""
        return self.model.predict(self.split.X_test)

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95% intervals of the test scores; none of a single row."""
        if len(self.split.y_test) < 2:
            return {}
        return score_intervals(
            self.run.problem.task, self.split.y_test.to_numpy(), self.predicted
        )

    @cached_property
    def estimator(self) -> int | None:
        """Of an ensemble the tree of highest mean weight on the test rows."""
        if not isinstance(self.model, WeightedTrees):
            return None
        return int(heaviest_estimators(self.model, self.split.X_test, 1)[0][0])

    @cached_property
    def tree(self) -> Tree:
        """The tree that is drawn."""
        return shown_tree(self.model, estimator=self.estimator)

    @property
    def has_predictor(self) -> bool:
        """Whether a predictor on top of the tree makes the predictions."""
        return isinstance(self.model, PruningPath) and self.model.has_predictor

    def imitation_sentences(self) -> list[str]:
        """Say how a surrogate does beside the model it imitates; else nothing."""
        problem = self.run.problem
        if not problem.is_surrogate:
            return []
        frame = self.store.table(problem.table_id)
        found = run_imitation(self.run, self.model, frame)
        model = f"“{problem.target}”"
        return [
            f"It imitates the predictions {model} of another model; all scores but "
            "those against the truth are its fidelity.",
            *found.sentences(model, "test row"),
        ]

    @cached_property
    def line(self) -> FrontierLine | None:
        """Its trees by size; None for an ensemble and for clusters."""
        if isinstance(self.model, WeightedTrees) or not self.is_scored:
            return None
        path = self.store.path(self.run.id)
        steps = pruning_steps(self.model, path, self.split, self.run.fitted_split)
        return frontier_line(steps.table, steps.chosen)


def read_facts(store: RunStore, runs: Sequence[Run]) -> list[RunFacts]:
    """Read the runs of a report.

    Raises
    ------
    LookupError
        If a run has no model, or its table is gone.
    ValueError
        If several runs do not compare, or are too many.
    """
    if not 1 <= len(runs) <= MOST_RUNS:
        raise ValueError(f"A report is of 1 to {MOST_RUNS} runs, got {len(runs)}.")
    for other in runs[1:]:
        if not have_same_test_rows(runs[0].problem, other.problem):
            raise ValueError(
                f"“{runs[0].title}” and “{other.title}” were not tested on the same "
                "rows; a comparison needs runs of one table, target and seed."
            )
    found = []
    for run, name in zip(runs, _names(runs)):
        frame = store.table(run.problem.table_id)
        split, model = run.problem.split(frame), store.model(run.id)
        found.append(RunFacts(run, name, model, split, frame.shape, store))
    return found


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the runs' titles without their table, distinct."""
    titles = [run.title.removesuffix(f" · {run.problem.table_name}") for run in runs]
    counts, seen, names = Counter(titles), Counter[str](), []
    for title in titles:
        seen[title] += 1
        names.append(f"{title} ({seen[title]})" if counts[title] > 1 else title)
    return names
