"""GET's settings, and what becomes of them in a fit: stages, epochs and depth."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from treelab.learners.common.settings import (
    CLASSES,
    IntervalSettings,
    LearnerSpec,
    Preset,
    Range,
    RegressionLossSettings,
    Values,
    class_weight_setting,
    constraints_setting,
    recipe_setting,
    setting,
    settings_in,
)

MAX_DEPTH = 12
SCALE_FACTORS = (5.0, 25.0, 50.0, 150.0)  # appendix D, 4


@dataclass(eq=False, repr=False, kw_only=True)
class GetSettings:
    """What can be set of GET and GET-Linear."""

    recipe: str = recipe_setting()
    max_depth: int | str = setting(
        "auto",
        "Most splits on the way to a leaf; auto: as many as the number of rows allows. "
        "Validation prunes.",
        label="Max depth",
        minimum=1,
        maximum=MAX_DEPTH,
        choices=("auto",),
    )
    max_leaf_nodes: int | None = setting(
        None,
        "Most leaves; none: the smallest tree within one standard error of the best.",
        label="Max leaves",
        minimum=2,
        choices=(None,),
    )
    n_starts: int = setting(
        10,
        "Trees trained side by side (the paper's N_start), CART first; the best one on "
        "validation rows is taken.",
        label="Restarts",
        minimum=1,
    )
    leaves: str = setting(
        "constant",
        "What a leaf predicts: one value (GET), or a linear model (GET-Linear).",
        label="Leaf model",
        choices=("constant", "linear"),
        tasks=("regression",),
    )
    init: str = setting(
        "greedy",
        "What the starts after CART are: random and greedy oblique trees by turns, or "
        "random ones alone.",
        choices=("greedy", "random"),
        paper="random",
    )
    trained_depth: int = setting(
        6,
        "Most levels trained as a whole; below them splits are grown greedily. Where "
        "held-out rows choose the depth, the most that they may choose.",
        minimum=1,
        maximum=MAX_DEPTH,
        paper=MAX_DEPTH,
    )
    polish: bool = setting(
        False,
        "Whether subtrees are trained again, one after another, under constant leaves.",
        paper=True,
    )
    tunes: str = setting(
        "leaves",
        "What held-out rows choose: the leaves, by pruning, or the depth alone where "
        "max_depth is auto; the tree is then trained on all rows and not pruned.",
        choices=("leaves", "depth"),
        paper="depth",
    )
    n_steps: int = setting(
        1500, "Gradient steps in each stage.", label="Steps", minimum=1, paper=3000
    )
    batch_size: int | None = setting(
        512,
        "Rows of a gradient step; none: all.",
        minimum=1,
        choices=(None,),
        paper=None,
    )
    learning_rate: float = setting(
        0.02,
        "Highest step size of the splits; with 0 the starts stay as they began.",
        minimum=0,
        paper=0.01,
    )
    learning_rate_leaves: float = setting(
        0.05, "Highest step size of the leaves while they train.", minimum=0, paper=0.01
    )
    scale_factors: tuple[float, ...] = setting(
        SCALE_FACTORS,
        "Lowest and highest slope of the soft decisions, alpha, stage after stage; so "
        "many pairs, so many stages.",
        kind="floats",
        minimum=0,
    )
    l1: float = setting(
        0.0, "L1 penalty on the weights of the splits, columns in [0, 1].", minimum=0
    )
    sparse_tolerance: float = setting(
        0.002,
        "Fraction by which a level's loss may rise to leave features out of splits; "
        "with 0 none is left out.",
        minimum=0,
        paper=0.0,
    )
    class_weight: Any = class_weight_setting(
        "auto",
        "'auto' trains with equal weights, then shifts the leaves to that power of the "
        "balanced ones, from 0 to 1.5, which has the best macro F1 on validation rows",
        paper=None,
    )
    constraints: Any = constraints_setting(
        "Costs of errors: class_costs, and no other part of constraints.",
        parts=("class_costs",),
        tasks=CLASSES,
    )

    @property
    def stages(self) -> list[tuple[float, float]]:
        """Range of the scale factor alpha in each stage."""
        if np.size(self.scale_factors) % 2:
            raise ValueError(
                "scale_factors must be pairs, lowest and highest of each stage, got "
                f"{self.scale_factors!r}."
            )
        return [*zip(self.scale_factors[::2], self.scale_factors[1::2])]

    @property
    def linear(self) -> bool:
        """Whether leaves hold linear models."""
        return self.leaves == "linear"

    def n_batches(self, n_rows: int) -> int:
        """Gradient steps an epoch."""
        return math.ceil(n_rows / (self.batch_size or n_rows))

    def stage_epochs(self, n_rows: int) -> int:
        """Epochs of each stage."""
        return math.ceil(self.n_steps / self.n_batches(n_rows))


def auto_depth(n_rows: int) -> int:
    """Return a depth at which about three rows reach a leaf; validation prunes."""
    return int(min(max(math.log2(max(2, n_rows / 3)), 1), MAX_DEPTH))


SPEC = LearnerSpec(
    key="get",
    title="GET",
    summary="One tree whose splits weigh several features at once. A fit takes "
    "seconds to a minute.",
    paper="Mao and Cao, 2024, arXiv:2411.17003",
    classifier="treelab.learners.get.estimators:GetClassifier",
    regressor="treelab.learners.get.estimators:GetRegressor",
    settings=settings_in(GetSettings, RegressionLossSettings, IntervalSettings),
)


# Search spaces of GET's settings.


PRESETS = {
    "treelab": Preset(
        {
            "max_depth": Values(("auto", 2, 3, 4, 5, 6, 7, 8)),
            "learning_rate": Range(0.005, 0.05, log=True),
            "learning_rate_leaves": Range(0.01, 0.1, log=True),
            "sparse_tolerance": Values((0.0, 0.002, 0.01)),
            "leaves": Values(("constant", "linear")),
        },
        source="Around treelab's defaults.",
    ),
    "paper": Preset(
        {"max_depth": Range(1, 12)},
        fixed={"recipe": "paper"},
        source="The depths from 1 to 12 that the paper of GET tunes by "
        "cross-validation, and nothing else.",
    ),
}
