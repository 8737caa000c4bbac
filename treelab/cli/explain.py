"""``treelab explain``: why a run predicts what it does for one test row."""

import sys
from argparse import Namespace
from typing import Any

import numpy as np
import pandas as pd

from treelab.cli.arguments import command, json_text
from treelab.cli.tables import OF_FILE, read_named_table
from treelab.data.columns import cast_column
from treelab.data.problem import Problem
from treelab.data.split import Rows
from treelab.data.writing import csv_text
from treelab.evaluation.ensembles import rows_decided_by_one
from treelab.evaluation.predictions import forms_to_read, new_table, true_classes
from treelab.reports.run_report import decision_words, prediction_words, value_words
from treelab.runs.store.run_store import RunStore
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import Model
from treelab.trees.tree import Tree, knows_interval, predicts_several


@command(
    "explain",
    "say why a run predicts what it does for a test row",
    """
    Writes the prediction for a test row and the path that decided it; of an ensemble
    the trees of highest weight and the rule of the first. With --simple-rules: the
    rules by which one tree of an ensemble decides test rows nearly alone.

    run RUN  id of a run
    [home]
    --table FILE  explain a row of this table, which is read as the training rows were
    [file]
    ! --row N  number of a test row, from 1, as in the app; with --table: of its rows
    ! --simple-rules  write them as CSV (ensembles)
    --share  with --simple-rules: weight above which one tree decides a row (default:
        0.5)
    --json  print JSON
    """,
    row=int,
    share=float,
)
def explain(arguments: Namespace) -> None:
    """Explain one test row, or list the simple rules."""
    _refuse_unread(arguments)
    store = RunStore(arguments.home)
    model, problem = store.model(arguments.run), store.run(arguments.run).problem
    test = problem.split(store.table(problem.table_id)).rows("test")
    X, y = test.X, test.y
    if arguments.simple_rules:
        rules = _simple_rules(model, test, arguments.share)
        as_json = rules.to_json(orient="records", indent=1, force_ascii=False) + "\n"
        print(as_json if arguments.json else csv_text(rules), end="")
        return
    rows: pd.DataFrame = X
    targets: pd.Series | pd.DataFrame | None = y
    if arguments.table is not None:
        rows, targets = _new_rows(model, problem, arguments)
    if not 1 <= arguments.row <= len(rows):
        raise ValueError(f"--row must be from 1 to {len(rows)}, got {arguments.row}.")
    row = rows.iloc[[arguments.row - 1]]
    target = None if targets is None else targets.iloc[arguments.row - 1]
    if predicts_several(model):
        _explain_each(arguments, model, row, target, test)
        return
    if arguments.json:
        print(json_text(_row_facts(model, row, target, test, arguments.row)))
        return
    _print_row(model, row, target, test)


def _refuse_unread(arguments: Namespace) -> None:
    """Raise ValueError for an option that the others leave nothing to say of."""
    goes_with = dict.fromkeys(OF_FILE, "table") if arguments.table is None else {}
    goes_with |= (
        {"table": "row"} if arguments.simple_rules else {"share": "simple-rules"}
    )
    for name, other in goes_with.items():
        if getattr(arguments, name) is not None:
            raise ValueError(f"--{name} goes with --{other}: leave --{name} out.")


def _explain_each(arguments: Namespace, model: Tree, row, target, test: Rows) -> None:
    """Explain each of several outputs by itself, each by the same splits."""
    found = {}
    for name in model.outputs:
        one, truth, rows = model.of_output(name), target, test
        if not model.levels:
            truth = target[name] if isinstance(target, pd.Series) else None
            rows = test._replace(y=test.y[name])
        if arguments.json:
            found[name] = _row_facts(one, row, truth, rows, arguments.row)
            continue
        print(f"{name}:")
        _print_row(one, row, truth, rows)
    if arguments.json:
        print(json_text(found))


def _print_row(model: Model, row, target, test: Rows) -> None:
    """Print the prediction for a row, and what decided it."""
    print(f"Prediction: {prediction_words(model, row)}")
    if target is not None and target == target:
        print(f"Target: {value_words(model, target)}")
    lines = decision_words(model, row, *test)
    if not isinstance(model, WeightedTrees):  # the steps of a path; then their leaf
        lines[:-1] = [f"{i}. {step}" for i, step in enumerate(lines[:-1], 1)]
    print("\n".join(lines))


def _new_rows(
    model: Model, problem: Problem, arguments: Namespace
) -> tuple[pd.DataFrame, Any]:
    """Read the rows of a table as a model does, and their target where it has one.

    Several targets are a frame.
    """
    forms = forms_to_read(model, problem, RunStore(arguments.home).table)
    read, name = read_named_table(arguments, one_column=True, as_in=forms)
    table = new_table(model, read.frame, name)
    for note in table.notes:
        print(note, file=sys.stderr)
    if predicts_several(model) and not model.levels:
        return table.X, read.frame.reindex(columns=[*model.outputs])
    target = read.frame.get(problem.target)
    if problem.exposure and target is not None:
        exposure = read.frame.get(problem.exposure, np.nan)
        target = cast_column(target, "number") / exposure
        target = target.where(np.isfinite(target))  # no exposure, no rate
    if target is not None and model.classes is not None:
        labels = {str(label): label for label in model.classes}
        known = true_classes(model, target.dropna()).astype(object)
        target = known.replace(labels).reindex(target.index)
    return table.X, target


def _row_facts(model: Model, row, target, test: Rows, number: int) -> dict:
    """Return the prediction for a row, and what decided it."""
    found = {
        "row": number,
        "prediction": model.predict(row)[0],
        "target": None if target is None or target != target else target,
        "reasons": decision_words(model, row, *test),
    }
    if model.classes is not None:
        names = [str(label) for label in model.classes]
        found["probabilities"] = dict(zip(names, model.predict_proba(row)[0].tolist()))
    if knows_interval(model):
        found["interval"] = model.predict_interval(row)[0].tolist()
        found["interval_level"] = model.interval_fraction
    return found


def _simple_rules(model: Model, test: Rows, share: float | None) -> pd.DataFrame:
    """Return a line for each rule that decides test rows by itself."""
    if not isinstance(model, WeightedTrees):
        raise ValueError("The model is one tree: export --format rules writes them.")
    names = ["tree", "test_rows", "correct", "mean_weight", "prediction", "rule"]
    if model.classes is None:
        names[2] = "mean_absolute_error"
    share = 0.5 if share is None else share
    lines = [
        (
            own.estimator,
            len(own.rows),
            own.mean_absolute_error if own.n_right is None else own.n_right,
            round(own.weight, 3),
            own.prediction,
            own.rule,
        )
        for own in rows_decided_by_one(model, *test, share=share)
    ]
    return pd.DataFrame(lines, columns=names)
