"""A model from elsewhere becomes a run, so that every page shows it."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from treelab.data.columns import cast_column, listed
from treelab.data.problem import Problem
from treelab.data.split import JOINED, SPLITS, DataSplit
from treelab.evaluation import metrics
from treelab.evaluation.predictions import unknown_categories
from treelab.runs.jobs.fit import Fitted
from treelab.runs.jobs.save_model import save_as_run
from treelab.runs.store.run_store import RunStore
from treelab.trees.adapters import Forest, from_lightgbm, from_xgboost
from treelab.trees.cells import forms_of, noted_form, value_text
from treelab.trees.date_parts import with_date_parts
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.io import MOST_BYTES, Stored, load, model_from_zip, read_regular_file
from treelab.trees.pruning_path import Model, PruningPath
from treelab.trees.tree import Tree, knows_impurity, predicts_several

NOTE = (
    "This model was trained elsewhere, perhaps on some of these rows; a score on test "
    "rows that it was trained on is too high."
)

MUCH_BETTER = 0.2  # accuracy that another order of the classes must gain to be noted


def read_model(path: Path, classes: list | None = None, **unsaid) -> Model:
    """Read a model that may come from anyone: data or a treelab folder, never pickle.

    OSError if it cannot be read. ValueError if it is none of these, or an ensemble that
    a run cannot store. The path is of a folder that a model was saved in, or of a file;
    all else is as in ``model_from_bytes``.
    """
    if path.is_dir():
        _refuse_unsaid(path.name, unsaid)
        return load(path)
    text = read_regular_file(path, MOST_BYTES)
    return model_from_bytes(text, path.name, classes, **unsaid)


def model_from_bytes(
    text: bytes, name: str, classes: list | None = None, **unsaid
) -> Model:
    """Read a file that treelab, xgboost (JSON) or LightGBM (text) wrote.

    ValueError if it is none of these, or an ensemble that a run cannot store. Its name
    stands in error messages. Classes are labels in the order of xgboost's or LightGBM's
    numbers; other models name their own. What a file of these two does not tell is
    ``missing`` (of xgboost), ``iteration_range`` and ``categories``, as
    ``from_xgboost`` takes them; None is not given.
    """
    if len(text) > MOST_BYTES:
        raise ValueError(
            f"{name} is larger than {MOST_BYTES // 2**20} MiB, the most that is read."
        )
    given = {word: value for word, value in unsaid.items() if value is not None}
    if text.startswith(b"tree"):
        if "missing" in given:
            raise ValueError(
                f"{name} is a LightGBM model, which tells itself what counts as "
                "missing."
            )
        return _as_run(from_lightgbm(text, classes=classes, **given))
    if text.startswith(b"PK"):
        _refuse_unsaid(name, given)
        return _checked(model_from_zip(text, name), name)
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{name} is not JSON. Give a model's folder, one file or JSON that "
            "treelab's export wrote, JSON of xgboost's save_model, or text of "
            "LightGBM's."
        ) from error
    if isinstance(stored, dict) and "type" in stored:
        _refuse_unsaid(name, given)
        return _checked(Stored.from_dict(stored), name)
    if not isinstance(stored, dict | list):  # a text would be taken for a path
        raise ValueError(f"{name} holds no model.")
    return _as_run(from_xgboost(stored, classes=classes, **given))


def _as_run(model: Model | Forest) -> Model:
    """Return what a run can store."""
    return model.to_weighted_trees() if isinstance(model, Forest) else model


def _refuse_unsaid(name: str, unsaid: dict) -> None:
    """Raise ValueError where something is given that a treelab model tells itself."""
    given = [word for word, value in unsaid.items() if value is not None]
    if given:
        raise ValueError(
            f"{name} is a treelab model, which tells this itself: {listed(given)}."
        )


def read_categories(lines: Iterable[str]) -> dict[str, list[str]] | None:
    """Read lines such as "colour=red,green,blue"; None where there is none.

    ValueError if a line is not of this form.
    """
    found = {}
    for line in lines:
        column, sign, names = line.partition("=")
        if not sign or not column.strip():
            raise ValueError(
                f"Categories are written as column=name,name,..., not {line!r}."
            )
        found[column.strip()] = [name.strip() for name in names.split(",")]
    return found or None


def _checked(read, name: str) -> Model:
    """Return what was read where it is a model, and not a path of trees by size."""
    if not isinstance(read, Model):
        raise ValueError(f"{name} holds no model, but a {type(read).__name__}.")
    return read


def import_model(
    store: RunStore, model: Model | Forest, problem: Problem, title: str = ""
) -> str:
    """Save a model as a run that is done, with its scores on a table; return its id.

    ValueError if the model does not fit the table. The problem is of that table, which
    must be in the store, and of what the model predicts.
    """
    frame = store.table(problem.table_id)
    model = _with_forms(_with_spaces(_as_run(model), frame), frame)
    frame = with_date_parts(frame, model.columns)
    problem = _matching_problem(model, problem, frame)
    split = problem.split(frame)
    if model.classes is not None:
        model = _with_labels(model, model.classes, split)
        _check_labels(model.classes or (), split, problem.target)
    if not isinstance(model, PruningPath) and not _has_rows(model):
        model = model.with_rows(*split.rows("train"))
    unknown = unknown_categories(model, split.rows(JOINED).X)
    notes = [NOTE, *unknown, *_order_notes(model, split)]
    if not isinstance(model, PruningPath):
        model = replace(model, notes=(*model.notes, *notes))
    return save_as_run(store, Fitted(model, problem, split, tuple(notes)), title)


def _has_rows(model: Tree | WeightedTrees) -> bool:
    """Whether a model knows its training rows, and a tree how they spread, too."""
    if isinstance(model, Tree):
        return knows_impurity(model)
    return bool(np.any(model.n_rows))


def _with_spaces(model: Model, frame: pd.DataFrame) -> Model:
    """Give columns their spaces back, for which LightGBM writes "_"."""
    if isinstance(model, PruningPath):
        return model
    written: dict[str, list[str]] = {}
    for name in map(str, frame.columns):
        written.setdefault(name.replace(" ", "_"), []).append(name)
    features = []
    for feature in model.features:
        meant = written.get(feature.column, [])
        if feature.column not in frame.columns and len(meant) == 1:
            feature = replace(feature, column=meant[0])
        features.append(feature)
    return replace(model, features=tuple(features))


def _with_forms(model: Model, frame: pd.DataFrame) -> Model:
    """Let columns of which a model does not know how they are written be as here.

    Categories that are numbers are called as whole columns of such numbers are.
    """
    if isinstance(model, PruningPath):
        return model
    features, forms = [], forms_of(frame)
    for feature in model.features:
        form = forms.get(feature.column)
        if feature.form is None and form and form.kind in ("number", feature.kind):
            if form.unit == "%" and feature.column in model.columns:
                raise ValueError(
                    f"Column {feature.column!r} holds numbers in %, and the model does "
                    "not tell whether 5% was 5 or 0.05. Give the numbers themselves."
                )
            categories = _renamed(feature.categories, form.kind == "number")
            if categories is not None:
                feature = replace(feature, form=form, categories=categories)
        features.append(feature)
    return replace(model, features=tuple(features))


def _renamed(categories: tuple[str, ...], are_numbers: bool) -> tuple[str, ...] | None:
    """Call categories as a table's columns have them; None where two would be one."""
    levels = pd.Series(categories, dtype="str").str.strip()
    if are_numbers:
        read = pd.to_numeric(levels, errors="coerce")
        levels = levels.where(read.isna(), read.map(value_text))
    return tuple(levels) if levels.is_unique else None


def _refuse_lost_cells(model: Model, frame: pd.DataFrame, name: str) -> None:
    """Raise ValueError where cells of a table mean something to a model, not here."""
    for feature in model.features:
        column, form = feature.column, noted_form(frame, feature.column)
        if column not in model.columns:
            continue
        marks = [m for m in feature.categories if form is not None and m in form.held]
        if marks:
            raise ValueError(
                f"{marks[0]!r} in column {column!r} counts as missing in {name}, and "
                "is a category of the model. Read the table so that it stays one, as "
                f"by --keep-na {column!r} on the command line."
            )
        own = frame[column].dropna()
        if feature.kind == "number":
            lost = cast_column(own, "number").isna()
            if lost.any():
                raise ValueError(
                    f"The model reads {column!r} as numbers, but {name} holds "
                    f"{str(own[lost].iloc[0])!r} there. Give the numbers that the "
                    "model was trained on, or leave such cells empty."
                )


def _matching_problem(model: Model, problem: Problem, frame: pd.DataFrame) -> Problem:
    """Return the problem with the model's own columns, read as the model reads them."""
    kinds = {feature.column: feature.kind for feature in model.features}
    missing = [name for name in model.columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"The model reads {missing[0]!r}, which {problem.table_name} lacks; it has "
            f"{listed([str(name) for name in frame.columns])}."
        )
    _refuse_lost_cells(model, frame, problem.table_name)
    if problem.target in model.columns:
        raise ValueError(f"The model reads the target {problem.target!r} itself.")
    if (model.classes is None) != (problem.task == "regression"):
        kinds_of = ("numbers", "classes")
        what, other = kinds_of if model.classes is None else kinds_of[::-1]
        raise ValueError(
            f"The model predicts {what}, but {problem.target!r} holds {other}. Choose "
            "another target, or name the task."
        )
    problem = _matching_targets(model, problem)
    columns = [name for name in kinds if name in frame.columns]
    columns += [name for name in problem.columns if name not in kinds]
    units = {f.column: f.unit for f in model.features if f.unit}
    return replace(
        problem,
        task=model.task,
        columns=tuple(name for name in columns if name not in problem.targets),
        kinds=tuple({**dict(problem.kinds), **kinds}.items()),
        units=tuple({**units, **dict(problem.units)}.items()),
    )


def _matching_targets(model: Model, problem: Problem) -> Problem:
    """Return the problem with its targets in the order in which a model predicts them.

    Where a model gives them other names, theirs is the order that was given.
    """
    outputs: tuple[str, ...] = (model.target,)
    if predicts_several(model) and not model.levels:
        outputs = tuple(model.outputs)
    if len(outputs) != len(problem.targets):
        raise ValueError(
            f"The model predicts {listed(list(outputs))}: name a target of the table "
            f"for each, in this order, in place of {listed(list(problem.targets))}."
        )
    if {*outputs} == {*problem.targets}:
        return replace(problem, target=outputs[0], more_targets=outputs[1:])
    return problem


def _order_notes(model: Model, split: DataSplit) -> list[str]:
    """Warn where the predictions would fit the labels far better under other names."""
    # Here, as it takes a moment, and pages import this module to be shown.
    from scipy.optimize import linear_sum_assignment

    if model.classes is None:
        return []
    X, y, weight = split.rows("train")
    codes = {label: code for code, label in enumerate(model.classes)}
    truth, predicted = (
        np.array([codes[label] for label in labels]) for labels in (y, model.predict(X))
    )
    counts = metrics.confusion_matrix(truth, predicted, len(codes), weight)
    best = counts[linear_sum_assignment(counts, maximize=True)].sum() / counts.sum()
    accuracy = counts.trace() / counts.sum()
    if best <= accuracy + MUCH_BETTER:
        return []
    return [
        f"The classes may be in the wrong order: the model is right on {accuracy:.0%} "
        f"of the training rows, and in another order of the classes on {best:.0%}."
    ]


def _with_labels(model: Model, classes: tuple, split: DataSplit) -> Model:
    """Let classes that are true and false be called as the table has them."""
    own = {str(label).lower(): label for label in pd.unique(split.rows(JOINED).y)}
    words = [str(label).lower() for label in classes]
    if isinstance(model, PruningPath) or {*words} != {"true", "false"}:
        return model
    return replace(model, classes=tuple(map(own.get, words, classes)))


def _check_labels(classes: tuple, split: DataSplit, target: str) -> None:
    """Raise ValueError where the table has a label that the model cannot predict."""
    for name in SPLITS:
        for label in pd.unique(split.rows(name).y):
            if label not in classes:
                known = listed([repr(known) for known in classes], write=str)
                raise ValueError(
                    f"{target!r} holds {label!r}, and the model predicts only {known}. "
                    "The labels of both must be written alike."
                )
