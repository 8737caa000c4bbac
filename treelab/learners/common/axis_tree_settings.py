"""Settings that every learner of hard, axis-aligned trees by gradient descent has."""

from dataclasses import dataclass
from typing import Any

from treelab.learners.common.constrained.setting import constraints_setting
from treelab.learners.common.spec import CLASSES, setting


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
    )
    selector: str = setting(
        "entmax15",
        "Transformation whose gradient the choice of a feature takes.",
        choices=("entmax15", "softmax"),
    )
    constraints: Any = constraints_setting()
