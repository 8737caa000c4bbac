"""What a visitor has chosen: table, problem, run, node, edits; runs they started."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import streamlit as st

from pages.cached.store import all_runs, find_run, queue, store, stored_table_id, table
from treelab.data.builtin import BUILTIN
from treelab.data.columns import TASKS, useful_columns
from treelab.data.folds import N_FOLDS
from treelab.data.problem import Problem, folds_problem, make_problem, several_targets
from treelab.editing.log import Session
from treelab.learners.common.settings import Setting
from treelab.learners.registry import CLUSTERS, LEARNERS
from treelab.runs.jobs.repeats import create_next_folds, create_repeats
from treelab.runs.jobs.resume import can_train_longer, train_longer
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
    """Return what a table opens with: its newest run's problem, or its own target."""
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
            # Not a repeat's, whose rows are split otherwise.
            follow_run(min(done, key=lambda run: bool(run.repeat_of)))
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
    shown: Problem, name: str, now: Any, change: Callable[[Problem, Any], Problem]
) -> dict:
    """Return a widget's key and callback; ``change`` gets problem and choice.

    It shows what is ``now`` chosen, also where it was set otherwise, as by another
    table, or where a choice was refused.
    """
    key = f"{name}-{shown.table_id}-{shown.target}"
    st.session_state[key] = now

    def follow() -> None:
        chosen = st.session_state[key]
        try:
            change_problem(shown, lambda now: change(now, chosen))
        except (OSError, ValueError) as error:  # it may not go with what was chosen
            st.session_state["what-failed"] = error

    return {"key": key, "on_change": follow}


def is_shown(problem: Problem) -> bool:
    """Whether a problem's table and target are still the current ones."""
    now = current_problem()
    return (now.table_id, now.target) == (problem.table_id, problem.target)


def base_table(problem: Problem) -> str:
    """Return the id of the table in which clusters are found."""
    return problem.origin or problem.table_id


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
    same = ("table_id", "table_name", "seed", "units")
    fresh = _problem(target, **{name: getattr(problem, name) for name in same})
    return replace(fresh, kinds=problem.kinds)


def with_targets(problem: Problem, more: Sequence[str]) -> Problem:
    """Return the problem with these targets, too; others are predicted from again."""
    columns = columns_and(problem, problem.more_targets)
    return several_targets(replace(problem, more_targets=(), columns=columns), more)


def columns_and(problem: Problem, names: Collection[str]) -> tuple[str, ...]:
    """Return a problem's columns, and those of the names that help to predict."""
    frame = table(problem.table_id)
    used = {*problem.columns} | {*names} & {*useful_columns(frame, problem.target)}
    ordered = (*map(str, frame.columns), *problem.columns)  # with parts of dates
    return tuple(name for name in dict.fromkeys(ordered) if name in used)


def _problem(target: str, *, table_id: str, **given) -> Problem:
    """Make a problem of a stored table; where no column seems useful, of them all."""
    frame = table(table_id)
    names = tuple(str(name) for name in frame.columns if str(name) != target)
    columns = useful_columns(frame, target) or names
    return make_problem(frame, target, table_id=table_id, columns=columns, **given)


AIM = "aim"  # key of the choice; one for the session, on every page
PREDICT, CLUSTER = "predict", "clusters"


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
        # A run of an earlier version lacks what came since.
        value = _shown(setting, run.settings.get(setting.name, setting.default))
        st.session_state[setting_key(run.learner, setting)] = value


def setting_key(learner: str, setting: Setting) -> str:
    """Return the key of a setting's field; where it differs by task, each has one."""
    own = "" if setting.tasks == TASKS else f"-{setting.tasks[0]}"
    return f"setting-{learner}-{setting.name}{own}"


def _shown(setting: Setting, value):
    """Return what the form's widget holds for a setting's value."""
    if setting.kind == "floats":
        values = value if isinstance(value, list | tuple) else [value]
        return ", ".join(str(each).removesuffix(".0") for each in values)
    if setting.kind in ("int", "float") and isinstance(value, str):  # such as "auto"
        return None
    return int(value) if setting.kind == "int" and value is not None else value


# The run that all pages speak of: always one of the current table and target. Address
# and session name all three.


def is_current(run: Run) -> bool:
    """Whether a run is one of the current table and target, or finds its clusters."""
    if (run.learner == CLUSTERS.key) != finds_clusters():
        return False
    predicting = attrgetter("table_id", "targets", "task")
    about = base_table if finds_clusters() else predicting
    return about(run.problem) == about(current_problem())


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
        done = [own for own in runs if own.has_model]
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

    A run brings its table and target. Returns the run that the address names, or the
    session did, where there is none of this id.
    """
    before = st.session_state.get("run")
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
    wanted = named["run"] or before
    return None if find_run(wanted) else wanted


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


def whole_number(text: str) -> int | None:
    """Return a number that an address names; None for other text, or a huge number."""
    return int(text) if text.isdecimal() and len(text) < 16 else None


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
    wanted = [run.id for run in runs], n_splits
    return _once(wanted, lambda: _submit(create_repeats(store(), runs, n_splits)))


def start_folds(learners: Sequence[tuple[str, dict, Problem]]) -> list[str]:
    """Queue 5-fold cross-validations of learners with their settings, once a click.

    Where it is there already, rows are shuffled and put into folds once more. Returns
    the ids of the first folds' runs, which stand for all; a ValueError says why rows
    cannot be split so.
    """
    wanted = [(*own, folds_problem(problem, N_FOLDS)) for *own, problem in learners]
    for problem in {own for *_, own in wanted}:
        problem.split(table(problem.table_id))  # or say why not, and queue nothing

    def create() -> list[str]:
        started = [_submit(create_next_folds(store(), *own)) for own in wanted]
        firsts = [store().run(first) for first, *_ in started]
        return [run.repeat_of or run.id for run in firsts]

    return _once(("folds", str(wanted)), create)


def start_longer(run: Run) -> None:
    """Queue a finished run that has a checkpoint to train longer, once a click."""
    if can_train_longer(store(), run):
        _once(("longer", run.id), lambda: _submit([train_longer(store(), run)]))


def resume_run(run_id: str) -> None:
    """Queue a paused, interrupted or failed run to go on."""
    if store().resume(run_id):
        queue().submit(run_id)


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
    """Remember the selected node; the address has its path: "r01" is left, right."""
    st.session_state["node-run"] = run_id
    st.session_state[f"node-{run_id}"] = key
    set_parameter("node", None if key is None else f"r{key}")


def edit_session(run_id: str) -> Session:
    """Return the edits of a run's tree so far."""
    return st.session_state.get(f"edits-{run_id}", Session())


def set_edit_session(run_id: str, session: Session) -> None:
    """Remember the edits of a run's tree, on every page."""
    st.session_state[f"edits-{run_id}"] = session
