"""A table to predict: what of it the model reads, and what is odd about it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.values import cast_column, categories, class_labels
from treelab.evaluation.metrics import scores
from treelab.evaluation.routing.new_rows import rows_for_model
from treelab.trees.cells import noted_form, read_column
from treelab.trees.derived.date_parts import parse_part
from treelab.trees.feature import known_forms
from treelab.trees.pruning.shown_tree import Model
from treelab.trees.text.names import listed
from treelab.trees.text.numerals import counted


@dataclass(frozen=True)
class NewTable:
    """The rows of a table as a model reads them.

    Attributes
    ----------
    X : DataFrame of shape (n_rows, n_columns_read)
    notes : tuple of str
        Sentences on what the model has not seen: absent columns, unknown categories.
    """

    X: pd.DataFrame
    notes: tuple[str, ...]


def new_table(
    model: Model, frame: pd.DataFrame, name: str, *, fill_absent: bool = False
) -> NewTable:
    """Return a table as a model reads it.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    frame : DataFrame of shape (n_rows, n_columns)
    name : str
        What messages call the table.
    fill_absent : bool, default=False
        Whether an absent column counts as missing in every row; else it is refused.

    Raises
    ------
    ValueError
        If a column is absent, or holds text where the model compares numbers; names
        the column and, for a value, its row.
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
    X = rows_for_model(model, frame, name)
    return NewTable(X, (*notes, *_unknown_categories(model, X)))


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
    parts = {column: parse_part(column) for column in model.columns}
    return [
        column
        for column, part in parts.items()
        if column not in present and (part is None or part[1] not in present)
    ]


def _unknown_categories(model: Model, X: pd.DataFrame) -> list[str]:
    """Return a sentence for each column with categories that training rows lacked."""
    notes, seen = [], set()
    for feature in model.features:
        column = feature.column
        if feature.kind != "category" or column in seen or column not in X:
            continue
        seen.add(column)
        codes, levels = categories(X[column])
        unknown = [level not in set(feature.categories) for level in levels]
        names = [level for level, new in zip(levels, unknown) if new]
        if not names:
            continue
        n_rows = int(np.isin(codes, np.flatnonzero(unknown)).sum())
        how = "as missing" if np.isnan(feature.unseen) else "as an unknown category"
        notes.append(
            f"Column {column!r} holds {listed(names, most=3)} in "
            f"{counted(n_rows, 'row')}, which no training row held; the model counts "
            f"{'it' if len(names) == 1 else 'each'} {how}."
        )
    return notes


def new_scores(
    model: Model, frame: pd.DataFrame, X: pd.DataFrame
) -> tuple[dict[str, float], str]:
    """Score a model on a table that holds its target.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    frame : DataFrame of shape (n_rows, n_columns)
        The table as it came.
    X : DataFrame of shape (n_rows, n_columns_read)
        The same rows, as ``new_table`` returns them.

    Returns
    -------
    scores : dict of str to float
        As ``metrics.scores`` returns them, over the rows with a value of the target;
        empty where there are none.
    note : str
        Why there are no scores, or what to know of them; "" for nothing.
    """
    frame = frame.rename(columns=str)
    if model.target not in frame.columns:
        return {}, ""
    target = frame[model.target]
    if model.task == "regression" and column_kind(target) != "number":
        target = cast_column(target, "number")
        if target.isna().all():
            return {}, f"Column {model.target!r} holds no number to score against."
    known = target.notna().to_numpy()
    if not known.any():
        return {}, f"Column {model.target!r} is empty, so nothing is scored."
    note = "" if known.all() else f"{counted(int((~known).sum()), 'row')} without it."
    predicted = model.predict(X[known])
    if model.classes is None:
        truth = target[known].to_numpy(dtype=np.float64)
        return scores(model.task, truth, predicted), note
    # As text, since a file alone may show other types than the training table.
    classes = tuple(str(label) for label in model.classes)
    texts = class_labels(target[known]).map(str)
    truth = read_column(texts, None, "category", classes).to_numpy(dtype=object)
    strange = ~np.isin(truth, classes)
    if strange.any():
        note += (
            f" {counted(int(strange.sum()), 'row')} of a class that the model does not "
            f"know, such as {truth[strange][0]!r}, count as wrong."
        )
    predicted = np.array([str(label) for label in predicted], dtype=object)
    return scores(model.task, truth, predicted), note.strip()
