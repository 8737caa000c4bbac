"""A run as the pages read it: its model, and the rows it was trained on."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pages.common.cached.store import model_of, split_of, store, table
from treelab.data.split import DataSplit
from treelab.figures.style import label_colors
from treelab.runs.jobs.model_facts import fitted_split
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import default_home
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import PruningPath
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class LoadedRun:
    """A run with its model and its rows.

    Attributes
    ----------
    run : Run
    model : Tree, WeightedTrees or PruningPath
        A training run's newest snapshot while there is no model yet.
    split : DataSplit
        The run's rows.
    epoch : float or None
        Epoch of the snapshot; None for a model.
    """

    run: Run
    model: Tree | WeightedTrees | PruningPath
    split: DataSplit
    epoch: float | None = None

    @property
    def key(self) -> tuple[Path, str, float | None]:
        """What caches know the run and its model by."""
        return default_home(), self.run.id, self.epoch

    @property
    def fitted_split(self) -> str:
        """Name of the rows that the model was fitted to; see ``fitted_split``."""
        return fitted_split(self.model, self.split)

    def rows(self, split: str) -> tuple[pd.DataFrame, pd.Series]:
        """Return (X, y) of a data split, or of the "fitted" rows."""
        return self.split.rows(self.fitted_split if split == "fitted" else split)

    def n_rows(self, split: str) -> int:
        """Count the rows that ``rows`` returns."""
        return self.split.n_rows(self.fitted_split if split == "fitted" else split)

    @property
    def has_labels(self) -> bool:
        """Whether the target is known, and is not what the run itself found."""
        return not self.run.problem.origin

    @property
    def is_ensemble(self) -> bool:
        """Whether a prediction is that of many trees together."""
        return isinstance(self.model, WeightedTrees)

    @property
    def has_predictor(self) -> bool:
        """Whether a predictor on top of the tree makes the predictions."""
        return isinstance(self.model, PruningPath) and self.model.has_predictor


def load_run(run: Run) -> LoadedRun:
    """Return a run with its model, or with its newest snapshot while it trains.

    Raises
    ------
    LookupError, OSError, ValueError
        If the model, or the table it was trained on, is gone or cannot be read.
    """
    if run.has_model:
        return LoadedRun(run, model_of(run), split_of(run.problem))
    for epoch in reversed(store().snapshots(run.id)):
        try:
            tree = store().snapshot(run.id, epoch)
        except LookupError:  # thinned out since it was listed; an older one stays
            continue
        return LoadedRun(run, tree, rows_for(run, tree), epoch)
    now = store().run(run.id)
    if now.has_model:  # it ended since it was listed
        return load_run(now)
    raise LookupError(f"The run {run.title!r} ({run.state}) has no tree yet.")


def load_readable(runs: list[Run]) -> list[LoadedRun]:
    """Return runs with their models, but for those whose files are gone or damaged.

    For a look at many runs: the page of one says what is wrong with it.
    """
    found = []
    for run in runs:
        try:
            found.append(load_run(run))
        except (LookupError, OSError, ValueError):
            continue
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


def ranked_classes(loaded: LoadedRun) -> list:
    """Return the classes, the most frequent in training first."""
    return list(run_colors(loaded))
