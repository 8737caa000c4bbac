"""GradTree's settings: names, ranges, help and defaults.

Learning rates are named as in Marton et al., arXiv:2305.03515, appendix C.
"""

from dataclasses import dataclass
from typing import Any

from treelab.learners.common.axis_tree_settings import AxisTreeSettings
from treelab.learners.common.spec import (
    CLASSES,
    LearnerSpec,
    class_weight_setting,
    recipe_setting,
    setting,
    settings_in,
)

LEARNING_RATE = "Learning rate of Adam for the "
STEPS, LARGE_STEPS, LARGE_TABLE = 200, 600, 5000
PAPER_ONLY = " (the paper's recipe)"


@dataclass(eq=False, repr=False, kw_only=True)
class GradTreeSettings(AxisTreeSettings):
    """What can be set of a tree that gradient descent trains.

    The paper's values are those of appendix C: three restarts, and the medians of table
    12, whose values are tuned for each table.
    """

    recipe: str = recipe_setting()
    max_leaf_nodes: int = setting(
        64,
        "Most leaves; trees of 4, 8, 16, ... leaves are trained side by side, and "
        "cross-validation chooses (treelab's recipe).",
        label="Max leaves",
        minimum=2,
        maximum=512,
    )
    max_depth: int = setting(
        10,
        "Most splits on the way to a leaf; all have as many in the paper's recipe.",
        label="Max depth",
        minimum=1,
        maximum=12,
        paper=8,
    )
    n_restarts: int = setting(
        8,
        "Trees of each size that are trained side by side on all rows; the one most "
        "like their vote is retained.",
        label="Restarts",
        minimum=1,
        paper=3,
    )
    n_steps: int | str = setting(
        "auto",
        "Steps of gradient descent, over which soft splits become hard; auto takes "
        "200, and 600 above 5,000 rows.",
        label="Steps",
        minimum=1,
        choices=("auto",),
    )
    class_weight: Any = class_weight_setting(
        "auto",
        "training weighs all rows alike, and 'auto' lets cross-validation choose a "
        "power of the balanced weights for the leaves",
        paper=None,
    )
    batch_size: int = setting(256, "Training rows in each step.", minimum=1)
    learning_rate_index: float = setting(
        0.05, LEARNING_RATE + "feature selectors.", minimum=0, paper=0.01
    )
    learning_rate_values: float = setting(
        0.03, LEARNING_RATE + "thresholds.", minimum=0, paper=0.01
    )
    learning_rate_leaf: float = setting(
        0.05, LEARNING_RATE + "leaf outputs.", minimum=0, paper=0.05
    )
    poly_epsilon: float = setting(
        1.0, "Weight of the first term of the poly loss.", tasks=CLASSES
    )
    decision: str = setting(
        "logistic",
        "Differentiable split function whose gradient a hard split takes"
        + PAPER_ONLY
        + ".",
        choices=("logistic", "softsign", "entmoid"),
    )
    max_epochs: int = setting(
        10_000, "Passes over the rows at the latest" + PAPER_ONLY + ".", minimum=1
    )
    patience: int = setting(
        200,
        "Epochs without a lower validation loss until training ends" + PAPER_ONLY + ".",
        minimum=1,
    )

    def steps(self, n_rows: int) -> int:
        """Steps that are taken with so many rows."""
        if isinstance(self.n_steps, str):
            return STEPS if n_rows <= LARGE_TABLE else LARGE_STEPS
        return self.n_steps


SPEC = LearnerSpec(
    key="gradtree",
    title="GradTree",
    summary="One tree with ordinary splits, all trained together by gradient descent.",
    paper="Marton et al., AAAI 2024, arXiv:2305.03515",
    classifier="treelab.learners.gradtree.estimators:GradTreeClassifier",
    regressor="treelab.learners.gradtree.estimators:GradTreeRegressor",
    settings=settings_in(GradTreeSettings),
)
