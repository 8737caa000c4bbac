"""What a run predicts for rows, and why."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pages.cached.runs import LoadedRun, copied, shared
from pages.cached.store import table
from treelab.data.reading.read_table import read_table
from treelab.evaluation import ensembles, importance
from treelab.evaluation.comparison import misclassified
from treelab.evaluation.counterfactuals import KnownValues
from treelab.evaluation.explanations import least_sure, typical_rows, worst_errors
from treelab.evaluation.metrics import headline_score, scores
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.evaluation.predictions import (
    NewTable,
    forms_to_read,
    new_scores,
    new_table,
    prediction_columns,
    trained_on_note,
    with_amounts,
)
from treelab.evaluation.surrogates import Imitation, imitation
from treelab.learners.registry import IMPORTED
from treelab.runs.jobs.residual import run_imitation
from treelab.trees.tree import Tree

MOST_ESTIMATORS = 24  # trees of an ensemble that a page offers


@shared(48)
def predictions(loaded: LoadedRun, split: str) -> np.ndarray:
    """Return the run's predictions for one data split, (n_rows,); never changed."""
    return loaded.model.predict(loaded.rows(split).X)


@copied(96)
def split_scores(loaded: LoadedRun, split: str) -> dict[str, float]:
    """Return the scores on one data split, as the run stored them, or measured now."""
    if stored := loaded.run.metrics.get(split):
        return stored
    _, truth, weight = loaded.split.rows(split)
    given = loaded.run.problem.task, truth, predictions(loaded, split)
    return scores(*given, sample_weight=weight, loss=loaded.model.loss)


def tree_score(loaded: LoadedRun, tree: Tree) -> float:
    """Return the test score of a tree by its leaves, with no predictor on top."""
    task, (X, y, weight) = loaded.run.problem.task, loaded.split.rows("test")
    return headline_score(task, y, tree.predict(X), weight, loaded.model.loss)


@shared(16, "Weighing the trees…")
def top_estimators(loaded: LoadedRun) -> tuple[np.ndarray, np.ndarray]:
    """Return trees by mean weight on the test rows, the heaviest first, and these."""
    X, _, weight = loaded.split.rows("test")
    return ensembles.heaviest_estimators(loaded.model, X, MOST_ESTIMATORS, weight)


@copied(32, "Resampling the test rows…")
def score_differences(
    first: LoadedRun, second: LoadedRun
) -> dict[str, ScoreDifference]:
    """Return how a second run's test scores differ; of one loss, its D², too."""
    loss = first.model.loss if first.model.loss == second.model.loss else None
    task, (_, truth, weight) = first.run.problem.task, first.split.rows("test")
    predicted = predictions(first, "test"), predictions(second, "test")
    return paired_bootstrap(task, truth.to_numpy(), *predicted, weight, loss=loss)


@copied(16)
def imitations(loaded: LoadedRun) -> dict[str, Imitation]:
    """Hold a surrogate run against the model it imitates, and against the truth.

    Of the "fitted" rows, and of the "test" rows with the truth where it is known. A
    ValueError says that truth and predictions share no label.
    """
    run = loaded.run
    X, of_model, weight = loaded.rows("fitted")
    predicted = loaded.model.predict(X)
    return {
        "fitted": imitation(run.problem.task, of_model, predicted, weight=weight),
        "test": run_imitation(run, loaded.model, table(run.problem.table_id)),
    }


@dataclass(frozen=True)
class GivenTable:
    """A table to predict."""

    frame: pd.DataFrame  # as the run's model reads it; shared, never changed
    written: pd.DataFrame  # the cells as they came
    name: str
    key: str  # what caches know it by
    notes: tuple[str, ...] = ()  # how it was read
    dates: tuple[str, ...] = ()  # its columns of dates
    fill_absent: bool = False  # whether columns that it lacks are read as empty


@shared(4, "Reading the new rows…")
def read_given(
    loaded: LoadedRun,
    key: str,
    name: str,
    _content: bytes,
    sheet: str | None = None,
    query: str | None = None,
    header: int | None = None,
) -> GivenTable:
    """Read a table that a visitor brought as the run's model does; it is not stored.

    Of a file of several tables ``sheet``, ``query`` and ``header`` say which is meant.
    """
    forms = forms_to_read(
        loaded.model, loaded.run.problem, lambda table_id, names: table(table_id)[names]
    )
    part = {"sheet": sheet, "query": query, "header": header}
    found = read_table(_content, name, as_in=forms, one_column=True, **part)
    notes, dates = tuple(found.notes), tuple(found.dates)
    return GivenTable(found.frame, found.written, name, f"{key} {part}", notes, dates)


@shared(2)
def ready_table(loaded: LoadedRun, given: GivenTable) -> NewTable:
    """Return a table as the run's model reads it; see ``new_table``."""
    how = {"fill_absent": given.fill_absent}
    return new_table(loaded.model, given.frame, given.name, **how)


@shared(2, "Predicting…")
def predicted_columns(
    loaded: LoadedRun, given: GivenTable, parts: tuple[str, ...]
) -> pd.DataFrame:
    """Return what a run predicts for a table; see ``prediction_columns``."""
    X = ready_table(loaded, given).X
    predicted = prediction_columns(loaded.model, X, parts)
    return with_amounts(predicted, given.frame, loaded.run.problem)


@copied(8)
def scores_on(loaded: LoadedRun, given: GivenTable) -> tuple[dict[str, float], str]:
    """Score a run on a table that holds its target; see ``new_scores``."""
    X = ready_table(loaded, given).X
    found, note = new_scores(loaded.model, given.frame, X, loaded.run.problem)
    if found and loaded.run.learner != IMPORTED:
        own = table(loaded.run.problem.table_id)
        seen = trained_on_note(own, given.frame, loaded.split)
        note = f"{note} {seen}".strip()
    return found, note


MISCLASSIFIED, UNSURE, ERRORS, TYPICAL = "wrong", "unsure", "errors", "typical"


@shared(48)
def probabilities(loaded: LoadedRun, split: str = "test") -> np.ndarray | None:
    """Return class probabilities of a data split, in [0, 1]; None for regression."""
    if loaded.model.classes is None:
        return None
    return np.clip(loaded.model.predict_proba(loaded.rows(split).X), 0, 1)


@shared(64)
def ranked_rows(
    loaded: LoadedRun, order: str, label=None, split: str = "test"
) -> np.ndarray:
    """Return places, from 0, of a data split's rows in an order; typical of a label."""
    X, y, _ = loaded.rows(split)
    predicted, proba = predictions(loaded, split), probabilities(loaded, split)
    if order == MISCLASSIFIED:
        return misclassified(y, predicted)
    if order == UNSURE:
        return least_sure(loaded.model, X, proba)
    if order == ERRORS:
        return worst_errors(y, predicted, proba, loaded.model.classes)
    candidates = np.ones(len(y), dtype=bool)
    if label is not None:
        candidates = (np.asarray(y) == label) & (np.asarray(predicted) == label)
    return typical_rows(X, candidates)


@shared(2)
def known_values(loaded: LoadedRun) -> KnownValues:
    """Return what the columns of the training rows hold; shared, filled when asked."""
    return KnownValues(loaded.split.X_train)


@copied(16, "Shuffling one feature after the other…")
def shuffled_importances(loaded: LoadedRun) -> pd.DataFrame:
    """Return how much the test score falls when a column is shuffled."""
    (X, y, weight), task = loaded.split.rows("test"), loaded.run.problem.task
    return importance.permutation_importances(loaded.model, X, y, task, weight)


@shared(64)
def run_dependence(
    loaded: LoadedRun, column: str, output: int
) -> importance.Dependence:
    """Return how predictions depend on a column, over a sample of test rows."""
    known = loaded.split.X_train[column].dropna()
    values, seen = importance.step_ends(loaded.model, known), None
    if values is None:
        values = importance.grid(known)
    else:
        seen = np.unique(known.to_numpy(float))
    rows = importance.sample_rows(loaded.split.X_test)
    found = importance.dependence(loaded.model, rows, column, values, output)
    if loaded.split.weight is None:
        return replace(found, seen=seen)
    weight = loaded.split.weight.loc[rows.index].to_numpy()
    return replace(found, seen=seen, weight=weight)


@copied(16, "Letting fewer trees decide…")
def heaviest_scores(loaded: LoadedRun) -> tuple[tuple[int, ...], dict[str, np.ndarray]]:
    """Return how many trees are tried, and their scores on each held-out data split.

    Counts ascend, the last is all; scores are (n_counts,) by data split that has rows.
    """
    counts, scores = ensembles.counts_to_try(loaded.model), {}
    for split in ("valid", "test"):
        X, y, weight = loaded.split.rows(split)
        if len(y):
            given = X, y, counts, weight
            scores[split] = ensembles.scores_of_heaviest(loaded.model, *given)
    return counts, scores


@shared(32, "Looking for simple rules…")
def decided_rows(loaded: LoadedRun, share: float) -> list[ensembles.DecidedRows]:
    """Return the test rows that one tree decides with more than a share."""
    rows = loaded.split.rows("test")
    return ensembles.rows_decided_by_one(loaded.model, *rows, share=share)
