"""The Train form as a run was trained: the start of another with changed settings."""

import streamlit as st

from pages.common.state.aim import follow_run
from treelab.learners.common.spec import Setting
from treelab.learners.registry import CLUSTERS, LEARNERS
from treelab.runs.store.run import Run


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
