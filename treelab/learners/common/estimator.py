"""An estimator is its settings: parameters and their docstring come from the fields."""

import inspect
import textwrap
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from treelab.learners.common.spec import TASKS, Setting, setting, settings_in


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
    for base in cls.__mro__:
        for declared in vars(base).get("__dataclass_fields__", {}).values():
            described = declared.metadata.get("setting")
            if described and not {*described.tasks} & {*cls.tasks}:
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
