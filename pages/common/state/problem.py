"""The table in view, and what the visitor chose to predict from it."""

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import streamlit as st

from pages.common.cached.store import find_run, split_of, store, table
from treelab.data.builtin import BUILTIN
from treelab.data.columns import describe_columns, infer_task, useful_columns
from treelab.data.problem import Problem, make_problem
from treelab.data.problem_check import Finding, check_problem
from treelab.figures.style.colors import class_colors
from treelab.runs.store.run_store import RunStore, default_home

FIRST_TABLE = "breast_cancer"


@dataclass(frozen=True)
class TableChoice:
    """A table that can be chosen: built in, or brought by somebody.

    ``key`` names it in the address: a built-in's key, or the id in the store.
    """

    key: str
    title: str

    @property
    def is_builtin(self) -> bool:
        """Whether the table comes with treelab."""
        return self.key in BUILTIN


def table_choices() -> dict[str, TableChoice]:
    """List the tables there are by key: built in first, then the visitors' own."""
    titles = {built.title for built in BUILTIN.values()}
    choices = [TableChoice(key, built.title) for key, built in BUILTIN.items()]
    choices += [
        TableChoice(info.id, info.name)
        for info in store().tables()
        if info.name not in titles
    ]
    return {choice.key: choice for choice in choices}


def table_id(key: str) -> str:
    """Return the store's id of a table; a built-in one is put there on first use."""
    return _builtin_id(default_home(), key) if key in BUILTIN else key


def first_problem(key: str) -> Problem:
    """Return the problem that a table opens with.

    What was last trained on the table comes first; else a built-in table's own
    target, or the last column.
    """
    found = table_id(key)
    for run in store().runs():
        if run.problem.table_id == found and not run.problem.awaits_clusters:
            return run.problem
    name = {"table_id": found, "table_name": table_choices()[key].title}
    if key in BUILTIN:
        built = BUILTIN[key]
        return _problem(built.target, task=built.task, units=built.units, **name)
    return _problem(str(table(found).columns[-1]), **name)


def current_problem() -> Problem:
    """Return the problem in view: the session's, or the one that the address names.

    A run in the address brings its problem, a table its first one; without either the
    first built-in table is in view.
    """
    if "problem" not in st.session_state:
        run = find_run(st.query_params.get("run"))
        named = st.query_params.get("table")
        if run and not run.problem.awaits_clusters:
            choose_problem(run.problem)
        else:
            named = table_key(run.problem) if run else named
            choose_table(named if named in table_choices() else FIRST_TABLE)
    return st.session_state["problem"]


def choose_table(key: str) -> None:
    """Bring a table into view, with what was last chosen for it."""
    kept = st.session_state.get("problems", {}).get(key)
    choose_problem(kept or first_problem(key))


def choose_problem(problem: Problem) -> None:
    """Make a problem the one in view, on every page, and keep it for its table."""
    st.session_state["problem"] = problem
    st.session_state.setdefault("problems", {})[table_key(problem)] = problem


def table_key(problem: Problem) -> str:
    """Return the key of a problem's table."""
    # By its name in the store: a built-in table may have been brought as a file too.
    names = {info.id: info.name for info in store().tables()}
    title = names.get(problem.table_id, problem.table_name)
    for key, built in BUILTIN.items():
        if built.title == title and table_id(key) == problem.table_id:
            return key
    return problem.table_id


def with_target(problem: Problem, target: str) -> Problem:
    """Return the problem with another target, all else as a first look would choose."""
    fresh = _problem(
        target,
        table_id=problem.table_id,
        table_name=problem.table_name,
        seed=problem.seed,
        units=problem.units,
    )
    return replace(fresh, kinds=problem.kinds)


def label_colors(problem: Problem) -> dict:
    """Return a hex colour for each class, the most frequent in training first."""
    if problem.task == "regression":  # whose rows need not be read
        return {}
    return class_colors_of(split_of(problem).y_train, problem.task)


def class_colors_of(y_train: pd.Series, task: str) -> dict:
    """Return a hex colour for each class of these labels, the most frequent first."""
    if task == "regression":
        return {}
    counts = y_train.value_counts().sort_index()
    labels = counts.sort_values(ascending=False, kind="stable").index.tolist()
    return dict(zip(labels, class_colors(len(labels))))


def _problem(target: str, *, table_id: str, **given) -> Problem:
    """Make a problem of a stored table; where no column seems useful, of them all."""
    frame = table(table_id)
    names = tuple(str(name) for name in frame.columns if str(name) != target)
    columns = useful_columns(frame, target) or names
    return make_problem(frame, target, table_id=table_id, columns=columns, **given)


@st.cache_data(show_spinner=False, max_entries=32)
def described(table_id: str) -> pd.DataFrame:
    """Describe a stored table's columns; see ``describe_columns``."""
    return describe_columns(table(table_id))


@st.cache_data(show_spinner=False, max_entries=64)
def findings(problem: Problem) -> list[Finding]:
    """Say what is odd about a problem; see ``check_problem``."""
    return check_problem(table(problem.table_id), problem)


@st.cache_data(show_spinner=False, max_entries=64)
def inferred_task(table_id: str, target: str) -> str:
    """Return the task that a column's values most likely mean."""
    return infer_task(table(table_id)[target])


@st.cache_data(show_spinner=False, max_entries=32)
def _builtin_id(home: Path, key: str) -> str:
    built = BUILTIN[key]
    return RunStore(home).add_table(built.load(), built.title)
