"""GradTree's settings: names, ranges, help and defaults.

Learning rates are named as in Marton et al., arXiv:2305.03515, appendix C.
"""

from dataclasses import dataclass
from typing import Any

from treelab.learners.common.settings import (
    CLASSES,
    AxisTreeSettings,
    IntervalSettings,
    LearnerSpec,
    Preset,
    Range,
    RegressionLossSettings,
    Values,
    class_weight_setting,
    recipe_setting,
    setting,
    settings_in,
)

LEARNING_RATE = "Learning rate of Adam for the "
STEPS, LARGE_STEPS, LARGE_TABLE = 200, 600, 5000
STOPS = ("early_stopping", (True,))


@dataclass(eq=False, repr=False, kw_only=True)
class GradTreeSettings(AxisTreeSettings):
    """What can be set of a tree that gradient descent trains.

    The paper's values are those of appendices C and D: three restarts, and the medians
    of table 12, whose values are tuned for each table.
    """

    recipe: str = recipe_setting()
    start: str = setting(
        "greedy",
        "Where trees begin: as greedy trees of the size that folds choose, or as "
        "complete trees of random splits.",
        choices=("greedy", "random"),
        paper="random",
    )
    max_leaf_nodes: int = setting(
        64,
        "Most leaves of trees that begin greedy; cross-validation chooses how many.",
        label="Max leaves",
        minimum=2,
        maximum=512,
        needs=("start", ("greedy",)),
    )
    max_depth: int = setting(
        8,
        "Most splits on the way to a leaf; trees that begin at random have as many on "
        "the way to all.",
        label="Max depth",
        minimum=1,
        maximum=12,
    )
    n_restarts: int = setting(
        24,
        "Trees of the chosen size that are trained side by side, beside a third as "
        "many of others; the one that fits the rows best and agrees most with all is "
        "retained.",
        label="Restarts",
        minimum=1,
        paper=3,
    )
    n_steps: int | str = setting(
        "auto",
        "Steps of gradient descent, where nothing stops it early; auto takes 200, and "
        "600 above 5,000 rows.",
        label="Steps",
        minimum=1,
        choices=("auto",),
        needs=("early_stopping", (False,)),
    )
    early_stopping: bool = setting(
        False,
        "Whether a fifth of the rows, or the validation rows given, end the training "
        "and choose the restart; leaves then stay as they were trained.",
        paper=True,
    )
    max_epochs: int = setting(
        10_000, "Passes over the rows at the latest.", minimum=1, needs=STOPS
    )
    patience: int = setting(
        200,
        "Epochs without a lower validation loss until training ends.",
        minimum=1,
        needs=STOPS,
    )
    class_weight: Any = class_weight_setting(
        "auto",
        "'auto' lets cross-validation choose a power of the balanced weights, for "
        "training and for the leaves",
        paper="balanced",
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
        1.0,
        "Weight of the first term of the poly loss.",
        tasks=CLASSES,
        needs=("loss", ("poly",)),
    )
    decision: str = setting(
        "logistic",
        "Differentiable split function whose gradient a hard split takes.",
        choices=("logistic", "softsign", "entmoid"),
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
    settings=settings_in(GradTreeSettings, RegressionLossSettings, IntervalSettings),
    scores_itself=False,  # its size is chosen by greedy trees, which are not trained
)


# Search spaces of GradTree's settings.


RATES = (0.005, 0.01, 0.05, 0.1, 0.25)

PRESETS = {
    "treelab": Preset(
        {
            "max_leaf_nodes": Values((8, 16, 32, 64)),
            "n_restarts": Values((8, 24)),
            "n_steps": Values(("auto", 100, 200, 400)),
            "learning_rate_index": Range(0.005, 0.2, log=True),
            "learning_rate_values": Range(0.003, 0.1, log=True),
            "learning_rate_leaf": Range(0.01, 0.2, log=True),
            "loss": Values(("cross_entropy", "focal", "poly")),
        },
        source="Around treelab's defaults.",
    ),
    "paper": Preset(
        {
            "max_depth": Range(7, 10),
            "learning_rate_index": Values(RATES),
            "learning_rate_values": Values(RATES),
            "learning_rate_leaf": Values((0.005, 0.01, 0.05, 0.1, 0.2)),
            "loss": Values(("cross_entropy", "focal", "poly")),
            "poly_epsilon": Values((2.0, 5.0)),
        },
        fixed={"recipe": "paper"},
        source="The values that occur in table 12 of Marton et al., arXiv:2305.03515; "
        "there a random search of 300 trials a table. The paper's poly terms on top "
        "of the focal loss are not among them.",
    ),
}
