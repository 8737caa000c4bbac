"""Predictions for a table, with the cells that it came with."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from treelab.data.columns import (
    cast_column,
    categories,
    class_labels,
    column_kind,
    numbers,
)
from treelab.data.problem import Problem
from treelab.data.split import JOINED, DataSplit
from treelab.evaluation.metrics import TITLES, scores
from treelab.evaluation.routing import rows_for_model
from treelab.trees.cells import CellForm, check_held, forms_of, noted_form, read_column
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature, forms_of_model, known_forms
from treelab.trees.frames import form_of_moments, plain_column
from treelab.trees.pruning_path import Model, shown_tree, takes_empty_branch
from treelab.trees.text import (
    leaf_rules,
    predicts_times,
    target_number,
    target_text,
    target_unit,
)
from treelab.trees.tree import Tree, knows_interval, predicts_several
from treelab.trees.words import clean, counted, listed, percent, range_text

# Predictions as columns: probabilities, the leaf, its rule, the tree that decides.


# What can be written beside each prediction, and what it is.
PARTS = {
    "table": "the columns of the table",
    "prediction": "the class, or the value",
    "probabilities": "of each class",
    "interval": "the quantiles between which most rows lie",
    "leaf": "number of the leaf that the row reaches",
    "rule": "the conditions that lead to this leaf",
    "tree": "number of the ensemble's tree of highest weight on this row",
    "weight": "that tree's share of the prediction",
}
DEFAULT_PARTS = ("table", "prediction", "probabilities", "interval")


def parts_of(model: Model) -> list[str]:
    """Return the parts that a model's predictions have."""
    left_out = set()
    if model.classes is None:
        left_out.add("probabilities")
    if not knows_interval(model) or predicts_several(model):
        left_out.add("interval")
    if not isinstance(model, WeightedTrees):
        left_out |= {"tree", "weight"}
    return [part for part in PARTS if part not in left_out]


def prediction_columns(
    model: Model, X: pd.DataFrame, parts: Collection[str]
) -> pd.DataFrame:
    """Predict rows, as ``new_table`` returns them, and say what decides each.

    The parts are names among ``PARTS``; "table" and what the model has not are passed
    over. Columns are ``prediction`` (of several targets ``prediction of NAME`` each, of
    several levels ``quantile 0.9``), ``probability of LABEL`` for each class,
    ``quantile 0.1`` and ``quantile 0.9`` (of an interval of 0.8), ``leaf``, ``rule``,
    ``tree`` and ``weight``. Of an ensemble, leaf and rule are those of the tree of
    highest weight on the row. Leaves have the numbers that pages show.
    """
    wanted = set(parts) & set(parts_of(model))
    columns: dict[str, object] = {}
    if "prediction" in wanted:
        names = model.output_columns if isinstance(model, Tree) else ["prediction"]
        predicted = model.predict(X).reshape(len(X), -1)
        columns |= dict(zip(names, predicted.T))
    if "probabilities" in wanted and model.classes is not None:
        names = [f"probability of {label}" for label in model.classes]
        columns |= dict(zip(names, model.predict_proba(X).T))
    if "interval" in wanted and knows_interval(model):
        level = model.interval_level or 0.0
        names = [f"quantile {(1 + sign * level) / 2:.4g}" for sign in (-1, 1)]
        columns |= dict(zip(names, model.predict_interval(X).T))
    if wanted & {"leaf", "rule", "tree", "weight"}:
        found = _deciding(model, X, with_rule="rule" in wanted)
        columns |= {part: found[part] for part in PARTS if part in wanted & set(found)}
    return pd.DataFrame(columns, index=X.index)


def with_amounts(
    predicted: pd.DataFrame, frame: pd.DataFrame, problem: Problem | None
) -> pd.DataFrame:
    """Put what rates amount to beside them, such as ``predicted claims``.

    That is the prediction times the row's exposure, where the table ``frame`` has it.
    ValueError, which names the row, if one is no finite number from 0 on.
    """
    if problem is None or problem.exposure not in frame.columns.map(str):
        return predicted
    if "prediction" not in predicted:
        return predicted
    given = frame.rename(columns=str)[problem.exposure]
    exposure = cast_column(given, "number").astype(np.float64)
    wrong = (given.notna() & ~(np.isfinite(exposure) & (exposure >= 0))).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"The exposure {problem.exposure!r} must be a finite number from 0 on, but "
            f"is {given.iloc[row]} in row {row + 1:,}. Correct it, or leave the cell "
            "empty."
        )
    found = predicted.copy()
    found.insert(1, f"predicted {problem.target}", found["prediction"] * exposure)
    return found


def with_predictions(
    frame: pd.DataFrame, predicted: pd.DataFrame, parts: Collection[str], name: str
) -> pd.DataFrame:
    """Put predictions behind the table's own columns, where these are wanted.

    ValueError if the table has a column of that name already.
    """
    if "table" not in parts:
        return predicted
    own = {str(column) for column in frame.columns}
    present = [column for column in predicted if column in own]
    if present:
        raise ValueError(
            f"{name} has a column {present[0]!r} already; rename it, or leave the "
            "table's own columns out."
        )
    return pd.concat([frame, predicted], axis=1)


def empty_branch_note(model: Model, X: pd.DataFrame) -> str:
    """Return how many rows take a branch that trees are shown without; "" for none."""
    if isinstance(model, WeightedTrees) or not len(X):
        return ""
    n_rows = int(takes_empty_branch(model, X).sum())
    verb = "takes" if n_rows == 1 else "take"
    words = (
        f"{counted(n_rows, 'row')} {verb} a branch that no training row took; leaf and "
        "rule are those at which the tree goes on as it is shown."
    )
    return words if n_rows else ""


def reading_notes(model: Model, predicted: pd.DataFrame) -> list[str]:
    """Return what to know of columns of predictions, as ``prediction_columns`` are.

    That times are in hours, and how many rows are predicted less than likeliest.
    """
    notes = []
    values = [n for n in predicted if str(n).startswith(("prediction", "quantile"))]
    if predicts_times(model) and values and len(predicted):
        first = float(predicted[values[0]].iloc[0])
        notes.append(
            f"Predictions are in hours: {first:.4g} is {target_number(model, first)}."
        )
    names = [f"probability of {label}" for label in model.classes or ()]
    if names and {"prediction", *names} <= set(predicted):
        proba = predicted[names].to_numpy()
        places = {str(label): place for place, label in enumerate(model.classes or ())}
        chosen = predicted["prediction"].map(str).map(places).to_numpy()
        n_rows = int((proba[np.arange(len(proba)), chosen] < proba.max(axis=1)).sum())
        if n_rows:
            notes.append(
                f"In {counted(n_rows, 'row')} the predicted class is not the "
                "likeliest, as classes are weighed, or the leaf's own rows chose."
            )
    return notes


def _deciding(model: Model, X: pd.DataFrame, *, with_rule: bool) -> dict:
    """Return leaf and, where wanted, rule of each row; its tree and that's weight."""
    more, number = {}, np.zeros(len(X), dtype=np.int64)
    if isinstance(model, WeightedTrees):
        (number,), (weight,) = (found.T[:1] for found in model.top_estimators(X))
        more = {"tree": number, "weight": weight}
    leaf, rule = np.zeros(len(X), dtype=np.int64), np.full(len(X), "", dtype=object)
    for each in np.unique(number).tolist():
        rows = np.flatnonzero(number == each)
        tree = shown_tree(model, estimator=each) if more else shown_tree(model)
        leaf[rows] = tree.apply(X.iloc[rows])
        if with_rule:
            rules = leaf_rules(tree)
            rule[rows] = [rules[own] for own in leaf[rows].tolist()]
    return {"leaf": leaf, "rule": rule, **more}


# A table to predict: what of it the model reads, and what is odd about it.


@dataclass(frozen=True)
class NewTable:
    """The rows of a table as a model reads them."""

    X: pd.DataFrame  # (n_rows, n_columns_read)
    # Sentences on what the model has not seen: absent columns, unknown categories.
    notes: tuple[str, ...]


def forms_to_read(
    model: Model,
    problem: Problem | None,
    table: Callable[[str, list[str]], pd.DataFrame],
) -> dict[str, CellForm]:
    """Return how each column of a new table is written that a model or a score reads.

    The problem is what the model was trained for, where that is known. ``table``
    returns the columns of these names of the stored table of this id.
    """
    forms = forms_of_model(model)
    if problem is None:
        return forms
    named = (*problem.targets, problem.exposure, problem.weight)
    unknown = [name for name in named if name and name not in forms]
    noted = forms_of(table(problem.table_id, unknown)) if unknown else {}
    for name, form in noted.items():
        forms[name] = replace(form, needed=name == problem.exposure, width=0)
    return forms


def new_table(
    model: Model, frame: pd.DataFrame, name: str, *, fill_absent: bool = False
) -> NewTable:
    """Return a table as a model reads it.

    Messages call it by its name. Where ``fill_absent``, a column that is absent counts
    as missing in every row. ValueError, which names the column and, for a value, its
    row, if a column is absent, or holds text where the model compares numbers.
    """
    frame = frame.rename(columns=str)  # keeps the note on how it was read
    notes = []
    absent = absent_columns(model, frame)
    if absent and fill_absent:
        frame = frame.reindex(columns=[*frame.columns, *absent])
        verb, they = ("is", "it counts") if len(absent) == 1 else ("are", "they count")
        notes.append(
            f"{listed(absent)} {verb} absent from {name}; {they} as missing in "
            "every row, so the predictions may be poor."
        )
    _refuse_other_readings(model, frame, name)
    X = rows_for_model(model, _with_numbers(model, _with_spaces(model, frame)), name)
    notes += _lost_cells(model, frame, X)
    return NewTable(X, (*notes, *unknown_categories(model, X)))


def _lost_cells(model: Model, frame: pd.DataFrame, X: pd.DataFrame) -> list[str]:
    """Return a sentence for each column of text, made numbers, that holds other cells.

    They count as missing, also where they are numbers in another way of writing.
    """
    notes = []
    for column in X.columns.intersection([*_cast_columns(model)]):
        if column not in frame.columns:
            continue
        lost = frame[column][frame[column].notna() & X[column].isna()]
        if len(lost):
            notes.append(
                f"Column {column!r} holds {listed(lost.unique().tolist(), most=3)} in "
                f"{counted(len(lost), 'row')}, which the model does not read as "
                f"numbers: {'it counts' if len(lost) == 1 else 'they count'} as "
                "missing."
            )
    return notes


def _cast_columns(model: Model) -> dict[str, CellForm]:
    """Return the forms of the columns of text that a model reads as numbers."""
    cast = {f.column for f in model.features if f.kind == "number" and f.form}
    forms = {name: form for name, form in known_forms(model).items() if name in cast}
    return {name: form for name, form in forms.items() if form.kind == "category"}


def _with_numbers(model: Model, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the numbers of text whose decimal sign a person named.

    It was read as the training rows but for that sign.
    """
    frame = frame.copy(deep=False)
    for column, form in _cast_columns(model).items():
        found = noted_form(frame, column) if column in frame.columns else None
        if found is None or found.decimal == form.decimal:
            continue
        same = replace(found, decimal=form.decimal, thousands=form.thousands)
        if same == replace(form, needed=found.needed, width=found.width):
            frame[column] = cast_column(frame[column], "number", found)
    return frame


def _with_spaces(model: Model, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table that was read from a file with the spaces around categories.

    Reading leaves them out, and a model of a data frame may know " Private".
    """
    frame = frame.copy(deep=False)
    for feature in model.features:
        spaced = {level.strip(): level for level in feature.categories}
        is_clear = len(spaced) == len(feature.categories)
        if feature.form is None and is_clear and feature.column in frame:
            frame[feature.column] = frame[feature.column].replace(
                {plain: level for plain, level in spaced.items() if plain != level}
            )
    return frame


def _refuse_other_readings(model: Model, frame: pd.DataFrame, name: str) -> None:
    """Raise ValueError where a stored table lost cells that the model reads.

    Its column was taken for numbers, by its own cells alone, and words in it for marks
    of missing values, which are categories to the model; or the other way round.
    """
    for column, form in known_forms(model).items():
        found = noted_form(frame, column) if column in frame.columns else None
        if found is None or not frame[column].hasnans:
            continue
        if (found.kind, found.unit) != (form.kind, form.unit):
            raise ValueError(
                f"Column {column!r} of {name} was read as {found.kind} when it was "
                f"stored, but the training rows held {form}. Give the file itself, "
                "which is then read as they were."
            )


def absent_columns(model: Model, frame: pd.DataFrame) -> list[str]:
    """Return the columns that a model reads and a table lacks."""
    present = {str(column) for column in frame.columns}
    parts = {feature.column: feature.part for feature in model.features}
    return [
        column
        for column in model.columns
        if column not in present
        and ((part := parts[column]) is None or part[1] not in present)
    ]


def unknown_categories(model: Model, X: pd.DataFrame) -> list[str]:
    """Return a sentence for each column with categories that training rows lacked."""
    notes: list[str] = []
    first_of: dict[str, Feature] = {}
    for feature in model.features:
        if feature.kind == "category" and feature.column in X:
            first_of.setdefault(feature.column, feature)
    for column, feature in first_of.items():
        codes, levels = categories(X[column])
        known = set(feature.categories)
        unknown = [k for k, level in enumerate(levels) if level not in known]
        if not unknown:
            continue
        names = [levels[k] for k in unknown]
        n_rows = int(np.isin(codes, unknown).sum())
        how = "as missing" if np.isnan(feature.unseen) else "as an unknown category"
        notes.append(
            f"Column {column!r} holds {listed(names, most=3)} in "
            f"{counted(n_rows, 'row')}, which no training row held; the model counts "
            f"{'it' if len(names) == 1 else 'each'} {how}."
        )
    return notes


def _scores_of_several(
    model: Tree, frame: pd.DataFrame, X: pd.DataFrame, problem: Problem | None
) -> tuple[dict[str, float], str]:
    """Score each target of a tree that a table holds; the mean, and what each has."""
    found, notes = {}, []
    for name in model.outputs:
        own = problem and replace(problem, target=name, more_targets=())
        scored, note = new_scores(model.of_output(name), frame, X, own)
        if scored:
            found[name] = scored
        if note:
            notes.append(f"{name}: {note}")
    if not found:
        return {}, " ".join(notes)
    keys = [key for key in ("d2", "r2") if all(key in own for own in found.values())]
    mean = {key: float(np.mean([own[key] for own in found.values()])) for key in keys}
    each = ", ".join(f"{name} {own[keys[0]]:.3g}" for name, own in found.items())
    notes.append(f"{TITLES[keys[0]]} of each: {each}.")
    n_rows = min(int(own["n_rows"]) for own in found.values())
    return mean | {"n_rows": n_rows}, " ".join(notes)


def new_scores(
    model: Model, frame: pd.DataFrame, X: pd.DataFrame, problem: Problem | None = None
) -> tuple[dict[str, float], str]:
    """Score a model on a table that holds its target.

    ``frame`` is the table as it came, ``X`` the same rows as ``new_table`` returns
    them. The problem is what the model was trained for, where that is known: rows then
    have its weight, and its target is divided by its exposure.

    Returns scores as ``metrics.scores`` has them, over the rows with a value of the
    target, empty where there are none; and a note, why there are none, or what to know
    of them, "" for nothing.
    """
    frame = frame.rename(columns=str)
    if predicts_several(model) and not model.levels:
        return _scores_of_several(model, frame, X, problem)
    name = model.target if problem is None else problem.target
    if name not in frame.columns:
        return {}, ""
    target = frame[name]
    moments = form_of_moments(target) if model.task == "regression" else None
    if moments is not None:
        try:
            check_held(name, target.dtype, moments, model.target_form)
            target = plain_column(target)
        except ValueError as error:
            return {}, f"Nothing is scored. {error}"
    elif model.task == "regression" and column_kind(target) != "number":
        cells, target = target, cast_column(target, "number")
        odd = cells[target.isna() & cells.notna() & ~cells.isin(CellForm().missing)]
        if len(odd):
            why = f"Column {name!r} holds {str(odd.iloc[0])!r}, which is no number"
            return {}, f"{why}: nothing is scored."
    weights, weight = None, None
    if problem is not None:
        try:
            weights = problem.weights(frame.assign(**{name: target}))
        except ValueError as error:
            return {}, f"Nothing is scored. {error}"
        if problem.exposure:
            target = target / frame[problem.exposure]
    known = target.notna().to_numpy()
    if not known.any():
        return {}, f"Column {name!r} holds no value that is read: nothing is scored."
    note = "" if known.all() else f"{counted(int((~known).sum()), 'row')} without it."
    if weights is not None:
        known = known & (weights.to_numpy() > 0)
        weight = weights.to_numpy()[known]
    predicted = model.predict(X[known])
    if model.classes is None:
        truth = target[known].to_numpy(dtype=np.float64)
        try:
            if model.loss is not None:
                rows = np.flatnonzero(known) + 1
                model.loss.check_target(truth, f"column {name!r}", rows)
            found = scores(
                model.task, truth, predicted, sample_weight=weight, loss=model.loss
            )
            return found, note
        except ValueError as error:
            return {}, f"Nothing is scored. {error}"
    # As text, since a file alone may show other types than the training table.
    truth = true_classes(model, target[known]).to_numpy(dtype=object)
    strange = ~np.isin(truth, [str(label) for label in model.classes])
    if strange.any():
        n_strange = int(strange.sum())
        note += (
            f" {counted(n_strange, 'row')} of a class that the model does not know, "
            f"such as {truth[strange][0]!r}, count{'s' * (n_strange == 1)} as wrong."
        )
    predicted = np.array([str(label) for label in predicted], dtype=object)
    found = scores(model.task, truth, predicted, sample_weight=weight)
    return found, note.strip()


def true_classes(model: Model, target: pd.Series) -> pd.Series:
    """Return the classes of rows of a table as text, as the model writes its own."""
    classes = tuple(str(label) for label in model.classes or ())
    return read_column(class_labels(target).map(str), None, "category", classes)


def n_rows_of(table: pd.DataFrame, frame: pd.DataFrame, among: pd.Index) -> int:
    """Count the rows of a new table, ``frame``, that stand in another table, too.

    The new table was read as the other was, whose rows ``among`` are meant. Rows that
    it holds more than once are not counted: a new row may well equal them.
    """
    frame = frame.rename(columns=str)
    shared = [name for name in table if name in frame.columns]
    own, new = _row_hashes(table[shared]), _row_hashes(frame[shared])
    once = own[~own.duplicated(keep=False)]
    return int(new.isin(once[once.index.isin(among)]).sum())


def trained_on_note(table: pd.DataFrame, frame: pd.DataFrame, split: DataSplit) -> str:
    """Return how many rows of a new table a run was trained on; "" for none.

    ``table`` and ``split`` are the run's, see ``n_rows_of``.
    """
    n_seen = n_rows_of(table, frame, split.rows(JOINED).X.index)
    one = "was a training or validation row"
    were = one if n_seen == 1 else "were training or validation rows"
    words = (
        f"At least {n_seen:,} of the {counted(len(frame), 'row')} {were} of this run, "
        "so scores on new rows may be lower."
    )
    return words if n_seen else ""


def _row_hashes(frame: pd.DataFrame) -> pd.Series:
    """Return a 64-bit hash of each row, equal for equal numbers and texts."""
    columns = {
        name: numbers(own) if column_kind(own) == "number" else own.map(str)
        for name, own in frame.items()
    }
    plain = pd.DataFrame(columns, index=frame.index)
    return pd.util.hash_pandas_object(plain, index=False)


def predicted_words(model: Model, predicted: pd.Series) -> str:
    """Write what a model predicts for a table most, or on average.

    ``predicted`` (n_rows,) is a column with a row at least, called by its name: it may
    be one of several outputs, or what rates amount to, unknown without an exposure.
    """
    predicted = predicted.dropna()
    n_rows = counted(len(predicted), "row")
    if model.classes is None:
        name = model.target if predicted.name == "prediction" else str(predicted.name)
        mean = target_text(model, predicted.mean())
        ends = predicted.min(), predicted.max()
        low, high = (target_number(model, own) for own in ends)
        reach = range_text(low, " to ", high, target_unit(model))
        return f"{n_rows}: {name} {mean} on average, from {reach}"
    counts = predicted.map(str).value_counts()
    shares = (counts.head(3) / len(predicted)).items()
    most = ", ".join(
        f"“{clean(label)}” for {percent(share)}" for label, share in shares
    )
    if len(counts) > 3:
        most += f" and {counted(len(counts) - 3, 'other class', 'other classes')}"
    return f"{n_rows}: {model.target} is predicted {most}"
