"""CART's settings: names, ranges, help and defaults."""

from dataclasses import dataclass
from typing import Any

from treelab.learners.common.settings import (
    IntervalSettings,
    LearnerSpec,
    Preset,
    Range,
    RegressionLossSettings,
    Values,
    class_weight_setting,
    constraints_setting,
    setting,
    settings_in,
)


@dataclass(eq=False, repr=False, kw_only=True)
class CartSettings:
    """What can be set of a greedy tree, as scikit-learn names it."""

    tune: bool = setting(
        True,
        "Whether 5-fold cross-validation chooses depth, leaf size, class weights and "
        "number of leaves, within the settings below: the smallest tree within one "
        "standard error of the best; it trains on validation rows, too. Off, or with "
        "fewer than 10 rows: scikit-learn's plain tree with the settings below.",
        label="Tuning by cross-validation",
    )
    max_depth: int | None = setting(
        None,
        "Most splits on the way to a leaf; without a limit, until leaves are pure.",
        label="Max depth",
        minimum=1,
        maximum=30,
        choices=(None,),
    )
    min_samples_leaf: int = setting(
        1,
        "Fewest training rows in a leaf; tuning tries larger numbers, too.",
        label="Min rows per leaf",
        minimum=1,
    )
    max_leaf_nodes: int | None = setting(
        None,
        "Most leaves; without a limit, as many as the other settings allow.",
        label="Max leaves",
        minimum=2,
        maximum=10_000,
        choices=(None,),
    )
    ccp_alpha: float = setting(
        0.0,
        "Cost-complexity pruning: impurity (variance of numbers, of counts and amounts "
        "half their Poisson deviance) that each leaf must save.",
        label="Complexity penalty (ccp_alpha)",
        minimum=0,
    )
    n_restarts: int = setting(
        1,
        "Trees that tuning grows of each size, all but the first on bootstrap weights; "
        "the one that fits the rows best and agrees most with all is retained.",
        label="Restarts",
        minimum=1,
        needs=("tune", (True,)),
    )
    class_weight: Any = class_weight_setting(
        "auto",
        "'auto' grows with equal weights and tunes those in the leaves, powers from 0 "
        "to 1 of the balanced ones; it is None where nothing is tuned",
    )
    constraints: Any = constraints_setting()


SPEC = LearnerSpec(
    key="cart",
    title="CART",
    summary="The greedy tree, one split after another, tuned by cross-validation.",
    paper="Breiman et al., 1984",
    classifier="treelab.learners.cart.estimators:CartClassifier",
    regressor="treelab.learners.cart.estimators:CartRegressor",
    settings=settings_in(CartSettings, RegressionLossSettings, IntervalSettings),
    is_quick=True,
    cpu_only=True,
)


# Search spaces of CART's settings.


PRESETS = {
    "treelab": Preset(
        {
            "max_depth": Range(2, 16),
            "min_samples_leaf": Range(1, 50, log=True),
            "ccp_alpha": Range(0.00001, 0.03, log=True),
            "class_weight": Values((None, "balanced")),
        },
        fixed={"tune": False},
        source="The settings that its own tuning chooses, searched from outside.",
    )
}
