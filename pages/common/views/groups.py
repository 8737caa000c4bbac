"""Groups instead of predictions: the form, the runs, and what they found."""

import streamlit as st

from pages.common.cached.store import store, table
from pages.common.state.problem import (
    choose_problem,
    choose_table,
    table_choices,
    table_key,
)
from pages.common.widgets.settings import settings_form
from pages.common.words import plain
from treelab.data.problem import Problem
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.store.run import Run
from treelab.trees.text.numerals import counted, significant

AIM = "aim"  # key of the choice; one for the session, on every page
AIMS = ("predict", "groups")
LOSS = "How far rows lie from what their cluster tells of their columns"
LOSS_AXIS = "squared error / variance"


def base_table(problem: Problem) -> str:
    """Return the id of the table in which groups are found."""
    return problem.origin or problem.table_id


def follow_run(run: Run) -> None:
    """Bring a run's problem into view, or its table while it has no target yet."""
    st.session_state[AIM] = "groups" if run.learner == CLUSTERS.key else "predict"
    if not run.problem.awaits_clusters:
        choose_problem(run.problem)
    elif (key := table_key(run.problem)) in table_choices():
        choose_table(key)


def pick_aim(problem: Problem) -> bool:
    """Let the visitor choose what trees are for; True for groups."""
    if st.session_state.get(AIM) not in AIMS:
        st.session_state[AIM] = "predict"
    words = {"predict": f"Predict {plain(problem.target)}", "groups": "Find groups"}
    chosen = st.segmented_control(
        "What for",
        AIMS,
        format_func=words.__getitem__,
        required=True,
        key=AIM,
        persist_state="session",
        help="Groups are found without anything to predict: rows that are alike come "
        "together in the leaves of one tree.",
    )
    return chosen == "groups"


def pick_labels(problem: Problem) -> str | None:
    """Let the visitor name the column of known labels; None for none."""
    base = base_table(problem)
    names = [str(name) for name in table(base).columns]
    first = 0
    if problem.task != "regression" and problem.target in names:
        first = names.index(problem.target) + 1
    place = st.selectbox(
        "Known labels",
        range(len(names) + 1),
        index=first,
        format_func=["none", *names].__getitem__,
        key=f"known-{base}",
        help="A column to hold the groups against. No tree sees it; it shows how pure "
        "the groups are.",
        width=230,
    )
    return names[place - 1] if place else None


def groups_form(
    problem: Problem, known: str | None
) -> tuple[Problem | None, dict, bool]:
    """Show the settings of a search for groups, held against known labels or none.

    Returns
    -------
    wanted : Problem or None
        What a run is to be about; None where the table allows no groups, which the
        page has said.
    settings : dict
    complete : bool
        False where a setting cannot be read.
    """
    base = base_table(problem)
    columns = {*problem.columns, problem.target} - {known}
    wanted = None
    try:
        wanted = clusters_problem(
            table(base),
            table_id=base,
            table_name=problem.table_name,
            known=known,
            columns=columns,
            kinds=[pair for pair in problem.kinds if pair[0] in columns],
            seed=problem.seed,
            units=problem.units,
        )
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
    with st.expander(
        f"Settings of {CLUSTERS.title}", icon=":material/tune:", key="settings"
    ):
        settings, complete = settings_form(
            [CLUSTERS], "multiclass", wanted.columns if wanted else ()
        )
    return wanted, settings[CLUSTERS.key], complete


def groups_of(problem: Problem) -> list[Run]:
    """Return the runs that find groups in the problem's table, newest first."""
    return [
        run
        for run in store().runs()
        if run.learner == CLUSTERS.key
        and base_table(run.problem) == base_table(problem)
    ]


def found_words(run: Run) -> str:
    """Write what a run found, "" before it has found anything."""
    if not run.has_model or not run.summary:
        return ""
    said = counted(run.summary["leaves"], "cluster")
    if "purity" in run.summary:
        said += f", dendrogram purity {significant(run.summary['purity'])}"
    return said


def groups_words(runs: list[Run]) -> str:
    """Write one line on what the newest run found; "" while a run goes on."""
    if any(not run.is_finished for run in runs):
        return ""
    for run in runs:
        if said := found_words(run):
            rows = run.summary["rows"]
            if "purity" in run.summary:  # the others were held out
                return f"**{said}** in {counted(rows['train'], 'training row')}"
            return f"**{said}** in {counted(sum(rows.values()), 'row')}"
    return ""
