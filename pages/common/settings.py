"""Settings of the learners, as a form that the registry describes."""

import math

import streamlit as st

from pages.common.words import plain
from treelab.learners.registry import LearnerSpec, Setting, find_spec


def settings_form(specs: list[LearnerSpec], task: str) -> tuple[dict[str, dict], bool]:
    """Show the settings of some learners side by side.

    Returns
    -------
    settings : dict of learner to dict
        As a run takes them.
    complete : bool
        False where a setting cannot be read; the page has said why.
    """
    chosen: dict[str, dict] = {}
    complete = True
    columns = st.columns(max(len(specs), 3), gap="medium")
    for spec, column in zip(specs, columns):
        with column:
            st.markdown(f"**{spec.title}**", help=f"{spec.summary} {spec.paper}.")
            chosen[spec.key] = {
                setting.name: _widget(spec, setting)
                for setting in spec.settings_of(task)
            }
        complete &= None not in chosen[spec.key].values()
    return chosen, complete


def setting_words(learner: str, settings: dict, task: str) -> str:
    """Write the settings that differ from their defaults, "" where none does."""
    spec = find_spec(learner)
    if spec is None:
        return ""
    labels = {setting.name: setting.label for setting in spec.settings}
    defaults = spec.defaults(task)
    return ", ".join(
        f"{labels.get(name, name).lower()} {_text(value)}"
        for name, value in settings.items()
        if name not in defaults or _text(value) != _text(defaults[name])
    )


def _widget(spec: LearnerSpec, setting: Setting):
    """Show one setting; return its value, or None where it cannot be read."""
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
    number = int if setting.kind == "int" else float
    return st.number_input(
        setting.label,
        min_value=number(setting.minimum),
        max_value=number(setting.maximum),
        value=number(setting.default),
        step=1 if number is int else None,
        **given,
    )


def _floats(text: str, setting: Setting) -> tuple[float, ...] | None:
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
            return None
        if setting.minimum is not None and values[-1] < setting.minimum:
            st.error(
                f"{plain(word)} is too small; at least {setting.minimum:g}, please."
            )
            return None
        if len(values) > 1 and values[-1] <= values[-2]:
            st.error(
                f"{plain(word)} follows {values[-2]:g}; write the numbers from the "
                "smallest up, each once."
            )
            return None
    if not values:
        st.error(f"{setting.label} needs at least one number.")
        return None
    return tuple(values)


def _text(value) -> str:
    """Write a setting's value; a sequence with commas."""
    if isinstance(value, list | tuple):
        return ", ".join(f"{number:g}" for number in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
