"""What a sweep tries: learner, search space, trials, and how they are scored."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from pages.common.words import plain
from treelab.data.problem import Problem
from treelab.learners.common.search_space import Preset, Range, Values, parse_tried
from treelab.learners.common.spec import LearnerSpec
from treelab.learners.registry import LEARNERS
from treelab.learners.setting_text import parse_setting
from treelab.runs.sweeps.plan import SCORINGS, SweepPlan, presets

SCORING_WORDS = {
    "own": "its own cross-validation",
    "folds": "folds",
    "validation": "validation rows",
}
MOST_TRIALS = 1000


@dataclass(frozen=True)
class SweepForm:
    """What the visitor chose.

    Attributes
    ----------
    learner : str
        Key of the learner.
    fixed : dict
        Settings that all trials have.
    plan : SweepPlan or None
        None where it cannot be read; the page shows why.
    """

    learner: str
    fixed: dict
    plan: SweepPlan | None


def sweep_form(problem: Problem) -> SweepForm:
    """Show the form of a sweep and return what was chosen."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        learner = st.selectbox(
            "Learner",
            list(LEARNERS),
            index=list(LEARNERS).index("gradtree"),
            format_func=lambda key: LEARNERS[key].title,
            key="sweep-learner",
            persist_state="session",
            width=200,
        )
        known = presets(learner)
        name = st.segmented_control(
            "Search space",
            list(known),
            default="treelab",
            required=True,
            format_func=lambda key: "paper's" if key == "paper" else key,
            key=f"sweep-preset-{learner}",
            help="What is tried to begin with; the table below changes it.",
        )
        preset = known[name].of_task(LEARNERS[learner], problem.task)
        scorings = SCORINGS if LEARNERS[learner].scores_itself else SCORINGS[1:]
        scoring = st.selectbox(
            "Scored by",
            scorings,
            index=scorings.index(preset.scoring),
            format_func=SCORING_WORDS.get,
            key=f"sweep-scoring-{learner}-{name}",
            help="Its own cross-validation: one fit a trial, for learners that measure "
            "a score that way (CART where tuned). Folds: three fits a trial; "
            "hopeless trials end after the first.",
            width=220,
        )
        n_trials = st.number_input(
            "Trials", 1, MOST_TRIALS, 30, key="sweep-trials", width=130
        )
    st.caption(plain(preset.source))
    space = _space_table(LEARNERS[learner], problem.task, preset, f"{learner}-{name}")
    plan = None
    if space is not None:
        plan = _checked(
            learner,
            problem,
            SweepPlan(space, int(n_trials), scoring=scoring),
        )
    return SweepForm(learner, dict(preset.fixed), plan)


def _space_table(
    spec: LearnerSpec, task: str, preset: Preset, key: str
) -> dict[str, Range | Values] | None:
    """Show the search space as a table to change; None where it cannot be read."""
    settings = {setting.name: setting for setting in spec.settings_of(task)}
    table = pd.DataFrame(
        [
            {
                "setting": name,
                "what is tried": str(tried),
                "help": settings[name].help,
            }
            for name, tried in preset.space.items()
        ]
    )
    with st.expander("Search space", icon=":material/tune:", key="sweep-space"):
        edited = st.data_editor(
            table,
            num_rows="dynamic",
            hide_index=True,
            key=f"sweep-space-{key}",
            column_config={
                "setting": st.column_config.SelectboxColumn(
                    "Setting", options=sorted(settings), required=True
                ),
                "what is tried": st.column_config.TextColumn(
                    "What is tried",
                    help="A range such as 2..8 or 0.01..0.3:log, or a list such as "
                    "1,2,5 or focal,poly.",
                    required=True,
                ),
                "help": st.column_config.TextColumn("What it does", disabled=True),
            },
        )
        st.caption(
            "A range such as 2..8; with :log, factors are tried evenly "
            "(0.01..0.3:log); or a list such as 4,8,16. Delete a row to leave a "
            "setting at its default."
        )
    space: dict[str, Range | Values] = {}
    try:
        for name, text in edited[["setting", "what is tried"]].itertuples(index=False):
            if isinstance(name, str) and isinstance(text, str):
                space[name] = parse_tried(settings[name], text, parse_setting)
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    return space


def _checked(learner: str, problem: Problem, plan: SweepPlan) -> SweepPlan | None:
    """Return a plan that the learner allows, else say why it does not."""
    try:
        plan.check(learner, problem.task)
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    return plan
