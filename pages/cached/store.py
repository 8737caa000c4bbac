"""What pages read of the run store: runs, models, tables, and what is known of them."""

import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from pages.state.visitor import visitor
from treelab.data.builtin import BUILTIN
from treelab.data.column_meaning import describe_columns
from treelab.data.columns import cast_column, infer_task
from treelab.data.problem import Problem
from treelab.data.problem_check import check_problem
from treelab.data.split import DataSplit
from treelab.data.split_by import likely_columns
from treelab.evaluation import metrics, profile
from treelab.figures.style import label_colors
from treelab.figures.table import table_html
from treelab.runs.care.retention import Limits
from treelab.runs.store.files import folder_size, megabytes
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, default_home
from treelab.runs.store.version import StoreReads, StoreVersion
from treelab.runs.users import Visitor, VisitorStore, quota_words
from treelab.runs.workers.queue import Queue
from treelab.trees.cells import holds_times, noted_form
from treelab.trees.date_parts import first_day, has_times, looks_like_dates

T = TypeVar("T")

CHECK_SECONDS = 0.8  # between two looks after runs and workers
LARGE_CELLS = 10_000_000  # of a table: such take memory, so few are held at a time


def store() -> RunStore:
    """Return the run store as this visitor may use it; without sign-in, one for all."""
    return _store(default_home(), visitor())


def shared_store() -> RunStore:
    """Return the run store itself, for what is read once for all who may see it."""
    return _store(default_home(), None)


_a_page_was_shown = threading.Event()


def start_workers() -> None:
    """Start what trains, from now on: after the first page, which it would slow."""
    if not _a_page_was_shown.is_set():
        _a_page_was_shown.set()
        with suppress(OSError):  # said where it is looked again
            _queue(default_home()).check()


def look_after_queue() -> None:
    """Look after runs and workers, once a moment however many pages are open."""
    _look_after_queue(default_home())


def queue() -> Queue:
    """Return the queue that hands runs to the workers, shared by all sessions."""
    return _queue(default_home())


def table(table_id: str) -> pd.DataFrame:
    """Return a stored table; it is shared, so callers never change it."""
    home = default_home()
    read = _large_table if _is_large(home, table_id) else _table
    return read(home, table_id)


def split_of(problem: Problem) -> DataSplit:
    """Return a problem's train, validation and test rows; shared, never changed."""
    home = default_home()
    split = _large_split if _is_large(home, problem.table_id) else _split
    return split(home, problem)


def find_run(run_id: str | None) -> Run | None:
    """Return a run by its id, or None where there is none of this id."""

    def read() -> Run | None:
        with suppress(LookupError):
            return store().run(run_id) if run_id else None

    return read_once(("run", run_id), read)


def all_runs() -> list[Run]:
    """Return all runs that the visitor may see, newest first; never to be changed."""
    return read_once("runs", store().runs)


def place_in_queue(run_id: str) -> int:
    """Return a run's place in the queue, from 1; 0 when it does not wait."""
    return read_once(("place", run_id), lambda: queue().position(run_id))


def device() -> str:
    """Name for display what runs are trained on."""
    return read_once("device", queue().device)


def readiness() -> float | None:
    """Return how ready workers are, 0 to 1; None once they have been ready."""
    if "workers-ready" in st.session_state:
        return None
    try:
        found = queue().readiness()
    except ValueError:  # of a variable; where runs are started, it is said
        return None
    if found is None:
        st.session_state["workers-ready"] = True
    return found


def startup_error() -> str:
    """Explain in a sentence why no worker trains, empty when all is well."""
    return read_once("startup error", queue().startup_error)


def read_once(name: Hashable, read: Callable[[], T]) -> T:
    """Read once for all sessions of a visitor, until the store is written to."""
    home = default_home()
    return _reads(home, visitor()).get(name, read)


def finished_runs() -> list[Run]:
    """Return the runs that ended with a model, newest first."""
    return [run for run in all_runs() if run.has_model]


def newest_of_each_kind(runs: list[Run]) -> list[Run]:
    """Leave out finished runs that were repeated with the same settings."""
    newest, seen = [], set()
    for run in runs:
        kind = (run.learner, str(run.settings), run.problem, run.title)
        if not run.is_finished or kind not in seen:
            newest.append(run)
        seen.add(kind)
    return newest


def folder_words() -> str:
    """Return how much the data folder holds, and what limits it."""
    words, who = f"The data folder holds {_folder_size(default_home())}.", visitor()
    try:
        quota = "" if who is None else quota_words(shared_store(), who.user)
        return f"{words} {Limits.from_environment()} {quota}".strip()
    except ValueError as error:
        return f"{words} {error}"


@st.cache_data(show_spinner=False, max_entries=4, ttl="10m")
def _folder_size(home: Path) -> str:
    """The folder's size, measured now and then: a large one takes a moment."""
    return megabytes(folder_size(home))


# Not Streamlit's cache: a look at the store asks a dozen times, and writing down what
# was asked with takes that longer than the rest.
@lru_cache(maxsize=64)
def _reads(home: Path, who: Visitor | None) -> StoreReads:
    """What visitors read of the store of a data folder."""
    return StoreReads(_version(home), CHECK_SECONDS)


@lru_cache(maxsize=4)
def _version(home: Path) -> StoreVersion:
    """The version of the store of a data folder."""
    return StoreVersion(_store(home, None).database)


@st.cache_resource(show_spinner=False, max_entries=64)
def _store(home: Path, who: Visitor | None) -> RunStore:
    """The store of a data folder, or what a visitor may use of it."""
    return RunStore(home) if who is None else VisitorStore(home, who)


@st.cache_resource(show_spinner=False, max_entries=4)
def _queue(home: Path) -> Queue:
    """The queue of a data folder."""
    return Queue(_store(home, None))


@st.cache_data(show_spinner=False, max_entries=4, ttl=CHECK_SECONDS)
def _look_after_queue(home: Path) -> None:
    """``look_after_queue``, remembered for a moment."""
    if _a_page_was_shown.is_set():
        _queue(home).check()
    else:
        _store(home, None).interrupt_dead_runs()


@st.cache_resource(show_spinner=False, max_entries=8)
def _table(home: Path, table_id: str) -> pd.DataFrame:
    """``table``, by values that name it."""
    return _store(home, None).table(table_id)


@st.cache_resource(show_spinner="Loading the table…", max_entries=2)
def _large_table(home: Path, table_id: str) -> pd.DataFrame:
    """``table`` of many cells."""
    return _store(home, None).table(table_id)


@lru_cache(maxsize=256)
def _is_large(home: Path, table_id: str) -> bool:
    """Whether a table has many cells; a stored one never changes."""
    tables = {info.id: info for info in _store(home, None).tables()}
    info = tables.get(table_id)
    return info is not None and info.n_rows * info.n_columns >= LARGE_CELLS


@st.cache_resource(show_spinner=False, max_entries=16)
def _split(home: Path, problem: Problem) -> DataSplit:
    """``split_of``, by values that name it."""
    return problem.split(table(problem.table_id))


@st.cache_resource(show_spinner="Splitting the rows…", max_entries=2)
def _large_split(home: Path, problem: Problem) -> DataSplit:
    """``split_of`` a table of many cells."""
    return problem.split(table(problem.table_id))


def stored_table_id(key: str) -> str:
    """Return the store's id of a table; a built-in one is stored on first use."""
    return _builtin_id(default_home(), key) if key in BUILTIN else key


@st.cache_data(show_spinner=False, max_entries=32)
def _builtin_id(home: Path, key: str) -> str:
    """Store a built-in table and return its id."""
    built = BUILTIN[key]
    return _store(home, None).add_table(built.load(), built.title)


def _cached(function: Callable) -> Callable:
    """Cache a function of a table by its id, or a problem on it; never changed."""

    @wraps(function)
    def read(about: str | Problem, *given, **options):
        if isinstance(about, Problem):
            return function(table(about.table_id), about, *given, **options)
        return function(table(about), *given, **options)

    return st.cache_resource(show_spinner=False, max_entries=64)(read)


# What the library says of a stored table, or of a problem on it.
column_facts = _cached(describe_columns)
columns_to_split_by = _cached(likely_columns)
first_rows_html = _cached(table_html)
findings = _cached(check_problem)
rows_of = _cached(profile.row_facts)
gaps_of = _cached(profile.missing_by_column)
alone_of = _cached(profile.alone)


def column_kinds(problem: Problem) -> dict[str, str]:
    """Return each column's kind: as its values suggest, or as it was changed."""
    facts = column_facts(problem.table_id)
    return dict(zip(facts["column"], facts["kind"])) | dict(problem.kinds)


@_cached
def made_numbers(frame: pd.DataFrame, problem: Problem) -> dict[str, dict]:
    """Return of text made numbers what is missing, and how many values differ."""
    found = {}
    for name in (name for name, kind in problem.kinds if kind == "number"):
        if name in frame:  # else a part of a date
            own = cast_column(frame[name], "number", noted_form(frame, name))
            found[name] = {"missing": own.isna().mean(), "different": own.nunique()}
    return found


@_cached
def date_columns(frame: pd.DataFrame) -> list[tuple[str, str, bool]]:
    """Return columns of dates: name, first date, whether some have a time of day."""
    return [
        (str(name), first_day(column), has_times(column))
        for name, column in frame.items()
        if looks_like_dates(column)
    ]


@_cached
def problem_errors(frame: pd.DataFrame, problem: Problem) -> list[str]:
    """Return why a problem cannot be trained on; known sooner than all findings."""
    found = check_problem(frame, problem, with_leaks=False)
    return [each.sentence for each in found if each.level == "error"]


@_cached
def inferred_task(frame: pd.DataFrame, target: str) -> str:
    """Return the task that a column's values most likely mean."""
    return infer_task(frame[target])


@_cached
def associations_of(
    frame: pd.DataFrame, problem: Problem, names: tuple[str, ...]
) -> profile.Associations:
    """Return how strongly columns go together."""
    return profile.associations(problem.table(frame)[list(names)])


@_cached
def distribution_of(
    frame: pd.DataFrame, problem: Problem, name: str
) -> profile.Distribution:
    """Return the rows in bins of one column."""
    rows, target = replace(problem, columns=(name,)).table(frame), frame[problem.target]
    given = {"of_times": holds_times(rows, name)}
    return profile.distribution(rows[name], target, problem, **given)


def target_colors(problem: Problem) -> dict:
    """Return a hex colour for each class, the most frequent in training first."""
    if problem.task == "regression":  # whose rows need not be read
        return {}
    return label_colors(split_of(problem).y_train)


@st.cache_data(show_spinner=False, max_entries=64)
def baseline_loss(problem: Problem) -> float:
    """Loss on the validation rows of predicting the same for every row."""
    train, valid = map(split_of(problem).rows, ("train", "valid"))
    weights = train.weight, valid.weight
    return metrics.baseline_loss(problem.task, train.y, valid.y, *weights)


@st.cache_data(show_spinner=False, max_entries=64)
def target_variance(problem: Problem) -> float:
    """Return the variance of a number target over the training rows."""
    if problem.more_targets:  # whose losses are fractions of it already
        return 1.0
    _, y, weight = split_of(problem).rows("train")
    mean = np.average(y, weights=weight)
    return float(np.average((y - mean) ** 2, weights=weight))
