"""A surrogate run's imitation of its model, and the table of a residual tree."""

from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.columns import as_frame, class_labels
from treelab.data.problem import Problem
from treelab.evaluation.surrogates import Imitation, imitation, residual_target
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning_path import Model


def run_imitation(run: Run, model: Model, frame: pd.DataFrame) -> Imitation:
    """Hold a surrogate run's predictions against its model's, and against the truth.

    The run's target holds the predictions of another model. Of its whole table the test
    rows are compared.
    """
    problem = run.problem
    X, of_model, weight = problem.split(frame).rows("test")
    truth = None
    if problem.truth:
        column = as_frame(frame, [problem.truth])[problem.truth].loc[of_model.index]
        truth = _as_target(column, of_model, problem.task)
    return imitation(problem.task, of_model.to_numpy(), model.predict(X), truth, weight)


def residual_problem(store: RunStore, run: Run) -> Problem:
    """Store the table of a surrogate run's differences, and return its problem.

    The table has one column more: "agrees" or "differs" in each row, or how far the
    tree's prediction lies from the model's. The features are those of the run.
    ValueError if the tree agrees with the model on every row, or on none.
    """
    frame = store.table(run.problem.table_id)
    of_model = run.problem.labels(frame)
    X = run.problem.table(frame).loc[of_model.index]
    of_tree = store.model(run.id).predict(X)
    task = run.problem.task
    found = residual_target(task, of_model.to_numpy(), of_tree)
    regression = task == "regression"
    name = f"{'distance' if regression else 'difference'} from {run.problem.target}"
    while name in frame.columns:
        name += "'"
    residual = pd.Series(found, of_model.index).reindex(frame.index)
    table = frame.assign(**{name: residual})
    units = dict(run.problem.units)
    if regression and run.problem.target in units:
        units[name] = units[run.problem.target]
    title = f"{run.problem.table_name}, {run.title.split(' · ')[0]}'s differences"
    return replace(
        run.problem,
        table_id=store.add_table(table, title),
        table_name=title,
        target=name,
        task="regression" if regression else "binary",
        units=tuple(units.items()),
        is_surrogate=False,
        truth="",
    )


def residual_title(run: Run) -> str:
    """Name the run of a residual tree."""
    return f"Where {run.title.split(' · ')[0]} differs from {run.problem.target}"


def _as_target(truth: pd.Series, of_model: pd.Series, task: str) -> np.ndarray:
    """Return the truth as the model's predictions are written; missing as NaN."""
    if task == "regression":
        return pd.to_numeric(truth, errors="coerce").to_numpy(dtype=float)
    labels = np.full(len(truth), np.nan, dtype=object)
    known = truth.notna().to_numpy()
    labels[known] = class_labels(truth[known]).to_numpy()
    return labels
