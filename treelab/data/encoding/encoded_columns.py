"""The columns of a table as numeric features: numbers, target rates, one-hot."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.encoding.rare import CodedColumn, join_rare
from treelab.data.encoding.target_encoding import TargetEncoding, fit_target_encoding
from treelab.data.values import categories, numbers
from treelab.trees.cells import CellForm
from treelab.trees.feature import Feature


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """One feature of the training rows, before it is scaled.

    Attributes
    ----------
    feature : Feature
    values : float64 array of shape (n_rows,)
        As prediction reads the rows; NaN where a number is missing.
    cross_fitted : float64 array of shape (n_rows,)
        To train on: a target rate does not know the row's own target.
    is_target_encoded : bool
    """

    feature: Feature
    values: np.ndarray
    cross_fitted: np.ndarray
    is_target_encoded: bool = False


def encode_columns(
    frame: pd.DataFrame,
    y: np.ndarray,
    *,
    task: str,
    one_hot_max: int,
    units: Mapping[str, str],
    rare: Mapping[str, float],
    forms: Mapping[str, CellForm],
    random_state,
) -> list[EncodedColumn]:
    """Turn each column of training rows into features, in the table's order.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
        Class codes, or numbers.
    task : {"binary", "multiclass", "regression"}
    one_hot_max : int
        Category columns with at most this many categories, a missing one included,
        are one-hot encoded; the others get target rates.
    units : mapping of column name to unit
    rare : mapping of column name to float
        Least rows of a category of its own, see ``join_rare``.
    forms : mapping of column name to CellForm
        How the cells were written, where they were read from a file.
    random_state : int, RandomState instance or None
        Seeds the folds in which target rates are cross-fitted.
    """
    table = {str(name): column for name, column in frame.items()}
    kinds = {name: column_kind(column) for name, column in table.items()}
    coded = {
        name: join_rare(*categories(column), rare.get(name, 0))
        for name, column in table.items()
        if kinds[name] == "category"
    }
    rated = [
        name for name in coded if not _is_one_hot(coded[name], one_hot_max=one_hot_max)
    ]
    if rated:
        encoding = fit_target_encoding(
            np.stack([coded[name].codes for name in rated], axis=1),
            [coded[name].n_groups for name in rated],
            y,
            task=task,
            seed=_seed(random_state),
        )
    columns: list[EncodedColumn] = []
    for name, column in table.items():
        if kinds[name] == "number":
            columns.append(_number(column, units.get(name, "")))
        elif name in rated:
            columns += _target_rates(name, coded[name], encoding, rated.index(name))
        else:
            columns += _one_hot(name, coded[name])
    return [
        replace(column, feature=replace(column.feature, form=form))
        if (form := forms.get(column.feature.column)) is not None
        else column
        for column in columns
    ]


def _is_one_hot(column: CodedColumn, *, one_hot_max) -> bool:
    """Whether a category column becomes columns of 0 and 1."""
    return column.n_groups + bool((column.codes < 0).any()) <= one_hot_max


def _number(column: pd.Series, unit: str) -> EncodedColumn:
    """Return the feature of a number column; its median stands for missing values."""
    values = numbers(column)
    known = values[~np.isnan(values)]
    fill = float(np.median(known)) if len(known) else 0.0
    return EncodedColumn(
        Feature(str(column.name), unit=unit, fill=fill), values, values
    )


def _target_rates(
    name: str, column: CodedColumn, encoding: TargetEncoding, k: int
) -> list[EncodedColumn]:
    """List a feature of target rates for each output; ``k`` is the column's place."""
    columns = []
    for c, mean in enumerate(encoding.mean):
        rate = encoding.scores[k][:, c]
        feature = Feature(
            name,
            kind="category",
            categories=column.levels,
            scores=tuple(rate[column.group]),
            fill=rate[-1],
            unseen=mean,
            rare=column.rare,
        )
        columns.append(
            EncodedColumn(
                feature, rate[column.codes], encoding.cross_fitted[:, k, c], True
            )
        )
    return columns


def _one_hot(name: str, column: CodedColumn) -> list[EncodedColumn]:
    """List a feature of 0 and 1 for each level; for two levels the second alone."""
    marks = list(range(column.n_groups))
    if (column.codes < 0).any():
        marks.append(-1)
    if len(marks) == 2:
        marks = marks[1:]
    columns = []
    for mark in marks:
        feature = Feature(
            name,
            kind="category",
            categories=column.levels,
            scores=tuple((column.group == mark).astype(float)),
            fill=float(mark == -1),
            unseen=0.0,
            rare=column.rare,
        )
        values = (column.codes == mark).astype(np.float64)
        columns.append(EncodedColumn(feature, values, values))
    return columns


def _seed(random_state) -> int:
    """Draw a seed from what scikit-learn calls a random state."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31))
