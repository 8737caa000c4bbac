"""The form of learners and their settings."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.cached.tables import problem_errors
from pages.state.run import set_parameter
from pages.widgets.constraints import constraint_fields, read_constraints
from pages.widgets.import_model import import_box
from pages.widgets.weights import weight_fields
from pages.widgets.words import plain
from treelab.data.problem import Problem
from treelab.learners.common.settings import LearnerSpec, Setting
from treelab.learners.registry import LEARNERS
from treelab.learners.setting_text import ascending_floats, paper_words, value_text

_INVALID = object()  # a setting that cannot be read
_ALL, _EACH, _CHOSEN = "all columns", "each column, from the others", "chosen columns"


def settings_form(
    specs: list[LearnerSpec], task: str, columns: Sequence[str] = ()
) -> tuple[dict[str, dict], bool]:
    """Show the settings of some learners side by side; some name columns of the table.

    Returns them by learner, as a run takes them, and whether all can be read.
    """
    chosen: dict[str, dict] = {}
    complete = True
    places = st.columns(max(len(specs), 3), gap="medium")
    for spec, place in zip(specs, places):
        with place:
            st.markdown(f"**{spec.title}**", help=f"{spec.summary} {spec.paper}.")
            chosen[spec.key] = {
                setting.name: _field(spec, setting, columns)
                for setting in spec.form_settings_of(task)
            }
            if chosen[spec.key].get("recipe") == "paper":
                st.caption(plain(paper_words(spec, task)))
                # What is left at our default is the paper's to say.
                defaults = spec.defaults(task) | {"recipe": "treelab"}
                own = chosen[spec.key].items()
                chosen[spec.key] = {k: v for k, v in own if v != defaults[k]}
        complete &= _INVALID not in chosen[spec.key].values()
    return chosen, complete


def _field(spec: LearnerSpec, setting: Setting, columns: Sequence[str]) -> Any:
    """Show one setting; return its value, or _INVALID where it cannot be read."""
    key = f"setting-{spec.key}-{setting.name}"
    given = {"key": key, "help": setting.help, "persist_state": "session"}
    if setting.kind == "choice":
        at = setting.choices.index(setting.default)
        return st.selectbox(setting.label, list(setting.choices), at, **given)
    if setting.kind == "bool":
        return st.toggle(setting.label, setting.default, **given)
    if setting.kind == "floats":
        text = st.text_input(setting.label, value_text(setting.default), **given)
        return _checked(partial(ascending_floats, setting, text))
    if setting.kind == "columns":
        return _columns(setting, columns, given)
    return _number(setting, given)


def _number(setting: Setting, given: dict) -> Any:
    """Show a number; where the default is a word, an empty field stands for it."""
    kind = int if setting.kind == "int" else float
    has_word = not isinstance(setting.default, int | float)
    lowest = setting.above if setting.minimum is None else setting.minimum
    value = st.number_input(
        setting.label,
        min_value=None if lowest is None else kind(lowest),
        max_value=None if setting.maximum is None else kind(setting.maximum),
        value=None if has_word else kind(setting.default),
        step=1 if kind is int else None,
        placeholder=value_text(setting.default) if has_word else None,
        **given,
    )
    if value is None and has_word:
        return setting.default
    return value if _checked(partial(setting.check, value)) is None else _INVALID


def _checked(read: Callable[[], Any]) -> Any:
    """Read a setting; show what is wrong with it, and return _INVALID then."""
    try:
        return read()
    except ValueError as error:
        st.error(plain(error))
        return _INVALID


def _columns(setting: Setting, columns: Sequence[str], given: dict) -> Any:
    """Let the visitor take all columns, each in turn, or some but not all."""
    choice = st.selectbox(setting.label, (_ALL, _EACH, _CHOSEN), **given)
    if choice != _CHOSEN:
        return None if choice == _ALL else "each"
    picked = st.multiselect(
        "Columns", columns, key=f"{given['key']}-names", format_func=plain
    )
    if 0 < len(picked) < len(columns):
        return picked
    if picked:
        st.error("Leave at least one column for the splits.")
    else:
        st.caption("Choose at least one column.")
    return _INVALID


ADDRESS = "learners"  # name of the choice in the address
SPLITS = "data-splits"  # key of their number
N_SPLITS = (1, 3, 5)
FOLDS = "5 folds"
DEFAULT_LEARNERS = ("cart", "gradtree")
PILL_COLORS = {  # the theme gives these words the learners' colours
    "cart": "gray",
    "gradtree": "blue",
    "grande": "red",
    "get": "green",
    "argmin": "yellow",
}


def pick_learners() -> list[str]:
    """Let the visitor choose learners; the address brings the choice back."""
    named = [key for key in st.query_params.get(ADDRESS, "").split(",") if key]
    if "learners" not in st.session_state:
        known = named and {*named} <= {*LEARNERS}
        st.session_state["learners"] = named if known else list(DEFAULT_LEARNERS)

    def pill(key: str) -> str:
        """Write a learner's name after a dot in its colour."""
        dot = f":{PILL_COLORS[key]}[●]" if key in PILL_COLORS else "●"
        return f"{dot} {LEARNERS[key].title}"

    chosen = st.pills(
        "Learners",
        list(LEARNERS),
        selection_mode="multi",
        format_func=pill,
        wrap=True,
        key="learners",
        persist_state="session",
    )
    is_default = [*chosen] == [*DEFAULT_LEARNERS]
    set_parameter(ADDRESS, None if is_default else ",".join(chosen))
    return chosen


def chosen_splits(problem: Problem) -> int | str:
    """Return on how many data splits the learners are to be trained, or on folds."""
    chosen = st.session_state.get(SPLITS) or N_SPLITS[0]
    return N_SPLITS[0] if chosen == FOLDS and not problem.can_have_folds else chosen


def learners_form(
    problem: Problem, chosen: list[str]
) -> tuple[Problem, dict[str, dict], bool]:
    """Show the settings of the chosen learners; returns what ``clusters_form`` does."""
    specs = [LEARNERS[key] for key in chosen]
    with st.expander(
        "Weights, learner settings, constraints, import",
        icon=":material/tune:",
        key="settings",
    ):
        weight_fields(problem)
        settings, complete = settings_form(specs, problem.task)
        st.segmented_control(
            "Data splits",
            [*N_SPLITS, *([FOLDS] * problem.can_have_folds)],
            default=N_SPLITS[0],
            required=True,
            key=SPLITS,
            persist_state="session",
            help="More than one: learners are trained again on other random splits. "
            "5 folds: each row is a test row once; press again for a new shuffle. "
            "Compare shows the mean over splits and tests the difference.",
        )
        asked = constraint_fields(problem, specs)
        if not (errors := problem_errors(problem)):
            import_box(problem)
    constraints, can_keep = read_constraints(asked, problem, specs)
    for spec in specs:
        if spec.keeps_constraints:
            settings[spec.key]["constraints"] = constraints
    for error in errors:
        st.error(plain(error), icon=":material/error:")
    return problem, settings, bool(chosen) and complete and can_keep and not errors
