"""GRANDE's settings: names, ranges, help and defaults.

Named as in Marton et al., arXiv:2309.17130, tables 13 and 14, where those have a name.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any

from treelab.learners.common.settings import (
    CLASSES,
    AxisTreeSettings,
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
from treelab.trees.logits import WEIGHTINGS

MAX_DECIDERS = 20  # where "auto" lets few trees decide
LEARNING_RATE = "Learning rate of Adam for the "


@dataclass(eq=False, repr=False, kw_only=True)
class GrandeSettings(AxisTreeSettings):
    """What can be set of an ensemble of trees that are weighted by instance.

    The paper's values: batch size, patience and averaging from appendix C. The appendix
    tunes most others for each table: trees and learning rates are in its range, the
    rest is ours (``docs/learners/grande.md`` says which).
    """

    recipe: str = recipe_setting()
    class_weight: Any = class_weight_setting(
        "auto",
        "'auto' trains with equal weights, then shifts leaves to that power of the "
        "balanced ones which has the best macro F1 on held-out rows",
        paper="balanced",
    )
    n_estimators: int = setting(
        256, "Small trees in the ensemble.", label="Estimators", minimum=1, paper=1024
    )
    depth: int = setting(
        5, "Splits on every path of a tree.", label="Depth", minimum=1, maximum=10
    )
    init: str = setting(
        "both",
        "Trees that training starts from: a random forest's, boosted ones, half of "
        "each; random ones, with thresholds from the rows; or ones whose every "
        "parameter is a small normal number (the paper's recipe).",
        choices=("both", "forest", "boosted", "random", "normal"),
        paper="normal",
        tasks=CLASSES,
    )
    n_folds: int = setting(
        4,
        "Folds of the training rows, held out in turn by as many ensembles to find how "
        "long to train; one ensemble is then trained on all rows. 1 holds out a fifth "
        "of the rows. Where validation rows are given, these stop training, and no "
        "folds are made.",
        minimum=1,
        paper=1,
    )
    selected_variables: float = setting(
        0.8, "Fraction of the features that each tree may test.", above=0, maximum=1
    )
    data_fraction: float = setting(
        1.0, "Fraction of the training rows that each tree sees.", above=0, maximum=1
    )
    dropout: float = setting(
        0.0,
        "Fraction of the trees that each training step leaves out.",
        minimum=0,
        maximum=0.95,
    )
    leaf_weights: bool = setting(
        True,
        "Whether each leaf has a weight, or each tree a single one, as always with "
        "monotone columns.",
    )
    weighting: str = setting(
        "entmax15",
        "What turns leaf weights into estimator weights; entmax gives most trees an "
        "exact zero, the paper's softmax gives every tree some weight.",
        choices=WEIGHTINGS,
        paper="softmax",
    )
    concentration: float = setting(
        2.4,
        "Leaf weights are multiplied by this, from 1 growing over the first epochs; "
        "the higher, the fewer trees decide a row.",
        minimum=1,
        paper=1.0,
        tasks=CLASSES,
    )
    max_deciders: int | str | None = setting(
        "auto",
        "Trees that decide a row at most, those whose leaves weigh most; all at the "
        "start of training, fewer over the first epochs. 'auto', of classes: 20, or "
        "more where so few learn less than nine tenths as much, by log loss on "
        "held-out rows. None: all may.",
        label="Max deciding trees",
        minimum=1,
        choices=(None,),
        paper=None,
        tasks=CLASSES,
    )
    entropy_penalty: float = setting(
        0.001,
        "Added to the loss of a row for each nat of its estimator weights' entropy, "
        "the logarithm of the effective number of trees; the higher, the fewer trees "
        "decide a row.",
        minimum=0,
        paper=0.0,
    )
    decision: str = setting(
        "softsign",
        "Differentiable split function whose gradient a hard split takes.",
        choices=("softsign", "logistic", "entmoid"),
    )
    learning_rate_index: float = setting(
        0.03, LEARNING_RATE + "feature selectors.", minimum=0, paper=0.01
    )
    learning_rate_values: float = setting(
        0.03, LEARNING_RATE + "thresholds.", minimum=0, paper=0.01
    )
    learning_rate_leaf: float = setting(
        0.03, LEARNING_RATE + "leaf outputs.", minimum=0, paper=0.01
    )
    learning_rate_weights: float = setting(
        0.015, LEARNING_RATE + "leaf weights.", minimum=0, paper=0.005
    )
    learning_rate_steps: int | None = setting(
        500,
        "Steps that the learning rates are meant for: a training that may take more "
        "has lower ones, of fewer higher ones, by the square root of the ratio, at "
        "most threefold; None leaves them as they are.",
        minimum=1,
        choices=(None,),
        paper=None,
    )
    cosine_decay: bool = setting(
        True, "Whether learning rates warm up, then fall along a cosine.", paper=False
    )
    n_averaged: int = setting(
        10,
        "The mean of so many of the best checkpoints is taken where it is better; on "
        "all rows that of the last epochs, the concentration being that of the end.",
        minimum=1,
        paper=5,
    )
    max_epochs: int = setting(
        60,
        "Training ends after this many passes over the rows at the latest.",
        label="Epochs",
        minimum=1,
        paper=1000,
    )
    max_steps: int | None = setting(
        6000,
        "Training ends after this many steps of gradient descent at the latest; None "
        "sets no limit.",
        minimum=1,
        choices=(None,),
        paper=None,
    )
    patience: int = setting(
        15,
        "Epochs without a lower validation loss until training ends.",
        minimum=1,
        paper=25,
    )
    patience_steps: int | None = setting(
        1000,
        "On large tables training ends after so many steps in vain, 3 epochs at least; "
        "None waits for all epochs of the patience.",
        minimum=1,
        choices=(None,),
        paper=None,
    )
    batch_size: int = setting(128, "Training rows in each step.", minimum=1, paper=64)

    @property
    def learning_rates(self) -> tuple[float, float, float, float]:
        """Those of I, T, L and W, the paper's four tensors."""
        splits = self.learning_rate_index, self.learning_rate_values
        return (*splits, self.learning_rate_leaf, self.learning_rate_weights)


def _of_numbers(name: str, default: Any) -> Any:
    """Declare a classifier's setting for numbers, with a default of their own."""
    (declared,) = (one for one in fields(GrandeSettings) if one.name == name)
    own = {"default": default, "tasks": ("regression",)}
    described = replace(declared.metadata["setting"], **own)
    return field(default=default, metadata={"setting": described})


@dataclass(eq=False, repr=False, kw_only=True)
class GrandeRegressionSettings(RegressionLossSettings):
    """What can be set of the regressor: all trees decide, as a few alone err more.

    They start as a forest's: a boosted tree alone predicts no value of the target.
    """

    init: str = _of_numbers("init", "forest")
    concentration: float = _of_numbers("concentration", 1.0)
    max_deciders: int | str | None = _of_numbers("max_deciders", None)


SPEC = LearnerSpec(
    key="grande",
    title="GRANDE",
    summary="Many small trees, weighted for each row by the leaves it reaches.",
    paper="Marton et al., ICLR 2024, arXiv:2309.17130",
    classifier="treelab.learners.grande.estimators:GrandeClassifier",
    regressor="treelab.learners.grande.estimators:GrandeRegressor",
    settings=settings_in(GrandeSettings, GrandeRegressionSettings),
    former=("distillation",),
    single_tree=False,
)


# Search spaces of GRANDE's settings.


PRESETS = {
    "treelab": Preset(
        {
            "depth": Range(3, 6),
            "n_estimators": Values((128, 256, 512)),
            "concentration": Values((1.0, 1.5, 2.0, 2.4, 3.0, 4.0)),
            "max_deciders": Values(("auto", 10, 20, 50, None)),
            "entropy_penalty": Values((0.0, 0.001, 0.003, 0.01)),
            "selected_variables": Range(0.5, 1.0),
            "dropout": Values((0.0, 0.25)),
            "learning_rate_index": Range(0.005, 0.1, log=True),
            "learning_rate_values": Range(0.005, 0.1, log=True),
            "learning_rate_leaf": Range(0.005, 0.1, log=True),
            "learning_rate_weights": Range(0.002, 0.05, log=True),
        },
        source="Around treelab's defaults.",
    ),
    "paper": Preset(
        {
            "depth": Values((4, 6)),
            "n_estimators": Values((512, 1024, 2048)),
            "learning_rate_weights": Range(0.0001, 0.1, log=True),
            "learning_rate_index": Range(0.005, 0.2, log=True),
            "learning_rate_values": Range(0.005, 0.2, log=True),
            "learning_rate_leaf": Range(0.005, 0.2, log=True),
            "dropout": Values((0.0, 0.25, 0.5)),
            "selected_variables": Range(0.5, 1.0),
            "data_fraction": Range(0.8, 1.0),
            "loss": Values(("cross_entropy", "focal")),
            "focal_gamma": Values((3.0,)),
        },
        fixed={"recipe": "paper"},
        source="The ranges that the tuned values of tables 13 and 14 of Marton et al., "
        "arXiv:2309.17130, span, focal factors of 0 and 3 as losses, without the decay "
        "of learning rates, which the recipe keeps constant; there 250 trials a table.",
    ),
}
