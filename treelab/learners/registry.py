"""The learners by key: what a page or a command may offer, and how to build one.

Imports no estimator, so a page can list them without loading torch.
"""

import warnings
from importlib import import_module, util
from typing import Any

from treelab.learners.argmin.settings import CLUSTERS
from treelab.learners.argmin.settings import SPEC as ARGMIN
from treelab.learners.cart.settings import SPEC as CART
from treelab.learners.common.settings import (
    GivenRecipe,
    LearnerSpec,
    check_settings,
    with_recipe,
)
from treelab.learners.get.settings import SPEC as GET
from treelab.learners.gradtree.settings import SPEC as GRADTREE
from treelab.learners.grande.settings import SPEC as GRANDE
from treelab.learners.optimal.settings import SPEC as OPTIMAL
from treelab.trees.constraints import Constraints

IMPORTED = "imported"  # in the place of a learner: the model came from elsewhere

LEARNERS: dict[str, LearnerSpec] = {
    spec.key: spec for spec in (CART, GRADTREE, GRANDE, GET, ARGMIN)
}
if util.find_spec("pystreed") is not None:  # the extra treelab[optimal]
    LEARNERS[OPTIMAL.key] = OPTIMAL


def find_spec(key: str) -> LearnerSpec | None:
    """Return what is known of a run's learner; None for a model from elsewhere.

    ValueError for an unknown key lists the learners there are.
    """
    if key == IMPORTED:
        return None
    if key == CLUSTERS.key:
        return CLUSTERS
    if key == OPTIMAL.key:  # a run may come from a machine that has the package
        return OPTIMAL
    if key not in LEARNERS:
        raise ValueError(f"There is no learner {key!r}; choose {', '.join(LEARNERS)}.")
    return LEARNERS[key]


def learner_title(key: str, settings: dict | None = None) -> str:
    """Return what a learner is called, or "Imported" for a model from elsewhere.

    With a run's settings, GET with linear leaves is called GET-Linear.
    """
    spec = find_spec(key)
    if spec is None:
        return "Imported"
    is_linear = key == "get" and (settings or {}).get("leaves") == "linear"
    return f"{spec.title}-Linear" if is_linear else spec.title


def make_estimator(
    key: str, task: str, settings: dict, *, random_state=None, device: str = "auto"
):
    """Build an untrained estimator from a learner's key and the settings given.

    The key is one of ``LEARNERS``, or that of ``CLUSTERS``; settings that are not given
    keep their defaults. ValueError for an unknown learner or setting, which lists those
    there are, or a value out of range.
    """
    spec = find_spec(key)
    if spec is None:
        raise ValueError("A model from elsewhere is not trained here.")
    path = spec.regressor if task == "regression" else spec.classifier
    module, name = path.split(":")
    complete = complete_settings(key, task, settings)
    if "recipe" in complete:
        complete["recipe"] = GivenRecipe(complete["recipe"])
    return getattr(import_module(module), name)(
        **complete, random_state=random_state, device=device
    )


def complete_settings(key: str, task: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings a run is trained with: those given, the rest at defaults.

    Settings that only earlier versions had are left out, with a warning. Beside
    ``recipe="paper"`` the rest is the paper's where it differs. The page, the
    command line and an estimator made without arguments agree by this. ValueError for
    an unknown learner or setting, or a value out of range.
    """
    spec = find_spec(key)
    if spec is None:
        return dict(given)
    if former := [name for name in given if name in spec.former]:
        warnings.warn(
            f"{spec.title} no longer has the setting {', '.join(former)}; it is left "
            "out.",
            stacklevel=2,
        )
        given = {name: given[name] for name in given if name not in former}
    spec.check_constraints(Constraints.read(given.get("constraints")), task)
    spec.find(task, given)
    settings = spec.settings_of(task)
    values = spec.defaults(task)
    if "recipe" in given:
        values["recipe"] = given["recipe"]
    complete = with_recipe(settings, values) | given
    check_settings(settings, complete)
    return complete
