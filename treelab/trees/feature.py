"""Feature: one number that a split may test, read from a column of the user's table."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, nan

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from treelab.trees.cells import (
    ANY_NUMBER,
    CATEGORY,
    MISSING,
    CellForm,
    as_form,
    check_held,
    counted_row,
    noted_form,
    read_column,
)
from treelab.trees.date_parts import parse_part, with_date_parts
from treelab.trees.frames import as_pandas, form_of_moments, named_frame, plain_frame
from treelab.trees.words import named_with_unit

KINDS = ("number", "category")


@dataclass(frozen=True)
class Feature:
    """One number that a split may test, read from one column of the user's table.

    A number column is read as it is. A category column is read by the score of its
    category, so that ``score <= threshold`` splits the categories into two sets.

    ValueError if ``kind`` is unknown, categories and scores do not match, or rare
    values are no categories.
    """

    column: str  # in the user's table
    kind: str = "number"  # or "category": how the column is read
    unit: str = ""  # of a number column, shown behind its thresholds
    # Number that stands for a missing value (in the column's unit, or a score) in
    # weighted sums: oblique splits and linear leaves. NaN: none is known.
    fill: float = nan
    # ``str(value)`` of each category that training rows held, and the number that each
    # stands for, such as its target encoding.
    categories: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    # Score of a category that no training row held; NaN treats it as missing.
    unseen: float = nan
    # Standard deviation of the training rows, in the column's unit (or of scores); by
    # it the columns of a weighted sum are ordered. NaN: not known.
    spread: float = nan
    # Categories that count as one, as few training rows held each of them: they have
    # one score, and words name them together.
    rare: tuple[str, ...] = ()
    # How the cells of training rows were written, by which those of every later table
    # are read; None where they were numbers or plain text of a data frame.
    form: CellForm | None = None
    # Numbers from the first to the second count as missing, as in a table where -999
    # stands for it; None: only what is missing does.
    missing_range: tuple[float, float] | None = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(
                f"The kind of column {self.column!r} must be one of {KINDS}, "
                f"got {self.kind!r}."
            )
        plain = {
            "column": str(self.column),
            "unit": str(self.unit),
            "fill": float(self.fill),
            "unseen": float(self.unseen),
            "spread": float(self.spread),
            "categories": tuple(str(c) for c in self.categories),
            "scores": tuple(float(s) for s in self.scores),
            "rare": tuple(str(c) for c in self.rare),
            "form": as_form(self.form),
        }
        if self.missing_range is not None:
            low, high = self.missing_range
            plain["missing_range"] = (float(low), float(high))
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if len(self.categories) != len(self.scores):
            raise ValueError(
                f"Column {self.column!r} has {len(self.categories)} categories, "
                f"but {len(self.scores)} scores."
            )
        if self.kind == "number" and self.categories:
            raise ValueError(f"Number column {self.column!r} cannot have categories.")
        if len(set(self.categories)) != len(self.categories):
            raise ValueError(f"Column {self.column!r} lists a category twice.")
        if not set(self.rare) <= set(self.categories):
            raise ValueError(
                f"Column {self.column!r} has rare values it does not list."
            )

    @property
    def reading(self) -> tuple:
        """What two features share that read a table alike; here NaN equals NaN."""
        unseen = None if np.isnan(self.unseen) else self.unseen
        return (
            *(self.column, self.kind, self.categories, self.scores, unseen),
            *(self.form, self.missing_range),
        )

    @cached_property
    def scored(self) -> dict[str, float]:
        """The score of each category."""
        return dict(zip(self.categories, self.scores))

    def read(
        self, column: pd.Series, place_of: Callable[[int], str] = counted_row
    ) -> pd.Series:
        """Return a column of any table as this feature reads it; see ``read_column``.

        ``place_of`` says where a row (from 0) stands, for messages.
        """
        return read_column(column, self.form, self.kind, self.categories, place_of)

    @cached_property
    def part(self) -> tuple[str, str, str] | None:
        """Part, column and first day of the dates that it is computed from, or None.

        A file may have a column "year of birth", which was written in a way of its own.
        """
        form = self.form
        is_own = form is not None and (form.kind != "date" or form.whole_dates)
        return None if is_own else parse_part(self.column)

    @cached_property
    def is_date(self) -> bool:
        """Whether its numbers are years with decimals, which words show as dates."""
        of_dates = self.form is not None and self.form.kind == "date"
        return of_dates and self.kind == "number" and self.part is None

    @cached_property
    def is_clock(self) -> bool:
        """Whether its numbers are hours, which words show as times: "17:02"."""
        return (
            self.kind == "number"
            and self.form is not None
            and self.form.is_clock
            and self.part is None
        )

    @property
    def title(self) -> str:
        """Its column as axes and fields are called: "weight (kg)"; of times without."""
        return named_with_unit(self.column, "" if self.is_clock else self.unit)

    @property
    def missing_interval(self) -> tuple[float, float] | None:
        """The numbers that count as missing, for exported code; None where none do.

        ValueError if they are several numbers.
        """
        marks = () if self.form is None else self.form.missing_numbers
        if self.missing_range is not None or not marks or self.kind != "number":
            return self.missing_range
        if len(marks) > 1:
            raise ValueError(
                f"In column {self.column!r} {len(marks)} numbers count as missing, "
                f"{marks[0]:g} and {marks[1]:g} among them; exported code knows one. "
                "Train on a table in which those cells are empty."
            )
        return marks[0], marks[0]

    def cell(self, value) -> str | float:
        """Return one cell as it is read, an unknown category too; NaN where missing."""
        if isinstance(value, str) and value in self.scored:
            return value
        read = self.read(pd.Series([value], name=self.column)).iloc[0]
        if pd.isna(read):
            return nan
        low, high = self.missing_range or (inf, -inf)
        return nan if self.kind == "number" and low <= read <= high else read


def feature_forms(frame: pd.DataFrame) -> dict[str, CellForm]:
    """Return how the columns of a table were written, by the note that it carries.

    Parts of dates are written as the dates are that they are computed from.
    """
    forms = {}
    for name in map(str, frame.columns):
        form, part = noted_form(frame, name), parse_part(name)
        if form is None and part is not None:
            dates = noted_form(frame, part[1])
            form = dates if dates is not None and dates.kind == "date" else None
        elif form is not None and form.kind == "date":
            form = replace(form, whole_dates=part is not None)
        if form is not None:
            forms[name] = form
    return forms


def known_forms(model) -> dict[str, CellForm]:
    """Return how the columns of training rows were written, target among them.

    Columns of which a model does not know that are absent.
    """
    forms = {}
    for feature in model.features:
        if feature.form is not None:
            part = feature.part
            forms[feature.column if part is None else part[1]] = feature.form
    if model.target_form is not None:
        forms[model.target] = model.target_form
    return forms


def forms_of_model(model) -> dict[str, CellForm]:
    """Return how each column that a model reads is written, its target among them.

    Where the training rows were no text, numbers are written plainly, and a category
    is its text, a mark of a missing value being one if training rows did not hold it.
    Of columns that no split reads, and of the target, each cell may be unreadable.
    """
    forms = {}
    for feature in model.features:
        if feature.part is None:
            seen = feature.categories if feature.kind == "category" else None
            forms[feature.column] = _plain_form(seen)
    labels = model.classes or ()
    is_text = any(isinstance(label, str | bool) for label in labels)
    forms[model.target] = _plain_form(tuple(map(str, labels)) if is_text else None)
    forms |= known_forms(model)
    read = [feature for feature in model.features if feature.column in model.columns]
    needed = {feature.part[1] if feature.part else feature.column for feature in read}
    for name, form in forms.items():
        forms[name] = replace(form, needed=name in needed)
    # A file without names may lack the target alone.
    forms[model.target] = replace(forms[model.target], width=0)
    return forms


def _plain_form(seen: tuple[str, ...] | None) -> CellForm:
    """Return the form of any numbers, or of categories that training rows held."""
    if seen is None:
        return ANY_NUMBER
    return replace(CATEGORY, missing=tuple(m for m in MISSING if m not in seen))


def feature_matrix(
    features: Sequence[Feature], X, used: np.ndarray | None = None
) -> np.ndarray:
    """Read the features from the user's table, one column of numbers a feature.

    The table is a frame of pandas or another library, or an array, whose columns are
    called x0, x1, ...; where the features have other names, it must have one column for
    each of their columns, in their order. Features that are not ``used`` (indices;
    None: all are) are left NaN, and their columns may be absent.

    Returned is float64 (n_rows, n_features), one column behind the other: numbers as
    they are and categories by their score, missing values NaN, unknown categories the
    feature's ``unseen`` score. ValueError if a column is absent, appears twice, or
    holds text where numbers are expected.
    """
    read, X = features, as_pandas(X)
    if used is not None and isinstance(X, pd.DataFrame):  # of thousands a tree uses few
        read = [features[index] for index in used]
    return FeatureReader(read, X).matrix(features, used)


class FeatureReader:
    """One table, as ``feature_matrix`` takes it, that many trees read.

    What they share of it is read once.
    """

    def __init__(self, features: Sequence[Feature], X):
        self._X = as_table(features, X)
        self._positions: dict[str, list[int]] = {}
        for position, name in enumerate(self._X.columns):
            self._positions.setdefault(name, []).append(position)
        self._types = self._X.dtypes.to_numpy()
        # Several features may read one column.
        self._codes: dict[tuple, tuple[np.ndarray, list[str]]] = {}

    def matrix(
        self, features: Sequence[Feature], used: np.ndarray | None = None
    ) -> np.ndarray:
        """Return ``feature_matrix`` of features whose columns the table has."""
        X = self._X
        matrix = np.full((len(X), len(features)), np.nan, order="F")
        wanted = list(range(len(features)) if used is None else used)
        plain = self._plain_numbers(features, wanted)
        scores: dict[int, float] = {}
        if len(X) == 1:
            # A row that is explained is read again and again; cell by cell, as pandas
            # takes ten times as long to hand out a column.
            scores = self._scores_of_row(features, wanted)
            matrix[0, list(scores)] = list(scores.values())
            matrix[0, list(plain)] = [X.iat[0, at] for at in plain.values()]
        else:
            numbers = X.iloc[:, list(plain.values())]
            matrix[:, list(plain)] = numbers.to_numpy(np.float64)
        for index in wanted:
            if index in plain or index in scores:
                continue
            feature = features[index]
            name = feature.column
            if feature.kind == "number":
                read = feature.read(_column(X, self._positions, name))
                matrix[:, index] = read.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                key = name, feature.categories  # by which numbers are named
                if key not in self._codes:
                    column = _column(X, self._positions, name)
                    self._codes[key] = _categories(column, feature)
                matrix[:, index] = _scores(feature, *self._codes[key])
        for index in wanted:
            if (missing := features[index].missing_range) is not None:
                x = matrix[:, index]
                x[(x >= missing[0]) & (x <= missing[1])] = np.nan
        return matrix

    def _plain_numbers(
        self, features: Sequence[Feature], wanted: list[int]
    ) -> dict[int, int]:
        """Return the column of each wanted feature that numpy can read with others.

        Of thousands of columns, pandas takes most of the time to hand out one by one.
        """
        found = {}
        for index in wanted:
            at = self._positions.get(features[index].column, ())
            feature = features[index]
            if feature.kind != "number" or len(at) != 1:
                continue
            if feature.form is not None and feature.form.missing_numbers:
                continue
            kind = self._types[at[0]]
            if isinstance(kind, np.dtype) and kind.kind in "iufb":
                found[index] = at[0]
        return found

    def _scores_of_row(
        self, features: Sequence[Feature], wanted: list[int]
    ) -> dict[int, float]:
        """Return a single row's scores of categories that training rows held."""
        found = {}
        for index in wanted:
            feature = features[index]
            at = self._positions.get(feature.column, ())
            if feature.kind == "category" and len(at) == 1:
                text = self._X.iat[0, at[0]]
                if isinstance(text, str) and text in feature.scored:
                    found[index] = feature.scored[text]
        return found


def as_table(features: Sequence[Feature], X) -> pd.DataFrame:
    """Return ``X`` as a data frame whose columns carry the features' names.

    Dates and other measures that number features read are numbers there, as they are
    where a person made categories of such numbers. Parts of dates, such as "month of
    admitted", are computed where it has the dates.
    """
    kinds = {
        f.column: f.kind if f.form is None or f.form.kind == "category" else "number"
        for f in features
    }
    forms = {f.column: f.form for f in features if f.form or f.kind == "number"}
    X = named_frame(X, list(kinds), has_more=True)
    parts = {feature.column: part for feature in features if (part := feature.part)}
    dates = {column: "number" for _, column, _ in parts.values()}
    # The form of a part is that of its dates: the part itself holds numbers.
    _check_held(X, {name: forms[name] for name in forms if name not in parts})
    known = {name: form for name, form in forms.items() if form is not None}
    return with_date_parts(plain_frame(X, dates | kinds), parts, known)


_NUMBERS, _BOOLS = CellForm(), CellForm("category")


def _check_held(X: pd.DataFrame, forms: Mapping[str, CellForm | None]) -> None:
    """Raise ValueError where typed columns are not what those of training rows held."""
    for place, (name, dtype) in enumerate(zip(map(str, X.columns), X.dtypes)):
        if name not in forms:
            continue
        noted = noted_form(X, name)
        is_number = is_numeric_dtype(dtype)  # true and false, too
        moments = None if is_number else form_of_moments(X.iloc[:, place])
        # Moments that stand there go before a note of what a file held.
        is_noted = moments is None and noted is not None and forms[name] == noted
        if is_noted or not (is_number or moments):
            continue
        plain = _BOOLS if is_bool_dtype(dtype) else _NUMBERS
        try:
            check_held(name, dtype, moments or noted or plain, forms[name])
        except ValueError:
            if not X.iloc[:, place].isna().all():  # an empty column holds nothing
                raise


def _column(X: pd.DataFrame, positions: dict, name: str) -> pd.Series:
    """Return the one column of ``X`` with this name."""
    found = positions.get(name, ())
    if len(found) == 0:
        known = ", ".join(repr(c) for c in list(X.columns)[:8])
        more = ", ..." if X.shape[1] > 8 else ""
        raise ValueError(
            f"The table has no column {name!r}. Its columns are: {known}{more}."
        )
    if len(found) > 1:
        raise ValueError(
            f"The table has {len(found)} columns named {name!r}. Rename them."
        )
    return X.iloc[:, found[0]]


def _categories(series: pd.Series, feature: Feature) -> tuple[np.ndarray, list[str]]:
    """Return a category column as codes (-1 missing) and the text of each code."""
    codes, values = pd.factorize(feature.read(series), use_na_sentinel=True)
    if len(values) and not feature.scored.keys() & set(values):
        _check_text(series, list(values), feature)
    return codes, list(values)


def _check_text(series: pd.Series, values: Sequence[str], feature: Feature) -> None:
    """Raise ValueError for numbers, dates or times where no category is written so.

    Whether it does hangs on the kind of the column, not on which of its rows are read.
    """
    known, is_written_so = feature.categories, True
    if is_numeric_dtype(series.dtype) and not is_bool_dtype(series.dtype):
        is_written_so = any(map(_is_number, known))
    elif form_of_moments(series) is not None:
        is_written_so = bool(set(map(_shape, values)) & set(map(_shape, known)))
    if known and not is_written_so:
        raise ValueError(
            f"Column {feature.column!r} holds {series.dtype} values, such as "
            f"{series.dropna().iloc[0]}, but the training rows held categories such "
            f"as {known[0]!r}. Give the column as text that is written so."
        )


def _shape(text: str) -> str:
    """Return the first word of a date or time with each number as 0: "0-0-0"."""
    return re.sub(r"\d+", "0", text.partition(" ")[0])


def _is_number(text: str) -> bool:
    """Whether a category may be a number's text."""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _scores(feature: Feature, codes: np.ndarray, values: list[str]) -> np.ndarray:
    """Return the score of each row's category; NaN where it is missing."""
    table = [feature.scored.get(value, feature.unseen) for value in values]
    return np.array([*table, np.nan])[codes]  # code -1 takes the last
