"""What is known of a stored table: its columns, its first rows, notes on a problem."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path

import numpy as np
import streamlit as st

from pages.cached.store import split_of, table
from treelab.data.builtin import BUILTIN
from treelab.data.column_meaning import describe_columns
from treelab.data.columns import infer_task
from treelab.data.problem import Problem
from treelab.data.problem_check import check_problem
from treelab.data.split_by import likely_columns
from treelab.evaluation import metrics, profile
from treelab.figures.style import label_colors
from treelab.figures.table import table_html
from treelab.runs.store.run_store import RunStore, default_home
from treelab.trees.date_parts import first_day, has_times, looks_like_dates


def stored_table_id(key: str) -> str:
    """Return the store's id of a table; a built-in one is stored on first use."""
    return _builtin_id(default_home(), key) if key in BUILTIN else key


@st.cache_data(show_spinner=False, max_entries=32)
def _builtin_id(home: Path, key: str) -> str:
    """Store a built-in table and return its id."""
    built = BUILTIN[key]
    return RunStore(home).add_table(built.load(), built.title)


def _cached(function: Callable, most: int = 32) -> Callable:
    """Cache a function of a table by its id, or a problem on it; never changed."""

    @wraps(function)
    def read(about: str | Problem, *given, **options):
        if isinstance(about, Problem):
            return function(table(about.table_id), about, *given, **options)
        return function(table(about), *given, **options)

    return st.cache_resource(show_spinner=False, max_entries=most)(read)


# What the library says of a stored table, or of a problem on it.
column_facts = _cached(describe_columns)
columns_to_split_by = _cached(likely_columns, 64)
first_rows_html = _cached(table_html)
findings = _cached(check_problem, 64)
rows_of = _cached(profile.row_facts)
gaps_of = _cached(profile.missing_by_column)
alone_of = _cached(profile.alone)


def column_kinds(problem: Problem) -> dict[str, str]:
    """Return each column's kind: as its values suggest, or as it was changed."""
    facts = column_facts(problem.table_id)
    return dict(zip(facts["column"], facts["kind"])) | dict(problem.kinds)


@st.cache_data(show_spinner=False, max_entries=32)
def date_columns(table_id: str) -> list[tuple[str, str, bool]]:
    """Return columns of dates: name, first date, whether some have a time of day."""
    frame = table(table_id)
    return [
        (str(name), first_day(column), has_times(column))
        for name, column in frame.items()
        if looks_like_dates(column)
    ]


@st.cache_data(show_spinner=False, max_entries=64)
def problem_errors(problem: Problem) -> list[str]:
    """Return why a problem cannot be trained on; known sooner than all findings."""
    found = check_problem(table(problem.table_id), problem, with_leaks=False)
    return [each.sentence for each in found if each.level == "error"]


@st.cache_data(show_spinner=False, max_entries=64)
def inferred_task(table_id: str, target: str) -> str:
    """Return the task that a column's values most likely mean."""
    return infer_task(table(table_id)[target])


def target_colors(problem: Problem) -> dict:
    """Return a hex colour for each class, the most frequent in training first."""
    if problem.task == "regression":  # whose rows need not be read
        return {}
    return label_colors(split_of(problem).y_train)


@st.cache_data(show_spinner=False, max_entries=64)
def baseline_loss(problem: Problem) -> float:
    """Loss on the validation rows of predicting the same for every row."""
    split = split_of(problem)
    _, train, weight_train = split.rows("train")
    _, valid, weight = split.rows("valid")
    return metrics.baseline_loss(problem.task, train, valid, weight_train, weight)


@st.cache_data(show_spinner=False, max_entries=64)
def target_variance(problem: Problem) -> float:
    """Return the variance of a number target over the training rows."""
    if problem.more_targets:  # whose losses are fractions of it already
        return 1.0
    _, y, weight = split_of(problem).rows("train")
    mean = np.average(y, weights=weight)
    return float(np.average((y - mean) ** 2, weights=weight))


@st.cache_resource(show_spinner=False, max_entries=32)
def associations_of(problem: Problem, names: tuple[str, ...]) -> profile.Associations:
    """Return how strongly columns go together; shared, never changed."""
    return profile.associations(problem.table(table(problem.table_id))[list(names)])


@st.cache_resource(show_spinner=False, max_entries=64)
def distribution_of(problem: Problem, name: str) -> profile.Distribution:
    """Return the rows in bins of one column; shared, never changed."""
    frame = table(problem.table_id)
    column = replace(problem, columns=(name,)).table(frame)[name]
    return profile.distribution(column, frame[problem.target], problem)
