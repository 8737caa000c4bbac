"""Two runs to compare: of one table, target and seed, as only those compare."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.store import find_run, finished_runs
from pages.common.state.chosen_run import last_choice
from pages.common.widgets.run_picker import pick_loaded_run
from treelab.evaluation.comparison import have_same_test_rows
from treelab.runs.store.run import Run


def pick_run_pair() -> tuple[LoadedRun, LoadedRun]:
    """Let the visitor choose two runs; a greedy tree and another at first."""
    left, right = st.columns(2, gap="large")
    with left:
        first = pick_loaded_run(
            key="first",
            label="First run",
            where=_has_partner,
            default=_first_default,
            growing=False,
            empty="A comparison needs two finished runs of the same table, target and "
            "seed. Train a second learner on the same problem.",
        )
    with right:
        second = pick_loaded_run(
            key="second",
            label="Second run",
            where=lambda run: run.id != first.run.id and _compare(run, first.run),
            default=_second_default,
            growing=False,
        )
    return first, second


def _compare(one: Run, other: Run) -> bool:
    """Whether the scores of two runs may be compared."""
    return have_same_test_rows(one.problem, other.problem)


def _has_partner(run: Run) -> bool:
    """Whether another finished run can be compared with this one."""
    return any(_compare(run, other) for other in finished_runs() if other.id != run.id)


def _first_default(runs: list[Run]) -> Run:
    """Return the newest CART beside the run chosen last, else beside any other run."""
    chosen = find_run(last_choice())
    greedy = [run for run in runs if run.learner == "cart"]
    beside = [run for run in greedy if chosen and _compare(run, chosen)]
    against_gradients = [
        run
        for run in greedy
        if any(_compare(run, other) for other in runs if other.learner != "cart")
    ]
    return (beside or against_gradients or greedy or runs)[0]


def _second_default(runs: list[Run]) -> Run:
    """Return the run chosen last, else the newest run trained by gradients."""
    chosen = [run for run in runs if run.id == last_choice()]
    trained = [
        run
        for run in runs
        if run.learner != "cart" and (run.origin is None or run.origin.trained)
    ]
    return (chosen or trained or runs)[0]
