"""Which learners are trained, and with which settings."""

import streamlit as st

from pages.common.cached.tables import findings
from pages.common.widgets.constraints.form import constraints_form
from pages.common.widgets.settings import settings_form
from pages.common.words import plain
from treelab.data.problem import Problem
from treelab.learners.registry import LEARNERS
from treelab.trees.words import counted

ADDRESS = "learners"  # name of the choice in the address
SPLITS = "data-splits"  # key of their number
N_SPLITS = (1, 3, 5)
DEFAULT_LEARNERS = ("cart", "gradtree")
PILL_COLORS = {  # the theme gives these words the learners' colours
    "cart": "gray",
    "gradtree": "blue",
    "grande": "orange",
    "get": "green",
    "argmin": "violet",
}


def pick_learners() -> list[str]:
    """Let the visitor choose learners; the address brings the choice back."""
    named = [key for key in st.query_params.get(ADDRESS, "").split(",") if key]
    if "learners" not in st.session_state:
        known = named and {*named} <= {*LEARNERS}
        st.session_state["learners"] = named if known else list(DEFAULT_LEARNERS)
    chosen = st.pills(
        "Learners",
        list(LEARNERS),
        selection_mode="multi",
        format_func=_pill,
        wrap=True,
        key="learners",
        persist_state="session",
    )
    if [*chosen] == [*DEFAULT_LEARNERS]:
        st.query_params.pop(ADDRESS, None)
    elif st.query_params.get(ADDRESS) != ",".join(chosen):
        st.query_params[ADDRESS] = ",".join(chosen)
    return chosen


def chosen_splits() -> int:
    """Return on how many data splits the learners are to be trained."""
    return st.session_state.get(SPLITS) or N_SPLITS[0]


def _pill(key: str) -> str:
    """Write a learner's name after a dot in its colour, where the theme has that."""
    dot = f":{PILL_COLORS[key]}[●]" if key in PILL_COLORS else "●"
    return f"{dot} {LEARNERS[key].title}"


def learners_form(
    problem: Problem, chosen: list[str]
) -> tuple[Problem, dict[str, dict], bool]:
    """Show the settings of the chosen learners; returns what ``clusters_form`` does."""
    settings: dict[str, dict] = {}
    complete = bool(chosen)
    if chosen:
        names = " and ".join(LEARNERS[key].title for key in chosen[:2])
        names = names if len(chosen) <= 2 else counted(len(chosen), "learner")
        with st.expander(
            f"Settings of {names}", icon=":material/tune:", key="settings"
        ):
            specs = [LEARNERS[key] for key in chosen]
            settings, complete = settings_form(specs, problem.task)
            st.segmented_control(
                "Data splits",
                N_SPLITS,
                default=N_SPLITS[0],
                required=True,
                key=SPLITS,
                persist_state="session",
                help="With more than one, all learners are trained again on rows dealt "
                "by other seeds, behind other runs in the queue. Compare then shows "
                "the mean over data splits and tests the difference.",
            )
        constraints, can_keep = constraints_form(problem, specs)
        complete &= can_keep
        for spec in specs:
            if spec.keeps_constraints:
                settings[spec.key]["constraints"] = constraints
    for found in findings(problem):
        if found.level == "error":
            st.error(plain(found.sentence), icon=":material/error:")
            complete = False
    return problem, settings, complete
