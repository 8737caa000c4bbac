"""GET's settings, and what becomes of them in a fit: budget, depth, epochs."""

import math
from dataclasses import dataclass
from typing import Any

from treelab.learners.common.spec import (
    CLASSES,
    LearnerSpec,
    setting,
    settings_in,
)

MAX_DEPTH = 12
N_STAGES = 2  # of training, from soft splits to hard ones
LATER_EPOCHS = 0.4  # of the trained epochs: growth and polish, as reports count them


@dataclass(frozen=True)
class Budget:
    """What may be spent, in the same numbers on every table.

    Attributes
    ----------
    steps : int
        Gradient steps in each stage.
    n_grown : int
        Trained trees that are grown to full depth; so are two that are greedy from
        the root (by single features, and by sums of them).
    n_leaf_sizes : int
        Values of ``min_samples_leaf`` with which each of them is grown.
    polish_rounds, polish_steps : int
        Rounds of subtree polish, and gradient steps a level.
    n_bagged : int
        Trees in the bagging ensemble from which a tree with linear leaves is
        distilled; 0 for none.
    """

    steps: int
    n_grown: int
    n_leaf_sizes: int
    polish_rounds: int
    polish_steps: int
    n_bagged: int


BUDGETS = {
    "quick": Budget(
        steps=150,
        n_grown=1,
        n_leaf_sizes=1,
        polish_rounds=0,
        polish_steps=0,
        n_bagged=0,
    ),
    "standard": Budget(
        steps=1500,
        n_grown=3,
        n_leaf_sizes=3,
        polish_rounds=2,
        polish_steps=300,
        n_bagged=12,
    ),
    "thorough": Budget(
        steps=5000,
        n_grown=5,
        n_leaf_sizes=3,
        polish_rounds=4,
        polish_steps=800,
        n_bagged=30,
    ),
}


@dataclass(frozen=True)
class GetSettings:
    """What can be set of GET and GET-Linear."""

    max_depth: int | str = setting(
        "auto",
        "int",
        "Most splits on the way to a leaf; auto: as many as the number of rows allows. "
        "Validation prunes.",
        label="Max depth",
        minimum=1,
        maximum=MAX_DEPTH,
        choices=("auto",),
    )
    budget: str = setting(
        "standard",
        "choice",
        "How long to search. On a few hundred rows quick takes about a second and "
        "standard ten, for a little more accuracy; thorough takes longer still.",
        label="Budget",
        choices=tuple(BUDGETS),
    )
    n_starts: int = setting(
        10,
        "int",
        "Trees trained side by side; the best one on validation rows is taken.",
        label="Starts",
        minimum=1,
    )
    leaves: str = setting(
        "constant",
        "choice",
        "What a leaf predicts: one value (GET), or a linear model (GET-Linear).",
        label="Leaves",
        choices=("constant", "linear"),
        tasks=("regression",),
    )
    max_epochs: int | None = setting(
        None,
        "int",
        "Passes over the training rows before growth and polish; none: by the budget.",
        minimum=1,
        choices=(None,),
    )
    batch_size: int = setting(512, "int", "Rows of a gradient step.", minimum=1)
    learning_rate: float = setting(
        0.02, "float", "Highest step size of the splits.", above=0
    )
    learning_rate_leaves: float = setting(
        0.05, "float", "Highest step size of the leaves.", above=0
    )
    l1: float = setting(
        0.0, "float", "L1 penalty on the weights of the splits.", minimum=0
    )
    polish: bool = setting(
        True, "bool", "Train every subtree once more by itself, and take what improves."
    )
    sparse_tolerance: float = setting(
        0.002,
        "float",
        "Fraction of the explained loss given up to leave features out of splits.",
        minimum=0,
    )
    loss: str = setting(
        "cross_entropy",
        "choice",
        "What training minimises and validation compares by.",
        choices=("cross_entropy", "brier"),
        tasks=CLASSES,
    )
    class_weight: Any = setting(
        "auto",
        "other",
        'Weight of a row of each class: "auto" (shifted on validation rows), None, '
        '"balanced", or a weight for each label.',
        choices=("auto", "balanced"),
        tasks=CLASSES,
    )


@dataclass(frozen=True)
class FitPlan:
    """The settings of one fit, with what its number of rows decides.

    Attributes
    ----------
    settings : GetSettings
        As the estimator was given them, checked.
    budget : Budget
        That the settings name.
    depth : int
        Most splits on a path to a leaf.
    n_batches : int
        Gradient steps an epoch.
    stage_epochs : tuple of int
        Epochs of each stage.
    """

    settings: GetSettings
    budget: Budget
    depth: int
    n_batches: int
    stage_epochs: tuple[int, ...]

    @classmethod
    def of(cls, settings: GetSettings, n_rows: int) -> "FitPlan":
        """Decide depth and epochs for a number of training rows."""
        budget = BUDGETS[settings.budget]
        n_batches = max(1, math.ceil(n_rows / settings.batch_size))
        epochs = (math.ceil(budget.steps / n_batches),) * N_STAGES
        if settings.max_epochs is not None:
            first = math.ceil(settings.max_epochs / 2)
            epochs = (first, settings.max_epochs - first)
        depth = settings.max_depth
        return cls(
            settings,
            budget,
            auto_depth(n_rows) if isinstance(depth, str) else depth,
            n_batches,
            epochs,
        )

    @property
    def linear(self) -> bool:
        """Whether leaves hold linear models."""
        return self.settings.leaves == "linear"

    @property
    def n_bagged(self) -> int:
        """Trees in the ensemble from which the tree is distilled, 0 for none."""
        return self.budget.n_bagged if self.linear else 0

    @property
    def total_epochs(self) -> int:
        """Epochs as reports count them, growth and polish among them."""
        return math.ceil(sum(self.stage_epochs) * (1 + LATER_EPOCHS))

    def later_epoch(self, done: float) -> float:
        """Epoch that stands for a fraction of growth and polish."""
        trained = sum(self.stage_epochs)
        return trained + done * (self.total_epochs - trained)


def auto_depth(n_rows: int) -> int:
    """Return a depth at which about three rows reach a leaf; validation prunes."""
    return int(min(max(math.log2(max(2, n_rows / 3)), 1), MAX_DEPTH))


SPEC = LearnerSpec(
    key="get",
    title="GET",
    summary="One tree whose splits weigh several features at once. The standard budget "
    "takes seconds to a minute; quick takes a tenth of that.",
    paper="Mao and Cao, 2024, arXiv:2411.17003",
    classifier="treelab.learners.get.estimators:GetClassifier",
    regressor="treelab.learners.get.estimators:GetRegressor",
    settings=settings_in(GetSettings),
)
