"""What a learner is called and what can be set: names, ranges, help and defaults.

A room's ``settings.py`` writes each setting once, as a field of a dataclass from which
its estimators derive. Their parameters and docstrings, the form, the command line, the
stored run and the tables of the documentation come from there. Imports no torch, so a
page can list the learners without loading it.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, get_args

from treelab.learners.common.checks import (
    check_ascending,
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.trees.constraints import Constraints

Settings = TypeVar("Settings")
RECIPES = ("treelab", "paper")
TASKS = ("binary", "multiclass", "regression")
CLASSES = ("binary", "multiclass")
_KINDS = {bool: "bool", int: "int", float: "float", str: "choice"}


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
    paper : object
        Value that ``recipe="paper"`` puts in place of the default; ``...``: the same.
    values : str
        What a value may be, where ``kind`` does not say it.
    needs : tuple of str and tuple, or None
        Another setting, and those of its values beside which this one may differ from
        its default.
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
    paper: Any = ...
    values: str = ""
    needs: tuple[str, tuple] | None = None

    def allowed(self) -> str:
        """Say in a few words which values are allowed, as "int from 1 to 9 or None"."""
        if self.kind == "choice":
            return f"{{{', '.join(map(repr, self.choices))}}}"
        if self.kind not in ("int", "float", "floats"):
            return self.values or self.kind
        text = "float or ascending floats" if self.kind == "floats" else self.kind
        if self.above is not None:
            text += f" above {self.above:g}"
        elif self.minimum is not None:
            text += f" from {self.minimum:g}"
        if self.maximum is not None:
            text += f" to {self.maximum:g}"
        return " or ".join([text, *map(repr, self.choices)])

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


def setting(default: Any, help: str, *, label: str = "", kind: str = "", **more) -> Any:
    """Declare a setting as a field of a room's settings.

    Parameters
    ----------
    default, help, label, **more
        Of ``Setting``.
    kind : str
        Where the field's type (bool, int, float, or str for a choice) does not say it.
    """
    described = Setting("", label, help, kind, default, **more)
    return field(default=default, metadata={"setting": described})


def settings_in(cls: type) -> tuple[Setting, ...]:
    """List the settings that a class declares or inherits, in its order."""
    declared = [one for one in fields(cls) if "setting" in one.metadata]
    has_recipe = any(one.name == "recipe" for one in declared)
    return tuple(_named(one, has_recipe) for one in declared)


def _named(declared, has_recipe: bool) -> Setting:
    """Return the setting of a field, of the kind that its type says where none is set.

    Without the setting ``recipe`` it has no value of the paper's.
    """
    described = declared.metadata["setting"]
    first, *_ = get_args(declared.type) or (declared.type,)
    return replace(
        described,
        name=declared.name,
        kind=described.kind or _KINDS[first],
        paper=described.paper if has_recipe else ...,
    )


def read_settings(estimator: Settings) -> Settings:
    """Return an untrained copy of an estimator with the settings that it trains with.

    Each is checked; the paper's recipe has put its values in place of the defaults.

    Raises
    ------
    ValueError
        For a setting out of range, with its name, its value and what would work.
    """
    settings = settings_in(type(estimator))
    given = {one.name: getattr(estimator, one.name) for one in settings}
    values = with_recipe(settings, given)
    check_settings(settings, values)
    kinds = type(estimator).__mro__
    # A subclass may have another __init__; that of the dataclass takes all settings.
    made: Any = next(kind for kind in kinds if "__dataclass_fields__" in vars(kind))
    return made(**values)


def check_settings(settings: tuple[Setting, ...], values: dict[str, Any]) -> None:
    """Raise ValueError unless each value is allowed and may stand beside the others."""
    for one in settings:
        value = values[one.name]
        one.check(value)
        if one.needs is None or value == one.default:
            continue
        other, allowed = one.needs
        if values[other] not in allowed:
            words = " or ".join(map(repr, allowed))
            raise ValueError(
                f"{one.name}={value!r} needs {other}={words}, not {values[other]!r}."
            )


def recipe_setting() -> Any:
    """Declare the setting ``recipe`` of a learner that follows a paper."""
    return setting(
        "treelab",
        "Whether training follows treelab's recipe or the paper's: its method, and its "
        "settings where it gives them. A setting that you change yourself stays.",
        label="Recipe",
        choices=RECIPES,
    )


def class_weight_setting(default: str | None, auto: str = "", **more) -> Any:
    """Declare the setting ``class_weight``; ``auto`` says what "auto" does, if any."""
    words = ("auto", "balanced") if auto else ("balanced",)
    known = ", ".join(map(repr, (None, *words)))
    return setting(
        default,
        "Weight of a row of each class: None, 'balanced', or a weight for each label"
        f"{auto and '; '}{auto}.",
        kind="other",
        values=f"{known} or dict of label to weight",
        choices=words,
        tasks=CLASSES,
        **more,
    )


class GivenRecipe(str):
    """A recipe beside settings that are all meant as they are.

    An estimator cannot know whether a value equal to the default was asked for, so it
    takes the paper's in its place; where a run or a sweep says it, this tells it so.
    """


def with_recipe(
    settings: tuple[Setting, ...], values: dict[str, Any]
) -> dict[str, Any]:
    """Return the values a recipe trains with: the paper's in place of our defaults.

    Parameters
    ----------
    settings : tuple of Setting
    values : dict
        By name, ``recipe`` among them; one that differs from our default stays, and
        so do all beside a ``GivenRecipe``.
    """
    recipe = values.get("recipe")
    if recipe != "paper" or isinstance(recipe, GivenRecipe):
        return values
    return values | {
        one.name: one.paper
        for one in settings
        if one.paper is not ... and values[one.name] == one.default
    }


@dataclass(frozen=True)
class LearnerSpec:
    """A learner: what it is called, where it lives, what can be set.

    ``classifier`` and ``regressor`` are "module:class"; ``single_tree`` is whether
    one tree alone is the model. ``is_quick`` is whether it trains
    in a moment, so that its runs are taken first; ``cpu_only``, whether it trains on
    the CPU whatever device is asked for; ``scores_itself``, whether the scores of its
    path, where it has any, are of models trained as the one retained. ``former`` are
    settings of earlier versions, which stored runs may have: they are left out, with a
    warning.
    """

    key: str
    title: str
    summary: str
    paper: str
    classifier: str
    regressor: str
    settings: tuple[Setting, ...]
    former: tuple[str, ...] = ()
    single_tree: bool = True
    is_quick: bool = False
    cpu_only: bool = False
    scores_itself: bool = True

    @property
    def paper_settings(self) -> dict[str, Any]:
        """Values by name that ``recipe="paper"`` puts in place of our defaults."""
        return {one.name: one.paper for one in self.settings if one.paper is not ...}

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
