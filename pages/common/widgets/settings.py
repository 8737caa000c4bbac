"""Settings of the learners, as a form that the registry describes."""

import math
from collections.abc import Sequence

import streamlit as st

from pages.common.words import plain
from treelab.learners.common.spec import LearnerSpec, Setting
from treelab.learners.registry import find_spec

AUTO = "auto"  # a number that is left to the learner
_UNREAD = object()  # a setting that cannot be read
_ALL, _EACH, _CHOSEN = "all columns", "each column, from the others", "chosen columns"


def settings_form(
    specs: list[LearnerSpec], task: str, columns: Sequence[str] = ()
) -> tuple[dict[str, dict], bool]:
    """Show the settings of some learners side by side.

    Parameters
    ----------
    specs : list of LearnerSpec
    task : str
    columns : sequence of str
        Of the table, for settings that name some of them.

    Returns
    -------
    settings : dict of learner to dict
        As a run takes them.
    complete : bool
        False where a setting cannot be read; the page has said why.
    """
    chosen: dict[str, dict] = {}
    complete = True
    places = st.columns(max(len(specs), 3), gap="medium")
    for spec, place in zip(specs, places):
        with place:
            st.markdown(f"**{spec.title}**", help=f"{spec.summary} {spec.paper}.")
            chosen[spec.key] = {
                setting.name: _widget(spec, setting, columns)
                for setting in spec.form_settings_of(task)
            }
        complete &= _UNREAD not in chosen[spec.key].values()
    return chosen, complete


def setting_words(learner: str, settings: dict, task: str) -> str:
    """Write the settings that differ from their defaults, "" where none does."""
    spec = find_spec(learner)
    if spec is None:
        return ""
    labels = {setting.name: setting.label for setting in spec.settings}
    defaults = spec.defaults(task)
    return ", ".join(
        f"{(labels.get(name) or name).lower()} {_text(value)}"
        for name, value in settings.items()
        if name not in defaults or _text(value) != _text(defaults[name])
    )


def _widget(spec: LearnerSpec, setting: Setting, columns: Sequence[str]):
    """Show one setting; return its value, or _UNREAD where it cannot be read."""
    key = f"setting-{spec.key}-{setting.name}"
    given = {"key": key, "help": setting.help, "persist_state": "session"}
    if setting.kind == "choice":
        return st.selectbox(
            setting.label,
            list(setting.choices),
            index=setting.choices.index(setting.default),
            **given,
        )
    if setting.kind == "floats":
        text = st.text_input(setting.label, _text(setting.default), **given)
        return _floats(text, setting)
    if setting.kind == "columns":
        return _columns(setting, columns, given)
    number = int if setting.kind == "int" else float
    automatic = setting.default is None or setting.default == AUTO
    value = st.number_input(
        setting.label,
        min_value=None if setting.minimum is None else number(setting.minimum),
        max_value=None if setting.maximum is None else number(setting.maximum),
        value=None if automatic else number(setting.default),
        step=1 if number is int else None,
        placeholder=(setting.default or "no limit") if automatic else None,
        **given,
    )
    return setting.default if automatic and value is None else value


def _columns(setting: Setting, columns: Sequence[str], given: dict):
    """Let the visitor take all columns, each in turn, or some but not all."""
    way = st.selectbox(setting.label, (_ALL, _EACH, _CHOSEN), **given)
    if way != _CHOSEN:
        return None if way == _ALL else "each"
    picked = st.multiselect(
        "Columns", columns, key=f"{given['key']}-names", format_func=plain
    )
    if 0 < len(picked) < len(columns):
        return picked
    if picked:
        st.error("Leave at least one column that the tree may ask about.")
    else:
        st.caption("Choose at least one column.")
    return _UNREAD


def _floats(text: str, setting: Setting) -> tuple[float, ...] | object:
    """Read numbers that stand between commas or spaces; say what is wrong."""
    values = []
    for word in text.replace(",", " ").split():
        try:
            values.append(float(word))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            st.error(
                f"{plain(repr(word))} is no number; write 0, 0.1, 10, for example."
            )
            return _UNREAD
        if setting.minimum is not None and values[-1] < setting.minimum:
            st.error(
                f"{plain(word)} is too small; at least {setting.minimum:g}, please."
            )
            return _UNREAD
        if len(values) > 1 and values[-1] <= values[-2]:
            st.error(
                f"{plain(word)} follows {values[-2]:g}; write the numbers from the "
                "smallest up, each once."
            )
            return _UNREAD
    if not values:
        st.error(f"{setting.label} needs at least one number.")
        return _UNREAD
    return tuple(values)


def _text(value) -> str:
    """Write a setting's value; a sequence with commas."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
