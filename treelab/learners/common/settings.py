"""Settings as fields, and estimators that are their settings."""

import inspect
import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_args

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.trees.constraints import Constraints
from treelab.trees.losses import LOSSES

# What a learner is called and what can be set: names, ranges, help and defaults.
#
# A room's ``settings.py`` writes each setting once, as a field of a dataclass from
# which its estimators derive. Their parameters and docstrings, the form, the command
# line, the stored run and the tables of the documentation come from there. Imports no
# torch, so a page can list the learners without loading it.


Settings = TypeVar("Settings")
RECIPES = ("treelab", "paper")
TASKS = ("binary", "multiclass", "regression")
CLASSES = ("binary", "multiclass")
_KINDS = {bool: "bool", int: "int", float: "float", str: "choice"}


@dataclass(frozen=True)
class Setting:
    """One setting of a learner."""

    name: str  # as the estimator's parameter is called
    label: str  # on a form; a setting without a label is set by name alone
    help: str  # one sentence
    # "int", "float", "bool", "choice", "floats" (a number, or several ascending),
    # "columns" (None for all, "each" for each from the others, or names of the table's
    # columns), "constraints" (see ``Constraints``) or "other", which the learner checks
    # by itself.
    kind: str
    default: Any
    # Inclusive bounds of a number.
    minimum: float | None = None
    maximum: float | None = None
    # Of a "choice"; of a number: words allowed in its place, such as "auto" or None; of
    # "other": the only words allowed beside values that are no text.
    choices: tuple = ()
    tasks: tuple[str, ...] = TASKS  # those that know the setting
    above: float | None = None  # exclusive lower bound of a number
    # Value that ``recipe="paper"`` puts in place of the default; ``...``: the same.
    paper: Any = ...
    values: str = ""  # what a value may be, where ``kind`` does not say it
    # Another setting, and those of its values beside which this one may differ from its
    # default.
    needs: tuple[str, tuple] | None = None
    callables: bool = False  # whether a function may stand for a choice, in Python
    parts: tuple[str, ...] = ()  # of "constraints": those that the learner keeps

    def allowed(self) -> str:
        """Say in a few words which values are allowed, as "int from 1 to 9 or None"."""
        if self.kind == "choice":
            listed = f"{{{', '.join(map(repr, self.choices))}}}"
            return listed + " or callable" * self.callables
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
        is_word = self.kind == "other" and self.choices and isinstance(value, str)
        if self.callables and callable(value):
            return
        if self.kind in ("bool", "choice") or is_word:
            words = (True, False) if self.kind == "bool" else self.choices
            if not _is_one_of(value, words):
                listed = ", ".join(map(repr, words))
                raise ValueError(f"{self.name} must be one of {listed}, got {value!r}.")
        elif self.kind == "constraints":
            Constraints.read(value)
        elif self.kind == "floats":
            self._check_ascending(value)
        elif self.kind in ("int", "float") and not self._is_word(value):
            self._check_number(value)

    def allows(self, value) -> bool:
        """Whether ``check`` has nothing against a value."""
        try:
            self.check(value)
        except (TypeError, ValueError):
            return False
        return True

    def applies_beside(self, values: Mapping[str, Any]) -> bool:
        """Whether other settings, where they are given, let it change anything."""
        other, allowed = self.needs or ("", ())
        return other not in values or values[other] in allowed

    def _is_word(self, value) -> bool:
        """Whether a value is one of the words."""
        return _is_one_of(value, self._words())

    def _words(self) -> tuple:
        """List the words that stand for a number, that of the default first."""
        is_word = isinstance(self.default, str | None)
        own = (self.default,) if is_word and self.default not in self.choices else ()
        return (*own, *self.choices)

    def _check_ascending(self, value) -> None:
        """Raise ValueError unless a value is a number or numbers in ascending order."""
        wanted = f"{self.name} must be a number, or several in ascending order"
        values = [value] if _is_number(value) else value
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
            raise ValueError(f"{wanted}, got {value!r}.")
        if not len(values):
            raise ValueError(f"{wanted}, got none at all.")
        for one in values:
            self._check_number(one)
        for low, high in pairwise(values):
            if high <= low:
                raise ValueError(f"{wanted}, but {high!r} follows {low!r}.")

    def _check_number(self, value) -> None:
        """Raise ValueError unless a number is of the kind and inside the bounds."""
        least, most, is_whole = self.minimum, self.maximum, self.kind == "int"
        if is_whole:
            least = int(least or 0)
        fine = _is_number(value, Integral if is_whole else Real)
        fine = fine and float("-inf") < value < float("inf")
        fine = fine and (self.above is None or value > self.above)
        fine = fine and (least is None or value >= least)
        if fine and (most is None or value <= most):
            return
        words = "".join(f" or {word!r}" for word in self._words())
        if is_whole:
            bounds = f" >= {least}" if most is None else f" from {least} to {int(most)}"
            raise ValueError(
                f"{self.name} must be an integer{bounds}{words}, got {value!r}."
            )
        signs = {">": self.above, ">=": least, "<=": most}
        known = [f"{sign} {at}" for sign, at in signs.items() if at is not None]
        bounds = " " * bool(known) + " and ".join(known)
        raise ValueError(
            f"{self.name} must be a finite number{bounds}{words}, got {value!r}."
        )


def _is_one_of(value, words: tuple) -> bool:
    """Whether a value is one of a few words; 1 and True are not the same."""
    return any(type(value) is type(word) and value == word for word in words)


def _is_number(value, kind: type = Real) -> bool:
    """Whether a value is a number of a kind; True and False are not."""
    return isinstance(value, kind) and not isinstance(value, bool)


def setting(default: Any, help: str, *, label: str = "", kind: str = "", **more) -> Any:
    """Declare a setting as a field of a room's settings; see ``Setting``.

    ``kind`` is given where the field's type (bool, int, float, or str for a choice)
    does not say it.
    """
    described = Setting("", label, help, kind, default, **more)
    return field(default=default, metadata={"setting": described})


def settings_in(*classes: type) -> tuple[Setting, ...]:
    """List the settings that classes declare or inherit, in their order."""
    found: list[Setting] = []
    for cls in classes:
        declared = [one for one in fields(cls) if "setting" in one.metadata]
        has_recipe = any(one.name == "recipe" for one in declared)
        found += [_named(one, has_recipe) for one in declared]
    return tuple(found)


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

    Each is checked (ValueError names it, its value and what would work); the paper's
    recipe has put its values in place of the defaults.
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
        is_default = np.array_equal(np.ravel(value), np.ravel(one.default))
        if not is_default and not one.applies_beside(values):
            other, allowed = one.needs or ("", ())
            words = " or ".join(map(repr, allowed))
            raise ValueError(
                f"{one.name}={value!r} needs {other}={words}, not {values[other]!r}."
            )


def recipe_setting() -> Any:
    """Declare the setting ``recipe`` of a learner that follows a paper."""
    return setting(
        "treelab",
        "Whether training follows treelab's recipe or the paper's: its method, and its "
        "settings where it gives them. One that you change from its default stays.",
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

    ``values`` have ``recipe`` among them; one that differs from our default stays, and
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
    """A learner: what it is called, where it lives, what can be set."""

    key: str
    title: str
    summary: str
    paper: str
    classifier: str  # "module:class", as the regressor
    regressor: str
    settings: tuple[Setting, ...]
    # Settings of earlier versions, which stored runs may have: they are left out, with
    # a warning.
    former: tuple[str, ...] = ()
    single_tree: bool = True  # whether one tree alone is the model
    is_quick: bool = False  # whether it trains in a moment: its runs are taken first
    cpu_only: bool = False  # whether it trains on the CPU whatever device is asked for
    # Whether the scores of its path, where it has any, are of models trained as the one
    # retained.
    scores_itself: bool = True

    @property
    def paper_settings(self) -> dict[str, Any]:
        """Values by name that ``recipe="paper"`` puts in place of our defaults."""
        return {one.name: one.paper for one in self.settings if one.paper is not ...}

    def kept_constraints(self, task: str) -> tuple[str, ...]:
        """Parts of ``Constraints`` that it keeps for a task."""
        each = [setting.parts for setting in self.settings_of(task)]
        return sum(each, ())

    def check_constraints(self, constraints: Constraints, task: str) -> None:
        """Raise ValueError where some are asked that the learner does not keep."""
        kept = self.kept_constraints(task)
        asked = {*constraints.to_dict()}
        if asked - {*kept}:
            but = f" but {', '.join(kept)}" if kept else ""
            # GET keeps costs of errors, and no other part.
            get = ", GET" if asked == {"class_costs"} and task in CLASSES else ""
            raise ValueError(
                f"{self.title} keeps no constraints{but}; CART, GradTree{get} and "
                "GRANDE do."
            )

    def settings_of(self, task: str) -> tuple[Setting, ...]:
        """Settings that the learner knows for a task."""
        return tuple(setting for setting in self.settings if task in setting.tasks)

    def find(self, task: str, names: Collection[str]) -> dict[str, Setting]:
        """Return settings of a task by these names; ValueError lists what there is."""
        known = {setting.name: setting for setting in self.settings_of(task)}
        for name in names:
            if name not in known:
                listed = ", ".join(sorted(known))
                raise ValueError(
                    f"{self.title} has no setting {name!r}; it has {listed}."
                )
        return {name: known[name] for name in names}

    def form_settings_of(self, task: str) -> tuple[Setting, ...]:
        """Settings for a task that a form shows, those that matter most."""
        return tuple(setting for setting in self.settings_of(task) if setting.label)

    def defaults(self, task: str) -> dict[str, Any]:
        """Settings of a task by name, each at its default."""
        return {setting.name: setting.default for setting in self.settings_of(task)}


# An estimator is its settings: parameters and their docstring come from the fields.


@dataclass(eq=False, repr=False, kw_only=True)
class CommonSettings:
    """What every estimator has beside a learner's own settings."""

    tasks: ClassVar[tuple[str, ...]] = TASKS  # whose settings are its parameters
    random_state: Any = setting(
        None,
        "Seeds all that is drawn at random; an int gives the same model every time on "
        "the CPU.",
        kind="other",
        values="int, RandomState instance or None",
    )
    device: str = setting(
        "auto",
        "Where to train: 'cpu', 'cuda', 'cuda:N'; 'auto' takes CUDA where it is. "
        "Greedy trees and searches stay on the CPU.",
        kind="other",
        values="str",
    )


Estimator = TypeVar("Estimator", bound=CommonSettings)


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: type[Estimator]) -> type[Estimator]:
    """Make a class, which derives from settings, an estimator with these parameters.

    It becomes a keyword-only dataclass, without the settings of other tasks than its
    own; its docstring gains a section for the parameters, and where it has no section
    of attributes that of the first base that has one.
    """
    known: set[str] = set()  # a base's setting hides those of later bases by its name
    for base in cls.__mro__:
        for declared in vars(base).get("__dataclass_fields__", {}).values():
            described = declared.metadata.get("setting")
            if described is None or declared.name in known:
                continue
            known.add(declared.name)
            if not {*described.tasks} & {*cls.tasks}:
                cls.__annotations__[declared.name] = ClassVar[Any]
    made = dataclass(eq=False, repr=False, kw_only=True)(cls)
    made.__doc__ = _with_parameters(made)
    return made


def _with_parameters(cls: type) -> str:
    """Return a class's docstring with its parameters, the common ones last."""
    common = [one.name for one in fields(CommonSettings)]
    settings = sorted(settings_in(cls), key=lambda one: one.name in common)
    section = "\n".join(["Parameters", "----------", *map(_entry, settings)])
    heading = "\nAttributes\n----------\n"
    texts = [inspect.cleandoc(vars(base).get("__doc__") or "") for base in cls.__mro__]
    attributes = next((text for text in texts if heading in text), heading)
    attributes = heading + attributes.partition(heading)[2]
    return f"{texts[0].partition(heading)[0].rstrip()}\n\n{section}\n{attributes}"


def _entry(one: Setting) -> str:
    """Write a setting as numpydoc has a parameter."""
    about = one.help
    if one.paper is not ...:
        about += f" With recipe='paper': {one.paper!r}."
    about = textwrap.indent(textwrap.fill(about, 80, break_on_hyphens=False), "    ")
    return f"{one.name} : {one.allowed()}, default={one.default!r}\n{about}"


# A search space: between which values a sweep looks for a learner's settings.


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; whole ones where both are."""

    low: float
    high: float
    log: bool = False  # whether factors are tried evenly, in place of differences

    def __post_init__(self) -> None:
        """Refuse a range that holds no number."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"A range needs two numbers, got {self}.")
        if self.low > self.high:
            raise ValueError(f"A range goes from the lower number up, got {self}.")
        if self.log and self.low <= 0:
            raise ValueError(f"A range of factors begins above 0, got {self}.")

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers alone."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def ends(self) -> tuple:
        """Return the values at its ends, which a setting must allow."""
        return self.low, self.high

    def __contains__(self, value: object) -> bool:
        """Whether a value may come of the range."""
        return _is_number(value) and self.low <= value <= self.high  # type: ignore[operator]

    def __str__(self) -> str:
        """Write it as the command line takes it."""
        return f"{self.low:g}..{self.high:g}{':log' * self.log}"


@dataclass(frozen=True)
class Values:
    """A few values, one of which is taken."""

    values: tuple

    def __post_init__(self) -> None:
        """Refuse an empty list."""
        if not self.values:
            raise ValueError("A list of values needs one at least.")

    def ends(self) -> tuple:
        """Return the values, which a setting must allow."""
        return self.values

    def __contains__(self, value: object) -> bool:
        """Whether a value may come of the list; 1 and True are not the same."""
        return _is_one_of(value, self.values)

    def __str__(self) -> str:
        """Write it as the command line takes it."""
        return ",".join(str(value) for value in self.values)


Space = Mapping[str, Range | Values]
"""What is tried, by the name of the setting."""


@dataclass(frozen=True)
class Preset:
    """A search space that is proposed for a learner."""

    space: Space
    # Settings that all trials have, such as the recipe.
    fixed: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""  # where it comes from, in a sentence
    # "own", "folds" or "validation": how trials are scored unless asked otherwise.
    scoring: str = "folds"

    def of_task(self, spec: LearnerSpec, task: str) -> "Preset":
        """Return the part of it that a task knows."""
        known = {setting.name: setting for setting in spec.settings_of(task)}
        # Classes and numbers have losses of their own.
        space = {
            name: tried
            for name, tried in self.space.items()
            if name in known and all(map(known[name].allows, tried.ends()))
        }
        return replace(
            self,
            space=space,
            fixed={name: self.fixed[name] for name in self.fixed if name in known},
        )


def check_space(spec: LearnerSpec, task: str, space: Space) -> None:
    """Raise ValueError unless a learner has each setting and allows each value.

    The loss of a regression is no such setting: it is what a score measures.
    """
    if not space:
        raise ValueError("A sweep needs one setting at least that it may change.")
    for name, known in spec.find(task, space).items():
        for value in space[name].ends():
            known.check(value)
    of_loss = {one.name for one in fields(RegressionLossSettings)}
    if task == "regression" and (moved := sorted(of_loss & space.keys())):
        raise ValueError(
            f"The search space changes {moved[0]}: scores of different losses do "
            "not compare, as each is the fraction saved of its own. Set one for all "
            "trials, and search other settings."
        )


def to_plain(space: Space) -> dict[str, Any]:
    """Return a space as JSON takes it; ``from_plain`` reads it."""
    return {
        name: dict(vars(tried)) if isinstance(tried, Range) else list(tried.values)
        for name, tried in space.items()
    }


def from_plain(plain: Mapping[str, dict | Sequence]) -> dict[str, Range | Values]:
    """Read a space that ``to_plain`` wrote."""
    return {
        name: Range(**tried) if isinstance(tried, dict) else Values(tuple(tried))
        for name, tried in plain.items()
    }


# The setting ``constraints``, and how an estimator reads it.


ALL_PARTS = tuple(one.name for one in fields(Constraints))


def constraints_setting(
    help: str = "What must hold on every possible row: monotone columns, columns by "
    "level or together, their number and cost, rows a leaf, costs of errors.",
    parts: tuple[str, ...] = ALL_PARTS,
    **more,
) -> Any:
    """Declare the setting of a learner that keeps these parts of constraints."""
    return setting(
        None,
        help,
        kind="constraints",
        values="Constraints, dict or None",
        parts=parts,
        **more,
    )


def constraints_of(estimator, frame: pd.DataFrame) -> Constraints:
    """Read an estimator's constraints and check them against its training table.

    ValueError for a column or class that is not there, or costs beside class weights.
    """
    constraints = Constraints.read(estimator.constraints)
    if not constraints:
        return constraints
    columns = [str(name) for name in frame.columns]
    categories = [c for c in columns if column_kind(frame[c]) == "category"]
    constraints.check_columns(columns, categories)
    constraints.check_classes(estimator.labels())
    weight = getattr(estimator, "class_weight", None)
    if constraints.class_costs and weight not in ("auto", None):
        raise ValueError(
            "class_costs and class_weight both weigh the classes; set one of them, "
            f"not class_weight={weight!r} as well."
        )
    return constraints


def growing_weights(
    costs: np.ndarray, y: np.ndarray, row_weight: np.ndarray | None = None
) -> np.ndarray:
    """Weight of each class (C,) while splits are chosen, mean 1 over the rows ``y``.

    A class weighs what its errors cost in sum. Source: Breiman et al., "Classification
    and Regression Trees", 1984, section 4.4, altered priors.
    """
    weights = costs.sum(axis=1)
    return weights / max(np.average(weights[y], weights=row_weight), 1e-300)


# Settings of the regressors that know other losses than the squared error.


@dataclass(eq=False, repr=False, kw_only=True)
class IntervalSettings:
    """What a regression tree says of how far off it may be."""

    interval: float | None = setting(
        0.8,
        "Fraction of new rows that shall lie between the two values which stand beside "
        "each prediction; none: there are no such values, and quantiles are those of "
        "the training rows.",
        label="Interval",
        above=0,
        maximum=0.99,
        choices=(None,),
        tasks=("regression",),
    )


@dataclass(eq=False, repr=False, kw_only=True)
class RegressionLossSettings:
    """Which loss a regressor predicts for, and what it needs to know."""

    loss: str = setting(
        "squared_error",
        "What shall be predicted best: the mean (squared_error; of counts poisson, of "
        "amounts gamma, of both tweedie), the median (absolute_error), a quantile, or "
        "what lies between mean and median (huber). In Python also a function of "
        "predictions and targets, tensors (n,), that returns the loss of each row.",
        label="Loss",
        choices=LOSSES,
        callables=True,
        tasks=("regression",),
    )
    quantile: float | tuple[float, ...] = setting(
        0.5,
        "Fraction of the targets that shall lie below the prediction; of one tree for "
        "several quantiles, which never cross, several in ascending order.",
        label="Quantile",
        kind="floats",
        above=0,
        maximum=0.9999,
        tasks=("regression",),
        needs=("loss", ("quantile",)),
    )
    huber_delta: float = setting(
        1.0,
        "Error, in standard deviations of the target, from which the loss is linear.",
        above=0,
        tasks=("regression",),
        needs=("loss", ("huber",)),
    )
    tweedie_power: float = setting(
        1.5,
        "Power of the mean by which the variance rises, between 1 (counts) and 2.",
        above=1,
        maximum=1.9999,
        tasks=("regression",),
        needs=("loss", ("tweedie",)),
    )


# Settings that every learner of hard, axis-aligned trees by gradient descent has.


@dataclass(eq=False, repr=False, kw_only=True)
class AxisTreeSettings:
    """What can be set of trees that straight-through gradients train."""

    loss: str = setting(
        "cross_entropy",
        "Loss of the predicted probabilities.",
        choices=("cross_entropy", "focal", "poly", "brier"),
        tasks=CLASSES,
    )
    focal_gamma: float = setting(
        2.0,
        "Focusing parameter of the focal loss.",
        minimum=0,
        tasks=CLASSES,
        needs=("loss", ("focal",)),
    )
    selector: str = setting(
        "entmax15",
        "Transformation whose gradient the choice of a feature takes.",
        choices=("entmax15", "softmax"),
    )
    constraints: Any = constraints_setting()
