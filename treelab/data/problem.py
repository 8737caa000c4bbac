"""A problem: which column of which table to predict, from which columns and rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.columns import (
    TASKS,
    as_frame,
    cast_column,
    class_labels,
    column_kind,
    infer_task,
    useful_columns,
)
from treelab.data.folds import assign_folds, first_fold
from treelab.data.split import SPLITS, DataSplit, assign_splits, rare_class_notes
from treelab.data.split_by import WAYS, assign_by, fold_groups
from treelab.trees.cells import CellForm, note_forms, noted_forms, noted_units
from treelab.trees.date_parts import parse_part, with_date_parts
from treelab.trees.words import counted, left_out

FEW_TEST_ROWS = 30


@dataclass(frozen=True)
class Problem:
    """What to predict from what, and how the rows are split.

    ValueError if the task is unknown, the target, truth, weight or exposure is among
    the columns, there is no column, or a data split would have no rows; if values are
    to be rare below fewer than 2 rows or above half of them; if classes, a surrogate or
    clusters are to have an exposure, or clusters a weight; if anything but a plain
    regression is to have several targets.
    """

    # Id in the run store, and the name that people know.
    table_id: str
    table_name: str
    target: str  # the column to predict
    # The columns to predict from; among them may be parts of dates, such as "month of
    # admitted", see ``treelab/trees/date_parts.py``.
    columns: tuple[str, ...]
    # Column and "number" or "category", where a person overrides the column's type.
    kinds: tuple[tuple[str, str], ...] = ()
    task: str = ""  # "binary", "multiclass" or "regression"
    seed: int = 0  # seeds the data split
    # In (0, 1), together less than 1; the rest is for training.
    valid_share: float = 0.2
    test_share: float = 0.2
    units: tuple[tuple[str, str], ...] = ()  # column (or target) and unit
    # Of a clustering: the id of the table in which clusters are found. The target is
    # then a column of clusters, which the table has once ``table_id`` differs from
    # ``origin``.
    origin: str = ""
    # Whether the target holds another model's predictions, which are imitated.
    is_surrogate: bool = False
    # Of a surrogate: the column that the other model was to predict, "" where that is
    # not known.
    truth: str = ""
    # "random", "group", "time" or "given": how rows are split, see
    # ``treelab/data/split_by.py``.
    split_by: str = "random"
    split_column: str = ""  # the column by which they are split; "" at random
    # Of cross-validation, 0 without: the test rows are one of so many folds, by
    # ``seed``, see ``treelab/data/folds.py``, and ``test_share`` plays no role.
    n_folds: int = 0
    # Category column, and the training rows (below 1: the fraction of them) that a
    # value needs, or else it becomes one with the other rare ones, see
    # ``treelab/data/encoding.py``.
    rare: tuple[tuple[str, float], ...] = ()
    # Column of what each row counts in training and in all that is measured, "" where
    # all count alike.
    weight: str = ""
    # Of a regression: column by which the target is divided, such as the years of a
    # policy; the weight is multiplied by it, so that sums of the target count. "" where
    # the target is predicted as it stands.
    exposure: str = ""
    # Of a regression: columns of numbers that the same tree predicts, too.
    more_targets: tuple[str, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "more_targets", tuple(self.more_targets))
        for name in ("kinds", "units"):
            object.__setattr__(self, name, pairs(getattr(self, name)))
        rare = tuple((str(name), float(least)) for name, least in self.rare)
        object.__setattr__(self, "rare", rare)
        for name, least in rare:
            if not (0 < least <= 0.5 or least >= 2):
                raise ValueError(
                    "Values are rare below a number of rows from 2 on, or below a "
                    f"fraction of the rows up to 0.5; got {least:g} for {name!r}."
                )
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
        if self.split_by not in WAYS or (self.split_by == "random") == bool(
            self.split_column
        ):
            raise ValueError(
                f"split_by must be one of {', '.join(WAYS)}, with a split_column for "
                f"all but random; got {self.split_by!r} and {self.split_column!r}."
            )
        self._check_weights()
        self._check_targets()
        if self.split_column in self.targets:
            raise ValueError("Rows cannot be split by the target itself.")
        if not self.columns:
            raise ValueError("Choose at least one column to predict from.")
        if self.n_folds and (self.n_folds < 2 or not self.can_have_folds):
            raise ValueError(
                "n_folds must be at least 2, of rows split at random or by group; got "
                f"{self.n_folds} folds of rows split by {self.split_by!r}."
            )
        shares = (self.valid_share, self.test_share)
        if not (min(shares) > 0 and sum(shares) < 1):
            raise ValueError(
                "valid_share and test_share must be above 0 and together below 1; got "
                f"{self.valid_share} and {self.test_share}."
            )

    def _check_targets(self) -> None:
        """Raise ValueError where there cannot be several targets, or not these."""
        more = self.more_targets
        if more and (self.task != "regression" or self.is_surrogate or self.exposure):
            raise ValueError(
                "Several targets are numbers, predicted as they stand: no classes, no "
                "predictions that are imitated, and no exposure."
            )
        if more and self.origin:
            raise ValueError("Clusters are found without a target.")
        others = (self.target, *self.columns, self.weight)
        for name in more:
            if name in others or more.count(name) > 1:
                raise ValueError(
                    f"The target {name!r} stands twice, or is predicted from; take it "
                    "out of the columns."
                )

    def _check_weights(self) -> None:
        """Raise ValueError where weight or exposure cannot be what they are."""
        if self.weight and self.weight in (*self.columns, self.target):
            raise ValueError(
                f"The weight {self.weight!r} says how much rows count and cannot be "
                "predicted or predicted from; take it out of the columns."
            )
        if self.exposure and self.exposure in (*self.columns, self.target):
            raise ValueError(
                f"The exposure {self.exposure!r} is what the target is divided by and "
                "cannot be predicted or predicted from; take it out of the columns."
            )
        if self.exposure and self.exposure == self.weight:
            raise ValueError(
                "Rows count by the exposure already; choose another weight than "
                f"{self.weight!r}, or none."
            )
        if self.exposure and (self.task != "regression" or self.is_surrogate):
            raise ValueError(
                "An exposure divides amounts or counts that are predicted; classes and "
                "predictions that are imitated have none."
            )
        if self.origin and (self.weight or self.exposure):
            raise ValueError("Clusters are found by rows that count alike: no weight.")

    @property
    def target_name(self) -> str:
        """What is predicted, in words: "claims", or "claims per policy_years"."""
        if self.exposure:
            return f"{self.target} per {self.exposure}"
        return ", ".join(self.targets)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns to predict: the target, and those that come with it."""
        return (self.target, *self.more_targets)

    @property
    def weighting(self) -> str:
        """What rows are weighted by, in words; "" where all count alike."""
        return " and ".join(name for name in (self.exposure, self.weight) if name)

    @property
    def weighted_words(self) -> str:
        """What to write behind a number of rows: ", weighted by policy_years"."""
        return f", weighted by {self.weighting}" if self.weighting else ""

    @property
    def awaits_clusters(self) -> bool:
        """Whether the target is a column of clusters that nobody has found yet."""
        return bool(self.origin) and self.origin == self.table_id

    @property
    def can_have_folds(self) -> bool:
        """Whether each row may be a test row in turn; a later time or mark may not."""
        return self.split_by in ("random", "group")

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
        along in ``attrs["units"]``, where the encoder finds them, what is rare in
        ``attrs["rare"]``, and the note on how the table was read.

        Raises ValueError if a column is absent.
        """
        plain = as_frame(with_date_parts(frame, self.columns), self.columns)
        kinds = {name: column_kind(own) for name, own in plain.items()}
        kinds |= dict(self.kinds)
        forms = noted_forms(plain)
        chosen = pd.DataFrame(
            {n: cast_column(plain[n], kinds[n], forms.get(n)) for n in self.columns},
            index=frame.index,
        )
        units = {
            name: forms[name].unit  # of numbers among words, made numbers here
            for name in self.columns
            if kinds[name] == "number"
            and name in forms
            and forms[name].kind == "category"
            and forms[name].unit
        }
        chosen.attrs["units"] = units | dict(self.units)
        chosen.attrs["rare"] = dict(self.rare)
        for name, kind in self.kinds:
            # Of numbers that become categories 8 and 8.0 are one, in every later table.
            are_numbers = name in plain and column_kind(plain[name]) == "number"
            if are_numbers and kind == "category" and parse_part(name) is None:
                forms.setdefault(name, CellForm())
        if forms:
            note_forms(chosen, forms)
        return chosen

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """Return the target of the rows that have one, under the table's index.

        Classes are text, whole numbers (also where stored as 1.0), or true and false;
        regression gives float64, by the exposure where there is one. Several targets
        are a frame, of the rows that have all of them. Refused are a target that is
        absent, or text where the task is regression, and a row with a target and no
        exposure above 0.
        """
        if self.more_targets:
            each = [
                replace(self, target=name, more_targets=()).labels(frame)
                for name in self.targets
            ]
            together: Any = pd.concat(each, axis=1, join="inner").sort_index()
            if together.empty:
                raise ValueError("No row has a value of every target.")
            return together
        target = as_frame(frame, [self.target])[self.target].dropna()
        if self.task != "regression":
            return class_labels(target)
        if column_kind(target) != "number":
            raise ValueError(
                f"The target {self.target!r} holds text, but regression predicts "
                "numbers. Choose a number column or classification."
            )
        target = target.astype(np.float64)
        if not self.exposure:
            return target
        exposure = self._amounts(frame, self.exposure, "exposure")
        return target / exposure.loc[target.index]

    def assign(self, frame: pd.DataFrame, strata: np.ndarray) -> np.ndarray:
        """Assign rows that have a target to training (0), validation (1) and test (2).

        ``strata`` (n_rows,) are the class of each row, or zeros. ValueError if the
        column to split by is absent, or one of the three has no row.
        """
        shares = (self.valid_share, self.test_share, self.seed)
        column = None
        if self.split_by != "random":
            if self.split_column not in frame.columns:
                raise ValueError(
                    f"The table has no column {self.split_column!r} to split it by."
                )
            column = frame[self.split_column]
        if self.n_folds:
            return assign_folds(
                strata, column, self.n_folds, self.valid_share, self.seed
            )
        if column is None:
            return assign_splits(strata, *shares)
        return assign_by(self.split_by, column, *shares)

    def split(self, frame: pd.DataFrame) -> DataSplit:
        """Split the rows of a table into training, validation and test rows.

        Rows without a target are left out. At random, classification is stratified
        by class; else rows of a class that has no training row are left out.

        Raises ValueError if a column is absent, the target does not fit the task, or
        fewer than 3 rows have a target.
        """
        target = self.labels(frame)
        table = self.table(frame)
        X = table[as_frame(frame, self.targets)[[*self.targets]].notna().all(axis=1)]
        notes = []
        if n_missing := len(table) - len(X):
            which = f"without a value of the target {self.target_name!r}"
            notes.append(f"{left_out(n_missing, which)}.")
        weight = self.weights(frame)
        if weight is not None:
            weight = weight.loc[target.index]
            if n_left_out := int((weight == 0).sum()):
                notes.append(f"{left_out(n_left_out, 'of weight 0')}.")
            X, target = X[weight > 0], target[weight > 0]
            weight = weight[weight > 0]
            notes.append(f"Rows are weighted by {self.weighting}.")
        strata = np.zeros(len(target), dtype=np.int64)
        if self.task != "regression":
            strata = pd.factorize(target)[0]
        assigned = self.assign(as_frame(frame).loc[target.index], strata)
        if self.task != "regression":
            notes += rare_class_notes(target, assigned)
        n_known = len(target)
        known = np.isin(strata, strata[assigned == 0])  # of a class that is trained on
        X, target, assigned = X[known], target[known], assigned[known]
        if n_lost := n_known - len(target):
            notes.append(f"{left_out(n_lost, 'of a class without a training row')}.")
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
        by = as_frame(frame)[self.split_column] if self.split_column else None
        return DataSplit(
            **rows,
            notes=tuple(notes),
            weight=weight,
            is_rate=bool(self.exposure),
            by=by,
            groups=None if by is None else fold_groups(self.split_by, by),
        )

    def weights(self, frame: pd.DataFrame) -> pd.Series | None:
        """Return what each row of a table counts, weight times exposure; None: alike.

        Raises ValueError if a column is absent, holds anything but finite numbers from
        0 on, or leaves no row that counts.
        """
        weight = None
        if self.weight:
            weight = self._amounts(frame, self.weight, "weight")
        if self.exposure:
            exposure = self._amounts(frame, self.exposure, "exposure")
            weight = exposure if weight is None else weight * exposure
        return weight

    def _amounts(self, frame: pd.DataFrame, name: str, what: str) -> pd.Series:
        """Return a column of amounts: weights from 0 on, exposures above it."""
        column = as_frame(frame, [name])[name]
        if column_kind(column) != "number":
            raise ValueError(f"The {what} {name!r} must be a column of numbers.")
        amount = column.astype(np.float64)
        values = amount.to_numpy()
        has_target = as_frame(frame, [self.target])[self.target].notna().to_numpy()
        is_weight = what == "weight"
        enough = values >= 0 if is_weight else values > 0
        wrong = ~(np.isfinite(values) & enough) & has_target
        if wrong.any():
            row = int(wrong.argmax())
            least = "at least 0" if is_weight else "above 0"
            else_ = "give 0 to leave the row out" if is_weight else "leave the row out"
            raise ValueError(
                f"The {what} {name!r} must be finite and {least}, but is "
                f"{amount.iloc[row]:g} in row {row + 1}. Fill it in, or {else_}."
            )
        if has_target.any() and not values[has_target].any():
            raise ValueError(
                f"The weight {name!r} is 0 in each row with a target, so no row "
                "counts. Choose another weight, or none."
            )
        return amount


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
    or an id); the task is the one that the target's values most likely mean; units
    that are not given are those that cells carried when the table was read.

    Raises ValueError if the table has no such target.
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
        units=pairs(noted_units(frame) | dict(pairs(units))),
    )


def several_targets(problem: Problem, names: Sequence[str]) -> Problem:
    """Return a problem of which one tree predicts these columns, too."""
    more = tuple(name for name in dict.fromkeys(names) if name != problem.target)
    columns = tuple(name for name in problem.columns if name not in more)
    return replace(problem, more_targets=more, columns=columns)


def split_problem(problem: Problem, way: str, column: str) -> Problem:
    """Return a problem that is split by a column, or at random.

    A column of groups or of marks is no longer predicted from: on new rows it says
    nothing.
    """
    if way == "random":
        return replace(problem, split_by="random", split_column="")
    columns = problem.columns
    if way != "time":
        columns = tuple(name for name in columns if name != column) or columns
    return replace(problem, split_by=way, split_column=column, columns=columns)


def weighted_problem(
    problem: Problem,
    weight: str = "",
    exposure: str = "",
    columns: Sequence[str] | None = None,
) -> Problem:
    """Return a problem with a weight and an exposure, which are not predicted from.

    ``columns`` are those to predict from otherwise, by default the problem's.
    """
    given = problem.columns if columns is None else columns
    columns = tuple(name for name in given if name not in (weight, exposure))
    return replace(problem, weight=weight, exposure=exposure, columns=columns)


def folds_problem(problem: Problem, n_folds: int) -> Problem:
    """Return a problem whose test rows are fold 1 of so many; 0 for none.

    The seed numbers the repeat of the folds, and is found again without them.

    Raises ValueError if the rows are not split at random or by group.
    """
    repeat = problem.seed // max(problem.n_folds, 1)
    seed = first_fold(repeat, n_folds) if n_folds else repeat
    return replace(problem, n_folds=n_folds, seed=seed)


def pairs(values: Mapping[str, str] | Sequence) -> tuple[tuple[str, str], ...]:
    """Return a mapping, or pairs of any kind, as a tuple of pairs."""
    items = values.items() if isinstance(values, Mapping) else values
    return tuple((str(name), str(value)) for name, value in items)
