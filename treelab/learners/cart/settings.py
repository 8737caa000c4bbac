"""CART's settings: names, ranges, help and defaults."""

from dataclasses import dataclass
from typing import Any

from treelab.learners.common.constrained.setting import constraints_setting
from treelab.learners.common.spec import (
    CLASSES,
    LearnerSpec,
    setting,
    settings_in,
)


@dataclass(frozen=True)
class CartSettings:
    """What can be set of a greedy tree, as scikit-learn names it."""

    tune: bool = setting(
        True,
        "bool",
        "Whether cross-validation chooses depth, leaf size, class weights and number "
        "of leaves, within the settings below. Off: scikit-learn's plain tree with "
        "the settings below.",
        label="Tuning by cross-validation",
    )
    max_depth: int | None = setting(
        None,
        "int",
        "Most splits on the way to a leaf; without a limit, until leaves are pure.",
        label="Max depth",
        minimum=1,
        maximum=30,
        choices=(None,),
    )
    min_samples_leaf: int = setting(
        1,
        "int",
        "Fewest training rows in a leaf; tuning tries larger numbers, too.",
        label="Min samples per leaf",
        minimum=1,
    )
    max_leaf_nodes: int | None = setting(
        None,
        "int",
        "Most leaves; without a limit, as many as the other settings allow.",
        label="Max leaf nodes",
        minimum=2,
        maximum=10_000,
        choices=(None,),
    )
    ccp_alpha: float = setting(
        0.0,
        "float",
        "Cost-complexity pruning: impurity that each leaf must save.",
        label="Complexity penalty (ccp_alpha)",
        minimum=0,
    )
    class_weight: Any = setting(
        "auto",
        "other",
        'Weight of a row of each class: None, "balanced", or a weight for each label; '
        '"auto" tunes the weights in the leaves, and is None where nothing is tuned.',
        choices=("auto", "balanced"),
        tasks=CLASSES,
    )
    constraints: Any = constraints_setting()


SPEC = LearnerSpec(
    key="cart",
    title="CART",
    summary="The greedy tree, one split after another, tuned by cross-validation.",
    paper="Breiman et al., 1984",
    classifier="treelab.learners.cart.estimators:CartClassifier",
    regressor="treelab.learners.cart.estimators:CartRegressor",
    settings=settings_in(CartSettings),
    is_quick=True,
    cpu_only=True,
)
