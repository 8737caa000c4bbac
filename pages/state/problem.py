"""The table, split and learners that a visitor has chosen."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.cached.store import store, table
from pages.cached.tables import stored_table_id
from treelab.data.builtin import BUILTIN
from treelab.data.columns import useful_columns
from treelab.data.problem import Problem, folds_problem, make_problem
from treelab.learners.common.settings import Setting
from treelab.learners.registry import CLUSTERS, LEARNERS
from treelab.runs.store.run import Run

FIRST_TABLE = "greedy_trap"  # what gradients find and greedy splits do not
REAL_TABLE = "breast_cancer"  # offered beside it


def table_titles() -> dict[str, str]:
    """List the tables there are, title by key: built in first, then uploaded.

    The key names a table in the address: a built-in's key, or the id in the store.
    """
    titles = {key: built.title for key, built in BUILTIN.items()}
    built_in = set(titles.values())
    return titles | {
        info.id: info.name for info in store().tables() if info.name not in built_in
    }


def first_problem(key: str) -> Problem:
    """Return the problem that a table opens with.

    That of the newest run on the table comes first; else a built-in table's own
    target, or the last column.
    """
    found = stored_table_id(key)
    for run in store().runs():
        settled = not run.repeat_of and not run.problem.awaits_clusters
        if run.problem.table_id == found and settled:
            return run.problem
    name = {"table_id": found, "table_name": table_titles()[key]}
    if key in BUILTIN:
        built = BUILTIN[key]
        return _problem(built.target, task=built.task, units=built.units, **name)
    return _problem(str(table(found).columns[-1]), **name)


def current_problem() -> Problem:
    """Return the current problem; at first that of the newest run, or a built-in's."""
    if "problem" not in st.session_state:
        done = [run for run in store().runs() if run.has_model]
        if done:
            follow_run(done[0])
        else:
            choose_table(FIRST_TABLE)
    return st.session_state["problem"]


def choose_table(key: str) -> None:
    """Show a table, with what was last chosen for it."""
    last = st.session_state.get("problems", {}).get(key)
    choose_problem(last or first_problem(key))


def choose_problem(problem: Problem) -> None:
    """Make a problem the current one, on every page, and remember it for its table.

    That of one fold is chosen without folds: what is trained next is no fold.
    """
    problem = folds_problem(problem, 0)
    st.session_state["problem"] = problem
    st.session_state.setdefault("problems", {})[table_key(problem)] = problem


def change_problem(shown: Problem, change: Callable[[Problem], Problem]) -> None:
    """Change the current problem, as a widget asked that was drawn for ``shown``.

    Nothing changes where another table or target is current by now: a click while the
    page is still drawn makes Streamlit report widgets of the page before it as changed.
    """
    if is_shown(shown):
        choose_problem(change(current_problem()))


def changes(
    shown: Problem, key: str, change: Callable[[Problem, Any], Problem]
) -> dict:
    """Return a widget's key and callback by which what is chosen changes the problem.

    ``shown`` is what it is drawn for; ``change`` gets the problem and what was chosen.
    """

    def follow() -> None:
        chosen = st.session_state[key]
        change_problem(shown, lambda now: change(now, chosen))

    return {"key": key, "on_change": follow}


def is_shown(problem: Problem) -> bool:
    """Whether a problem's table and target are still the current ones."""
    now = current_problem()
    return (now.table_id, now.target) == (problem.table_id, problem.target)


def base_table(problem: Problem) -> str:
    """Return the id of the table in which clusters are found."""
    return problem.origin or problem.table_id


def forget_table(key: str) -> None:
    """Forget what was chosen for a table that is gone."""
    st.session_state.get("problems", {}).pop(key, None)


def table_key(problem: Problem) -> str:
    """Return the key of a problem's table."""
    # By its name in the store: a built-in table may have been uploaded as well.
    names = {info.id: info.name for info in store().tables()}
    title = names.get(problem.table_id, problem.table_name)
    for key, built in BUILTIN.items():
        if built.title == title and stored_table_id(key) == problem.table_id:
            return key
    return problem.table_id


def target_names(problem: Problem) -> list[str]:
    """Return the columns of a problem's table; its target alone where it is damaged."""
    try:
        return [str(name) for name in table(problem.table_id).columns]
    except (LookupError, OSError):
        return [problem.target]


def with_target(problem: Problem, target: str) -> Problem:
    """Return the problem with another target, all else chosen as for a new table."""
    fresh = _problem(
        target,
        table_id=problem.table_id,
        table_name=problem.table_name,
        seed=problem.seed,
        units=problem.units,
    )
    return replace(fresh, kinds=problem.kinds)


def _problem(target: str, *, table_id: str, **given) -> Problem:
    """Make a problem of a stored table; where no column seems useful, of them all."""
    frame = table(table_id)
    names = tuple(str(name) for name in frame.columns if str(name) != target)
    columns = useful_columns(frame, target) or names
    return make_problem(frame, target, table_id=table_id, columns=columns, **given)


AIM = "aim"  # key of the choice; one for the session, on every page
PREDICT, CLUSTER = AIMS = ("predict", "clusters")


def finds_clusters() -> bool:
    """Whether clusters are to be found."""
    return st.session_state.get(AIM) == CLUSTER


def follow_run(run: Run) -> None:
    """Show a run's problem, or its table while it has no target yet."""
    st.session_state[AIM] = CLUSTER if run.learner == CLUSTERS.key else PREDICT
    if not run.problem.awaits_clusters:
        choose_problem(run.problem)
    elif (key := table_key(run.problem)) in table_titles():
        choose_table(key)


def why_not_filled(run: Run) -> str:
    """Return why the form cannot be filled from a run, "" where it can."""
    if run.learner not in LEARNERS or run.learner == CLUSTERS.key:
        return "Train has no form for it."
    if run.problem.origin:
        return "It imitates another model."
    if run.settings.get("constraints"):
        return "It has constraints, which Train's form takes by hand."
    return ""


def fill_form(run: Run) -> None:
    """Choose a run's problem and learner on Train, and its settings on the form."""
    follow_run(run)
    spec = LEARNERS[run.learner]
    st.session_state["learners"] = [run.learner]
    for setting in spec.form_settings_of(run.problem.task):
        key = f"setting-{run.learner}-{setting.name}"
        st.session_state[key] = _shown(setting, run.settings[setting.name])


def _shown(setting: Setting, value):
    """Return what the form's widget holds for a setting's value."""
    if setting.kind == "floats":
        values = value if isinstance(value, list | tuple) else [value]
        return ", ".join(f"{each:g}" for each in values)
    if setting.kind in ("int", "float"):
        has_word = value is None or isinstance(value, str)
        return None if has_word else int(value) if setting.kind == "int" else value
    return value
