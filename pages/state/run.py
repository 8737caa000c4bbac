"""The runs, node and edits that a visitor has chosen or started."""

import time
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

import streamlit as st

from pages.cached.store import all_runs, find_run, queue, store, table
from pages.state.problem import (
    base_table,
    choose_problem,
    choose_table,
    current_problem,
    finds_clusters,
    follow_run,
    table_key,
    table_titles,
    target_names,
    with_target,
)
from treelab.data.folds import N_FOLDS
from treelab.data.problem import Problem, folds_problem
from treelab.editing.session import Session
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.repeats import create_next_folds, create_repeats
from treelab.runs.jobs.resume import can_train_longer, train_longer
from treelab.runs.store.run import Run

# The run that all pages speak of: always one of the current table and target. Address
# and session name all three.


def is_current(run: Run) -> bool:
    """Whether a run is one of the current table and target, or finds its clusters."""
    now = current_problem()
    if (run.learner == CLUSTERS.key) != finds_clusters():
        return False
    if finds_clusters():
        return base_table(run.problem) == base_table(now)
    asked = attrgetter("table_id", "targets", "task")
    return asked(run.problem) == asked(now)


def current_runs() -> list[Run]:
    """List the runs of the current table and target: newest first, repeats last."""
    runs = [run for run in all_runs() if is_current(run)]
    return sorted(runs, key=lambda run: bool(run.repeat_of))


def current_run() -> Run | None:
    """Return the run that all pages speak of, None where nothing is trained yet.

    Where the one chosen is gone, or another table or target is current by now, it is
    the newest with a model; while there is none, the newest that is to have one.
    """
    run = find_run(st.session_state.get("run"))
    if run is None or not is_current(run):
        runs = current_runs()
        done = [own for own in runs if own.is_finished and own.has_model]
        active = [own for own in runs if not own.is_finished]
        run = next(iter(done or active), None)
        st.session_state["run"] = run and run.id
        forget_pair()
    return run


def choose_run(run_id: str) -> None:
    """Make a run the one that all pages speak of, and draw this page anew, whole.

    Its table and target become the current ones. Nothing after it is done.
    """
    _turn_to(run_id)
    st.rerun()


def _turn_to(run_id: str) -> None:
    """Make a run the current one, and its table and target with it."""
    st.session_state["run"] = run_id
    run = find_run(run_id)
    if run is not None and not ("problem" in st.session_state and is_current(run)):
        follow_run(run)


def forget_pair() -> None:
    """Let Compare choose anew what the run is compared with."""
    for key in PAIR:
        st.session_state.pop(key, None)
        st.query_params.pop(key, None)


PAIR = ("against", "others")  # what Compare shows beside the run


def follow_address() -> str | None:
    """Turn to what the address names and was not chosen here; then name what is shown.

    A run brings its table and target. Returns the run that the address names, where
    there is none of this id.
    """
    named = {key: new_in_address(key) for key in ("run", "table", "target")}
    if find_run(named["run"]):
        _turn_to(named["run"])
    else:
        if named["table"] in table_titles():
            choose_table(named["table"])
        now = current_problem()
        if named["target"] in {*target_names(now)} - {now.target}:
            choose_problem(with_target(now, named["target"]))
    run, now = current_run(), current_problem()
    _name_in_address(
        {"table": table_key(now), "target": now.target, "run": run and run.id}
    )
    return None if find_run(named["run"]) else named["run"]


def _name_in_address(current: dict[str, str | None]) -> None:
    """Name what is current, in one step of the browser's history.

    The first entry that a page leaves there is without it. A browser that comes back to
    that one is left there: else *Back* would lead no further.
    """
    page, before = st.context.url, st.session_state.get("named-in-address")
    st.session_state["named-in-address"] = page, current
    if page and before == (page, current) and not set(current) & set(st.query_params):
        return
    for key, value in current.items():
        st.session_state[f"{key}-address"] = value
    new = {key: value for key, value in current.items() if value is not None}
    if any(st.query_params.get(key) != value for key, value in new.items()):
        st.query_params.update(new)
    if current["run"] is None:
        st.query_params.pop("run", None)


def new_in_address(key: str = "run") -> str | None:
    """Return what the address names, unless that was written into it here."""
    named = st.query_params.get(key)
    return named if named and named != st.session_state.get(f"{key}-address") else None


def write_address(key: str, value: str | None) -> None:
    """Put a choice into the address, so that a link or a reload brings it back."""
    st.session_state[f"{key}-address"] = value
    set_parameter(key, value)


def set_parameter(key: str, value: str | None) -> None:
    """Put a value into the address, or take it out; what is there already stays."""
    if value is None:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != value:
        st.query_params[key] = value


DOUBLE_CLICK = 2.0  # seconds


def start_runs(
    problem: Problem, learners: dict[str, dict], n_splits: int = 1
) -> list[str]:
    """Start one run a learner, with these settings, and return the runs' ids.

    With more than one data split their repeats are queued behind them. The same again
    within two seconds is a double click, and starts nothing.
    """

    def create() -> list[str]:
        ids = _submit(store().create(*own, problem) for own in learners.items())
        _submit(create_repeats(store(), [*map(store().run, ids)], n_splits - 1))
        forget_pair()
        return ids

    return _once((problem, str(learners), n_splits), create)


def start_repeats(runs: Sequence[Run], n_splits: int) -> list[str]:
    """Queue runs again on more data splits, once a click; return the repeats' ids."""

    def create() -> list[str]:
        return _submit(create_repeats(store(), runs, n_splits))

    return _once(([run.id for run in runs], n_splits), create)


def start_folds(learners: Sequence[tuple[str, dict, Problem]]) -> list[str]:
    """Queue 5-fold cross-validations of learners with their settings, once a click.

    Where it is there already, rows are shuffled and put into folds once more. Returns
    the ids of the first folds' runs, which stand for all; a ValueError says why rows
    cannot be split so.
    """
    wanted = [
        (key, given, folds_problem(folds_problem(problem, 0), N_FOLDS))
        for key, given, problem in learners
    ]
    for problem in {own for _, _, own in wanted}:
        problem.split(table(problem.table_id))  # or say why not, and queue nothing

    def create() -> list[str]:
        firsts = []
        for key, given, problem in wanted:
            ids = _submit(create_next_folds(store(), key, given, problem))
            run = store().run(ids[0])
            firsts.append(run.repeat_of or run.id)
        return firsts

    return _once(("folds", str(wanted)), create)


def start_longer(run: Run) -> str:
    """Queue a finished run's training to go on, once a click; return the new run's id.

    Where its checkpoint has gone meanwhile, nothing is started.
    """

    def create() -> list[str]:
        can = can_train_longer(store(), run)
        return _submit([train_longer(store(), run)] if can else [])

    return next(iter(_once(("longer", run.id), create)), "")


def resume_run(run: Run) -> None:
    """Queue a paused, interrupted or failed run to go on."""
    if store().resume(run.id):
        _submit([run.id])


def _submit(ids: Iterable[str]) -> list[str]:
    """Hand runs to the queue; return their ids."""
    submitted = list(ids)
    for run_id in submitted:
        queue().submit(run_id)
    return submitted


def _once(wanted, create: Callable[[], list[str]]) -> list[str]:
    """Create runs, unless the same were just created; return their ids."""
    last, when, ids = st.session_state.get("started", (None, 0.0, []))
    if wanted == last and time.monotonic() - when < DOUBLE_CLICK:
        return ids
    ids = create()
    st.session_state["started"] = (wanted, time.monotonic(), ids)
    return ids


def selected_node(run_id: str) -> str | None:
    """Return the key of the node that the address, or an earlier click, selects.

    Once another run is chosen, the address still names the node of the run before.
    """
    named = st.query_params.get("node")
    of_this_run = st.session_state.get("node-run", run_id) == run_id
    if of_this_run and named is not None and named.startswith("r"):
        return named[1:]
    return st.session_state.get(f"node-{run_id}")


def select_node(run_id: str, key: str | None) -> None:
    """Remember the selected node, and put it into the address.

    The address has "r" and the path from the root, 0 left and 1 right: "r01".
    """
    st.session_state["node-run"] = run_id
    st.session_state[f"node-{run_id}"] = key
    set_parameter("node", None if key is None else f"r{key}")


def edit_session(run_id: str) -> Session:
    """Return the edits of a run's tree so far."""
    return st.session_state.get(f"edits-{run_id}", Session())


def set_edit_session(run_id: str, session: Session) -> None:
    """Remember the edits of a run's tree, on every page."""
    st.session_state[f"edits-{run_id}"] = session
