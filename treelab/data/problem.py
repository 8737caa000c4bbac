"""A problem: which column of which table to predict, from which columns and rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from treelab.data.columns import (
    TASKS,
    as_frame,
    column_kind,
    infer_task,
    useful_columns,
)
from treelab.data.split import SPLITS, DataSplit, assign_splits, rare_class_notes
from treelab.data.values import cast_column, class_labels
from treelab.trees.derived.date_parts import with_date_parts
from treelab.trees.text.numerals import counted

FEW_TEST_ROWS = 30


@dataclass(frozen=True)
class Problem:
    """What to predict from what, and how the rows are split.

    Attributes
    ----------
    table_id, table_name : str
        Id in the run store, and the name that people know.
    target : str
        The column to predict.
    columns : tuple of str
        The columns to predict from; among them may be parts of dates, such as "month
        of admitted", see ``treelab/trees/derived/date_parts.py``.
    kinds : tuple of (str, str)
        Column and "number" or "category", where a person overrides the column's type.
    task : {"binary", "multiclass", "regression"}
    seed : int
        Seeds the data split.
    valid_share, test_share : float
        In (0, 1), together less than 1; the rest is for training.
    units : tuple of (str, str)
        Column (or target) and unit.
    origin : str
        Of a clustering: the id of the table in which clusters are found. The target
        is then a column of clusters, which the table has once ``table_id`` differs
        from ``origin``.
    is_surrogate : bool
        Whether the target holds another model's predictions, which are imitated.
    truth : str
        Of a surrogate: the column that the other model was to predict, "" where that
        is not known.

    Raises
    ------
    ValueError
        If the task is unknown, the target or the truth is among the columns, there is
        no column, or a data split would have no rows.
    """

    table_id: str
    table_name: str
    target: str
    columns: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...] = ()
    task: str = ""
    seed: int = 0
    valid_share: float = 0.2
    test_share: float = 0.2
    units: tuple[tuple[str, str], ...] = ()
    origin: str = ""
    is_surrogate: bool = False
    truth: str = ""

    def __post_init__(self):
        object.__setattr__(self, "columns", tuple(self.columns))
        for name in ("kinds", "units"):
            object.__setattr__(self, name, pairs(getattr(self, name)))
        if self.task not in TASKS:
            raise ValueError(
                f"task must be one of {', '.join(TASKS)}; got {self.task!r}."
            )
        if self.target in self.columns:
            raise ValueError(
                f"Column {self.target!r} cannot be predicted from itself; take it out "
                "of the columns."
            )
        if self.truth and (self.truth in self.columns or not self.is_surrogate):
            raise ValueError(
                f"The truth {self.truth!r} is that of a surrogate's target and cannot "
                "be predicted from; take it out of the columns."
            )
        if not self.columns:
            raise ValueError("Choose at least one column to predict from.")
        shares = (self.valid_share, self.test_share)
        if not (min(shares) > 0 and sum(shares) < 1):
            raise ValueError(
                "valid_share and test_share must be above 0 and together below 1; got "
                f"{self.valid_share} and {self.test_share}."
            )

    @property
    def awaits_clusters(self) -> bool:
        """Whether the target is a column of clusters that nobody has found yet."""
        return bool(self.origin) and self.origin == self.table_id

    @property
    def target_is(self) -> str:
        """Word before the target's values in pictures: a surrogate's are imitated."""
        return "imitated" if self.is_surrogate else "true"

    def to_dict(self) -> dict:
        """Return the problem as plain values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping) -> "Problem":
        """Return the problem that ``to_dict`` wrote."""
        return cls(**values)

    def table(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns to predict from, each of its chosen kind.

        Parts of dates are computed where they are among the columns. Units travel
        along in ``attrs["units"]``, where the encoder finds them.

        Raises
        ------
        ValueError
            If a column is absent.
        """
        kinds = dict(self.kinds)
        chosen = as_frame(with_date_parts(frame, self.columns), self.columns)
        chosen = pd.DataFrame(
            {
                name: cast_column(
                    chosen[name], kinds.get(name, column_kind(chosen[name]))
                )
                for name in self.columns
            },
            index=frame.index,
        )
        chosen.attrs["units"] = dict(self.units)
        return chosen

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """Return the target of the rows that have one, under the table's index.

        Classes are text, whole numbers (also where stored as 1.0), or true and false;
        regression gives float64.

        Raises
        ------
        ValueError
            If the target is absent, or is text where the task is regression.
        """
        target = as_frame(frame, [self.target])[self.target].dropna()
        if self.task != "regression":
            return class_labels(target)
        if column_kind(target) != "number":
            raise ValueError(
                f"The target {self.target!r} holds text, but regression predicts "
                "numbers. Choose a number column or classification."
            )
        return target.astype(np.float64)

    def split(self, frame: pd.DataFrame) -> DataSplit:
        """Split the rows of a table into training, validation and test rows.

        Rows without a target are left out. Classification is stratified by class.

        Raises
        ------
        ValueError
            If a column is absent, the target does not fit the task, or fewer than 3
            rows have a target.
        """
        target = self.labels(frame)
        table = self.table(frame)
        X = table[as_frame(frame, [self.target])[self.target].notna()]
        notes = []
        if n_missing := len(table) - len(X):
            notes.append(
                f"{counted(n_missing, 'row')} without a value of the target "
                f"{self.target!r} {'is' if n_missing == 1 else 'are'} left out."
            )
        strata = np.zeros(len(target), dtype=np.int64)
        if self.task != "regression":
            strata = pd.factorize(target)[0]
            notes += rare_class_notes(target)
        assigned = assign_splits(strata, self.valid_share, self.test_share, self.seed)
        rows = {}
        for code, name in enumerate(SPLITS):
            rows[f"X_{name}"] = X[assigned == code]
            rows[f"X_{name}"].attrs = table.attrs
            rows[f"y_{name}"] = target[assigned == code]
        n_test = len(rows["y_test"])
        if n_test < FEW_TEST_ROWS:
            notes.append(
                f"Only {counted(n_test, 'test row')}: a score on so few is uncertain."
            )
        return DataSplit(**rows, notes=tuple(notes))


def make_problem(
    frame: pd.DataFrame,
    target: str,
    *,
    table_id: str = "",
    table_name: str = "",
    columns: Sequence[str] | None = None,
    task: str | None = None,
    seed: int = 0,
    units: Mapping[str, str] | Sequence = (),
) -> Problem:
    """Return a problem with what is not given chosen from the table.

    Columns are all but the target and those that cannot help (constant, all missing,
    or an id); the task is the one that the target's values most likely mean.

    Raises
    ------
    ValueError
        If the table has no such target.
    """
    series = as_frame(frame, [target])[target]
    if columns is None:
        columns = useful_columns(frame, target)
    return Problem(
        table_id,
        table_name,
        target,
        tuple(columns),
        task=infer_task(series) if task is None else task,
        seed=seed,
        units=pairs(units),
    )


def pairs(values: Mapping[str, str] | Sequence) -> tuple[tuple[str, str], ...]:
    """Return a mapping, or pairs of any kind, as a tuple of pairs."""
    items = values.items() if isinstance(values, Mapping) else values
    return tuple((str(name), str(value)) for name, value in items)
