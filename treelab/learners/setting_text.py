"""Settings of a learner as text: read by their kinds, and written for people."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from treelab.learners.common.settings import (
    LearnerSpec,
    Range,
    Setting,
    Values,
    with_recipe,
)
from treelab.learners.registry import find_spec
from treelab.trees.constraints import Constraints


def parse_settings(learner: str, texts: Sequence[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` texts as settings of a learner.

    The parts of constraints may be set one by one, in the text that ``Constraints``
    shows: ``constraints.monotone="income: up, age: down"``. A name that the learner
    does not know is left to ``complete_settings``, which refuses it with the names that
    there are. ValueError if a text has no "=", or its value is not of the setting's
    kind.
    """
    spec = find_spec(learner)
    # Of classes, which come first, a setting may know more words than of numbers.
    known = {one.name: one for one in reversed(spec.settings)} if spec else {}
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(
                f"--set takes NAME=VALUE, such as max_depth=5; got {text!r}."
            )
        whole, dot, part = name.partition(".")
        if dot and whole == "constraints":
            asked = settings.get(whole) or {}
            settings[whole] = Constraints.read({**asked, part: value}).to_dict()
            continue
        setting = known.get(name)
        settings[name] = parse_setting(setting, value) if setting else _read_json(value)
    return settings


def parse_setting(setting: Setting, text: str) -> Any:
    """Read a value as one of the setting's words, in any case, else as its kind."""
    words = {str(word).lower(): word for word in (*setting.choices, setting.default)}
    if text.lower() in words:
        return words[text.lower()]
    read, kind = _READERS[setting.kind]
    wanted = " or ".join((kind, *map(str, setting.choices)))
    try:
        found = read(text)
    except ValueError as error:
        raise ValueError(f"{setting.name} must be {wanted}, got {text!r}.") from error
    if setting.kind == "constraints":  # as a run stores them; what is wrong is said
        return Constraints.read(found).to_dict() or None
    return found


def parse_tried(setting: Setting, text: str) -> Range | Values:
    """Read "0.01..0.3", "0.01..0.3:log" or "4,8,16" as what is tried of a setting."""
    body, _, how = text.partition(":")
    low, dots, high = body.partition("..")
    if not dots:
        words = text.split(",")
        return Values(tuple(parse_setting(setting, word.strip()) for word in words))
    if how not in ("", "log") or setting.kind not in ("int", "float", "floats"):
        raise ValueError(
            f"{setting.name} takes a list such as 1,2,3 or, where it is a number, a "
            f"range such as 1..9 or 0.01..1:log; got {text!r}."
        )
    one = replace(setting, kind="float") if setting.kind == "floats" else setting
    ends = parse_setting(one, low), parse_setting(one, high)
    return Range(*ends, log=how == "log")


def _read_bool(text: str) -> bool:
    """Read "true" or "false", in any case."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _read_floats(text: str) -> list[float]:
    """Read numbers with commas between, in brackets or not."""
    return [float(part) for part in text.strip("[]()").split(",")]


def _read_json(text: str) -> Any:
    """Read JSON, else the text as it is."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None if text == "None" else text


# How a value of each kind is read, and what it must be; see ``Setting.kind``.
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (_read_bool, "true or false"),
    "choice": (str, "one of the choices"),
    "floats": (_read_floats, "numbers with commas between"),
    "columns": (_read_json, "JSON or a word"),
    "constraints": (json.loads, "JSON, or named by part (constraints.class_costs)"),
    "other": (_read_json, "JSON or a word"),
}


def ascending_floats(setting: Setting, text: str) -> tuple[float, ...]:
    """Read ascending numbers between commas or spaces, as a form takes them.

    ValueError if there is none, one is no number or out of bounds, or they do not
    ascend.
    """
    values: list[float] = []
    for word in text.replace(",", " ").split():
        try:
            values.append(float(word))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            raise ValueError(
                f"{word!r} is not a number; write 0, 0.1, 10, for example."
            )
        if setting.minimum is not None and values[-1] < setting.minimum:
            raise ValueError(
                f"{word} is too small; the minimum is {setting.minimum:g}."
            )
    if not values:
        raise ValueError(f"{setting.label} needs at least one number.")
    setting.check(values)
    return tuple(values)


# Settings in words, for people.


def paper_words(spec: LearnerSpec, task: str) -> str:
    """Write the values that the paper's recipe gives to unchanged settings."""
    values = [
        f"{(setting.label or setting.name).lower()} {value_text(paper)}"
        for setting in spec.settings_of(task)
        if (paper := spec.paper_settings.get(setting.name, setting.default))
        != setting.default
    ]
    return f"The paper's values where you change nothing: {', '.join(values)}."


def setting_words(learner: str, settings: dict, task: str) -> str:
    """Write the recipe, where it is a paper's, and what differs; "" for none."""
    spec = find_spec(learner)
    if spec is None:
        return ""
    labels = {setting.name: setting.label for setting in spec.settings}
    asked = Constraints.read(settings.get("constraints"))
    settings = settings | ({"constraints": str(asked)} if asked else {})
    recipe = {"recipe": settings.get("recipe")}
    defaults = with_recipe(spec.settings_of(task), spec.defaults(task) | recipe)
    changed = [
        f"{(labels.get(name) or name).lower()} {value_text(value)}"
        for name, value in settings.items()
        if name not in defaults or value_text(value) != value_text(defaults[name])
    ]
    return ", ".join(["paper's recipe"] * (recipe["recipe"] == "paper") + changed)


def value_text(value: Any) -> str:
    """Write a setting's value; a sequence with commas."""
    if isinstance(value, list | tuple):
        return ", ".join(map(value_text, value))
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
