"""What a learner is called and what can be set: names, ranges, help and defaults.

A room's ``settings.py`` writes each setting once, as a field of a frozen dataclass. The
estimator's signature, the form, the command line and the stored run read it from there.
Imports no torch, so a page can list the learners without loading it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from treelab.learners.common.checks import (
    check_ascending,
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.trees.constraints.constraints import Constraints

Settings = TypeVar("Settings")
RECIPES = ("treelab", "paper")
TASKS = ("binary", "multiclass", "regression")
CLASSES = ("binary", "multiclass")


@dataclass(frozen=True)
class Setting:
    """One setting of a learner.

    Attributes
    ----------
    name : str
        As the estimator's parameter is called.
    label : str
        On a form; a setting without a label is set by name alone.
    help : str
        One sentence.
    kind : str
        "int", "float", "bool", "choice", "floats" (a number, or several ascending),
        "columns" (None for all, "each" for each from the others, or names of the
        table's columns), "constraints" (see ``Constraints``) or "other", which the
        learner checks by itself.
    default : object
    minimum, maximum : number or None
        Inclusive bounds of a number.
    above : number or None
        Exclusive lower bound of a number.
    choices : tuple
        Of a "choice"; of a number: words allowed in its place, such as "auto" or None;
        of "other": the only words allowed beside values that are no text.
    tasks : tuple of str
        Those that know the setting.
    """

    name: str
    label: str
    help: str
    kind: str
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple = ()
    tasks: tuple[str, ...] = TASKS
    above: float | None = None

    def check(self, value) -> None:
        """Raise ValueError that names the setting, unless ``value`` is allowed."""
        if isinstance(value, GivenRecipe):
            value = str(value)
        if self.kind == "bool":
            check_choice(self.name, value, (True, False))
        elif self.kind == "choice" or (self.choices and self._is_text(value)):
            check_choice(self.name, value, self.choices)
        elif self.kind == "constraints":
            Constraints.read(value)
        elif self.kind == "floats":
            check_ascending(self.name, value, minimum=self.minimum or 0)
        elif self.kind in ("int", "float") and not self._is_word(value):
            self._check_number(value)

    def _is_text(self, value) -> bool:
        """Whether a value of kind "other" is a text, which must be a known word."""
        return self.kind == "other" and isinstance(value, str)

    def _is_word(self, value) -> bool:
        """Whether a value is one of the words, or the one that is the default."""
        if not isinstance(self.default, int | float):
            return _is_one_of(value, (*self.choices, self.default))
        return _is_one_of(value, self.choices)

    def _check_number(self, value) -> None:
        """Raise ValueError unless a number is of the kind and inside the bounds."""
        if self.kind == "float":
            check_number(
                self.name,
                value,
                above=self.above,
                minimum=self.minimum,
                maximum=self.maximum,
            )
        elif self.maximum is None:
            check_at_least(self.name, value, int(self.minimum or 0))
        else:
            check_between(self.name, value, int(self.minimum or 0), int(self.maximum))


def setting(default: Any, kind: str, help: str, *, label: str = "", **bounds) -> Any:
    """Declare a setting as a field of a room's settings; see ``Setting``."""
    described = Setting("", label, help, kind, default, **bounds)
    return field(default=default, metadata={"setting": described})


def settings_in(cls: type) -> tuple[Setting, ...]:
    """List the settings that a room's settings class declares, in its order."""
    return tuple(
        replace(declared.metadata["setting"], name=declared.name)
        for declared in fields(cls)
        if "setting" in declared.metadata
    )


def read_settings(cls: type[Settings], estimator) -> Settings:
    """Return an estimator's parameters as its typed settings, each checked.

    A setting that the estimator does not have (a regressor's ``class_weight``, say)
    keeps its default.

    Raises
    ------
    ValueError
        For a setting out of range, with its name, its value and what would work.
    """
    given = estimator.get_params(deep=False)
    known = [s for s in settings_in(cls) if s.name in given]
    for declared in known:
        declared.check(given[declared.name])
    values = {declared.name: given[declared.name] for declared in known}
    return cls(**with_recipe(settings_in(cls), values, getattr(cls, "paper", {})))


def recipe_setting() -> Any:
    """Declare the setting ``recipe`` of a learner that follows a paper."""
    return setting(
        "treelab",
        "choice",
        "Whether training follows treelab's recipe or the paper's: its method, and its "
        "settings where it gives them. A setting that you change yourself stays.",
        label="Recipe",
        choices=RECIPES,
    )


class GivenRecipe(str):
    """A recipe beside settings that are all meant as they are.

    An estimator cannot know whether a value equal to the default was asked for, so it
    takes the paper's in its place; where a run or a sweep says it, this tells it so.
    """


def with_recipe(
    settings: tuple[Setting, ...], values: dict[str, Any], paper: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values a recipe trains with: the paper's in place of our defaults.

    Parameters
    ----------
    settings : tuple of Setting
    values : dict
        By name, ``recipe`` among them; one that differs from our default stays, and
        so do all beside a ``GivenRecipe``.
    paper : mapping of str to object
        The paper's values of the settings in which it differs from our defaults.
    """
    recipe = values.get("recipe")
    if recipe != "paper" or isinstance(recipe, GivenRecipe):
        return values
    default = {declared.name: declared.default for declared in settings}
    return {
        name: paper[name] if name in paper and value == default[name] else value
        for name, value in values.items()
    }


@dataclass(frozen=True)
class LearnerSpec:
    """A learner: what it is called, where it lives, what can be set.

    ``classifier`` and ``regressor`` are "module:class"; ``single_tree`` is whether
    one tree alone is the model. ``paper_settings`` are the values that
    ``recipe="paper"`` puts in place of our defaults. ``is_quick`` is whether it trains
    in a moment, so that its runs are taken first; ``cpu_only``, whether it trains on
    the CPU whatever device is asked for; ``trains_batches``, whether its estimators
    have ``batch_key``, ``fit_batch`` and ``cross_validated_batch``, by which several
    settings train as one batch of trees.
    """

    key: str
    title: str
    summary: str
    paper: str
    classifier: str
    regressor: str
    settings: tuple[Setting, ...]
    single_tree: bool = True
    paper_settings: Mapping[str, Any] = field(default_factory=dict)
    is_quick: bool = False
    cpu_only: bool = False
    trains_batches: bool = False

    @property
    def keeps_constraints(self) -> bool:
        """Whether it has the setting ``constraints``."""
        return any(setting.kind == "constraints" for setting in self.settings)

    def check_constraints(self, constraints: Constraints) -> None:
        """Raise ValueError where some are asked and the learner keeps none."""
        if constraints and not self.keeps_constraints:
            raise ValueError(
                f"{self.title} keeps no constraints; CART, GradTree and GRANDE do."
            )

    def settings_of(self, task: str) -> tuple[Setting, ...]:
        """Settings that the learner knows for a task."""
        return tuple(setting for setting in self.settings if task in setting.tasks)

    def form_settings_of(self, task: str) -> tuple[Setting, ...]:
        """Settings for a task that a form shows, those that matter most."""
        return tuple(setting for setting in self.settings_of(task) if setting.label)

    def defaults(self, task: str) -> dict[str, Any]:
        """Settings of a task by name, each at its default."""
        return {setting.name: setting.default for setting in self.settings_of(task)}


def _is_one_of(value, words: tuple) -> bool:
    """Whether a value is one of a few words; 1 and True are not the same."""
    return any(type(value) is type(word) and value == word for word in words)
