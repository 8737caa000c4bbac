"""Settings that every learner of hard, axis-aligned trees by gradient descent has."""

from dataclasses import dataclass
from typing import Any

from treelab.learners.common.constrained.setting import constraints_setting
from treelab.learners.common.spec import CLASSES, setting


@dataclass(frozen=True)
class AxisTreeSettings:
    """What can be set of trees that straight-through gradients train."""

    loss: str = setting(
        "cross_entropy",
        "choice",
        "Loss of the predicted probabilities.",
        choices=("cross_entropy", "focal", "poly", "brier"),
        tasks=CLASSES,
    )
    focal_gamma: float = setting(
        2.0,
        "float",
        "Focusing parameter of the focal loss.",
        minimum=0,
        tasks=CLASSES,
    )
    selector: str = setting(
        "entmax15",
        "choice",
        "Transformation whose gradient the choice of a feature takes.",
        choices=("entmax15", "softmax"),
    )
    class_weight: Any = setting(
        "auto",
        "other",
        'Weight of a row of each class: "auto", None, "balanced", or a weight for '
        "each label.",
        choices=("auto", "balanced"),
        tasks=CLASSES,
    )
    constraints: Any = constraints_setting()
