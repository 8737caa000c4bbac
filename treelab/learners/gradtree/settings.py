"""GradTree's settings: names, ranges, help and defaults.

Learning rates are named as in Marton et al., arXiv:2305.03515, appendix C.
"""

from dataclasses import dataclass

from treelab.learners.common.axis_tree_settings import AxisTreeSettings
from treelab.learners.common.spec import (
    CLASSES,
    LearnerSpec,
    setting,
    settings_in,
)

LEARNING_RATE = "Learning rate of Adam for the "


@dataclass(frozen=True)
class GradTreeSettings(AxisTreeSettings):
    """What can be set of a tree that gradient descent trains."""

    max_depth: int = setting(
        10,
        "int",
        "Most splits on the way to a leaf; shallower trees are trained beside it, and "
        "validation chooses.",
        label="Max depth",
        minimum=1,
        maximum=12,
    )
    search_depth: bool = setting(
        True,
        "bool",
        "Whether shallower trees, every second depth, are trained beside the deepest.",
    )
    n_restarts: int = setting(
        8,
        "int",
        "Trees of each depth and fold, trained side by side; validation picks one.",
        label="Restarts",
        minimum=1,
    )
    greedy_starts: bool = setting(
        True, "bool", "Whether some restarts are initialised from greedy trees."
    )
    distilled_trees: bool = setting(
        True,
        "bool",
        "Whether trees distilled from a random forest join the choice, where there "
        "are more than two classes.",
        tasks=CLASSES,
    )
    selection: str = setting(
        "auto",
        "choice",
        "Whether trees are chosen by cross-validation or by one validation set; auto "
        "cross-validates up to 5,000 rows.",
        choices=("auto", "cv", "holdout"),
    )
    poly_epsilon: float = setting(
        1.0, "float", "Weight of the first term of the poly loss.", tasks=CLASSES
    )
    decision: str = setting(
        "logistic",
        "choice",
        "Differentiable split function whose gradient a hard split takes.",
        choices=("logistic", "softsign", "entmoid"),
    )
    learning_rate_index: float = setting(
        0.02, "float", LEARNING_RATE + "feature selectors.", above=0
    )
    learning_rate_values: float = setting(
        0.02, "float", LEARNING_RATE + "thresholds.", above=0
    )
    learning_rate_leaf: float = setting(
        0.05, "float", LEARNING_RATE + "leaf outputs.", above=0
    )
    max_epochs: int = setting(
        300,
        "int",
        "Training ends after this many passes over the rows at the latest.",
        label="Epochs",
        minimum=1,
    )
    max_steps: int = setting(
        400,
        "int",
        "Training ends after this many steps of gradient descent at the latest.",
        minimum=1,
    )
    patience: int = setting(
        50,
        "int",
        "Epochs without a lower validation loss of any candidate until training ends.",
        minimum=1,
    )
    batch_size: int = setting(256, "int", "Training rows in each step.", minimum=1)
    averaged_checkpoints: int = setting(
        1,
        "int",
        "Best checkpoints of a tree whose mean is tried at the end.",
        minimum=1,
    )
    smote: bool = setting(
        False,
        "bool",
        "Whether SMOTE makes training rows of the rarer classes.",
        tasks=CLASSES,
    )
    merge_leaves: bool = setting(
        True,
        "bool",
        "Whether sibling leaves that predict the same class become one.",
        tasks=CLASSES,
    )

    def __post_init__(self):
        if self.smote and self.selection == "cv":
            raise ValueError(
                "smote=True selects on one validation set: use selection='holdout' or "
                "'auto'."
            )

    @property
    def depths(self) -> tuple[int, ...]:
        """Depths that are trained side by side, ascending."""
        if not self.search_depth:
            return (self.max_depth,)
        return tuple(range(self.max_depth, 0, -2))[::-1]


SPEC = LearnerSpec(
    key="gradtree",
    title="GradTree",
    summary="One tree with ordinary splits, all learned together by gradients.",
    paper="Marton et al., AAAI 2024, arXiv:2305.03515",
    classifier="treelab.learners.gradtree.estimators:GradTreeClassifier",
    regressor="treelab.learners.gradtree.estimators:GradTreeRegressor",
    settings=settings_in(GradTreeSettings),
)
