"""Fitting a run's learner to the training rows of its table."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from treelab.data.problem import Problem
from treelab.data.split import DataSplit
from treelab.learners.common.origin import Origin
from treelab.learners.registry import make_estimator
from treelab.runs.jobs.model_facts import fitted_split
from treelab.runs.jobs.rashomon.trees_of_run import can_be_chosen_from, rashomon_set
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.events import Callback
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import Model
from treelab.trees.rashomon import RashomonSet

GATHERED_ROWS = 100_000  # on more, trees of a path are compared when a page asks


@dataclass(frozen=True)
class Fitted:
    """What comes out of a training.

    Attributes
    ----------
    model : Tree, WeightedTrees or PruningPath
    problem : Problem
        What the model predicts.
    split : DataSplit
        The rows on which it was trained, validated and is to be scored.
    notes : tuple of str
        Sentences on how it was trained, for the run's summary.
    measured : dict of str to float or str
        What the training measured or names, for the run's summary.
    origin : Origin or None
        How the model came about.
    path : SizePath or None
        The best tree at each number of leaves, where the learner finds them.
    rashomon : RashomonSet or None
        Other trees that score alike, of a learner of one tree.
    """

    model: Model
    problem: Problem
    split: DataSplit
    notes: tuple[str, ...] = ()
    measured: dict[str, float | str] = field(default_factory=dict)
    origin: Origin | None = None
    path: SizePath | None = None
    rashomon: RashomonSet | None = None


def fit_learner(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Split a run's table and fit the run's learner.

    Raises
    ------
    ValueError
        If the rows or the settings allow no training.
    """
    split = run.problem.split(store.table(run.problem.table_id))
    estimator = run_estimator(run)
    estimator.fit(
        split.X_train,
        split.y_train,
        X_valid=split.X_valid,
        y_valid=split.y_valid,
        callbacks=callbacks,
    )
    path = getattr(estimator, "path_", None)  # ensembles have none
    path = path if isinstance(path, SizePath) else None  # argmin's is its model
    batch = getattr(estimator, "batch_", None)
    rashomon = None
    is_wanted = batch is not None or len(split.y_train) <= GATHERED_ROWS
    if path is not None and is_wanted and can_be_chosen_from(estimator.model_):
        rows = split.rows(fitted_split(estimator.model_, split))
        trees = [] if batch is None else batch.export(*rows)
        rashomon = rashomon_set(run, estimator.model_, trees, rows, path)
    return Fitted(
        estimator.model_,
        run.problem,
        split,
        origin=estimator.origin_,
        path=path,
        rashomon=rashomon,
    )


def run_estimator(run: Run):
    """Build the untrained estimator that a run asks for."""
    return make_estimator(
        run.learner,
        run.problem.task,
        run.settings,
        random_state=run.problem.seed,
        device=run.device,
    )
