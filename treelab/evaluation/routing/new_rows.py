"""A table that a model has never seen, made ready for its splits."""

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.values import cast_column, numbers
from treelab.trees.derived.date_parts import with_date_parts
from treelab.trees.pruning.shown_tree import Model
from treelab.trees.text.names import listed


def rows_for_model(model: Model, frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the columns that a model reads, each of the kind that it reads.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    frame : DataFrame of shape (n_rows, n_columns)
    name : str
        What messages call the table.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns_read)

    Raises
    ------
    ValueError
        If a column is absent, holds text where the model compares numbers, or holds a
        number that is too large; names the column and, for a value, its row.
    """
    columns = list(model.columns)
    frame = with_date_parts(frame, columns)
    absent = [column for column in columns if column not in frame]
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        raise ValueError(
            f"{name} cannot be predicted. Of the {len(columns)} columns that the "
            f"model reads, {listed(absent)} {verb} absent. The table has "
            f"{listed([str(column) for column in frame.columns])}."
        )
    kinds = {feature.column: feature.kind for feature in model.features}
    found = pd.DataFrame(index=frame.index)
    for column in columns:
        values = cast_column(frame[column], kinds[column])
        if kinds[column] == "number":
            _check_numbers(frame[column], values, name)
            numbers(values)
        found[column] = values
    return found


def _check_numbers(given: pd.Series, values: pd.Series, name: str) -> None:
    """Raise ValueError where text was given for a number."""
    lost = (values.isna() & given.notna()).to_numpy()
    if not lost.any() or column_kind(given) == "number":
        return
    row = int(np.argmax(lost))
    raise ValueError(
        f"Column {given.name!r} of {name} holds {str(given.iloc[row])!r} in row "
        f"{row + 1}, but the model compares it with a number. Give a number, or leave "
        "the cell empty."
    )
