"""Settings of a learner as text, ``NAME=VALUE``, read by their kinds."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from treelab.learners.common.settings import Setting
from treelab.learners.registry import find_spec
from treelab.trees.constraints import Constraints


def parse_settings(learner: str, texts: Sequence[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` texts as settings of a learner.

    The parts of constraints may be set one by one, in the text that ``Constraints``
    shows: ``constraints.monotone="income: up, age: down"``. A name that the learner
    does not know is left to ``complete_settings``, which refuses it with the names that
    there are.

    Raises
    ------
    ValueError
        If a text has no "=", or its value is not of the setting's kind.
    """
    spec = find_spec(learner)
    known = {setting.name: setting for setting in spec.settings} if spec else {}
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
    """Read a value as one of the setting's words, else as its kind."""
    words = {str(word): word for word in (*setting.choices, setting.default)}
    if text in words:
        return words[text]
    read, kind = _READERS[setting.kind]
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{setting.name} must be {kind}, got {text!r}.") from error


def _read_bool(text: str) -> bool:
    """Read "true" or "false", in any case."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _read_floats(text: str) -> list[float]:
    """Read numbers with commas between, in brackets or not."""
    return [float(part) for part in text.strip("[]()").split(",")]


def _read_constraints(text: str) -> dict[str, Any] | None:
    """Read JSON as constraints, as a run stores them."""
    return Constraints.read(json.loads(text)).to_dict() or None


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
    "constraints": (_read_constraints, "JSON"),
    "other": (_read_json, "JSON or a word"),
}
