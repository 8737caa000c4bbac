"""A table that a model has never seen, made ready for its splits."""

import pandas as pd

from treelab.data.values import numbers
from treelab.trees.cells import note_forms
from treelab.trees.feature import as_table, known_forms
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
    features = {feature.column: feature for feature in model.features}
    frame = as_table(list(features.values()), frame)
    absent = [column for column in columns if column not in frame]
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        raise ValueError(
            f"{name} cannot be predicted. Of the {len(columns)} columns that the "
            f"model reads, {listed(absent)} {verb} absent. The table has "
            f"{listed([str(column) for column in frame.columns])}."
        )
    found = pd.DataFrame(index=frame.index)
    note_forms(found, known_forms(model))
    for column in columns:
        try:
            found[column] = features[column].read(frame[column])
            if features[column].kind == "number":
                numbers(found[column])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return found
